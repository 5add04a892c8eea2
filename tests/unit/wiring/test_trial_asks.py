"""What questions to a twin come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from genesisd.probes.model import Outcome, failure, skipped, success, unknown
from genesisd.probes.spec import DegenerationProbe, GoldenProbe, KeepAliveProbe
from genesisd.wiring import trial_asks
from genesisd.wiring.trial_asks import Finding, ask_kinds
from tests.fakes.supervision import FakeClock

SPECS = (GoldenProbe(), DegenerationProbe(), KeepAliveProbe())
YES, NO, BUSY, LACKS = success("right"), failure("wrong"), unknown("busy"), skipped("it has none")


class Scripted:
    """Answers in turn, the last one for ever."""

    answers: Mapping[str, Sequence[Outcome]] = {}

    def __init__(self, spec, _session):
        self.left = list(self.answers.get(spec.kind, [YES]))

    async def ask(self, _target, _now):
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]

    async def close(self):
        pass


@pytest.mark.parametrize(
    ("answers", "finding", "words"),
    [
        ({}, Finding.PASSES, "every question"),
        ({"golden": [NO, YES]}, Finding.PASSES, "every question"),
        ({"golden": [NO]}, Finding.FAILS, "golden: wrong"),
        ({"golden": [BUSY, NO]}, Finding.FAILS, "golden: wrong"),
        ({"keep-alive": [BUSY]}, Finding.UNKNOWN, "keep-alive: busy"),
        ({"golden": [LACKS], "degeneration": [NO]}, Finding.FAILS, "degeneration: wrong"),
        ({"golden": [BUSY], "keep-alive": [LACKS]}, Finding.UNKNOWN, "golden: busy"),
    ],
)
async def test_what_several_kinds_come_to(monkeypatch, answers, finding, words):
    """A failure counts whatever else could not be asked; a pass is believed only of all."""
    monkeypatch.setattr(trial_asks, "PAUSE", 0)
    monkeypatch.setattr(trial_asks, "PROBES", {spec.kind: Scripted for spec in SPECS})
    monkeypatch.setattr(Scripted, "answers", answers)
    found, text = await ask_kinds(None, SPECS, None, FakeClock())
    assert (found, text.startswith(words)) == (finding, True)
