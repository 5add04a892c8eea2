"""The recorder: one open incident a worker, fed by events, kept by the store."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from genesisd.incidents.model import Happening, Incident, Recorded
from genesisd.incidents.redact import Redactor
from genesisd.telemetry.subscription import Told
from genesisd.wiring.incidents import IncidentRecorder
from tests.fakes.supervision import FakeClock, FakeSink

ASK = Recorded("golden", "failure", "other words", "/v1/completions", {"prompt": "x"}, 200, "y")
EXIT = {"cause": "cuda-oom", "text": "the card ran out of memory", "code": 1, "signal": None}


class Table:
    """Implements what is needed of ``store.incidents``."""

    def __init__(self, *known: Incident) -> None:
        self.known = {one.id: one for one in known}

    def load(self):
        return tuple(one for one in self.known.values() if one.closed is None)

    def open(self, incident):
        incident = replace(incident, id=len(self.known) + 1)
        self.known[incident.id] = incident
        return incident

    def update(self, incident):
        self.known[incident.id] = incident


class World:
    """A recorder with everything around it."""

    def __init__(self, table: Table | None = None, *, soon: bool = False) -> None:
        self.table = table or Table()
        self.sink = FakeSink()
        self.ready = True
        self.saved: list[tuple[str, int, str]] = []
        self.fail: Exception | None = None
        waits = 0.0 if soon else 3600.0
        self.recorder = IncidentRecorder(
            self.table,
            self.sink,
            FakeClock(),
            ready=lambda _: self.ready,
            build=lambda worker: f"build of {worker}",
            redact=Redactor(["hush-hush"]),
            save=self.save,
            lasting=waits,
            settled=waits,
        )

    async def save(self, worker, incarnation, reason):
        if self.fail is not None:
            raise self.fail
        self.saved.append((worker, incarnation, reason.code))

    def tell(self, kind, worker="llm", incarnation=7, at=1000.0, **fields):
        self.recorder.listen(Told(None, at, kind, worker, incarnation, fields))

    @property
    def only(self) -> Incident:
        (incident,) = self.table.known.values()
        return incident


@pytest.fixture
async def world():
    world = World()
    yield world
    await world.recorder.close()


@pytest.fixture
async def soon():
    world = World(soon=True)
    yield world
    await world.recorder.close()


async def settled() -> None:
    """Let timers of no time and tasks run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_death_opens_one_incident_and_the_next_goes_into_it(world):
    """It is told once, with what the store gave as its id."""
    world.tell("worker_exited", **EXIT)
    world.tell("worker_restart", cause="cuda-oom")
    world.tell("worker_exited", incarnation=8, **EXIT)
    assert [one.what for one in world.only.happenings] == ["exit", "restart", "exit"]
    assert (world.only.cause, world.only.incarnation, world.only.build) == ("cuda-oom", 7, "build of llm")
    (told,) = world.sink.of("incident_opened")
    assert (told["incident"], told["cause"], told["incarnation"]) == (1, "cuda-oom", 7)
    assert world.recorder.open_of("llm") == world.only
    await settled()
    assert world.saved == [("llm", 7, "cuda-oom")]


async def test_a_death_that_was_asked_for_opens_none(world):
    """Neither do events of no worker, nor its own."""
    world.tell("worker_exited", cause="stopped", text="asked")
    world.tell("store_error", worker=None, text="x")
    world.tell("incident_opened", text="x")
    assert world.table.known == {}


async def test_two_workers_have_two_incidents(world):
    """What happens to one is not in the other's."""
    world.tell("worker_exited", **EXIT)
    world.tell("liveness_failed", worker="other", summary="no token")
    assert {one.worker: one.cause for one in world.table.known.values()} == {"llm": "cuda-oom", "other": "hung"}


async def test_evidence_of_a_hang_is_the_actors_and_its_folder_is_noted(world):
    """It is saved once, before the end."""
    world.tell("liveness_failed", summary="no token")
    world.tell("evidence_saved", path="/x/1")
    await settled()
    assert world.saved == []
    assert world.only.evidence == "/x/1"


async def test_evidence_that_cannot_be_saved_is_told(world):
    """And nothing else suffers."""
    world.fail = OSError("no room")
    world.tell("worker_exited", **EXIT)
    await settled()
    assert world.sink.of("effect_failed")[0]["text"] == "no room"
    assert world.only.closed is None


async def test_a_worker_that_is_ready_again_and_stays_so_is_well(soon):
    """The incident is closed, and told."""
    soon.tell("worker_exited", **EXIT)
    soon.tell("worker_ready", seconds=30.0)
    await settled()
    assert soon.only.closed is not None
    assert soon.sink.of("incident_closed")[0]["incident"] == 1
    soon.tell("worker_exited", **EXIT)
    assert len(soon.table.known) == 2


async def test_one_that_dies_again_meanwhile_is_not(soon):
    """The time begins anew with the next readiness."""
    soon.tell("worker_exited", **EXIT)
    soon.tell("worker_ready", seconds=30.0)
    soon.tell("worker_exited", **EXIT)
    await settled()
    assert soon.only.closed is None


async def test_one_that_is_not_ready_when_the_time_is_over_is_not(soon):
    """Whatever events were missed."""
    soon.ready = False
    soon.tell("worker_exited", **EXIT)
    soon.tell("worker_ready", seconds=30.0)
    await settled()
    assert soon.only.closed is None


async def test_bad_probes_wait_for_the_judge(soon):
    """Readiness says nothing about what is answered."""
    soon.recorder.asked("llm", [ASK])
    soon.tell("judge_restart", kinds=["golden"], text="golden is bad")
    soon.tell("worker_ready", seconds=30.0)
    await settled()
    assert soon.only.closed is None
    assert (soon.only.cause, soon.only.recorded, soon.only.probes) == ("garbage-output", (ASK,), ("golden",))
    soon.tell("judge_cured", text="good again")
    assert soon.only.closed is not None
    assert soon.only.happenings[-1].what == "cured"


@pytest.mark.parametrize("verb", ["start", "restart", "reset", "reconfigure"])
async def test_a_person_who_begins_anew_takes_it_from_the_judge(soon, verb):
    """It forgets, so it will not say that the worker is cured: staying ready is enough then."""
    soon.tell("judge_hold", kinds=["golden"], text="golden is bad")
    soon.tell("order", verb="replay", peer="uid 0")
    soon.tell("worker_ready", seconds=30.0)
    await settled()
    assert soon.only.closed is None
    soon.tell("order", verb=verb, peer="uid 0")
    await settled()
    assert soon.only.closed is not None


async def test_what_is_bad_again_is_the_judges_again(soon):
    """Whatever a person ordered before."""
    soon.tell("judge_hold", kinds=["golden"], text="golden is bad")
    soon.ready = False
    soon.tell("order", verb="start", peer="uid 0")
    soon.tell("judge_told", step="alert", kinds=["golden"], text="golden is bad")
    soon.ready = True
    soon.tell("worker_ready", seconds=30.0)
    await settled()
    assert soon.only.closed is None


async def test_memory_that_comes_back_soon_is_no_fault(world):
    """A gate must be shut for a while."""
    world.tell("gate_shut", code="vram-held", text="held by pid 5")
    world.tell("worker_spawned", pid=6)
    assert world.table.known == {}
    assert world.recorder._lasts._handles == {}


async def test_memory_that_stays_held_is_one(soon):
    """It names who holds it."""
    soon.tell("gate_shut", code="vram-held", text="held by pid 5")
    await settled()
    assert (soon.only.cause, soon.only.text) == ("orphaned-vram", "held by pid 5")


async def test_an_operators_stop_ends_it(world):
    """Nothing is wrong with a worker that is not to run; without one nothing happens."""
    world.tell("worker_phase", phase="stopped", reason_code="operator", reason="stopped by the operator")
    assert world.table.known == {}
    world.tell("worker_exited", **EXIT)
    world.tell("worker_phase", phase="stopped", reason_code="operator", reason="stopped by the operator")
    assert world.only.closed is not None
    world.recorder.cured("llm", "again")
    assert len(world.sink.of("incident_closed")) == 1


async def test_a_new_daemon_goes_on_with_what_was_open():
    """The same incident grows, and is closed."""
    first = World()
    first.tell("worker_exited", **EXIT)
    second = World(first.table)
    second.tell("worker_exited", **EXIT)
    assert len(first.table.known) == 1
    assert second.sink.of("incident_opened") == []
    second.recorder.cured("llm", "good")
    assert first.only.closed == pytest.approx(1_800_001_000.0)
    await settled()
    await first.recorder.close()
    await second.recorder.close()


async def test_what_is_noted_without_an_event_counts_as_one(world):
    """With its cause, probes, asks and build."""
    happening = Happening(5.0, "probe", "answers nonsense")
    world.recorder.note("llm", 9, happening, cause="garbage-output", recorded=[ASK], probes=["golden"], build="b9")
    assert (world.only.build, world.only.incarnation, world.only.recorded) == ("b9", 9, (ASK,))
    world.recorder.note("llm", 9, Happening(6.0, "alert", "quiet"), fault=False)
    assert len(world.only.happenings) == 2
    world.recorder.note("other", 1, Happening(6.0, "alert", "quiet"), fault=False)
    assert len(world.table.known) == 1


async def test_later_asks_of_a_bad_worker_are_kept_too(world):
    """Those of a kind that is good again are not."""
    world.tell("judge_told", step="alert", kinds=["golden"], text="x")
    world.recorder.asked("llm", [ASK])
    assert world.only.recorded == (ASK,)
    assert world.recorder.transcript("llm") == (ASK,)
    world.recorder.well("llm", "golden")
    assert world.recorder.transcript("llm") == ()


async def test_no_secret_gets_into_an_incident(world):
    """Whoever said it."""
    world.recorder.asked("llm", [replace(ASK, text="key hush-hush", request={"api_key": "hush-hush"})])
    world.tell("worker_exited", cause="crash", text="ValueError: hush-hush; prompt: 'what I asked'")
    world.tell("judge_restart", kinds=["golden"], text="golden said hush-hush")
    assert "hush-hush" not in repr(world.only)
    assert "what I asked" not in repr(world.only)
    assert "golden said [masked]" in repr(world.only)
    world.tell("liveness_failed", summary="no token", evidence='{"error": "denied: hush-hush"}')
    assert "denied: [masked]" in repr(world.only)
    assert "hush-hush" not in repr(world.only)
