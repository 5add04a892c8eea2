"""What is recorded of an engine, and when it is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from genesisd.errors import ConflictError
from genesisd.probes.asking import NoAnswerError, Trouble
from genesisd.probes.http_client import open_session
from genesisd.probes.ports import Target
from genesisd.probes.recording import FLOOR, MARGIN, REPEATS, record
from tests.helpers.honest import Honest
from tests.helpers.judged import BOOK


async def recorded(honest):
    async with honest.engine() as engine, open_session() as session:
        target = Target("w", 1, 1, "127.0.0.1", engine.port, lambda: (), model="m", casebook=BOOK)
        return await record(target, BOOK, session, model="m", pin="p", build="b", weights="w", recorded=7.0)


async def test_everything_is_recorded():
    """Answers with ids and margins, logprobs with a bound, the tokenizer, and what it was."""
    golden = await recorded(Honest())
    assert (golden.model, golden.pin, golden.build, golden.weights, golden.recorded) == ("m", "p", "b", "w", 7.0)
    assert golden.casebook.startswith("small@")
    assert list(golden.replies) == ["tea", "sea", "key"]
    reply = golden.replies["sea"]
    assert reply.reasoning == "They say something."
    assert len(reply.ids) == len(reply.margins)
    assert sorted(set(reply.margins)) == [0.05, 5.0]
    assert golden.drift is not None
    assert golden.drift.bound == FLOOR
    assert len(golden.drift.logprobs) == len(BOOK.drift.split()) - 1
    assert golden.tokenizer is not None
    assert golden.tokenizer.count("-") == len(BOOK.texts) - 1


async def test_a_case_that_wavers_is_refused_by_name():
    """What is not the same twice can never be compared."""
    honest = Honest()
    turns = itertools.count()
    honest.say = lambda asked, say: (
        replace(say, tokens=[*say.tokens, str(next(turns))]) if "sea" in asked.prompt else say
    )
    with pytest.raises(ConflictError, match="sea is not answered the same twice") as caught:
        await recorded(honest)
    assert caught.value.fields["case"] == "sea"
    assert caught.value.hint


async def test_a_stream_that_says_otherwise_is_noted():
    """Such a case is later asked whole only."""
    honest = Honest(say=lambda a, s: replace(s, text="less") if a.stream and "key" in a.prompt else s)
    golden = await recorded(honest)
    assert [case for case, reply in golden.replies.items() if not reply.streamed] == ["key"]


async def test_an_engine_without_logprobs_ids_or_tokenizer_is_recorded_by_its_words():
    """What it does not tell is left out, also where it refuses to."""

    def refuse(asked):
        if asked.path == "/tokenize":
            return 404, "Not Found"
        asks = asked.body.get("logprobs") or asked.body.get("prompt_logprobs") is not None
        return (400, "logprobs are not supported") if asks else None

    golden = await recorded(Honest(ids=False, refuse=refuse))
    assert golden.drift is None
    assert golden.tokenizer is None
    assert golden.replies["tea"].content
    assert golden.replies["tea"].ids == golden.replies["tea"].margins == ()


async def test_noise_of_repeats_widens_the_bound():
    """The largest distance of a repeat from the first, with the margin."""
    honest = Honest()
    honest.logprob = lambda place, word: -1.0 - 0.02 * (honest.turns % 4)
    golden = await recorded(honest)
    assert golden.drift is not None
    assert golden.drift.bound == pytest.approx(MARGIN * 0.04, rel=0.01)
    assert honest.turns == 3 * len(BOOK.golden) + 2 * REPEATS


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/tokenize"])
async def test_an_engine_that_fails_is_not_recorded(path):
    """An error of the engine ends the recording, also among the asks that go at once."""
    honest = Honest(refuse=lambda asked: (500, "boom") if asked.path == path else None)
    with pytest.raises(NoAnswerError) as caught:
        await recorded(honest)
    assert caught.value.trouble is Trouble.FAULT
