"""Thoughts: servers that lose, leak or never close them are caught; those that only think oddly are not."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from genesisd.probes.casebook import Casebook, ReasoningCase
from genesisd.probes.http_client import open_session
from genesisd.probes.kinds.reasoning import Reasoning
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities
from genesisd.probes.spec import ReasoningProbe
from tests.helpers.scripted import Said, Script, engine

PLAIN = {"chat_template_kwargs": {"enable_thinking": False}}
BOOK = Casebook(
    reasoning=(
        ReasoningCase("capitals", ("Capital of Peru?", "And of Cuba?")),
        ReasoningCase("tag", ("What does </think> mean?",)),
        ReasoningCase("plain", ("Say yes.",), PLAIN),
    )
)
ANSWERS = {
    "Capital of Peru?": Said("Lima.", "They ask about Peru."),
    "And of Cuba?": Said("Havana.", "Now it is Cuba."),
    "What does </think> mean?": Said("</think> ends a thought.", "They ask about the tag </think>."),
    "Say yes.": Said("Yes."),
}


def right(body: dict[str, Any]) -> Said:
    return ANSWERS[body["messages"][-1]["content"]]


def on(words: str, wrong: Said, stream: bool | None = None) -> Script:
    def script(body: dict[str, Any]) -> Said:
        hit = words in body["messages"][-1]["content"] and stream in {None, body["stream"]}
        return wrong if hit else right(body)

    return script


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


async def asked(script: Script, session: aiohttp.ClientSession, book: Casebook = BOOK, **more: Any) -> Outcome:
    async with engine(script) as one:
        probe = Reasoning(ReasoningProbe(max_tokens=100_000), session)
        return await probe.ask(one.target(casebook=book, **more), 0.0)


WRONG: dict[str, tuple[Script, str]] = {
    "the end of the block leaks": (
        on("Peru", Said("</think>Lima.", "They ask.")),
        "case capitals, whole, turn 1: </think> leaked into the content '</think>Lima.'",
    ),
    "the whole block leaks": (on("Peru", Said("<think>They ask.</think>Lima.")), "<think> leaked into the content"),
    "the block is never closed": (
        on("Peru", Said(None, "They ask about Peru.Lima.")),
        "the block of thoughts was not closed: all 25 characters came as thoughts",
    ),
    "the end of the block stays within": (
        on("Peru", Said("a.", "They ask.</think>Lim")),
        "</think> stands within the thoughts",
    ),
    "thoughts are lost": (on("Peru", Said("Lima.")), "no thoughts came, only 'Lima.'"),
    "thoughts are lost when streamed": (
        on("Peru", Said("Lima."), stream=True),
        "case capitals, streamed, turn 1: no thoughts came",
    ),
    "the second turn leaks": (
        on("Cuba", Said("</think>Havana.", "Now.")),
        "case capitals, whole, turn 2: </think> leaked",
    ),
    "the second turn is empty": (on("Cuba", Said(None)), "turn 2: neither thoughts nor words came"),
    "thoughts come though turned off": (
        on("yes", Said("Yes.", "They want a yes.")),
        "case plain, whole, turn 1: thoughts came, though they were turned off",
    ),
    "words where thoughts are turned off come as thoughts": (on("yes", Said(None, "Yes.")), "was not closed"),
    "thoughts come twice": (on("Peru", Said("They ask.", "They ask.")), "thoughts and words are the same"),
    "a token that is no text": (on("Peru", Said("Lima.<|im_end|>", "They ask.")), "<|im_end|> leaked"),
    "an error of its own": (
        on("Cuba", Said(status=500, raw="boom")),
        "case capitals, whole: /v1/chat/completions answered 500",
    ),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_server_is_caught(name: str, session: aiohttp.ClientSession) -> None:
    """The sentence says the dialogue, the turn, the form and what came; its exchange stands first."""
    script, excerpt = WRONG[name]
    outcome = await asked(script, session)
    assert (outcome.verdict, excerpt in outcome.summary) == (Verdict.FAILURE, True), outcome.summary
    assert outcome.exchanges[0].status in {200, 500}


RIGHT: dict[str, Script] = {
    "as it should be": right,
    "by the older name": on("Peru", Said("Lima.", "They ask.", key="reasoning_content")),
    "white space around both": on("Peru", Said("\n\nLima.\n", "\nThey ask.\n")),
    "one character a chunk": on("Peru", Said("Lima.", "They ask.", cuts=1)),
    "words that were cut": on("Peru", Said("Lima is the cap", "They ask.", finish="length")),
    "thoughts that speak of thinking": on("Peru", Said("Lima.", "I think (in <b>HTML</b>) of Peru.")),
    "empty thoughts where they are turned off": on("yes", Said("Yes.", "\n\n")),
    "very long thoughts": on("Cuba", Said("Havana.", "So. " * 500)),
}


@pytest.mark.parametrize("name", RIGHT)
async def test_an_odd_but_right_server_passes(name: str, session: aiohttp.ClientSession) -> None:
    """Thoughts and words were told apart, and that is all that counts."""
    outcome = await asked(RIGHT[name], session)
    assert outcome.summary == "6 of 6 cases asked, all answered right"


async def test_thoughts_that_were_cut_prove_nothing(session: aiohttp.ClientSession) -> None:
    """A long thought may still end."""
    outcome = await asked(on("Peru", Said(None, "They ask", finish="length")), session)
    assert outcome.verdict is Verdict.SUCCESS
    assert "4 of 6 cases asked, all answered right; not judged: case capitals, whole was cut" in outcome.summary


async def test_a_turn_has_the_answers_before_it(session: aiohttp.ClientSession) -> None:
    """The second request holds the first answer's words, and no thoughts."""
    async with engine(right) as one:
        await Reasoning(ReasoningProbe(max_tokens=1), session).ask(one.target(casebook=BOOK), 0.0)
    assert one.asked[1]["messages"] == [
        {"role": "user", "content": "Capital of Peru?"},
        {"role": "assistant", "content": "Lima."},
        {"role": "user", "content": "And of Cuba?"},
    ]


async def test_without_parser_or_dialogues_it_is_skipped(session: aiohttp.ClientSession) -> None:
    """Nothing is asked, and the reason is told."""
    lacking = await asked(right, session, abilities=Abilities(reasoning_parser=""))
    empty = await asked(right, session, Casebook())
    assert [lacking.verdict, empty.verdict] == [Verdict.SKIPPED] * 2
    assert "without a reasoning parser" in lacking.summary
    assert "no dialogues" in empty.summary
