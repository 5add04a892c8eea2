"""Dossiers after sweeps: what one sweep has no time for, the next ones make."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.errors import UnavailableError
from genesisd.watch.decisions import Decision, DecisionKind, Dossier, KeptDecision, Outcome
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import Pin
from genesisd.watch.refs import Ref
from genesisd.watch.result import SweepResult
from genesisd.wiring.watch_dossier_rounds import DossierRounds
from tests.fakes.supervision import FakeClock

REF = Ref("vllm-project/vllm", 1)


class Kept:
    """The dossiers that lie there."""

    def __init__(self):
        self.made = []

    async def dossiers(self, patch=None):
        return tuple(self.made)


class Maker:
    """Takes ``seconds`` for each; those in ``vain`` come to nothing."""

    def __init__(self, kept, clock, seconds):
        self.kept, self.clock, self.seconds = kept, clock, seconds
        self.vain, self.asked = set(), []

    async def make(self, patch, ref, pin, known, pins, *, whole):
        assert whole
        self.asked.append(patch)
        self.clock.now += self.seconds
        if patch in self.vain:
            raise UnavailableError("no memory")
        self.kept.made.append(
            Dossier(
                patch=patch,
                ref=ref,
                pin=pin,
                outcome=Outcome.RETIRE,
                edits=(),
                tests={},
                made_at=0.0,
                reason="",
                of="0.32.0",
                ours="edits",
                no_environment=(),
            )
        )


class Patches:
    """All with the same edits."""

    def text_of(self, _):
        return "edits"


class Nights:
    """Sweeps with four retire candidates, a patch each."""

    def __init__(self, seconds):
        self.clock, self.kept = FakeClock(), Kept()
        self.maker = Maker(self.kept, self.clock, seconds)
        self.rounds = DossierRounds(self.kept, self.clock)
        self.pins = (Pin(id="now", version="0.32.0"),)

    async def sweep(self):
        """What was tried, and what was told."""
        self.maker.asked.clear()
        kept = tuple(
            KeptDecision(
                id=n,
                decision=Decision(
                    kind=DecisionKind.RETIRE_CANDIDATE, row="r", ref=REF, patches=(f"P{n}",), pins=("now",), reason=""
                ),
                opened=0.0,
                seen=0.0,
            )
            for n in range(1, 5)
        )
        result = SweepResult(kind=SweepKind.NIGHTLY, window="w", started=0.0, kept=kept, pins=self.pins)
        troubles = await self.rounds.after(result, self.maker, Patches())
        return list(self.maker.asked), troubles


async def test_a_night_makes_those_that_it_has_time_for():
    """The report tells the rest, the next night makes them, and then there is nothing to do."""
    nights = Nights(seconds=450.0)
    asked, (left,) = await nights.sweep()
    assert asked == ["P1", "P2"]
    assert left.startswith(
        "2 dossiers are left for the next sweeps, after 15 min with others: P3 against vllm#1 on now, P4"
    )
    assert await nights.sweep() == (["P3", "P4"], ())
    assert await nights.sweep() == ([], ())


async def test_quick_ones_are_all_made():
    """Nothing is left where nothing is slow."""
    assert await Nights(seconds=1.0).sweep() == (["P1", "P2", "P3", "P4"], ())


async def test_one_that_always_fails_keeps_none_from_its_turn():
    """However long it takes: each night it is told, and after the first it comes last."""
    nights = Nights(seconds=900.0)
    nights.maker.vain = {"P1"}
    asked, troubles = await nights.sweep()
    assert asked == ["P1"]
    assert troubles[0] == "no dossier of P1 against vllm#1 on now: no memory"
    assert troubles[1].startswith("3 dossiers are left")
    assert [(await nights.sweep())[0] for _ in range(4)] == [["P2"], ["P3"], ["P4"], ["P1"]]


@pytest.mark.parametrize(("python", "asked"), [("", []), ("/env/bin/python", ["P1"])])
async def test_one_whose_test_can_be_run_by_now_is_made_anew(python, asked):
    """Its dossier lies there and holds, and yet there is more to know."""
    nights = Nights(seconds=1.0)
    await nights.sweep()
    nights.kept.made[0] = replace(nights.kept.made[0], no_environment=("now",))
    nights.pins = (Pin(id="now", version="0.32.0", python=python),)
    assert (await nights.sweep())[0] == asked
