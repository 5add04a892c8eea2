from collections.abc import Callable, Sequence
from typing import Any

import pytest

from genesisd.probes.kinds.acceptance import Acceptance
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities, Target
from genesisd.probes.spec import AcceptanceProbe
from tests.helpers.wire import Wire

SPEC = AcceptanceProbe()
NAMES = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
Counters = tuple[float, float, float]
"""Drafts, drafted tokens, accepted tokens."""


def page(*engines: Counters) -> bytes:
    lines = [
        f'vllm:spec_decode_{name}_total{{engine="{number}",model_name="tiny"}} {value}'
        for number, counters in enumerate(engines)
        for name, value in zip(NAMES, counters, strict=True)
    ]
    return ("# TYPE vllm:spec_decode_num_drafts counter\n" + "\n".join(lines) + "\n").encode()


def target(speculative: str | None = "mtp") -> Target:
    return Target("w", 1, 1, "127.0.0.1", 1, members=list, abilities=Abilities(speculative=speculative))


async def last(pages: Sequence[bytes], spec: AcceptanceProbe = SPEC, **about: Any) -> Outcome:
    """What is said of the last of pages that are a minute apart."""
    now = 0
    probe = Acceptance(spec, Wire({"/metrics": lambda: pages[now]}))  # type: ignore[arg-type]
    for now in range(len(pages)):
        outcome = await probe.ask(target(**about), 60.0 * now)
    await probe.close()
    return outcome


def steady(share: float, minutes: int = 20, start: float = 0.0, drafts: float = 100) -> list[Counters]:
    """Counters of an engine that accepts ``share`` of four tokens a draft."""
    return [(drafts * (start + i), 4 * drafts * (start + i), 4 * drafts * share * (start + i)) for i in range(minutes)]


def decaying() -> list[Counters]:
    """Good for a long time, and then getting worse: since the start the share is still above the floor."""
    at, found = (0.0, 0.0, 0.0), []
    for minute in range(100):
        share = 0.9 if minute < 80 else 0.4
        at = (at[0] + 100, at[1] + 400, at[2] + 400 * share)
        found.append(at)
    assert at[2] / at[1] > SPEC.floor
    return found


WRONG: dict[str, Callable[[], list[bytes]]] = {
    "nothing_is_accepted": lambda: [page(one) for one in steady(0.0)],
    "a_drafter_with_the_wrong_weights": lambda: [page(one) for one in steady(0.12)],
    "clearly_below_the_floor": lambda: [page(one) for one in steady(0.48)],
    "it_decayed_in_the_last_ten_minutes": lambda: [page(one) for one in decaying()],
    "wrong_since_the_engine_began_again": lambda: [
        page(one) for one in (*steady(0.9, 10, start=1000), *steady(0.2, 20))
    ],
    "one_of_two_engines_drafts_in_vain": lambda: [
        page(good, bad) for good, bad in zip(steady(0.8), steady(0.1), strict=True)
    ],
    "wrong_where_drafts_are_not_counted": lambda: [
        page(one).replace(b"vllm:spec_decode_num_drafts_total", b"other_total") for one in steady(0.3)
    ],
}

RIGHT: dict[str, Callable[[], list[bytes]]] = {
    "well_above": lambda: [page(one) for one in steady(0.85)],
    "just_above_the_floor": lambda: [page(one) for one in steady(0.56)],
    "bad_before_the_first_look": lambda: [page((d + 1e6, t + 4e6, a + 1e5)) for d, t, a in steady(0.7)],
    "bad_longer_ago_than_the_window": lambda: [
        page(one)
        for one in (
            *steady(0.1, 15),
            *((1400 + 100 * i, 5600 + 400 * i, 560 + 300 * i) for i in range(1, 15)),
        )
    ],
    "the_engine_began_again": lambda: [page(one) for one in (*steady(0.7, 10, start=1e4), *steady(0.7, 20))],
    "one_of_two_engines_is_idle": lambda: [page(one, (0, 0, 0)) for one in steady(0.6)],
    "everything_is_accepted": lambda: [page(one) for one in steady(1.0)],
    "a_label_that_ends_in_a_brace": lambda: [page(one).replace(b"tiny", b"a}b{c") for one in steady(0.8)],
}

UNSURE: dict[str, Callable[[], list[bytes]]] = {
    "a_single_look": lambda: [page((1e6, 4e6, 0))],
    "too_few_drafts_all_refused": lambda: [page(one) for one in steady(0.0, drafts=1)],
    "below_the_floor_by_chance": lambda: [page(one) for one in steady(0.45, drafts=7)],
    "nobody_asks_anything": lambda: [page((100, 400, 0))] * 20,
    "a_window_without_traffic_after_bad_hours": lambda: [
        *(page(one) for one in steady(0.1, 20)),
        *([page(steady(0.1, 20)[-1])] * 15),
    ],
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_drafter_that_drafts_in_vain_is_caught(name: str) -> None:
    """Below the floor by more than chance is a failure that names both."""
    outcome = await last(WRONG[name]())
    assert outcome.verdict is Verdict.FAILURE
    assert "drafted tokens were accepted" in outcome.summary
    assert outcome.summary.endswith("expected at least 0.55")


@pytest.mark.parametrize("name", RIGHT)
async def test_odd_but_right_passes(name: str) -> None:
    """What lies above the floor within the window is right, whatever lies before it."""
    assert (await last(RIGHT[name]())).verdict is Verdict.SUCCESS


@pytest.mark.parametrize("name", UNSURE)
async def test_what_may_be_chance_is_unknown(name: str) -> None:
    """Few drafts prove nothing, either way."""
    assert (await last(UNSURE[name]())).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("speculative", "text", "verdict"),
    [
        ("", b"", Verdict.SKIPPED),
        (None, b"vllm:prompt_tokens_total 1\n", Verdict.SKIPPED),
        ("mtp", b"vllm:prompt_tokens_total 1\n", Verdict.UNKNOWN),
        ("mtp", b"x" * (4 << 20), Verdict.UNKNOWN),
        (None, b'vllm:spec_decode_num_draft_tokens_total{a="b"} NaN\n', Verdict.SKIPPED),
    ],
)
async def test_a_worker_without_drafts_is_skipped(speculative: str | None, text: bytes, verdict: Verdict) -> None:
    """Skipped where nothing speculates; unknown where it should and nothing is counted."""
    assert (await last([text], speculative=speculative)).verdict is verdict


async def test_a_server_that_does_not_answer_is_unknown() -> None:
    """Whether it lives is another probe's matter."""
    probe = Acceptance(SPEC, Wire())  # type: ignore[arg-type]
    assert (await probe.ask(target(), 0.0)).verdict is Verdict.UNKNOWN
    assert (await probe.late(target(), 0.0)).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("spec", "method", "verdict"),
    [
        (AcceptanceProbe(), "ngram", Verdict.SKIPPED),
        (AcceptanceProbe(), "suffix", Verdict.SKIPPED),
        (AcceptanceProbe(floor=0.55), "ngram", Verdict.FAILURE),
        (AcceptanceProbe(), "eagle3", Verdict.FAILURE),
    ],
)
async def test_drafts_that_are_copied_from_the_text_have_no_floor_unless_one_is_set(
    spec: AcceptanceProbe, method: str, verdict: Verdict
) -> None:
    """Prompts without repetitions make most of them useless, and nothing is broken."""
    outcome = await last([page(one) for one in steady(0.2)], spec, speculative=method)
    assert outcome.verdict is verdict
    assert ("set a floor" in outcome.summary) is (verdict is Verdict.SKIPPED)
