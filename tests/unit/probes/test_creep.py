import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from genesisd.probes import procfs
from genesisd.probes.kinds.creep import Creep
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Target
from genesisd.probes.procfs import Stat
from genesisd.probes.spec import CreepProbe
from tests.helpers.wire import Wire

MIB, GIB, HOUR = 1 << 20, 1 << 30, 3600.0
SPEC = CreepProbe()
Curve = Callable[[float, random.Random], float]


@dataclass
class Life:
    """Curves over the seconds of a life, each with noise of its own choice."""

    rss: Curve = lambda at, rng: 8 * GIB
    card: Curve | None = None
    kv: Curve = lambda at, rng: 0.0
    running: Curve = lambda at, rng: 0.0
    hours: float = 4.0
    seed: int = 0
    spec: CreepProbe = SPEC


async def live(life: Life, monkeypatch: pytest.MonkeyPatch) -> list[Outcome]:
    """Everything that is said of a life, looked at every period."""
    now, rng, said = 0.0, random.Random(life.seed), []
    monkeypatch.setattr(procfs, "stat", lambda pid: Stat(pid, "S", 1, 0.0, round(life.rss(now, rng))))

    async def card() -> int | None:
        return None if life.card is None else round(life.card(now, rng))

    def page() -> bytes:
        running = life.running(now, rng)
        return f"vllm:num_requests_running {running}\nvllm:kv_cache_usage_perc {life.kv(now, rng)}\n".encode()

    target = Target("w", 1, 1, "127.0.0.1", 1, members=lambda: [1], card_memory=card)
    probe = Creep(life.spec, Wire({"/metrics": page}))  # type: ignore[arg-type]
    while now < life.hours * HOUR:
        said.append(await probe.ask(target, now))
        now += life.spec.period * rng.uniform(0.9, 1.1)
    await probe.close()
    return said


def noise(size: float) -> Curve:
    return lambda at, rng: rng.uniform(0, size)


def add(*curves: Curve) -> Curve:
    return lambda at, rng: sum(curve(at, rng) for curve in curves)


def level(value: float) -> Curve:
    return lambda at, rng: value


def rate(an_hour: float) -> Curve:
    return lambda at, rng: an_hour * at / HOUR


def saw(size: float, period: float) -> Curve:
    return lambda at, rng: size * (at % period) / period


def steps(*ups: tuple[float, float]) -> Curve:
    """(hour, size) each."""
    return lambda at, rng: sum(size for hour, size in ups if at >= hour * HOUR)


def stairs(size: float, every: float) -> Curve:
    return lambda at, rng: size * (at // every)


def filling(size: float, hours: float) -> Curve:
    """Up to ``size`` within ``hours``, then level."""
    return lambda at, rng: size * min(1.0, at / (hours * HOUR))


def settling(size: float, seconds: float) -> Curve:
    return lambda at, rng: size * (1 - 2.718281828 ** (-at / seconds))


def walk(size: float) -> Curve:
    """A walk without drift: each value is the last one and a bit."""
    last = [0.0]

    def curve(at: float, rng: random.Random) -> float:
        last[0] += rng.gauss(0, size)
        return last[0]

    return curve


BASE = level(8 * GIB)
LEAKS: dict[str, Callable[[], Life]] = {
    "resident_memory_slowly": lambda: Life(rss=add(BASE, rate(130 * MIB))),
    "resident_memory_below_noise": lambda: Life(rss=add(BASE, rate(200 * MIB), noise(300 * MIB))),
    "resident_memory_fast": lambda: Life(rss=add(BASE, rate(4 * GIB)), hours=0.5),
    "resident_memory_under_a_sawtooth": lambda: Life(rss=add(BASE, rate(300 * MIB), saw(GIB, 240))),
    "resident_memory_in_stairs": lambda: Life(rss=add(BASE, stairs(20 * MIB, 300))),
    "resident_memory_after_a_step": lambda: Life(rss=add(BASE, steps((0.5, 2 * GIB)), rate(150 * MIB))),
    "card_memory": lambda: Life(card=add(level(40 * GIB), stairs(2 * MIB, 60), noise(8 * MIB))),
    "resident_memory_after_three_good_hours": lambda: Life(
        rss=lambda at, rng: 8 * GIB + max(0.0, at - 3 * HOUR) / HOUR * 300 * MIB
    ),
    "kv_blocks_that_nobody_frees": lambda: Life(kv=rate(0.02), running=lambda at, rng: rng.choice([0, 0, 1])),
    "kv_blocks_while_traffic_comes_and_goes": lambda: Life(
        kv=lambda at, rng: 0.03 * at / HOUR + (0.4 if at % 600 > 200 else 0.0),
        running=lambda at, rng: 8.0 if at % 600 > 200 else 0.0,
    ),
}

FINE: dict[str, Callable[[], Life]] = {
    "level": Life,
    "noise": lambda: Life(rss=add(BASE, noise(2 * GIB)), card=add(level(GIB), noise(GIB))),
    "growth_of_the_first_minutes": lambda: Life(rss=add(BASE, settling(3 * GIB, 100))),
    "growth_until_a_cache_is_full": lambda: Life(rss=add(BASE, filling(GIB, 0.1))),
    "small_caches_that_fill_for_an_hour": lambda: Life(rss=add(BASE, settling(60 * MIB, 1500), noise(2 * MIB))),
    "a_graph_captured_late": lambda: Life(card=add(level(40 * GIB), steps((1.5, 3 * GIB)))),
    "several_sizes_captured_one_by_one": lambda: Life(
        card=add(level(40 * GIB), steps((0.3, GIB), (0.8, GIB), (1.4, GIB), (2.5, GIB)))
    ),
    "a_sawtooth_of_minutes": lambda: Life(rss=add(BASE, saw(2 * GIB, 400))),
    "a_small_sawtooth_of_half_an_hour": lambda: Life(rss=add(BASE, saw(60 * MIB, HOUR / 2))),
    "a_large_sawtooth_of_half_an_hour_after_an_hour": lambda: Life(
        rss=lambda at, rng: 8 * GIB + (at % (HOUR / 2)) / HOUR * 600 * MIB * (at > HOUR)
    ),
    "kv_sawtooth_under_load": lambda: Life(kv=saw(0.9, 300), running=level(4.0)),
    "kv_of_one_answer_that_takes_an_hour": lambda: Life(kv=rate(0.5), running=level(1.0), hours=1),
    "kv_of_traffic_that_rises_all_morning": lambda: Life(kv=rate(0.2), running=add(level(1.0), rate(5.0))),
    "a_leak_below_what_is_told": lambda: Life(rss=add(BASE, rate(20 * MIB), noise(5 * MIB))),
    "memory_that_is_given_back": lambda: Life(rss=add(BASE, rate(-500 * MIB))),
    "a_walk": lambda: Life(rss=add(BASE, walk(4 * MIB))),
}


@pytest.mark.parametrize("name", LEAKS)
async def test_a_leak_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the end of the time a failure says which measure grows, how fast, and what was expected."""
    outcome = (await live(LEAKS[name](), monkeypatch))[-1]
    assert outcome.verdict is Verdict.FAILURE
    assert "grows by at least" in outcome.summary
    assert ("card memory" in outcome.summary) == name.startswith("card")
    assert ("KV cache" in outcome.summary) == name.startswith("kv")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", FINE)
async def test_odd_but_right_passes(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At no moment of four hours is it told as a leak, and at the end it is called well."""
    life = FINE[name]()
    life.seed = seed
    said = await live(life, monkeypatch)
    assert Verdict.FAILURE not in {one.verdict for one in said}
    assert said[-1].verdict is Verdict.SUCCESS


async def test_a_young_life_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before enough looks over enough time nothing is said, however fast it grows."""
    said = await live(Life(rss=rate(100 * GIB), hours=0.24), monkeypatch)
    assert {one.verdict for one in said} == {Verdict.UNKNOWN}
    assert "are left out" in said[0].summary
    assert "600 s are needed" in said[-1].summary


async def test_an_impatient_operator_is_told_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a short span and a short period a fast leak is told within minutes."""
    spec = CreepProbe(period=1, min_span=30, min_samples=20, memory=MIB)
    said = await live(Life(rss=add(BASE, rate(600 * MIB)), hours=0.02, spec=spec), monkeypatch)
    assert said[-1].verdict is Verdict.FAILURE


async def test_a_tree_that_cannot_be_seen_is_no_low_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that find no process are left out: a climb back from nothing would be growth."""

    def rss(at: float, rng: random.Random) -> float:
        return 0.0 if rng.random() < 0.3 else 8 * GIB

    said = await live(Life(rss=rss, hours=1), monkeypatch)
    assert said[-1].verdict is Verdict.SUCCESS
    assert said[-1].evidence["resident memory"] == {
        "surely_an_hour": 0.0,
        "grown": 0.0,
        "seconds": pytest.approx(3000, abs=400),
    }


async def test_a_server_that_does_not_answer_leaves_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /metrics the KV cache is not looked at, and memory is."""
    monkeypatch.setattr(procfs, "stat", lambda pid: Stat(pid, "S", 1, 0.0, GIB))
    probe: Any = Creep(CreepProbe(min_span=10, period=1, min_samples=3), Wire())  # type: ignore[arg-type]
    target = Target("w", 1, 1, "127.0.0.1", 1, members=lambda: [1])
    said = [await probe.ask(target, float(at)) for at in range(40)]
    assert said[-1].verdict is Verdict.SUCCESS
    assert said[-1].summary.startswith("resident memory: no lasting growth")
    assert (await probe.late(target, 0.0)).verdict is Verdict.UNKNOWN
