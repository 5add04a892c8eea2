"""A question that the model never answered right speaks against nobody; one that it did speaks from then on."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import pytest

from genesisd.probes.asking import Asking
from genesisd.probes.casebook import Call, Casebook, StructuredCase, ToolCase
from genesisd.probes.http_client import open_session
from genesisd.probes.kinds.degeneration import Degeneration
from genesisd.probes.kinds.structured_output import StructuredOutput
from genesisd.probes.kinds.tool_calls import ToolCalls
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.spec import DegenerationProbe, StructuredOutputProbe, ToolCallsProbe
from tests.helpers.scripted import Said, Script, engine

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
CALLED = Said(calls=(("get_weather", '{"city": "Lima"}'),), finish="tool_calls")
MUTE = Said("I cannot call anything.")


def case(name: str) -> ToolCase:
    body = {"messages": [{"role": "user", "content": name}], "tools": [TOOL]}
    return ToolCase(name, body, (Call("get_weather", {"city": "Lima"}),), choices=("auto",))


BOOK = Casebook(tools=(case("easy"), case("hard")), vouched=False)


@dataclass
class Seen:
    """``KnownRight`` that remembers."""

    cases: set[str] = field(default_factory=set)

    def counts(self, kind: str, case: str) -> bool:
        return f"{kind}/{case}" in self.cases

    def right(self, kind: str, case: str) -> None:
        self.cases.add(f"{kind}/{case}")


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


async def asked(script: Script, session: aiohttp.ClientSession, seen: Any) -> Outcome:
    async with engine(script) as one:
        probe = ToolCalls(ToolCallsProbe(max_tokens=100_000), session)
        outcome = await probe.ask(replace(one.target(casebook=BOOK), known=seen), 0.0)
        await probe.close()
    return outcome


def hard_fails(body: dict[str, Any]) -> Said:
    return MUTE if body["messages"][0]["content"] == "hard" else CALLED


async def test_what_was_never_right_is_told_and_does_not_count(session):
    """The others are judged all the same."""
    seen = Seen()
    outcome = await asked(hard_fails, session, seen)
    assert outcome.verdict is Verdict.SUCCESS
    assert "case hard (auto), streamed" in outcome.summary
    assert seen.cases == {"tool-calls/case easy (auto), streamed", "tool-calls/case easy (auto), whole"}


async def test_a_model_that_can_do_nothing_of_it_is_not_called_good(session):
    """Nothing is known of it, which its age will tell."""
    outcome = await asked(lambda _: MUTE, session, Seen())
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.summary.startswith(
        "nothing could be judged: (never answered right here, so perhaps beyond the model) case"
    )
    assert outcome.summary.count("beyond the model") == 1


async def test_what_was_right_once_counts_from_then_on(session):
    """That the model can do it is shown."""
    seen = Seen()
    assert (await asked(lambda _: CALLED, session, seen)).verdict is Verdict.SUCCESS
    assert (await asked(hard_fails, session, seen)).verdict is Verdict.FAILURE


@pytest.mark.parametrize("stream", [True, False])
async def test_a_case_that_is_right_in_the_other_form_counts_at_once(session, stream):
    """The model can do it: what differs is the server's."""
    lost = lambda body: MUTE if body.get("stream", False) is stream else CALLED  # noqa: E731
    outcome = await asked(lost, session, Seen())
    assert outcome.verdict is Verdict.FAILURE
    assert "the same case is right" in outcome.summary


WAY = Casebook(
    structured=(StructuredCase("way", {"messages": []}, "choice", ["left", "right"]),), vouched=False
)  # fmt: skip
THOUGHT = Said(None, reasoning="left or right or left", finish="stop")


async def constrained(said: Said, session, seen: Any) -> Outcome:
    async with engine(lambda _: said) as one:
        target = replace(one.target(casebook=WAY), known=seen)
        return await StructuredOutput(StructuredOutputProbe(), session).ask(target, 0.0)


async def test_a_model_that_never_ends_its_thoughts_is_not_the_grammars_fault(session):
    """The grammar begins with the words: where none come, nobody knows, until that case was right once."""
    seen = Seen()
    outcome = await constrained(THOUGHT, session, seen)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "nothing came but 21 characters of thought" in outcome.summary
    assert (await constrained(Said("left"), session, seen)).verdict is Verdict.SUCCESS
    assert (await constrained(THOUGHT, session, seen)).verdict is Verdict.FAILURE


async def test_words_against_the_grammar_count_whatever_the_model_knows(session):
    """A constraint is the engine's promise."""
    assert (await constrained(Said("up"), session, Seen())).verdict is Verdict.FAILURE


STORY = Said("The keeper found a letter under the stairs. It was dry, and older than the lamp.")
LOST = Said(" am at" * 60, finish="length", tokens=120)


async def seen_by_others(other: Said, own: Said, session, *, vouched: bool) -> Outcome:
    async with engine(lambda body: own if body.get("temperature") else other) as one:
        target = one.target(casebook=Casebook(vouched=vouched))
        for _ in range(4):
            await Asking(session, "other").chat(target, {"messages": [], "max_tokens": 120})
        return await Degeneration(DegenerationProbe(), session).ask(target, 0.0)


async def test_a_model_that_is_lost_in_one_question_only_is_sound(session):
    """A repetition in answer to the general casebook is told, and held against the probe's own question."""
    outcome = await seen_by_others(LOST, STORY, session, vouched=False)
    assert outcome.verdict is Verdict.SUCCESS
    assert "' am at' 60 times over" in outcome.summary
    assert "may be beyond the model" in outcome.summary


@pytest.mark.parametrize(
    ("other", "own", "vouched"),
    [(LOST, LOST, False), (LOST, STORY, True), (Said("\ufffd" * 40), STORY, False)],
    ids=["in its own question too", "in a question that it can answer", "no text at all"],
)
async def test_what_is_broken_is_bad_whoever_asked(session, other: Said, own: Said, vouched: bool):
    """No control makes up for an answer that nothing but a fault can give."""
    assert (await seen_by_others(other, own, session, vouched=vouched)).verdict is Verdict.FAILURE


async def test_what_is_told_stands_on_one_line(session):
    """An answer may hold line breaks; what people read of it does not."""
    broken = Said(calls=(("get_weather", '{"city":\n\n "Oslo"}'),), finish="tool_calls")
    assert "\n" not in (await asked(lambda _: broken, session, Seen())).summary
