"""What operators ask of the judge's part, by the daemon."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from genesisd.control.ports import Peer
from genesisd.errors import ConflictError
from genesisd.incidents.model import Incident, Recorded
from genesisd.probes.model import Outcome, Verdict
from genesisd.wiring.correctness_api import CorrectnessApi
from tests.fakes.supervision import FakeClock, FakeSink

PEER = Peer(1, 0, 0)
INCIDENT = Incident(
    "w", 1, 0.0, "garbage-output", "it answers wrong", "wrong", id=7,
    recorded=(Recorded("golden", "failure", "other words"), Recorded("degeneration", "failure", "it repeats")),
)  # fmt: skip


def api(asked: dict[str, Outcome]) -> CorrectnessApi:
    async def ask_once(worker: str, kind: str) -> Outcome:
        if kind not in asked:
            raise ConflictError(f"worker {worker} is not asked for {kind}")
        return asked[kind]

    async def get(_: int) -> Incident:
        return INCIDENT

    supervisor, store = SimpleNamespace(actor=lambda _: None), SimpleNamespace(incidents=SimpleNamespace(get=get))
    return CorrectnessApi(supervisor, SimpleNamespace(ask_once=ask_once), store, FakeSink(), FakeClock())


async def test_what_is_not_asked_any_more_hides_nothing_of_the_rest():
    """A kind was taken out of the configuration since; the others are told as ever."""
    found = await api({"degeneration": Outcome(Verdict.SUCCESS, "whole words")}).replay(7, "w", PEER)
    assert [(one.kind, one.now, one.same) for one in found] == [
        ("golden", "unknown", False), ("degeneration", "success", False),
    ]  # fmt: skip
    assert "not asked for golden" in found[0].now_text


async def test_where_nothing_can_be_asked_it_is_said_why():
    """As an error, with a hint, and not as two unknowns."""
    with pytest.raises(ConflictError, match="not asked for golden"):
        await api({}).replay(7, "w", PEER)
