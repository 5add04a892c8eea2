from collections.abc import Callable, Sequence
from typing import Any

import pytest

from genesisd.probes.kinds.latency import Latency
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Target
from genesisd.probes.spec import LatencyProbe
from tests.helpers.wire import Wire

TARGET = Target("w", 1, 1, "127.0.0.1", 1, members=list)
SPEC = LatencyProbe(first_token=0.5, per_token=0.05)
TTFT, ITL = "vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds"
TPOT = "vllm:request_time_per_output_token_seconds"
EDGES = {TTFT: (0.1, 0.25, 0.5, 0.75, 1.0, 5.0), ITL: (0.01, 0.025, 0.05, 0.075, 0.1, 1.0)}
EDGES[TPOT] = EDGES["vllm:time_per_output_token_seconds"] = EDGES[ITL]
Page = dict[str, Sequence[float]]
"""Histogram -> every value since the engine began."""


def render(values: Page, engine: int = 0) -> bytes:
    lines = []
    for name, every in values.items():
        for edge in (*EDGES[name], float("inf")):
            text = "+Inf" if edge == float("inf") else str(edge)
            count = sum(one <= edge for one in every)
            lines.append(f'{name}_bucket{{engine="{engine}",le="{text}",model_name="tiny"}} {float(count)}')
        lines.append(f'{name}_count{{engine="{engine}"}} {float(len(every))}')
    return ("\n".join(lines) + "\n").encode()


async def last(pages: Sequence[bytes], spec: LatencyProbe = SPEC) -> Outcome:
    """What is said of the last of pages that are a minute apart."""
    now = 0
    probe = Latency(spec, Wire({"/metrics": lambda: pages[now]}))  # type: ignore[arg-type]
    for now in range(len(pages)):
        outcome = await probe.ask(TARGET, 60.0 * now)
    await probe.close()
    return outcome


def growing(first: Sequence[float], each: Sequence[float], name: str = ITL, minutes: int = 5) -> list[bytes]:
    """The same values again every minute."""
    return [render({TTFT: list(first) * n, name: list(each) * n}) for n in range(minutes)]


GOOD, QUICK = [0.2] * 20, [0.02] * 20

WRONG: dict[str, Callable[[], list[bytes]]] = {
    "every_first_token_is_slow": lambda: growing([2.0] * 20, QUICK),
    "one_in_ten_first_tokens_is_slow": lambda: growing([*GOOD[:18], 3.0, 3.0], QUICK),
    "every_token_is_slow": lambda: growing(GOOD, [0.2] * 20),
    "some_tokens_are_beyond_the_last_edge": lambda: growing(GOOD, [*QUICK[:18], 9.0, 9.0]),
    "slow_by_the_old_name": lambda: growing(GOOD, [0.2] * 20, "vllm:time_per_output_token_seconds"),
    "slow_by_the_requests_own_mean": lambda: growing(GOOD, [0.2] * 20, TPOT),
    "slow_of_late_after_quick_hours": lambda: [
        render({TTFT: GOOD * 1000 + [2.0] * 20 * n, ITL: QUICK}) for n in range(5)
    ],
    "slow_since_the_engine_began_again": lambda: [
        *growing(GOOD * 10, QUICK, minutes=3)[1:],
        *growing([2.0] * 200, QUICK, minutes=4)[1:],
    ],
    "one_of_two_engines_is_slow": lambda: [
        render({TTFT: GOOD * n, ITL: QUICK * n}) + render({TTFT: [3.0] * 20 * n, ITL: QUICK * n}, 1) for n in range(5)
    ],
}

RIGHT: dict[str, Callable[[], list[bytes]]] = {
    "quick": lambda: growing(GOOD, QUICK),
    "exactly_at_the_objective": lambda: growing([0.5] * 20, [0.05] * 20),
    "one_in_twenty_is_slow": lambda: growing([*GOOD[:19], 60.0], QUICK),
    "slow_before_the_first_look": lambda: [
        render({TTFT: [9.0] * 1000 + GOOD * n, ITL: [9.0] * 1000 + QUICK * n}) for n in range(5)
    ],
    "slow_longer_ago_than_the_window": lambda: [
        render({TTFT: [9.0] * 40 * min(n, 5) + GOOD * n, ITL: QUICK * n}) for n in range(20)
    ],
    "the_engine_began_again": lambda: [*growing(GOOD, QUICK)[2:], *growing(GOOD, QUICK)[1:]],
    "speculation_makes_steps_long_and_tokens_quick": lambda: [
        render({TTFT: GOOD * n, ITL: [0.09] * 20 * n, TPOT: QUICK * n}) for n in range(5)
    ],
    "long_prefills_among_many_short_ones": lambda: growing([*GOOD * 4, 90.0, 90.0], QUICK),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_server_that_is_too_slow_is_caught(name: str) -> None:
    """An objective that is surely missed within the window is a failure that says by how much."""
    outcome = await last(WRONG[name]())
    assert outcome.verdict is Verdict.FAILURE
    assert "expected 95% of" in outcome.summary


@pytest.mark.parametrize("name", RIGHT)
async def test_odd_but_right_passes(name: str) -> None:
    """What is quick within the window is right, whatever lies before it."""
    assert (await last(RIGHT[name]())).verdict is Verdict.SUCCESS


@pytest.mark.parametrize(
    "pages",
    [
        growing([2.0] * 4, [0.2] * 4, minutes=2),
        [render({TTFT: [9.0] * 100, ITL: [9.0] * 100})],
        [render({TTFT: [9.0] * 100, ITL: [9.0] * 100})] * 5,
        [b"x" * (4 << 20)],
    ],
    ids=["few requests", "a single look", "nobody asks anything", "a page that was cut"],
)
async def test_too_little_is_unknown(pages: list[bytes]) -> None:
    """Few requests prove nothing, however slow."""
    assert (await last(pages)).verdict is Verdict.UNKNOWN


async def test_an_objective_between_two_edges_is_not_guessed() -> None:
    """Where the histogram cannot tell, it is unknown and the objectives that can be told are named."""
    spec = LatencyProbe(first_token=0.3)
    outcome = await last(growing([0.26] * 20, QUICK), spec)
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.summary.endswith("an objective of 0.25 or 0.5 s can be told exactly")
    assert (await last(growing([0.6] * 20, QUICK), spec)).verdict is Verdict.FAILURE
    assert (await last(growing([0.2] * 20, QUICK), spec)).verdict is Verdict.SUCCESS


async def test_an_objective_beyond_the_last_edge_is_not_guessed() -> None:
    """All that is known of a value above every edge is that it lies above."""
    spec = LatencyProbe(first_token=60)
    assert (await last(growing([59.0] * 20, QUICK), spec)).verdict is Verdict.UNKNOWN
    assert (await last(growing([4.0] * 20, QUICK), spec)).verdict is Verdict.SUCCESS


@pytest.mark.parametrize(
    ("spec", "text"),
    [({}, b""), ({"first_token": 1}, b"vllm:prompt_tokens_total 1\n"), ({"per_token": 1}, render({TTFT: [1.0]}))],
    ids=["no objective", "no histogram", "another histogram"],
)
async def test_nothing_to_weigh_is_skipped(spec: dict[str, Any], text: bytes) -> None:
    """Without an objective, or on a server without histograms, the probe has nothing to say."""
    assert (await last([text], LatencyProbe(**spec))).verdict is Verdict.SKIPPED


async def test_a_failure_is_said_though_the_other_objective_is_kept() -> None:
    """The worst of the two objectives is the verdict, and only it is told."""
    outcome = await last(growing(GOOD, [0.2] * 20))
    assert outcome.summary.startswith("time per token: at most 0.0% within 0.05 s")
    assert "first token" not in outcome.summary


async def test_a_server_that_does_not_answer_is_unknown() -> None:
    """Whether it lives is another probe's matter."""
    probe = Latency(SPEC, Wire())  # type: ignore[arg-type]
    assert (await probe.ask(TARGET, 0.0)).verdict is Verdict.UNKNOWN
    assert (await probe.late(TARGET, 0.0)).verdict is Verdict.UNKNOWN
