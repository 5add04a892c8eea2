"""The golden kind against an engine that answers right but for one thing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.probes.model import Verdict
from genesisd.probes.spec import GoldenProbe
from tests.helpers.honest import SEQUENCE, Honest, Say, chunked, framed
from tests.helpers.judged import judging

TURNS = 24
"""Asks; each has room for three questions, so that each case comes up streamed and whole many times."""


def otherwise(tokens, text):
    """The token before the last is another."""
    return [*tokens[:-2], text, tokens[-1]]


def a_word(asked, say):
    return replace(say, tokens=otherwise(say.tokens, "9")) if "sea" in asked.prompt else say


def every_third_time(asked, say):
    return replace(say, tokens=otherwise(say.tokens, "9")) if asked.turn % 3 == 0 else say


def other_question(asked, say):
    return replace(say, tokens=["You ", "said ", "like ", "tea ", "perhaps ", "1", "."])


WRONG = {
    "one-word-of-one-answer": {"say": a_word},
    "only-when-streamed": {"say": lambda asked, say: a_word(asked, say) if asked.stream else say},
    "only-when-whole": {"say": lambda asked, say: say if asked.stream else a_word(asked, say)},
    "cut-short": {"say": lambda asked, say: replace(say, tokens=say.tokens[:3], finish="length")},
    "another-finish-reason": {"say": lambda asked, say: replace(say, finish="length")},
    "same-tokens-lost-a-letter": {"say": lambda asked, say: replace(say, text=say.content().replace("a", "", 1))},
    "thought-left-out": {"say": lambda asked, say: replace(say, thought=None)},
    "thought-as-answer": {"say": lambda a, s: replace(s, thought=None, tokens=[s.thought or "", *s.tokens])},
    "exclamation-marks": {"say": lambda asked, say: Say(["!"] * 20, finish="length")},
    "answer-of-another-question": {"say": other_question},
    "now-and-then": {"say": every_third_time},
    "an-error-of-its-own": {"refuse": lambda asked: (500, "EngineCore encountered an issue")},
    "empty-200": {"whole": lambda asked, document: b""},
    "no-choice": {"whole": lambda asked, document: document | {"choices": []}},
    "no-http": {"send": lambda asked, body, stream: [body]},
    "not-json": {"whole": lambda asked, document: b"<html>"},
    "stream-without-done": {"events": lambda asked, events: events[:-1]},
    "error-in-the-stream": {"events": lambda asked, events: [*events[:3], {"error": {"message": "boom", "code": 500}}]},
    "stream-loses-a-delta": {"events": lambda asked, events: [*events[:2], *events[3:]]},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_engine_is_caught(change):
    """What is wrong for users turns the probe bad, and the failing exchange stands first."""
    honest = Honest()
    async with judging(honest, GoldenProbe()) as judged:
        assert (await judged.asks(3)).good is True
        vars(honest).update(change)
        assert (await judged.asks(TURNS)).good is False, list(judged.told())
        worst = judged.outcomes[-1]
        assert worst.exchanges[0].path == "/v1/chat/completions"
        assert len(worst.summary) <= 320


def tie(asked, say):
    return replace(say, tokens=[SEQUENCE[1] if token == SEQUENCE[0] else token for token in say.tokens])


def bare(document):
    document["choices"][0] = {key: value for key, value in document["choices"][0].items() if key != "token_ids"}
    return document


def renamed(asked, document):
    message = document["choices"][0]["message"]
    message["reasoning_content"] = message.pop("reasoning")
    return document


def terse(asked, events):
    return [b": keep-alive\n\n", *(b"data:" + one[6:] if isinstance(one, bytes) else one for one in events)]


RIGHT = {
    "other-side-of-a-near-tie": {"say": tie},
    "near-ties-now-and-then": {"say": lambda asked, say: tie(asked, say) if asked.turn % 3 == 0 else say},
    "one-token-once-in-a-while": {
        "say": lambda a, s: replace(s, tokens=otherwise(s.tokens, "9")) if a.turn % 25 == 24 else s
    },
    "tells-no-token-ids": {"ids": False},
    "comments-between-events": {"events": terse},
    "bytes-cut-anywhere": {"send": lambda asked, body, stream: [chunked(body, 1) if stream else framed(body)]},
    "no-space-after-data": {
        "send": lambda a, body, s: [chunked(body.replace(b"data: ", b"data:")) if s else framed(body)]
    },
    "carriage-returns": {"send": lambda a, body, s: [chunked(body.replace(b"\n", b"\r\n")) if s else framed(body)]},
    "thoughts-under-the-older-name": {"whole": renamed},
    "fields-that-nobody-knows": {"whole": lambda asked, document: document | {"extra": {"deep": [1]}}},
    "no-usage": {"events": lambda asked, events: [one for one in events if one == "[DONE]" or one["choices"]]},
    "too-busy-at-times": {"refuse": lambda asked: (429, "later") if asked.turn % 2 else None},
}


@pytest.mark.parametrize("change", RIGHT.values(), ids=RIGHT.keys())
async def test_an_odd_but_right_engine_passes(change):
    """What is no fault for users never turns the probe bad, and most asks still succeed."""
    honest = Honest()
    async with judging(honest, GoldenProbe()) as judged:
        vars(honest).update(change)
        assert (await judged.asks(TURNS)).good is True, list(judged.told())
        assert Verdict.FAILURE not in judged.verdicts[-2:]
        if "refuse" not in change:
            assert judged.verdicts.count(Verdict.SUCCESS) >= TURNS - 1


async def test_what_hinders_the_asking_is_unknown():
    """A busy, a forbidding and an unreachable engine are not called wrong."""
    honest = Honest()
    async with judging(honest, GoldenProbe()) as judged:
        for status in (429, 503, 401, 400):
            honest.refuse = lambda asked, status=status: (status, "not now")
            assert (await judged.probe.ask(judged.target, 0.0)).verdict is Verdict.UNKNOWN
        gone = replace(judged.target, port=1)
        assert (await judged.probe.ask(gone, 0.0)).verdict is Verdict.UNKNOWN
        assert (await judged.probe.late(judged.target, 0.0)).verdict is Verdict.UNKNOWN


async def test_nothing_recorded_is_skipped():
    """Without a recording of this build and this casebook there is nothing to compare with, and it says so."""
    honest = Honest()
    async with judging(honest, GoldenProbe()) as judged:
        golden = judged.golden
        judged.golden = None
        assert "nothing is recorded" in (await judged.probe.ask(judged.target, 0.0)).summary
        judged.golden = replace(golden, casebook="other@0")
        outcome = await judged.probe.ask(judged.target, 0.0)
        assert outcome.verdict is Verdict.SKIPPED
        assert "record it anew" in outcome.summary


async def test_the_failing_case_is_asked_first_and_in_the_same_way():
    """After a failure the next ask begins with the case that failed, streamed if it was streamed."""
    honest = Honest()
    async with judging(honest, GoldenProbe()) as judged:
        honest.say = lambda asked, say: a_word(asked, say) if asked.stream else say
        await judged.asks(TURNS)
        first, second = judged.outcomes[-2:]
        assert [one.evidence["case"] for one in (first, second)] == ["sea", "sea"]
        assert second.exchanges[-1].request["stream"] is True
        assert len(second.exchanges) == 2


async def test_near_ties_are_told():
    """An excused difference is in the summary, so that people see how often it happens."""
    honest = Honest()
    async with judging(honest, GoldenProbe()) as judged:
        honest.say = tie
        await judged.asks(1)
        assert "near tie" in judged.outcomes[0].summary
