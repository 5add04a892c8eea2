"""Recording what is right, while the worker does not hold still."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from genesisd.attest.model import State
from genesisd.errors import ConflictError
from genesisd.probes.golden import Golden, Reply
from genesisd.probes.model import Outcome, Verdict
from genesisd.supervisor.model import Phase
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import golden_service
from genesisd.wiring.golden_service import GoldenService
from genesisd.wiring.goldens import Goldens, Subject
from genesisd.wiring.starts import PatchNote, Start
from tests.fakes.supervision import FakeClock, FakeSink, life

BUILT = Subject("m", "cpu", "cpu-1+aa")


class Box:
    """One ready worker with one patch, whose life can be taken away at any question."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.state = SimpleNamespace(incarnation=1, phase=Phase.READY)
        notes = {"P1": PatchNote("applied"), "P2": PatchNote("quarantined"), "P3": PatchNote("superseded")}
        self.start = Start("cpu-1+aa", notes, incarnation=1, pin="cpu")
        self.goldens, self.sink = Goldens(folder / "goldens"), FakeSink()
        self.asked: list[str | None] = []
        self.at_once = self.most = 0
        self.hook = lambda _what: None
        actor = SimpleNamespace(state=self.state)
        supervisor = SimpleNamespace(
            specs={"w": WorkerSpec(pin="cpu", model="m")}, actors={"w": actor}, actor=lambda _: actor
        )
        seen = SimpleNamespace(attestation=SimpleNamespace(state=State.ATTESTED, summary=""))
        monkeypatch.setattr(golden_service, "record", self.record)
        self.service = GoldenService(
            lambda: supervisor, lambda name: life(name, self.state.incarnation),
            lambda one, _: SimpleNamespace(worker=one.worker, casebook=None), self.run_now,
            SimpleNamespace(look=lambda _: asyncio.sleep(0, seen)),
            SimpleNamespace(running=lambda _, n: self.start if n == self.start.incarnation else None),
            self.goldens, SimpleNamespace(run=self.scratch), None, lambda _: None, folder, self.sink, FakeClock(),
        )  # fmt: skip

    async def run_now(self, worker: str, kind: str):
        self.hook(kind)
        return life(worker), Outcome(Verdict.SUCCESS, "right")

    async def record(self, _target, _book, _session, *, model, pin, build, weights, recorded):
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0)
        self.hook(build)
        self.asked.append(build)
        self.at_once -= 1
        return Golden(model, pin, build, "book@1", {"a": Reply("1")}, weights=weights, recorded=recorded)

    async def scratch(self, _worker, _pin, without, _text, ask):
        self.without = set(without)
        return await ask(SimpleNamespace(worker="scratch-1", casebook=None))

    def new_life(self) -> None:
        self.state.incarnation = 2


@pytest.fixture
def box(tmp_path, monkeypatch):
    return Box(tmp_path, monkeypatch)


async def test_a_build_is_recorded_with_its_plain_pin(box):
    """Held against it, and both kept."""
    found = await box.service.record("w", {}, dry_run=False)
    assert (found.build, found.reference) == ("cpu-1+aa", "cpu without patches, book@1")
    assert box.goldens.of(BUILT) is not None
    assert box.goldens.of(BUILT.plain) is not None
    assert box.without == {"P1", "P2"}, "what is in quarantine is not in the plain pin either"


@pytest.mark.parametrize("when", ["degeneration", "cpu-1+aa", None])
async def test_a_life_that_ends_meanwhile_is_not_recorded(box, when):
    """Another may answer on its port by then: what it says, held against nothing, must not become what is expected."""
    box.hook = lambda what: box.new_life() if what == when else None
    with pytest.raises(ConflictError, match=r"did not stay as it was .* life 2"):
        await box.service.record("w", {}, dry_run=False)
    assert box.goldens.of(BUILT) is None
    assert box.sink.of("golden_recorded") == []


async def test_what_is_found_bad_meanwhile_is_not_recorded(box):
    """The judge ends a life at its first fault, and takes a moment for it."""
    box.hook = lambda what: setattr(box.state, "phase", Phase.DRAINING) if what is None else None
    with pytest.raises(ConflictError, match="it is draining"):
        await box.service.record("w", {}, dry_run=False)
    assert box.goldens.of(BUILT) is None


async def test_two_people_record_one_after_the_other(box):
    """Each would be the other's disturbance; the plain pin is asked once."""
    await asyncio.gather(*(box.service.record("w", {}, dry_run=False) for _ in range(2)))
    assert (box.most, box.asked) == (1, ["cpu-1+aa", None, "cpu-1+aa"])


async def test_a_plain_recording_that_somebody_deleted_is_made_anew(box):
    """Whoever deletes one does not believe it; one that was not kept yet serves the next try."""
    await box.service.record("w", {}, dry_run=True)
    await box.service.record("w", {}, dry_run=False)
    assert box.asked == ["cpu-1+aa", None, "cpu-1+aa"]
    box.goldens.path(BUILT.plain).unlink()
    await box.service.record("w", {}, dry_run=False)
    assert box.asked[3:] == ["cpu-1+aa", None]


async def test_an_experiment_is_not_recorded(box):
    """Nobody asks it anything else, and a real worker may run the same build later."""
    with pytest.raises(ConflictError, match="is an experiment"):
        await box.service.record("scratch-1a2b3c", {}, dry_run=False)
    assert box.asked == []
