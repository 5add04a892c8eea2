"""The attestation probe: what it asks, and how long it waits for silent processes."""

from __future__ import annotations

from typing import Any, cast

import pytest

from genesisd.probes.kinds import attestation
from genesisd.probes.kinds.attestation import Attested
from genesisd.probes.loop import Watch
from genesisd.probes.model import Outcome, Verdict, failure, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.spec import AttestationProbe, ProbesSpec
from tests.helpers.listening import Ear

SPEC = AttestationProbe(grace=30)


class Answers:
    """An attester that says one thing after the other and remembers how it was asked."""

    def __init__(self, *outcomes: Outcome) -> None:
        self._outcomes = list(outcomes)
        self.overdue: list[bool] = []

    async def attest(self, *, overdue: bool) -> Outcome:
        self.overdue.append(overdue)
        return self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]


def target(attester: Answers | None) -> Target:
    return Target("w", 1, 10, "127.0.0.1", 8000, members=lambda: (), attester=attester)


async def asked(attester: Answers, *times: float) -> list[Verdict]:
    session: Any = None
    probe = Attested(SPEC, session)
    return [(await probe.ask(target(attester), at)).verdict for at in times]


async def test_the_answer_is_passed_on():
    """Attested is a success, refused a failure, with the attester's own words."""
    attester = Answers(success("all"), success("all"), failure("EngineCore (pid 1): f"))
    assert await asked(attester, 0, 2, 3) == ["unknown", "success", "failure"]


async def test_what_was_loaded_last_is_waited_for():
    """All well counts when it still is once the processes had the time to report what they loaded before."""
    assert await asked(Answers(success("all")), 0, 1, 1.4, 1.6, 2) == ["unknown"] * 3 + ["success"] * 2
    well, late, bad = success("all"), unknown("Worker has not reported"), failure("API server (pid 1): f")
    assert await asked(Answers(well, bad), 0, 2) == ["unknown", "failure"]
    assert await asked(Answers(well, late, well), 0, 1, 2, 3, 4) == ["unknown"] * 4 + ["success"]


async def test_a_report_that_is_behind_makes_nothing_ready(monkeypatch: pytest.MonkeyPatch):
    """The reports of the first look are older than the swapped code: it is never let in to traffic."""
    monkeypatch.setattr(attestation, "SETTLING", 0.02)
    ear, session = Ear(), cast("Any", None)
    spec = ProbesSpec(startup=(), readiness=(AttestationProbe(period=0.001, jitter=0),), liveness=())
    watch = Watch(target(Answers(success("all"), failure("API server (pid 1): f"))), spec, ear, session)
    watch.start()
    assert (await ear.hears("ready"))[1] is False
    await watch.close()


async def test_silence_becomes_overdue_after_the_grace():
    """Counted from the first ask that was answered 'not yet'."""
    attester = Answers(unknown("EngineCore has not reported"))
    await asked(attester, 100, 129, 130, 131)
    assert attester.overdue == [False, False, True, True]


async def test_a_new_process_has_the_whole_grace_again():
    """What was awaited before and came is not held against it."""
    late = unknown("Worker has not reported")
    attester = Answers(late, success("all"), late, late, late)
    await asked(attester, 0, 20, 40, 60, 75)
    assert attester.overdue == [False, False, False, False, True]


async def test_a_refusal_starts_no_wait():
    """The grace is for silence alone."""
    attester = Answers(failure("f"), failure("f"), unknown("late"), unknown("late"))
    await asked(attester, 0, 40, 50, 60)
    assert attester.overdue == [False] * 4


async def test_a_worker_without_a_build_cannot_be_asked():
    """Unknown: neither a yes nor a no."""
    session: Any = None
    probe = Attested(SPEC, session)
    assert (await probe.ask(target(None), 0)).verdict is Verdict.UNKNOWN
    assert (await probe.late(target(None), 9)).verdict is Verdict.UNKNOWN
    await probe.close()
