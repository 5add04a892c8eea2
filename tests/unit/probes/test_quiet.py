from collections.abc import Callable, Sequence
from typing import Any

import aiohttp
import pytest

from genesisd.probes.cost import Ledger, Mood
from genesisd.probes.ports import Target, Traffic
from genesisd.probes.quiet import Quiet
from genesisd.probes.spec import CostSpec
from tests.helpers.wire import Wire


def page(running: float = 0, waiting: float = 0, tokens: float = 0, kv: float = 0) -> bytes:
    return (
        f"vllm:num_requests_running {running}\nvllm:num_requests_waiting {waiting}\n"
        f"vllm:generation_tokens_total {tokens}\nvllm:kv_cache_usage_perc {kv}\n"
    ).encode()


class Moment:
    """What one look finds. ``front``: (in flight, answered); None for what does not answer."""

    def __init__(self, at: float, front: tuple[int, int] | None = None, load: int | None = None, **engine: Any) -> None:
        self.at, self.front, self.load = at, front, load
        self.engine = page(**engine) if engine.pop("up", True) else None


async def moods(moments: Sequence[Moment]) -> list[Mood]:
    """One scene for as many looks as it takes."""
    left = list(moments)
    now: list[Moment] = []

    async def traffic() -> Traffic | None:
        now.append(left.pop(0))
        front = now[-1].front
        return None if front is None else Traffic(front[0], 0, 0.0, front[1])

    def engine() -> bytes:
        if now[-1].engine is None:
            raise aiohttp.ClientConnectionError("refused")
        return now[-1].engine

    def load() -> bytes:
        if now[-1].load is None:
            raise aiohttp.ClientConnectionError("refused")
        return b'{"server_load": %d}' % now[-1].load

    wire = Wire({"/metrics": engine, "/load": load})
    target = Target("w", 1, 1, "127.0.0.1", 1, members=list, traffic=traffic)
    quiet = Quiet(wire, Ledger(CostSpec()))  # type: ignore[arg-type]
    found = []
    while left:
        found.append((await quiet.scene(target, lambda: now[-1].at, settle=0.0)).mood)
    return found


CASES: dict[str, tuple[Callable[[], list[Moment]], list[Mood]]] = {
    "nobody by the front": (lambda: [Moment(0, (0, 5)), Moment(1, (0, 5))], [Mood.QUIET]),
    "somebody by the front": (lambda: [Moment(0, (1, 5))], [Mood.BUSY]),
    "somebody between two looks": (lambda: [Moment(0, (0, 5)), Moment(1, (1, 5))], [Mood.BUSY]),
    "a gap between two requests": (
        lambda: [Moment(0, (0, 5)), Moment(1, (0, 6)), Moment(2, (0, 6))],
        [Mood.BUSY, Mood.QUIET],
    ),
    "a gap between two requests without a front": (
        lambda: [Moment(0, load=0), Moment(1, load=0, tokens=500), Moment(2, load=0, tokens=500)],
        [Mood.BUSY, Mood.QUIET],
    ),
    "a gauge left over behind a front": (
        lambda: [Moment(0, (0, 5), running=106), Moment(1, (0, 5), running=106)],
        [Mood.QUIET],
    ),
    "requests wait in the engine": (lambda: [Moment(0, (9, 5), running=4, waiting=5)], [Mood.SATURATED]),
    "more wait than were sent": (lambda: [Moment(0, (2, 5), running=1, waiting=50)], [Mood.BUSY]),
    "an hour without anybody": (
        lambda: [Moment(0, (0, 5)), Moment(1, (0, 5)), Moment(3600, (0, 5))],
        [Mood.QUIET, Mood.IDLE],
    ),
    "an hour in which somebody was there": (
        lambda: [Moment(0, (0, 5)), Moment(1, (0, 5)), Moment(3600, (0, 6)), Moment(3601, (0, 6))],
        [Mood.QUIET, Mood.QUIET],
    ),
    "load without a front": (lambda: [Moment(0, load=1)], [Mood.BUSY]),
    "load and a queue without a front": (lambda: [Moment(0, load=9, running=4, waiting=5)], [Mood.SATURATED]),
    "nobody without a front": (lambda: [Moment(0, load=0), Moment(1, load=0)], [Mood.QUIET]),
    "a gauge without load tracking": (
        lambda: [Moment(0, load=0, running=1, tokens=1), Moment(1, load=0, running=1, tokens=9)],
        [Mood.BUSY, Mood.BUSY],
    ),
    "a long prefill without load tracking": (
        lambda: [Moment(0, load=0, running=1, kv=0.1), Moment(1, load=0, running=1, kv=0.2)],
        [Mood.BUSY, Mood.BUSY],
    ),
    "a gauge left over": (
        lambda: [Moment(0, load=0, running=106), Moment(1, load=0, running=106), Moment(2, load=0, running=106)],
        [Mood.BUSY, Mood.QUIET],
    ),
    "an hour of other probes' tokens": (
        lambda: [Moment(0, load=0), Moment(1, load=0), Moment(61, load=0, tokens=60)],
        [Mood.QUIET, Mood.IDLE],
    ),
    "users between looks without a front": (
        lambda: [
            Moment(0, load=0),
            Moment(1, load=0),
            Moment(61, load=0, tokens=9000),
            Moment(62, load=0, tokens=9000),
        ],
        [Mood.QUIET, Mood.QUIET],
    ),
    "nothing answers": (lambda: [Moment(0, up=False), Moment(1, up=False)], [Mood.QUIET]),
    "nothing answered for long": (
        lambda: [Moment(0, up=False), Moment(1, up=False), Moment(90, up=False), Moment(91, up=False)],
        [Mood.QUIET, Mood.QUIET],
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_how_a_worker_is(name: str) -> None:
    """The front's word counts most, then /load, then what moves; one look alone proves no quiet."""
    moments, expected = CASES[name]
    assert await moods(moments()) == expected


async def test_refusals_are_counted_while_the_engine_is_saturated() -> None:
    """The first one is none: waits grow from the second on, and begin anew after a better moment."""
    front = [(3, 0), (3, 0), (3, 0), (1, 0), (3, 0)]
    waits = [2.0, 2.0, 2.0, 0.0, 2.0]
    step = -1

    async def traffic() -> Traffic:
        nonlocal step
        step += 1
        return Traffic(front[step][0], 0, 0.0, 0)

    quiet = Quiet(Wire({"/metrics": lambda: page(running=1, waiting=waits[step])}), Ledger(CostSpec()))  # type: ignore[arg-type]
    target = Target("w", 1, 1, "127.0.0.1", 1, members=list, traffic=traffic)
    found = [await quiet.scene(target, lambda: float(step)) for _ in front]
    assert [one.refusals for one in found] == [0, 1, 2, 0, 0]
    assert [one.mood for one in found] == [Mood.SATURATED] * 3 + [Mood.BUSY, Mood.SATURATED]


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"server_load": "x"}', b'{"server_load": null}', b"\xff"])
async def test_a_strange_load_is_no_load(answer: bytes) -> None:
    """Whatever /load says, a look comes to an end."""
    quiet = Quiet(Wire({"/metrics": page, "/load": lambda: answer}), Ledger(CostSpec()))  # type: ignore[arg-type]
    target = Target("w", 1, 1, "127.0.0.1", 1, members=list)
    assert (await quiet.scene(target, lambda: 0.0, settle=0.0)).mood is Mood.QUIET
