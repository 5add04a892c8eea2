"""Tool calls: servers that answer wrong in each known way are caught, and those that are only odd are not."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from genesisd.probes.casebook import Call, Casebook, ToolCase
from genesisd.probes.http_client import open_session
from genesisd.probes.kinds.tool_calls import ToolCalls
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities
from genesisd.probes.spec import ToolCallsProbe
from tests.helpers.scripted import Said, Script, engine

ARGUMENTS = '{"city": "Berlin", "days": 2}'
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


def case(name: str, asks: str, *calls: Call, **more: Any) -> ToolCase:
    return ToolCase(name, {"messages": [{"role": "user", "content": asks}], "tools": [TOOL]}, calls, **more)


BERLIN = Call("get_weather", {"city": "Berlin", "days": 2})
LIMA = Call("get_weather", {"city": "Lima", "days": 3})
ONE = case("berlin", "Weather in Berlin?", BERLIN)
TWO = case("both", "Compare Berlin and Lima.", BERLIN, LIMA)
NONE = case("bees", "Why do bees make honey?", text=True)
QUOTE = case("quote", "Which tag opens a call?", text=True)
GOOD = Said(calls=(("get_weather", ARGUMENTS),), finish="tool_calls")
BOTH = replace(GOOD, calls=(("get_weather", ARGUMENTS), ("get_weather", '{"days": 3, "city": "Lima"}')))
PROSE = Said("For the winter.")


def right(body: dict[str, Any]) -> Said:
    """Each case as a good engine answers it."""
    asks = body["messages"][0]["content"]
    if "Berlin and" in asks:
        return BOTH
    if "Berlin" in asks:
        return replace(GOOD, finish="stop") if isinstance(body["tool_choice"], dict) else GOOD
    return Said("The tag <tool_call> opens one, and </tool_call> ends it.") if "tag" in asks else PROSE


def when(wrong: Said, **matches: Any) -> Script:
    """The good engine, but for requests with these fields."""
    hits = lambda body: all(body.get(name, False) == value for name, value in matches.items())  # noqa: E731
    return lambda body: wrong if hits(body) else right(body)


def on(asks: str, wrong: Said) -> Script:
    return lambda body: wrong if asks in body["messages"][0]["content"] else right(body)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


async def asked(script: Script, session: aiohttp.ClientSession, **more: Any) -> Outcome:
    """One ask that has room for every case."""
    book = more.pop("casebook", Casebook(tools=(ONE, TWO, NONE, QUOTE)))
    async with engine(script) as one:
        probe = ToolCalls(ToolCallsProbe(max_tokens=100_000), session)
        target = one.target(casebook=book, **more)
        outcome = await probe.ask(target, 0.0)
        await probe.close()
        assert one.open == 0
    assert target.seen.count == len(outcome.exchanges)
    return outcome


WRONG: dict[str, tuple[Script, str]] = {
    "a call is lost when streamed": (
        when(Said(content=None, finish="stop"), stream=True, tool_choice="auto"),
        "case berlin (auto), streamed: no call came, expected 1 call (get_weather); asked whole, the same case is right",
    ),
    "a call is lost when whole": (
        when(Said("I would call it."), stream=False, tool_choice="required"),
        "case berlin (required), whole: no call came, expected 1 call (get_weather); asked streamed, the same case is right",
    ),
    "a call is lost in either form": (
        when(Said("No."), tool_choice="required"),
        "case berlin (required), streamed: no call came, expected 1 call (get_weather); asked whole, it is wrong too",
    ),
    "two arguments are swapped": (
        on("Weather", replace(GOOD, calls=(("get_weather", '{"city": 2, "days": "Berlin"}'),))),
        'get_weather got {"city": 2, "days": "Berlin"}, expected {"city": "Berlin", "days": 2}',
    ),
    "a number becomes text": (
        on("Weather", replace(GOOD, calls=(("get_weather", '{"city": "Berlin", "days": "2"}'),))),
        'got {"city": "Berlin", "days": "2"}, expected',
    ),
    "an argument is true instead of 1": (
        on("Weather", replace(GOOD, calls=(("get_weather", '{"city": "Berlin", "days": true}'),))),
        'got {"city": "Berlin", "days": true}',
    ),
    "arguments are cut": (
        on("Weather", replace(GOOD, calls=(("get_weather", '{"city": "Ber'),))),
        'the arguments of get_weather are no JSON object: {"city": "Ber',
    ),
    "arguments are JSON within JSON": (
        on("Weather", replace(GOOD, calls=(("get_weather", '"{\\"city\\": \\"Berlin\\", \\"days\\": 2}"'),))),
        "are no JSON object",
    ),
    "an argument is no number": (
        on("Weather", replace(GOOD, calls=(("get_weather", '{"city": "Berlin", "days": NaN}'),))),
        "are no JSON object",
    ),
    "another tool is called": (
        on("Weather", replace(GOOD, calls=(("set_timer", ARGUMENTS),))),
        "a call of set_timer came, expected get_weather",
    ),
    "the name is doubled": (
        on("Weather", replace(GOOD, calls=(("get_weatherget_weather", ARGUMENTS),))),
        "a call of get_weatherget_weather came",
    ),
    "a call comes twice": (
        on("Weather", replace(GOOD, calls=GOOD.calls * 2)),
        "2 calls (get_weather, get_weather) came, expected 1 call (get_weather)",
    ),
    "the second of two calls is lost": (
        when(replace(BOTH, calls=BOTH.calls[:1]), stream=True, messages=TWO.body["messages"]),
        "case both (auto), streamed: 1 call (get_weather) came, expected 2 calls (get_weather, get_weather); asked whole",
    ),
    "calls are in another order": (
        on("Compare", replace(BOTH, calls=BOTH.calls[::-1])),
        "the calls came in another order",
    ),
    "two calls share an id": (on("Compare", replace(BOTH, ids=("a", "a"))), "2 calls share the id 'a'"),
    "a call has no id": (on("Weather", replace(GOOD, ids=(None,))), "1 of 1 calls came without an id"),
    "the finish reason is stop": (
        when(replace(GOOD, finish="stop"), tool_choice="auto", messages=ONE.body["messages"]),
        "finish reason 'stop' after the calls, expected 'tool_calls'",
    ),
    "the call comes as text": (
        on("Weather", Said('<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>')),
        "<tool_call> leaked into the content",
    ),
    "a tag is left beside the call": (
        on("Weather", replace(GOOD, content="</tool_call>")),
        "</tool_call> leaked into the content",
    ),
    "the end of the thoughts is left": (on("Weather", replace(GOOD, content="</think>")), "</think> leaked"),
    "the call stays within the thoughts": (
        on("Weather", Said(reasoning='So.<tool_call>\n{"name": "get_weather"}', finish="stop")),
        "a call stands in the text",
    ),
    "a call comes where none is wanted": (
        on("bees", replace(GOOD, calls=(("get_weather", "{}"),))),
        "case bees (auto), streamed: 1 call (get_weather) came, though no call is wanted",
    ),
    "a call as text where none is wanted": (
        on("tag", Said("<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>")),
        "a call stands in the text",
    ),
    "nothing comes where words are wanted": (on("bees", Said(None)), "no words came, expected some"),
    "prose ends as if it were a call": (
        on("bees", replace(PROSE, finish="tool_calls")),
        "finish reason 'tool_calls' without",
    ),
    "an error of its own": (
        on("Weather", Said(status=500, raw='{"error": {"message": "boom"}}')),
        "answered 500: boom",
    ),
    "the stream has no end": (
        when(replace(GOOD, done=False), stream=True, tool_choice="auto", messages=ONE.body["messages"]),
        "case berlin (auto), streamed: the stream of /v1/chat/completions ended without [DONE]",
    ),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_server_is_caught(name: str, session: aiohttp.ClientSession) -> None:
    """The sentence says the case, the form, what came and what was expected; its exchange stands first."""
    script, excerpt = WRONG[name]
    outcome = await asked(script, session)
    assert (outcome.verdict, excerpt in outcome.summary) == (Verdict.FAILURE, True), outcome.summary
    assert len(outcome.summary) <= 220
    assert outcome.exchanges[0].status in {200, 500}
    assert outcome.evidence["case"] in outcome.summary


RIGHT: dict[str, Script] = {
    "as it should be": right,
    "arguments in another order, with white space": on(
        "Weather", replace(GOOD, calls=(("get_weather", '{\n  "days":2 ,\t"city" : "Berlin"}'),))
    ),
    "a whole number written with a point": on(
        "Weather", replace(GOOD, calls=(("get_weather", '{"city": "Berlin", "days": 2.0}'),))
    ),
    "letters written as escapes": on(
        "Weather", replace(GOOD, calls=(("get_weather", '{"city": "\\u0042erlin", "days": 2}'),))
    ),
    "a named call that ends with tool_calls": on("Weather", GOOD),
    "words beside the call": on("Weather", replace(GOOD, content="I look it up.")),
    "white space beside the call": on("Weather", replace(GOOD, content="\n\n")),
    "empty content": on("Weather", replace(GOOD, content="")),
    "thoughts that name the tag": on("Weather", replace(GOOD, reasoning="I write <tool_call> and the name.")),
    "thoughts by their older name": on("Weather", replace(GOOD, reasoning="Hm.", key="reasoning_content")),
    "one character a chunk": on("Weather", replace(GOOD, cuts=1)),
    "all in one chunk": on("Weather", replace(GOOD, cuts=1000)),
    "ids that look like numbers": on("Compare", replace(BOTH, ids=("0", "1"))),
    "prose that was cut": on("bees", replace(PROSE, finish="length")),
    "prose that quotes a pair of tags": on("tag", Said("Between <function=foo> and </function>, after <tool_call>.")),
}


@pytest.mark.parametrize("name", RIGHT)
async def test_an_odd_but_right_server_passes(name: str, session: aiohttp.ClientSession) -> None:
    """What clients do not mind is no failure."""
    outcome = await asked(RIGHT[name], session)
    assert outcome.verdict is Verdict.SUCCESS, outcome.summary
    assert outcome.summary == "14 of 14 cases asked, all answered right"


OPEN: dict[str, tuple[Script, Verdict, str]] = {
    "too busy": (lambda _: Said(status=429, raw="{}"), Verdict.UNKNOWN, "could not ask"),
    "still thinking": (on("", Said(reasoning="Hm", finish="length")), Verdict.UNKNOWN, "was cut after 20 tokens"),
    "cut within the call, which then comes as text": (
        on("Weather", Said('<tool_call>\n{"name": "get_w', finish="length")),
        Verdict.SUCCESS,
        "not judged: case berlin (auto), streamed was cut",
    ),
    "asked too much": (lambda _: Said(status=400, raw='{"error": {"message": "context"}}'), Verdict.UNKNOWN, "context"),
    "no parser": (
        lambda _: Said(status=400, raw='{"error": {"message": "\\"auto\\" tool choice requires --tool-call-parser"}}'),
        Verdict.SKIPPED,
        "cannot be asked",
    ),
}


@pytest.mark.parametrize("name", OPEN)
async def test_what_proves_nothing_is_no_failure(name: str, session: aiohttp.ClientSession) -> None:
    """Busy, thinking, refused and unable are told apart from wrong."""
    script, verdict, excerpt = OPEN[name]
    outcome = await asked(script, session)
    assert (outcome.verdict, excerpt in outcome.summary) == (verdict, True), outcome.summary


async def test_without_parser_or_questions_it_is_skipped(session: aiohttp.ClientSession) -> None:
    """Nothing is asked, and the reason is told."""
    lacking = await asked(right, session, abilities=Abilities(tool_parser=""))
    empty = await asked(right, session, casebook=Casebook())
    assert [lacking.verdict, empty.verdict] == [Verdict.SKIPPED] * 2
    assert (lacking.exchanges, empty.exchanges) == ((), ())
    assert "without a tool parser" in lacking.summary
    assert "no questions" in empty.summary


async def test_an_answer_far_longer_than_before_is_no_long_thought(session: aiohttp.ClientSession) -> None:
    """A case that once took 20 tokens and is cut after 500 has lost its call."""
    answers = [GOOD, Said("so " * 9, finish="length", tokens=500)]
    async with engine(lambda body: answers[min(len(one.asked) - 1, 1)]) as one:
        probe = ToolCalls(ToolCallsProbe(max_tokens=1, stream=(True,), choices=("auto",)), session)
        target = one.target(casebook=Casebook(tools=(ONE,)))
        assert (await probe.ask(target, 0.0)).verdict is Verdict.SUCCESS
        outcome = await probe.ask(target, 0.0)
    assert (outcome.verdict, "no call came" in outcome.summary) == (Verdict.FAILURE, True)


async def test_cases_take_turns_within_the_budget_and_the_failed_one_comes_first(
    session: aiohttp.ClientSession,
) -> None:
    """An ask with room for two forms goes on where the last one ended, until one fails."""
    bad = {"on": False}
    script: Script = lambda body: Said("No.") if bad["on"] and body["tool_choice"] == "required" else right(body)  # noqa: E731
    async with engine(script) as one:
        probe = ToolCalls(ToolCallsProbe(max_tokens=600), session)
        target = one.target(casebook=Casebook(tools=(ONE,)))
        await probe.ask(target, 0.0)
        assert [(body["tool_choice"], body["stream"]) for body in one.asked] == [("auto", True), ("auto", False)]
        bad["on"] = True
        one.asked.clear()
        assert (await probe.ask(target, 0.0)).verdict is Verdict.FAILURE
        one.asked.clear()
        bad["on"] = False
        assert (await probe.ask(target, 0.0)).verdict is Verdict.SUCCESS
        assert (one.asked[0]["tool_choice"], one.asked[0]["stream"]) == ("required", True)
