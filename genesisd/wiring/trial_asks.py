"""Asking a twin the questions that its original answered wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum

import aiohttp

from genesisd.clock import Clock
from genesisd.probes import PROBES, by_deadline
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Target
from genesisd.probes.spec import CorrectnessSpec

ALL_CASES = 10_000_000
"""Tokens that one ask may cost here: no case waits for its turn."""
TRIES = 3
"""Asks that may come to nothing before a kind counts as unanswered."""
PAUSE = 1.0


class Finding(StrEnum):
    """What the questions came to."""

    PASSES = "passes"
    FAILS = "fails"
    UNKNOWN = "unknown"


async def ask_kinds(
    target: Target, specs: Sequence[CorrectnessSpec], session: aiohttp.ClientSession, clock: Clock
) -> tuple[Finding, str]:
    """Ask each kind as often as it takes to believe it; the first that fails decides.

    One that could not be asked hides no failure of another, and no pass is believed without it.
    """
    if not specs:
        return Finding.UNKNOWN, "there is nothing to ask"
    unasked = ""
    for spec in specs:
        found, text = await _ask(target, spec, session, clock)
        if found is Finding.FAILS:
            return found, f"{spec.kind}: {text}"
        if found is Finding.UNKNOWN:
            unasked = unasked or f"{spec.kind}: {text}"
    return (Finding.UNKNOWN, unasked) if unasked else (Finding.PASSES, "every question was answered right")


async def ask_all_cases(target: Target, spec: CorrectnessSpec, session: aiohttp.ClientSession, clock: Clock) -> Outcome:
    """Ask once, with every case in it."""
    probe = PROBES[spec.kind](spec.model_copy(update={"max_tokens": ALL_CASES}), session)
    try:
        return await by_deadline.ask(probe, target, spec.timeout, clock, lambda: None)
    finally:
        await probe.close()


async def _ask(
    target: Target, spec: CorrectnessSpec, session: aiohttp.ClientSession, clock: Clock
) -> tuple[Finding, str]:
    probe = PROBES[spec.kind](spec.model_copy(update={"max_tokens": ALL_CASES}), session)
    failures = empty = 0
    last = Outcome(Verdict.UNKNOWN, "not asked")
    try:
        while failures < spec.failures and empty < TRIES:
            last = await by_deadline.ask(probe, target, spec.timeout, clock, lambda: None)
            if last.verdict is Verdict.SUCCESS:
                return Finding.PASSES, last.summary
            failures += last.verdict is Verdict.FAILURE
            empty += last.verdict in {Verdict.UNKNOWN, Verdict.SKIPPED}
            await asyncio.sleep(0 if last.verdict is Verdict.FAILURE else PAUSE)
    finally:
        await probe.close()
    return (Finding.FAILS if failures >= spec.failures else Finding.UNKNOWN), last.summary
