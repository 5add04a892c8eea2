"""Answers under a grammar: servers that break it are caught, whatever they break, and odd spellings are not."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from genesisd.probes.casebook import Casebook, StructuredCase
from genesisd.probes.http_client import open_session
from genesisd.probes.kinds.structured_output import StructuredOutput
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.spec import StructuredOutputProbe
from tests.helpers.scripted import Said, Script, engine

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "letters": {"type": "integer"}},
    "required": ["city", "letters"],
    "additionalProperties": False,
}


def case(name: str, form: Any, constraint: object) -> StructuredCase:
    return StructuredCase(name, {"messages": [{"role": "user", "content": name}]}, form, constraint)


BOOK = Casebook(
    structured=(
        case("card", "json_schema", SCHEMA),
        case("plate", "regex", "[A-Z]{2}-[0-9]{3}"),
        case("way", "choice", ["north", "south"]),
    )
)
ANSWERS = {"card": '{"city": "Rome", "letters": 4}', "plate": "AB-123", "way": "north"}


def right(body: dict[str, Any]) -> Said:
    return Said(ANSWERS[body["messages"][0]["content"]])


def on(name: str, wrong: Said, stream: bool | None = None) -> Script:
    def script(body: dict[str, Any]) -> Said:
        hit = body["messages"][0]["content"] == name and stream in {None, body["stream"]}
        return wrong if hit else right(body)

    return script


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


async def asked(script: Script, session: aiohttp.ClientSession, book: Casebook = BOOK, **spec: Any) -> Outcome:
    async with engine(script) as one:
        probe = StructuredOutput(StructuredOutputProbe(max_tokens=100_000, **spec), session)
        return await probe.ask(one.target(casebook=book), 0.0)


WRONG: dict[str, tuple[Script, str]] = {
    "prose instead of JSON": (
        on("card", Said("Rome has four letters.")),
        'case card (json_schema), whole: "Rome has four letters." is no JSON',
    ),
    "JSON in a fence": (on("card", Said(f"```json\n{ANSWERS['card']}\n```")), "is no JSON"),
    "words before the JSON": (on("card", Said(f"Here: {ANSWERS['card']}")), "is no JSON"),
    "JSON that was cut, and yet ends with stop": (on("card", Said('{"city": "Ro')), "is no JSON"),
    "two objects": (on("card", Said(ANSWERS["card"] * 2)), "is no JSON"),
    "a field is missing": (on("card", Said('{"city": "Rome"}')), "breaks the schema: data must contain ['letters']"),
    "a number becomes text": (on("card", Said('{"city": "Rome", "letters": "4"}')), "data.letters must be integer"),
    "no number": (on("card", Said('{"city": "Rome", "letters": NaN}')), "NaN is no JSON value"),
    "a field too many": (on("card", Said('{"city": "Rome", "letters": 4, "x": 1}')), "breaks the schema"),
    "the end of the thoughts is left": (on("card", Said(f"</think>{ANSWERS['card']}")), "is no JSON"),
    "a streamed answer loses its first piece": (
        on("card", Said(ANSWERS["card"][1:]), stream=True),
        "case card (json_schema), streamed",
    ),
    "a plate with a letter too many": (on("plate", Said("ABC-123")), '"ABC-123" does not match "[A-Z]{2}-[0-9]{3}"'),
    "a plate with a word behind it": (on("plate", Said("AB-123.")), "case plate (regex), whole"),
    "a plate with a line break": (on("plate", Said("AB-123\n")), "does not match"),
    "a way that is no choice": (on("way", Said("east")), '"east" is none of "north, south"'),
    "a way in quotation marks": (on("way", Said('"north"')), "is none of"),
    "a way of two": (on("way", Said("north south")), "is none of"),
    "nothing": (on("way", Said(None)), "case way (choice), whole: 200 without content"),
    "a flood instead of JSON": (on("card", Said("!" * 90, finish="length")), "!!!"),
    "a flood instead of a way": (on("way", Said("!" * 90, finish="length")), "is none of"),
    "an error of its own": (
        on("way", Said(status=500, raw='{"error": {"message": "grammar"}}')),
        "answered 500: grammar",
    ),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_server_is_caught(name: str, session: aiohttp.ClientSession) -> None:
    """The sentence says the case, the form, what came and what was expected; its exchange stands first."""
    script, excerpt = WRONG[name]
    outcome = await asked(script, session)
    assert (outcome.verdict, excerpt in outcome.summary) == (Verdict.FAILURE, True), outcome.summary
    assert len(outcome.summary) <= 220
    assert outcome.exchanges[0].request["messages"][0]["content"] in outcome.summary  # type: ignore[index]


RIGHT: dict[str, Script] = {
    "as it should be": right,
    "white space within and around": on("card", Said(' {\n\t"letters" : 4,\n\t"city":"Rome"}\n')),
    "other values": on("card", Said('{"city": "", "letters": -7}')),
    "a whole number with a point": on("card", Said('{"city": "Rome", "letters": 4.0}')),
    "letters as escapes": on("card", Said('{"city": "S\\u00e3o Paulo", "letters": 8}')),
    "thoughts before it": on("plate", Said("QZ-660", reasoning="The red one. {")),
    "thoughts by their older name": on("way", Said("south", reasoning="From Rome.", key="reasoning_content")),
    "one character a chunk": on("card", Said(ANSWERS["card"], cuts=1)),
    "a whole answer at the very bound": on("plate", Said("AB-123", finish="length")),
}


@pytest.mark.parametrize("name", RIGHT)
async def test_an_odd_but_right_server_passes(name: str, session: aiohttp.ClientSession) -> None:
    """What keeps to the constraint is right."""
    outcome = await asked(RIGHT[name], session)
    assert outcome.summary == "6 of 6 cases asked, all answered right"
    assert outcome.verdict is Verdict.SUCCESS


CUT = {
    "while it was thought": ("card", Said(reasoning="I think of Rome", finish="length")),
    "within the JSON": ("card", Said('{"city": "Ro', finish="length")),
    "within a word of JSON": ("card", Said('{"city": tr', finish="length")),
    "within a way": ("way", Said("nor", finish="length")),
    "within a plate": ("plate", Said("AB-", finish="length")),
}


@pytest.mark.parametrize("name", CUT)
async def test_an_answer_that_was_cut_proves_nothing(name: str, session: aiohttp.ClientSession) -> None:
    """It might have become right: told, but no failure."""
    what, said = CUT[name]
    outcome = await asked(on(what, said), session)
    assert outcome.verdict is Verdict.SUCCESS
    assert "4 of 6 cases asked, all answered right; not judged: case" in outcome.summary
    assert "was cut after 20 tokens" in outcome.summary


async def test_the_constraint_is_sent_in_the_engines_words(session: aiohttp.ClientSession) -> None:
    """A schema as a response format, the others as structured outputs; greedily, and with a seed."""
    async with engine(right) as one:
        await StructuredOutput(StructuredOutputProbe(), session).ask(one.target(casebook=BOOK), 0.0)
    sent = {body["messages"][0]["content"]: body for body in one.asked}
    assert sent["card"]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert sent["plate"]["structured_outputs"] == {"regex": "[A-Z]{2}-[0-9]{3}"}
    assert sent["way"]["structured_outputs"] == {"choice": ["north", "south"]}
    assert all(body["temperature"] == 0 and body["seed"] for body in one.asked)


async def test_forms_that_are_not_wanted_are_left_out(session: aiohttp.ClientSession) -> None:
    """Only what the configuration lists is asked; nothing left is skipped."""
    assert "2 of 2" in (await asked(right, session, forms=("regex",))).summary
    none = await asked(right, session, Casebook(structured=BOOK.structured[:1]), forms=("choice",))
    assert none.verdict is Verdict.SKIPPED
    assert none.summary == "the casebook has no questions with a constraint of choice"


async def test_a_flood_of_white_space_is_no_json_that_was_cut(session: aiohttp.ClientSession) -> None:
    """An answer that goes on for many times what sufficed before has lost its way, though JSON may begin so."""
    answers = [ANSWERS["card"], "\n" * 300]
    card = Casebook(structured=BOOK.structured[:1])
    script: Script = lambda _: Said(  # noqa: E731
        answers[0] if len(one.asked) <= 2 else answers[1],
        finish="stop" if len(one.asked) <= 2 else "length",
        tokens=20 if len(one.asked) <= 2 else 300,
    )
    async with engine(script) as one:
        probe, target = StructuredOutput(StructuredOutputProbe(), session), one.target(casebook=card)
        assert (await probe.ask(target, 0.0)).verdict is Verdict.SUCCESS
        outcome = await probe.ask(target, 0.0)
    assert outcome.verdict is Verdict.FAILURE
    assert json.dumps("\n" * 10)[1:-1] in outcome.summary
