"""The ladder of long texts: where the fact is lost the ceiling is told, and being slow or short is no fault."""

import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from genesisd.probes.casebook import Casebook, Needle
from genesisd.probes.http_client import open_session
from genesisd.probes.judging.haystack import ROOM
from genesisd.probes.kinds.needle import NeedleLadder
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities
from genesisd.probes.spec import NeedleProbe
from tests.helpers.scripted import Said, Script, engine

NEEDLE = Needle(
    ("The road goes on.", "It rained in the afternoon, and then it did not."),
    "The code is 7314.", "What is the code?", "7314", (0.0, 0.5, 1.0),
)  # fmt: skip
BOOK = Casebook(needle=NEEDLE)
STEPS = (500, 1000, 2000, 4000)


def length(body: dict[str, Any]) -> int:
    return len(body["messages"][0]["content"]) // 4


def place(body: dict[str, Any]) -> float:
    text = body["messages"][0]["content"]
    return round(text.index(NEEDLE.fact) / len(text), 1)


def right(body: dict[str, Any]) -> Said:
    return Said("7314", prompt_tokens=length(body))


def beyond(limit: int, wrong: str | None) -> Script:
    return lambda body: Said(wrong, prompt_tokens=length(body)) if length(body) > limit else right(body)


def nothing_in_the_middle(body: dict[str, Any]) -> Said:
    return Said("I see no code.") if 0.3 < place(body) < 0.7 and length(body) > 800 else right(body)


def nothing_at_the_end(body: dict[str, Any]) -> Said:
    return Said("1234") if place(body) > 0.8 and length(body) > 1800 else right(body)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


async def asked(script: Script, session: aiohttp.ClientSession, times: int = 1, **more: Any) -> Outcome:
    """The last of some asks."""
    async with engine(script, **more) as one:
        probe = NeedleLadder(NeedleProbe(steps=STEPS), session)
        target = one.target(casebook=BOOK)
        for _ in range(times - 1):
            await probe.ask(target, 0.0)
        return await probe.ask(target, 0.0)


WRONG: dict[str, tuple[Script, int, str]] = {
    "no more than its window": (beyond(1500, "I do not know."), 1, "found up to 1,000 tokens, not at 2,000 (place 0): 'I do not"),
    "nothing at all": (beyond(0, "I do not know."), 1, "not found at 500 (place 0)"),
    "another number": (beyond(3000, "The code is 7341."), 1, "found up to 2,000 tokens, not at 4,000"),
    "nothing comes": (beyond(900, None), 1, "found up to 500 tokens, not at 1,000 (place 0): 'nothing' came"),
    "lost in the middle": (nothing_in_the_middle, 2, "found up to 500 tokens, not at 1,000 (place 0.5)"),
    "lost at the end": (nothing_at_the_end, 3, "found up to 1,000 tokens, not at 2,000 (place 1)"),
    "a flood": (beyond(3000, "!" * 200), 1, "not at 4,000 (place 0): '!!!"),
    "an error at length": (
        lambda body: Said(status=500, raw='{"error": {"message": "illegal memory access"}}')
        if length(body) > 1500
        else right(body),
        1,
        "2,000 tokens: /v1/chat/completions answered 500: illegal memory access",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_server_is_caught(name: str, session: aiohttp.ClientSession) -> None:
    """The true ceiling is named, with the length and the place at which the fact was lost."""
    script, times, excerpt = WRONG[name]
    outcome = await asked(script, session, times)
    assert (outcome.verdict, excerpt in outcome.summary) == (Verdict.FAILURE, True), outcome.summary


RIGHT: dict[str, Script] = {
    "the number alone": right,
    "a whole sentence": lambda body: Said("The code is 7314, as the text says.", prompt_tokens=length(body)),
    "found within the thoughts": lambda _: Said(None, "It says 7314"),
    "no count of tokens": lambda _: Said("7314", prompt_tokens=0),
    "a count far above its own tokenizer's": lambda body: Said("7314", prompt_tokens=2 * length(body)),
    "cut behind the number": lambda _: Said("7314 is the code, which st", finish="length"),
}


@pytest.mark.parametrize("name", RIGHT)
async def test_an_odd_but_right_server_passes(name: str, session: aiohttp.ClientSession) -> None:
    """Found is found, three times over all places."""
    outcome = await asked(RIGHT[name], session, times=3)
    assert outcome.summary == "4 of 4 cases asked, all answered right"


async def test_texts_are_as_long_as_asked_and_never_the_same(session: aiohttp.ClientSession) -> None:
    """By the engine's own count within a tenth; each text differs from its first words on, and places take turns."""
    async with engine(right) as one:
        probe = NeedleLadder(NeedleProbe(steps=STEPS), session)
        target = one.target(casebook=BOOK)
        for _ in range(3):
            await probe.ask(target, 0.0)
    assert [length(body) for body in one.asked] == pytest.approx([500, 1000, 2000, 4000] * 3, rel=0.1)
    assert [place(body) for body in one.asked] == [*[0.0] * 4, *[0.5] * 4, *[1.0] * 4]
    texts = [body["messages"][0]["content"] for body in one.asked]
    assert len({re.match(r"Notebook \w{16}\. ", text)[0] for text in texts}) == len(texts)  # type: ignore[index]


async def test_an_engine_without_tokenize_is_asked_all_the_same(session: aiohttp.ClientSession) -> None:
    """The first length is a guess, and its own count mends it."""
    async with engine(right, tokenize=None) as one:
        outcome = await NeedleLadder(NeedleProbe(steps=STEPS), session).ask(one.target(casebook=BOOK), 0.0)
    assert outcome.verdict is Verdict.SUCCESS
    assert length(one.asked[0]) < 500
    assert length(one.asked[1]) == pytest.approx(1000, rel=0.1)


async def test_a_step_that_the_engine_refuses_is_left_out(session: aiohttp.ClientSession) -> None:
    """400 above the context is the probe's doing: told, and no failure."""
    refusal = Said(status=400, raw='{"error": {"message": "maximum context length is 1500 tokens"}}')
    outcome = await asked(lambda body: refusal if length(body) > 1500 else right(body), session)
    assert outcome.verdict is Verdict.SUCCESS
    assert "2 of 4 cases asked, all answered right; not judged: 2,000 tokens: " in outcome.summary


async def test_steps_end_where_the_context_does(session: aiohttp.ClientSession) -> None:
    """A step needs room for the answer; a context shorter than the first step is skipped with its length."""
    async with engine(right) as one:
        target = one.target(casebook=BOOK, abilities=Abilities(max_model_len=2048))
        await NeedleLadder(NeedleProbe(steps=STEPS), session).ask(target, 0.0)
        assert len(one.asked) == 2
        short = one.target(casebook=BOOK, abilities=Abilities(max_model_len=800))
        outcome = await NeedleLadder(NeedleProbe(steps=STEPS), session).ask(short, 0.0)
    assert outcome.verdict is Verdict.SKIPPED
    told = f"the context of 800 tokens has no room for the first step, 500 and {ROOM} for its frame and the answer"
    assert outcome.summary == told


async def test_the_ladder_is_climbed_in_parts_within_the_budget(session: aiohttp.ClientSession) -> None:
    """What has no room in one ask comes first in the next."""
    async with engine(right) as one:
        probe = NeedleLadder(NeedleProbe(steps=STEPS, max_tokens=4500), session)
        target = one.target(casebook=BOOK)
        await probe.ask(target, 0.0)
        first = [length(body) for body in one.asked]
        await probe.ask(target, 0.0)
    assert first == pytest.approx([500, 1000, 2000], rel=0.1)
    assert length(one.asked[3]) == pytest.approx(4000, rel=0.1)


async def test_a_text_that_was_never_answered_in_time_proves_nothing(session: aiohttp.ClientSession) -> None:
    """A prefill may take longer than any deadline."""
    outcome = await NeedleLadder(NeedleProbe(timeout=600), session).late(None, 0.0)  # type: ignore[arg-type]
    assert outcome.verdict is Verdict.UNKNOWN
    assert "no whole answer within 600 s" in outcome.summary
