"""One gate: who waits for it, how long, and who does not."""

import asyncio

from genesisd.watch.sources.gate import Gate
from tests.helpers.upstream import LeapingClock


def gate() -> tuple[Gate, LeapingClock]:
    clock = LeapingClock()
    return Gate(clock, clock.sleep), clock


async def through(one: Gate, patience: float = 1e9) -> float | None:
    async with one.turn(patience) as until:
        return until


async def test_an_open_gate_is_not_waited_for():
    """At first it is open, and good answers leave it so."""
    one, clock = gate()
    assert await through(one) is None
    assert one.told(200, {"x-ratelimit-remaining": "5"}, "") is None
    assert await through(one) is None
    assert clock.slept == []


async def test_all_wait_for_one_refusal():
    """A refusal of one shuts it for all; the first through does not open it a second time."""
    one, clock = gate()
    one.told(403, {"retry-after": "7"}, "")
    await asyncio.gather(*(through(one) for _ in range(5)))
    assert clock.slept == [7]


async def test_one_at_a_time():
    """While one asks, the others wait."""
    one, _ = gate()
    inside = 0

    async def ask() -> None:
        nonlocal inside
        async with one.turn(1.0):
            inside += 1
            assert inside == 1
            for _ in range(5):
                await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(ask() for _ in range(5)))


async def test_the_longest_wait_holds():
    """A shorter refusal does not open what a longer one shut."""
    one, _ = gate()
    one.told(403, {"retry-after": "600"}, "")
    one.told(403, {"retry-after": "5"}, "")
    assert one.shut_for() == 600


async def test_no_one_waits_longer_than_patience():
    """Who would have to wait too long is told until when, at once."""
    one, clock = gate()
    one.told(403, {"retry-after": "600"}, "")
    assert await through(one, 599) == clock.wall() + 600
    assert clock.slept == []
    assert await through(one, 600) is None


async def test_bare_refusals_double_until_something_is_answered():
    """Each bare refusal doubles the wait; an answer starts anew."""
    one, clock = gate()
    for expected in (60, 120, 240):
        one.told(403, {}, "")
        assert one.shut_for() == expected
        await clock.sleep(expected)
    one.told(404, {}, "")
    one.told(403, {}, "")
    assert one.shut_for() == 60


async def test_an_error_of_upstreams_does_not_start_anew():
    """A 5xx between refusals says nothing about limits."""
    one, _ = gate()
    one.told(403, {}, "")
    one.told(502, {}, "")
    one.told(403, {}, "")
    assert one.shut_for() == 120


async def test_after_five_refusals_nobody_waits():
    """Waiting for the sixth would be hammering; once the time is over, one may ask again."""
    one, clock = gate()
    for _ in range(5):
        one.told(429, {}, "")
    assert await through(one) is not None
    clock.now += 960
    assert await through(one) is None


async def test_a_clock_that_is_set_opens_nothing():
    """The wait is by the monotonic clock."""
    one, clock = gate()
    one.told(403, {"retry-after": "600"}, "")
    clock.offset += 86400
    assert one.shut_for() == 600


async def test_the_last_of_the_hour_shuts_it():
    """A good answer that was the last one shuts the gate before upstream has to refuse."""
    one, clock = gate()
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(clock.wall()) + 50)}
    assert one.told(200, headers, "") is None
    await through(one)
    assert clock.slept == [51]
    assert one.refusals == 0


async def test_who_is_cancelled_lets_the_next_one_in():
    """A cancelled wait holds nobody up."""
    clock = LeapingClock()
    started = asyncio.Event()

    async def for_ever(_: float) -> None:
        started.set()
        await asyncio.Event().wait()

    one = Gate(clock, for_ever)
    one.told(403, {"retry-after": "5"}, "")
    waiting = asyncio.create_task(through(one))
    await started.wait()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    clock.now += 5
    assert await through(one) is None
