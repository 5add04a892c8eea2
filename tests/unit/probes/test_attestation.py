"""The attestation probe: what it asks, and how long it waits for silent processes."""

from __future__ import annotations

from typing import Any

from genesisd.probes.kinds.attestation import Attested
from genesisd.probes.model import Outcome, Verdict, failure, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.spec import AttestationProbe

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
    assert await asked(Answers(success("all"), failure("EngineCore (pid 1): f")), 0, 1) == ["success", "failure"]


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
