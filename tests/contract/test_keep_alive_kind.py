"""The keep-alive kind against a server whose connections are right but for one thing."""

from __future__ import annotations

import itertools
import time

import pytest

from genesisd.probes.held_up import HeldUp
from genesisd.probes.kinds import keep_alive
from genesisd.probes.model import Verdict
from genesisd.probes.spec import KeepAliveProbe
from tests.helpers.honest import Honest, chunked, framed
from tests.helpers.judged import judging


@pytest.fixture(autouse=True)
def never_held_up(monkeypatch):
    """However late this machine's loop is, no answer is excused by that."""
    monkeypatch.setattr(keep_alive, "HeldUp", lambda: HeldUp(clock=lambda: 0.0))


def usual(asked, body, stream):
    return chunked(body) if stream else framed(body)


def one_behind():
    """From the second request of a connection on, the answer to the one before."""
    before = {}

    def send(asked, body, stream):
        last = before.get("body") if asked.on_connection > 1 and not stream else None
        before["body"] = body if not stream else before.get("body")
        return [usual(asked, last or body, stream)]

    return send


def later(change):
    """A change of what follows the first answer of a connection."""
    return lambda asked, body, stream: (
        change(asked, body, stream) if asked.on_connection > 1 else [usual(asked, body, stream)]
    )


def short_length(asked, body, stream):
    whole = usual(asked, body, stream)
    return [whole.replace(b"Content-Length: %d" % len(body), b"Content-Length: %d" % (len(body) - 5))]


WRONG = {
    "answer-to-the-request-before": {"send": one_behind()},
    "bytes-left-behind": {"send": later(lambda a, body, s: [usual(a, body, s) + b"\r\nleft over"])},
    "every-answer-twice": {"send": later(lambda a, body, s: [usual(a, body, s) * 2])},
    "closes-what-it-promised-to-keep": {"send": lambda a, body, s: [usual(a, body, s), b""]},
    "closes-in-the-middle": {"send": later(lambda a, body, s: [usual(a, body, s)[:-9], b""])},
    "length-too-short": {"send": later(short_length)},
    "refuses-the-second": {
        "refuse": lambda a: (400, "Invalid HTTP request received.") if a.on_connection == 2 else None
    },
    "fails-on-the-third": {"refuse": lambda a: (500, "boom") if a.on_connection == 3 else None},
    "silent-on-the-second": {"send": later(lambda a, body, s: [])},
    "stream-without-its-end-mark": {"send": later(lambda a, b, s: [usual(a, b.replace(b"data: [DONE]", b""), s)])},
    "empty-second": {"send": later(lambda a, body, s: [framed(b"")])},
    "no-http": {"send": later(lambda a, body, s: [body])},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_server_is_caught(change, monkeypatch):
    """What only a kept connection shows turns the probe bad, while fresh ones are answered right."""
    monkeypatch.setattr(keep_alive, "_PATIENCE", 0.5)
    honest = Honest()
    async with judging(honest, KeepAliveProbe()) as judged:
        assert (await judged.asks(2)).good is True, list(judged.told())
        vars(honest).update(change)
        assert (await judged.asks(2)).good is False, list(judged.told())
        assert "on a kept connection" in judged.outcomes[-1].summary


def closes(asked, body, stream):
    """A server that keeps nothing and says so."""
    return [
        usual(asked, body, stream).replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n"),
        b"",
    ]


def without_length(asked, body, stream):
    return [b"HTTP/1.0 200 OK\r\n\r\n" + body, b""]


def once(change):
    """The change comes once only."""
    first = itertools.count()
    return later(lambda a, body, s: change(a, body, s) if next(first) == 0 else [usual(a, body, s)])


RIGHT = {
    "the-same": ({}, Verdict.SUCCESS),
    "says-that-it-closes": ({"send": closes}, Verdict.SKIPPED),
    "ends-answers-by-closing": ({"send": without_length}, Verdict.SKIPPED),
    "everything-in-chunks": ({"send": lambda a, body, s: [chunked(body, 7)]}, Verdict.SUCCESS),
    "keep-alive-is-spelt-out": (
        {
            "send": lambda a, b, s: [
                usual(a, b, s).replace(b"\r\n", b"\r\nKeep-Alive: timeout=5\r\nCONNECTION: Keep-Alive\r\n", 1)
            ]
        },
        Verdict.SUCCESS,
    ),
    "one-byte-at-a-time": (
        {"send": lambda a, b, s: [bytes([one]) for one in usual(a, b, s)]},
        Verdict.SUCCESS,
    ),
    "broke-once": ({"send": once(lambda a, body, s: [usual(a, body, s)[:-9], b""])}, Verdict.SUCCESS),
}


@pytest.mark.parametrize(("change", "verdict"), RIGHT.values(), ids=RIGHT.keys())
async def test_an_odd_but_right_server_passes(change, verdict):
    """Servers may close if they say so, and frame as they like."""
    honest = Honest()
    async with judging(honest, KeepAliveProbe()) as judged:
        vars(honest).update(change)
        await judged.asks(4)
        assert set(judged.verdicts) == {verdict}, list(judged.told())


async def test_an_engine_that_wavers_anywhere_is_not_blamed_on_the_connection():
    """Where fresh connections are answered otherwise too, nothing is said of kept ones."""
    honest = Honest()
    turns = itertools.count()
    async with judging(honest, KeepAliveProbe()) as judged:
        honest.say = lambda asked, say: type(say)([*say.tokens, f"{next(turns)}"])
        await judged.asks(3)
        assert set(judged.verdicts) == {Verdict.UNKNOWN}, list(judged.told())


async def test_a_slow_server_is_not_blamed_on_the_connection(monkeypatch):
    """Where fresh connections wait as long as the kept one did, the server is busy."""
    honest = Honest()
    async with judging(honest, KeepAliveProbe()) as judged:
        honest.send = later(lambda a, body, s: [])
        monkeypatch.setattr(keep_alive, "_PATIENCE", 0.3)
        slow = judged.probe._ask_afresh

        async def patient(*args):
            found = await slow(*args)
            if any(one.status == 0 for one in judged.probe._asking.exchanges):
                judged.probe._slowest = 2.0
            return found

        monkeypatch.setattr(judged.probe, "_ask_afresh", patient)
        outcome = await judged.probe.ask(judged.target, 0.0)
        assert outcome.verdict is Verdict.UNKNOWN
        assert "busy" in outcome.summary


async def test_a_busy_server_is_unknown():
    """A server that is too busy on the kept connection could not be asked."""
    honest = Honest()
    async with judging(honest, KeepAliveProbe()) as judged:
        honest.refuse = lambda asked: (503, "later") if asked.on_connection > 1 else None
        assert (await judged.probe.ask(judged.target, 0.0)).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("change", "verdict"),
    [("closes-what-it-promised-to-keep", Verdict.UNKNOWN), ("answer-to-the-request-before", Verdict.FAILURE)],
)
async def test_a_server_that_closes_while_genesisd_stands_still_may(change, verdict, monkeypatch):
    """Servers close what was idle for some seconds; an answer that came wrong is wrong all the same."""
    held = HeldUp(longest=3.0)
    monkeypatch.setattr(keep_alive, "HeldUp", lambda: held)
    honest = Honest()
    async with judging(honest, KeepAliveProbe()) as judged:
        vars(honest).update(WRONG[change])
        outcome = await judged.probe.ask(judged.target, 0.0)
        assert outcome.verdict is verdict
        assert ("stood still for 3.0 s" in outcome.summary) is (verdict is Verdict.UNKNOWN)


async def test_standing_still_is_measured():
    """A block of the loop shows, also one that lasts until the end of what is watched; its absence does too."""
    async with HeldUp() as held:
        time.sleep(0.3)
    assert held.longest >= 0.2
    async with HeldUp(clock=lambda: 5.0) as calm:
        pass
    assert calm.longest == 0.0
