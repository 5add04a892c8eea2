"""Every answer that a probe saw: floods, repetitions and emptiness are caught, and what merely repeats itself is not."""

import json
import math
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from genesisd.probes.asking import CHAT, Asking
from genesisd.probes.http_client import open_session
from genesisd.probes.kinds.degeneration import Degeneration
from genesisd.probes.model import Exchange, Outcome, Verdict
from genesisd.probes.ports import Abilities
from genesisd.probes.spec import DegenerationProbe
from tests.helpers.scripted import Said, Script, engine

STORY = "The keeper found a letter under the stairs. It was dry, and older than the lamp. He read it twice."
FLOOD = Said("!" * 160, finish="length", tokens=160)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


async def asked(said: Said, session: aiohttp.ClientSession, body: dict[str, Any] | None = None, **more: Any) -> Outcome:
    """Its own question, and with ``body`` what another probe asked before."""
    async with engine(lambda sent: Said(STORY) if body and sent["max_tokens"] == 160 else said) as one:
        target = one.target()
        if body is not None:
            for stream in (True, False):
                await Asking(session, "other").chat(target, {"messages": [], "max_tokens": 9, **body}, stream=stream)
        return await Degeneration(DegenerationProbe(**more), session).ask(target, 0.0)


def random_scripts() -> str:
    return "the ไม่ร่วมконкрет的な회의הכלлись ولاتبہترीयการ Ödeme하는 निर्माणстроитель ตารางwordsლები" * 2


WRONG = {
    "one mark over and over": (FLOOD, "it ends in '!' 160 times over"),
    "one word over and over": (Said("Once " + "the " * 90, finish="length"), "'the ' 90 times over"),
    "two words over and over": (Said("A lamp. " + "no way " * 40, finish="length"), "'no way ' 40 times over"),
    "a sentence over and over": (
        Said(STORY + " He went home." * 12, finish="length"),
        "' He went home.' 12 times over",
    ),
    "a paragraph over and over": (Said(f"{STORY}\n" * 7, finish="length", cuts=9), "7 times over"),
    "a flood that ends by itself": (Said("!" * 200), "'!' 200 times over (200 of 200 characters)"),
    "a flood of thoughts": (Said(None, "hm " * 60, finish="length"), "the reasoning cannot be an answer"),
    "a flood after a sound beginning": (Said(STORY + "0" * 90, finish="length"), "'0' 90 times over"),
    "blank space to the end": (Said(STORY + "\n" * 900, finish="length", cuts=9), "900 times over"),
    "nothing": (Said(None, tokens=0), "200 with an empty answer"),
    "nothing, of many tokens": (Said(None, tokens=160, finish="length"), "160 tokens were generated, and neither"),
    "replacement characters": (Said("The \ufffd keeper \ufffd found \ufffd it."), "replacement characters"),
    "replacement characters to the end": (
        Said("The keeper" + "\ufffd" * 20, finish="length"),
        "20 replacement characters",
    ),
    "unknown tokens": (Said("The <unk> found <unk> a <unk>."), "it holds '<unk>' and the like 3 times"),
    "control characters": (Said("The \x01 keeper \x02 found \x7f it."), "3 control characters, such as U+0001"),
    "a null character": (Said("The keeper\x00"), "control characters, such as U+0000"),
    "scripts thrown together": (Said(random_scripts()), "scripts are thrown together within words"),
    "a logprob that is no number": (
        Said(STORY, logprobs=(("The", -0.1), ("!", math.nan))),
        "the logprob of '!' is nan",
    ),
    "an infinite logprob": (Said(STORY, logprobs=(("The", -math.inf),)), "the logprob of 'The' is -inf"),
    "a logprob above 0": (Said(STORY, logprobs=(("The", 3.5),)), "is 3.5, above 0"),
}


@pytest.mark.parametrize("seen", [False, True], ids=["own", "seen"])
@pytest.mark.parametrize("name", WRONG)
async def test_garbage_is_caught(name: str, seen: bool, session: aiohttp.ClientSession) -> None:
    """In its own question's answer, and in what another probe was answered."""
    said, excerpt = WRONG[name]
    outcome = await asked(said, session, {"logprobs": True} if seen else None)
    assert (outcome.verdict, excerpt in outcome.summary) == (Verdict.FAILURE, True), outcome.summary
    assert outcome.summary.startswith("/v1/chat/completions, streamed: ")
    assert outcome.exchanges[0].request["max_tokens"] == (9 if seen else 160)
    assert len(outcome.summary) <= 220


RULE = "| name | age |\n|" + "-" * 78
TABLE = "\n".join(f"| {row} | 0 | 0 | 0 |" for row in range(40))
TRANSLATIONS = (
    "English: bread. Русский: хлеб. ไทย: ขนมปัง. עברית: לחם. العربية: خبز. 日本語: パン. 한국어: 빵. हिन्दी: रोटी."
)
RIGHT = {
    "a story": Said(STORY),
    "a story that was cut": Said(STORY[:70], finish="length"),
    "a rule of dashes at which it was cut": Said(RULE, finish="length"),
    "a table whose rows differ in their number": Said(TABLE, finish="length"),
    "a row of zeros within an answer": Said("[" + "0, " * 300 + "1]"),
    "indentation at which it was cut": Said("def f():\n" + " " * 120, finish="length"),
    "a song with a refrain": Said("La la la la la la la la, and the sea was wide. " * 3),
    "a laugh": Said("Ha" * 30 + "!"),
    "a short answer of one letter": Said("a" * 30),
    "many languages": Said(TRANSLATIONS),
    "science": Said("With ω=5 µm, the ΔT of H₂O at λ≈3 Ω and x̄ is 4°; café naïve, Straße." * 2),
    "Japanese with Latin words": Said("5GのLTEとWi-Fiで、Pythonのコードをテストする。ビルドはOKです。" * 2),
    "an emoji that was cut": Said("The keeper waved \ufffd\ufffd\ufffd", finish="length"),
    "one replacement character": Said(STORY + " \ufffd " + STORY),
    "tabs, line breaks and colours": Said("\x1b[1mname\x1b[0m\tage\r\n" * 3),
    "a word about unknown tokens": Said("The token <unk> stands for words that are not known; <pad> fills."),
    "a call without words": Said(None, calls=(("f", "{}"),), finish="tool_calls"),
    "thoughts alone": Said(None, "They want a story", finish="length"),
    "nothing yet, as it was cut at once": Said(None, finish="length", tokens=6),
    "an end at once": Said(None, tokens=1),
    "logprobs that were clamped": Said(STORY, logprobs=(("The", -9999.0), ("keeper", 0.0))),
}


@pytest.mark.parametrize("seen", [False, True], ids=["own", "seen"])
@pytest.mark.parametrize("name", RIGHT)
async def test_what_merely_repeats_or_looks_odd_passes(name: str, seen: bool, session: aiohttp.ClientSession) -> None:
    """Tables, songs, zeros and foreign words are what people ask for."""
    outcome = await asked(RIGHT[name], session, {} if seen else None)
    assert outcome.verdict is Verdict.SUCCESS, outcome.summary


async def test_answers_under_a_grammar_may_repeat(session: aiohttp.ClientSession) -> None:
    """A grammar may leave no other way, and its own probe judges it; control characters are still none."""
    constrained = {"structured_outputs": {"regex": "!*"}}
    assert (await asked(FLOOD, session, constrained)).verdict is Verdict.SUCCESS
    assert (await asked(Said("\x00"), session, constrained)).verdict is Verdict.FAILURE


async def test_what_the_question_has_may_be_answered_with(session: aiohttp.ClientSession) -> None:
    """Marks that the question names are no garbage."""
    body = {"messages": [{"role": "user", "content": "Write <unk> four times and \ufffd too."}]}
    assert (
        await asked(Said("<unk> <unk> <unk> <unk> \ufffd\ufffd\ufffd\ufffd a"), session, body)
    ).verdict is Verdict.SUCCESS


async def test_it_asks_only_when_the_others_saw_too_little(session: aiohttp.ClientSession) -> None:
    """Three answers since the last ask are enough; each is looked at once."""
    async with engine(lambda _: Said(STORY)) as one:
        target, probe = one.target(), Degeneration(DegenerationProbe(), session)
        for _ in range(3):
            await Asking(session, "other").chat(target, {"messages": []})
        outcome = await probe.ask(target, 0.0)
        assert (outcome.summary, len(one.asked)) == ("3 answers of other probes are sound", 3)
        assert (await probe.ask(target, 0.0)).summary == "1 answers are sound"
        own = one.asked[-1]
        assert (own["temperature"], own["max_tokens"], own["stream"]) == (0.7, 160, True)
        assert (await probe.ask(target, 0.0)).evidence["looked"] == 1


async def test_how_much_is_too_much_can_be_set(session: aiohttp.ClientSession) -> None:
    """For who knows a model that repeats itself."""
    assert (await asked(FLOOD, session, repeats=500)).verdict is Verdict.SUCCESS
    assert (await asked(FLOOD, session, characters=500)).verdict is Verdict.SUCCESS
    half = Said(STORY * 2 + "!" * 160, finish="length")
    assert (await asked(half, session)).verdict is Verdict.FAILURE
    assert (await asked(half, session, share=0.6)).verdict is Verdict.SUCCESS


async def test_its_own_question_stays_within_the_budget(session: aiohttp.ClientSession) -> None:
    """A small budget shortens the answer."""
    async with engine(lambda _: Said(STORY)) as one:
        await Degeneration(DegenerationProbe(max_tokens=100), session).ask(one.target(), 0.0)
        assert one.asked[0]["max_tokens"] == 60


async def test_a_bad_answer_is_asked_for_again_before_anything_else(session: aiohttp.ClientSession) -> None:
    """What another probe got garbage for is asked once more, the same way, until it is sound."""
    bad = {"on": True}
    async with engine(lambda body: FLOOD if bad["on"] and body["messages"] else Said(STORY)) as one:
        target, probe = one.target(), Degeneration(DegenerationProbe(), session)
        await Asking(session, "other").chat(target, {"messages": [{"role": "user", "content": "Hm?"}]})
        assert (await probe.ask(target, 0.0)).verdict is Verdict.FAILURE
        assert (await probe.ask(target, 0.0)).verdict is Verdict.FAILURE
        assert one.asked[-1] == one.asked[0]
        bad["on"] = False
        assert (await probe.ask(target, 0.0)).verdict is Verdict.SUCCESS
        await probe.ask(target, 0.0)
        assert one.asked[-1]["max_tokens"] == 160


async def test_an_engine_without_a_chat_template_completes_a_text(session: aiohttp.ClientSession) -> None:
    """A base model is asked by /v1/completions."""
    refusal = Said(status=400, raw='{"error": {"message": "default chat template is no longer allowed"}}')
    script: Script = lambda body: refusal if "messages" in body else FLOOD  # noqa: E731
    async with engine(script) as one:
        outcome = await Degeneration(DegenerationProbe(), session).ask(one.target(), 0.0)
    assert outcome.summary.startswith("/v1/completions, streamed: the content cannot be an answer")


def kept(text: str, status: int = 200, stream: bool = True) -> Exchange:
    return Exchange(CHAT, {"messages": [], "stream": stream}, status, text)


PARTS = {
    "a stream that was withdrawn": kept(json.dumps({"choices": [{"delta": {"content": "The"}}]}) + "\n"),
    "a stream of which nothing came": kept(""),
    "a body that was cut": kept('{"choices": [{"message": {"content": "!!!!!!', stream=False),
    "a refusal": kept('{"error": {"message": "!"}}', status=400, stream=False),
    "a connection that was lost": kept("", status=0),
}


@pytest.mark.parametrize("name", PARTS)
async def test_answers_that_never_came_whole_are_not_judged(name: str, session: aiohttp.ClientSession) -> None:
    """A probe that was cancelled leaves half an answer, which is nobody's fault."""
    async with engine(lambda _: Said(STORY)) as one:
        target = one.target()
        target.seen.add(PARTS[name])
        outcome = await Degeneration(DegenerationProbe(), session).ask(target, 0.0)
    assert outcome.verdict is Verdict.SUCCESS, outcome.summary


async def test_a_flood_is_seen_in_the_part_that_was_kept(session: aiohttp.ClientSession) -> None:
    """An answer longer than what is kept of it is judged by its beginning."""
    long = Said("!" * 9000, finish="length", tokens=9000, cuts=30)
    outcome = await asked(long, session, {})
    assert (outcome.verdict, "'!'" in outcome.summary) == (Verdict.FAILURE, True)


@pytest.mark.parametrize(("method", "temperature"), [("", 0.7), (None, 0.7), ("ngram", 0)])
async def test_a_worker_that_speculates_is_asked_greedily(
    method: str | None, temperature: float, session: aiohttp.ClientSession
) -> None:
    """Some engines cannot draw at random from what was drafted, and end of it."""
    async with engine(lambda _: Said(STORY)) as one:
        await Degeneration(DegenerationProbe(), session).ask(one.target(abilities=Abilities(speculative=method)), 0.0)
    assert [body["temperature"] for body in one.asked] == [temperature]
