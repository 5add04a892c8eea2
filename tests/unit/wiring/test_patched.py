"""From a worker's switches to a build, and from life to life: gates, verdicts, losses, what the next daemon knows."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import pytest

from genesisd.errors import ConfigError, UnavailableError
from genesisd.patches.flags import Flag
from genesisd.patches.parameters import Kind, Parameter
from genesisd.pins.build_gc import collect_builds, remove_build
from genesisd.pins.gc import Kept
from genesisd.pins.layout import Cache
from genesisd.store.store import Store
from genesisd.supervisor.ports import Card
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import patched as module
from genesisd.wiring.launcher import Patches, _patched
from genesisd.wiring.overrides import NoOverrides
from genesisd.wiring.patched import GOOD, RUNNING, Patched
from genesisd.wiring.starts import PatchNote, Start
from tests.fakes.patched import FakeBuilders, FakeMetrics, FakePins, build_of
from tests.fakes.supervision import FakeCards, FakeSink
from tests.unit.patches.made import edit, patch

STEPS = patch(
    edit("return 1", "return 2", "steps"),
    id="P1",
    flag=Flag("P1_STEPS"),
    parameters=(Parameter("GENESIS_P1_MANY", Kind.INT, 1, 1, 9),),
)
SIZE = patch(edit("return 10", "return 20", "size"), id="P2", flag=Flag("P2_SIZE"))
AWAY = patch(edit("return 99", "return 100", "size"), id="P3", flag=Flag("P3_AWAY"))
LATER = patch(edit("LIMIT = 1", "LIMIT = 2"), id="P4", flag=Flag("P4_LATER"), versions=">=0.90")
CURE = patch(edit("return 99", "return 40", "size"), id="PN346B", flag=Flag("PN346B_CURE"))
CATALOG = (STEPS, SIZE, AWAY, LATER, CURE)


def on(*names: str) -> dict[str, str]:
    return {f"GENESIS_ENABLE_{name}": "1" for name in names}


class Box:
    """One daemon's part; ``again`` is the next daemon on the same store."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.pins = FakePins(folder / "cache")
        self.store = Store.open(folder / "genesisd.db")
        self.cards = FakeCards(Card(0, 48, 48, {}, 86), Card(1, 48, 48, {}, 89))
        self.made: dict[str, object] = {}
        self.specs: dict[str, WorkerSpec] = {}
        self.catalog = CATALOG
        self.looked = 0
        monkeypatch.setattr(module, "catalog", lambda: self.catalog)
        monkeypatch.setattr(module, "find_build", self._find)
        self.again()

    def again(self) -> None:
        self.sink, self.metrics, self.builders = FakeSink(), FakeMetrics(), FakeBuilders()
        self.patched = Patched(
            lambda: self.specs, self.pins, self.store.meta, self.sink, lambda _: None, self.cards, self.metrics
        )
        self.patched.builders = self.builders
        self.gate = self.patched.gate()

    def _find(self, cache, environment, key):
        assert cache == self.pins.cache
        self.looked += 1
        return self.made.get(f"{environment}+{key}")

    def worker(self, *names, env=None, args=(), role=None, more=None, **patches):
        attribution = {name: {"role": "load_bearing", "note": "it breaks"} for name in role or ()}
        self.specs["w"] = WorkerSpec(
            pin="cpu", model="m", args=args, env={**on(*names), **(env or {})},
            patches={"attribution": attribution, **patches}, **(more or {}),
        )  # fmt: skip

    async def build(self) -> None:
        """The builder ends well."""
        choice = await self.patched.choose("w")
        assert choice is not None
        chosen = [one for one in self.catalog if one.id in choice.selection.patches]
        made = build_of(self.pins, self.pins.environment("cpu").name, choice.key, chosen)
        self.made[made.name] = made
        manifest = Cache(self.pins.cache).build_manifest(made.name)
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.touch()
        self.builders.building.clear()

    def collect(self):
        """All builds that nobody holds go."""
        return collect_builds(self.pins.cache, keep=())

    async def shut(self) -> str | None:
        reason = await self.gate("w")
        return None if reason is None else reason.code

    async def why(self) -> str:
        reason = await self.gate("w")
        assert reason is not None
        assert reason.code == "patches-refused"
        return reason.text

    async def start(self, incarnation: int, *, ready: bool = True) -> Start | None:
        """One life, from the gate to ready."""
        if await self.shut() == "build-making":
            await self.build()
        assert await self.gate("w") is None
        await self.patched.prepare("w", incarnation)
        self.patched.spawned("w", incarnation)
        if ready:
            self.patched.ready("w", incarnation)
        return self.patched.running("w", incarnation)

    async def kept(self, key):
        await self.patched.close()
        return await self.store.meta.get(key + "w")


@pytest.fixture
async def box(tmp_path, monkeypatch):
    made = Box(tmp_path, monkeypatch)
    yield made
    await made.patched.close()
    made.store.close()


# --- the gate -------------------------------------------------------------------------------------------------------


async def test_without_a_switch_nothing_is_looked_for_and_nothing_is_changed(box):
    """No build, no path, the environment to the byte."""
    env = {"VLLM_X": "1", "PYTHONPATH": "/own"}
    box.worker(env=env)
    assert await box.shut() is None
    choice = await box.patched.prepare("w", 1)
    assert (choice.key, choice.build, box.looked, box.builders.begun) == (None, None, 0, [])
    assert choice.selection.environ is box.specs["w"].env
    assert _patched(Patches(choice.selection.environ, None), Path("/reports")) == env


async def test_a_worker_with_a_command_of_its_own_is_left_alone(box):
    """There is no pin whose tree could be patched."""
    box.specs["w"] = WorkerSpec(
        command=("x",),
        env={**on("P1_STEPS"), "OTHER": "1", "GENESIS_PHANTOM": "1"},
        patches={"extra_env": ["GENESIS_ENABLE_P1_STEPS"], "waive": ["phantom-env"]},
    )
    assert await box.shut() is None
    assert await box.patched.choose("w") is None
    assert await box.patched.prepare("w", 1) is None
    box.patched.spawned("w", 1)
    assert box.patched.running("w", 1) is None
    assert box.sink.kinds == []


@pytest.mark.parametrize(
    ("env", "patches", "named"),
    [
        (on("P1_STEPS"), {}, "GENESIS_ENABLE_P1_STEPS"),
        ({"SNDR_ENABLE_P1_STEPS": "1"}, {}, "SNDR_ENABLE_P1_STEPS"),
        ({"GENESIS_P1_MANNY": "3"}, {}, "GENESIS_P1_MANNY"),
        ({}, {"attribution": {"P1": {"role": "load_bearing", "note": "it breaks"}}}, "P1"),
    ],
)
async def test_patches_of_a_command_of_its_own_shut_the_gate(box, env, patches, named):
    """They would silently do nothing; 'config check' says that such a worker is blocked."""
    box.specs["w"] = WorkerSpec(command=("x",), env=env, patches=patches)
    reason = await box.gate("w")
    assert reason.code == "patches-refused"
    assert f"a command of its own and {named}; take that out" in reason.text


async def test_a_selected_patch_is_built_before_the_worker_starts(box):
    """The gate tells how far the build has come, and opens once it is there."""
    box.worker("P1_STEPS")
    reason = await box.gate("w")
    assert reason.code == "build-making"
    assert reason.text.endswith("is being made: linking 40 %")
    ((name, command),) = box.builders.begun
    job = json.loads(command.stdin)
    assert job == {
        "pins": "/etc/genesisd/pins.yaml", "pin": "cpu", "cache": str(box.pins.cache),
        "key": name.rpartition("+")[2], "patches": ["P1"],
    }  # fmt: skip
    assert command.argv == [sys.executable, "-P", "-m", "genesisd.wiring.assemble"]
    assert await box.shut() == "build-making"
    assert len(box.builders.begun) == 1
    await box.build()
    assert await box.shut() is None
    choice = await box.patched.prepare("w", 1)
    assert choice.build.key == choice.key == job["key"]


async def test_a_patched_launch_finds_the_build_first_and_keeps_the_workers_own_path(box):
    """The worker's PYTHONPATH stays, behind the build."""
    patches = Patches({**on("P1_STEPS"), "PYTHONPATH": "/own"}, Path("/builds/b"))
    assert _patched(patches, Path("/reports")) == {
        **on("P1_STEPS"), "PYTHONPATH": "/builds/b:/own", "GENESIS_ATTEST_DIR": "/reports",
    }  # fmt: skip
    assert _patched(Patches({}, Path("/b")), Path("/r"))["PYTHONPATH"] == "/b"


def test_a_build_that_no_path_can_name_is_refused():
    """Python would look in two other places, and the worker would wait for reports that never come."""
    with pytest.raises(ConfigError, match="PYTHONPATH cannot name a path with ':' in it") as caught:
        _patched(Patches({}, Path("/a:b/builds/x")), Path("/r"))
    assert caught.value.hint == "set daemon.cache_dir to a path without ':'"


async def test_a_pin_that_was_built_anew_wants_builds_anew(box):
    """Old ones are linked to files that are gone, and attested by the bytecode of a Python that may be another."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    before = (await box.patched.choose("w")).key
    box.pins.built_at = 2.0
    choice = await box.patched.choose("w")
    assert choice.key != before
    assert choice.build is None


async def test_two_workers_that_want_the_same_share_a_build(box):
    """The address is made of what goes in, not of who asks."""
    box.worker("P1_STEPS")
    box.specs["other"] = box.specs["w"]
    await box.gate("w")
    assert (await box.gate("other")).code == "build-making"
    assert len(box.builders.begun) == 1


async def test_a_build_that_failed_says_why_and_is_tried_again_when_asked(box):
    """Until a reset, or until enough time has passed, the failure stands."""
    box.worker("P1_STEPS")
    await box.gate("w")
    ((name, _),) = box.builders.begun
    box.builders.building.clear()
    box.builders.failed[name] = "P1 has no place"
    reason = await box.gate("w")
    assert (reason.code, reason.text) == ("build-failed", f"build {name} could not be made: P1 has no place")
    assert len(box.builders.begun) == 1
    box.builders.forget_failures()
    assert await box.shut() == "build-making"
    assert len(box.builders.begun) == 2


async def test_another_set_of_switches_does_not_wait_for_a_failed_one(box):
    """To take the switch of a broken patch away is a way out."""
    box.worker("P1_STEPS")
    await box.gate("w")
    box.builders.failed[box.builders.begun[0][0]] = "no"
    box.builders.building.clear()
    box.worker("P2_SIZE")
    assert await box.shut() == "build-making"


@pytest.mark.parametrize(
    ("worker", "text"),
    [
        ({"env": {**on("P1_STEPS"), "GENESIS_P1_MANY": "12"}}, "GENESIS_P1_MANY='12'"),
        ({"env": on("P1")}, "GENESIS_ENABLE_P1 (meant GENESIS_ENABLE_P1_STEPS?)"),
    ],
)
async def test_a_fault_shuts_the_gate_before_anything_is_built(box, worker, text):
    """A build that could not be used is not made."""
    box.worker(**worker)
    assert text in await box.why()
    assert box.builders.begun == []


async def test_a_pin_that_is_not_there_shuts_the_gate_with_what_to_do(box):
    """The message of the error, and its hint."""
    box.worker("P1_STEPS")
    box.pins.is_built = False
    assert await box.why() == "pin cpu is not built; genesisctl pins build cpu"


# --- a build that is about to be run --------------------------------------------------------------------------------


async def test_a_build_is_held_from_its_preparation_to_the_spawn(box):
    """A collection in between keeps it; one before, which took it, is noticed; one after is the process's to hinder."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    (name,) = box.made
    await box.patched.prepare("w", 1)
    await box.patched.prepare("w", 2)
    assert [one.reason for one in box.collect().kept] == ["its lock is held"]
    assert isinstance(remove_build(box.pins.cache, name), Kept)
    box.patched.spawned("w", 2)
    assert box.collect().kept == ()
    with pytest.raises(UnavailableError, match="is gone"):
        await box.patched.prepare("w", 3)


@pytest.mark.parametrize("how", ["forget", "close", "plain"])
async def test_a_build_that_is_never_spawned_is_let_go(box, how):
    """With its worker, with the daemon, or once the worker is to run something else."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    await box.patched.prepare("w", 1)
    if how == "forget":
        box.patched.forget("w")
    elif how == "close":
        await box.patched.close()
    else:
        box.worker()
        await box.patched.prepare("w", 2)
    assert box.collect().kept == ()


async def test_workers_hold_a_build_that_they_share_each_for_itself(box):
    """The first one that is spawned does not let go for the other."""
    box.worker("P1_STEPS")
    box.specs["other"] = box.specs["w"]
    await box.gate("w")
    await box.build()
    await box.patched.prepare("w", 1)
    await box.patched.prepare("other", 1)
    box.patched.spawned("w", 1)
    assert len(box.collect().kept) == 1
    box.patched.spawned("other", 1)
    assert box.collect().kept == ()


# --- load bearing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "role", "text"),
    [
        (["P1_STEPS", "P3_AWAY"], "P3", "P3 is load bearing and would not be there: anchor_missing, vllm/core.py: e finds no place in size"),
        (["P1_STEPS", "P4_LATER"], "P4", "P4 is load bearing and would not be there: version, for >=0.90, not for 0.32.0"),
        (["P4_LATER"], "P4", "P4 is load bearing and would not be there: version"),
        (["P1_STEPS"], "P2", "P2 is load bearing and would not be there: not_enabled"),
        ([], "P2", "P2 is load bearing and would not be there: not_enabled"),
        (["P1_STEPS"], "P67", "P67 is load bearing and would not be there: unknown, no patch of this id is implemented"),
    ],
    ids=["anchor", "version-of-one", "version-of-all", "off-of-one", "off-of-all", "not-implemented"],
)  # fmt: skip
async def test_a_load_bearing_patch_that_would_not_be_there_shuts_the_gate(box, names, role, text):
    """Whether others are applied or none: what cannot be done without is not done without, unless it is waived."""
    box.worker(*names, role=[role])
    if await box.shut() == "build-making":
        await box.build()
    told = await box.why()
    assert told.startswith(text)
    assert f"waive it by name (patches.waive: [{role}])" in told
    box.worker(*names, role=[role], waive=[role])
    assert await box.shut() is None


async def test_a_load_bearing_patch_that_is_there_opens_the_gate(box):
    """By its own hand or by upstream's."""
    box.worker("P1_STEPS", role=["P1"])
    await box.gate("w")
    await box.build()
    assert await box.shut() is None


async def test_every_load_bearing_patch_that_lacks_is_told_at_once(box):
    """One after the other would cost a start each."""
    box.worker("P1_STEPS", role=["P2", "P4"])
    await box.gate("w")
    await box.build()
    told = await box.why()
    assert "P2 is load bearing" in told
    assert "P4 is load bearing" in told


async def test_a_cure_that_finds_no_place_cures_nothing(box, tmp_path):
    """A set of flags that is known to be bad waits for the patch itself, not for its switch."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "qwen3_next", "linear_num_value_heads": 32}')
    args = (
        '--speculative-config={"method": "mtp", "num_speculative_tokens": 2}',
        "--enable-prefix-caching",
        "--kv-cache-memory-bytes=1G",
    )
    box.pins.version = "0.24.0"
    box.worker("PN346B_CURE", args=args)
    box.specs["w"] = box.specs["w"].model_copy(update={"model": str(model)})
    assert await box.shut() == "build-making"
    await box.build()
    assert "MTP with prefix caching" in await box.why()
    box.pins.tree["vllm/core.py"] = box.pins.tree["vllm/core.py"].replace("return 10", "return 99")
    await box.build()
    assert await box.shut() is None


# --- lives ----------------------------------------------------------------------------------------------------------


async def test_a_start_is_told_once_with_every_verdict(box):
    """Event, metrics and store say the same."""
    box.worker("P1_STEPS", "P3_AWAY", "P4_LATER")
    start = await box.start(5)
    verdicts = {name: note.verdict for name, note in start.patches.items()}
    assert verdicts == {
        "P1": "applied", "P2": "not_enabled", "P3": "anchor_missing", "P4": "version", "PN346B": "not_enabled",
    }  # fmt: skip
    assert box.metrics.started["w"] == (verdicts, ())
    assert box.sink.of("patches_summary") == [
        {
            "incarnation": 5, "build": start.build, "lost": [],
            "patches": {"applied": ["P1"], "anchor_missing": ["P3"], "version": ["P4"]},
        }
    ]  # fmt: skip
    assert "patches_lost" not in box.sink.kinds
    assert (await box.kept(RUNNING))["incarnation"] == 5


async def test_a_patch_that_is_gone_since_the_last_good_start_is_lost(box):
    """The anchor went with the new release: an event, a metric, and the start says so."""
    box.worker("P1_STEPS", "P2_SIZE")
    await box.start(1)
    box.pins.version = "0.33.0"
    box.pins.tree["vllm/core.py"] = box.pins.tree["vllm/core.py"].replace("return 10", "return 11")
    start = await box.start(2)
    assert start.lost == ("P2",)
    assert box.metrics.started["w"][1] == ("P2",)
    assert box.sink.of("patches_lost") == [{"incarnation": 2, "lost": ["P2"]}]


async def test_a_start_with_losses_is_not_what_later_ones_are_compared_with(box):
    """Else the loss would be told once, and the second start would look whole."""
    box.worker("P1_STEPS", "P2_SIZE")
    await box.start(1)
    box.worker("P1_STEPS")
    assert (await box.start(2)).lost == ("P2",)
    assert (await box.start(3)).lost == ("P2",)
    assert (await box.kept(GOOD))["incarnation"] == 1
    box.worker("P1_STEPS", "P2_SIZE")
    assert (await box.start(4)).lost == ()
    assert (await box.kept(GOOD))["incarnation"] == 4


@pytest.mark.parametrize("policy", [None, "compat", "safe"])
@pytest.mark.parametrize("word", [{"GENESIS_DISABLE_P2_SIZE": "1"}, {"GENESIS_ENABLE_P2_SIZE": "0"}])
async def test_what_is_switched_off_by_a_word_is_not_lost(box, policy, word):
    """Under each policy, though a policy takes the word out of the environment."""
    box.worker("P1_STEPS", "P2_SIZE", policy=policy)
    await box.start(1)
    box.worker("P1_STEPS", env=word, policy=policy)
    start = await box.start(2)
    assert start.lost == ()
    assert start.patches["P2"].verdict == "disabled"
    assert (await box.kept(GOOD))["incarnation"] == 2


async def test_what_a_policy_leaves_out_is_not_lost(box):
    """It was declared to do nothing here, and the reason is told."""
    box.worker("P1_STEPS", "P2_SIZE")
    await box.start(1)
    box.worker("P1_STEPS", "P2_SIZE", policy="safe", attribution={"P2": {"role": "no_op"}})
    start = await box.start(2)
    assert start.lost == ()
    assert start.patches["P2"] == PatchNote("disabled", "safe drops role no_op")


async def test_the_plain_pin_after_a_patched_life_is_a_loss(box):
    """All switches went away at once: that is how a stack gets lost."""
    box.worker("P1_STEPS")
    await box.start(1)
    box.worker()
    start = await box.start(2)
    assert (start.build, start.lost) == (None, ("P1",))


async def test_ready_writes_once_a_life(box, monkeypatch):
    """It is called at every change of a ready worker."""
    written = []
    box.worker("P1_STEPS")
    await box.start(1, ready=False)
    monkeypatch.setattr(box.patched._notes, "put", lambda key, value: written.append(key))
    for _ in range(3):
        box.patched.ready("w", 1)
    assert written == [f"{GOOD}w"]
    box.patched.ready("w", 2)  # another life's news
    assert written == [f"{GOOD}w"]


async def test_a_start_that_never_became_ready_is_not_good(box):
    """What it ran was not proven."""
    box.worker("P1_STEPS")
    await box.start(1, ready=False)
    assert await box.kept(GOOD) is None
    box.worker()
    assert (await box.start(2)).lost == ()


async def test_a_spawn_without_news_forgets_the_life_before(box):
    """The next daemon must not think that it adopts a patched one."""
    box.worker("P1_STEPS")
    await box.start(1)
    box.specs["w"] = WorkerSpec(command=("x",))
    await box.patched.prepare("w", 2)
    box.patched.spawned("w", 2)
    assert box.patched.running("w", 1) is None
    assert await box.kept(RUNNING) is None
    assert box.metrics.started["w"] == ({}, ())


async def test_the_next_daemon_knows_what_it_adopts(box):
    """Build, verdicts and losses of the living incarnation, and of that one alone."""
    box.worker("P1_STEPS", "P2_SIZE")
    await box.start(1)
    box.worker("P1_STEPS")
    before = await box.start(2)
    await box.patched.close()
    box.again()
    await box.patched.load(["w", "another"])
    assert box.patched.running("w", 2) == before
    assert box.patched.running("w", 3) is None
    box.patched.adopted("w", 2)
    assert box.metrics.started["w"] == ({name: note.verdict for name, note in before.patches.items()}, ("P2",))
    assert box.sink.kinds == []
    assert box.patched.build(before.build) is box.made[before.build]
    assert (await box.start(3)).lost == ("P2",)


async def test_a_daemon_that_dies_right_after_the_spawn_leaves_word_of_it(box):
    """The note is there before the life is: the next daemon attests what it adopts."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    choice = await box.patched.prepare("w", 5)
    box.again()
    await box.patched.load(["w"])
    start = box.patched.running("w", 5)
    assert (start.build, start.incarnation) == (choice.build.name, 5)


async def test_a_spawn_that_failed_begins_nothing(box):
    """What was prepared for it is not taken for what the next one runs."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    await box.patched.prepare("w", 5)
    box.specs["w"] = WorkerSpec(command=("x",))
    await box.patched.prepare("w", 6)
    box.patched.spawned("w", 6)
    assert box.patched.running("w", 5) is None
    assert box.patched.running("w", 6) is None


async def test_a_life_that_nothing_is_known_of_is_shown_as_nothing(box):
    """The store was lost: no metric is set for a guess."""
    await box.patched.load(["w"])
    box.patched.adopted("w", 7)
    assert box.metrics.started == {}


async def test_a_life_that_the_store_forgot_is_taken_for_the_build_it_reports(box):
    """It is remembered again, with the verdicts of the build, so that it is attested and the next daemon knows it."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    name = (await box.patched.choose("w")).build.name
    start = box.patched.recover("w", 7, name)
    assert (start.build, start.incarnation, start.patches["P1"].verdict) == (name, 7, "applied")
    assert box.patched.running("w", 7) is start
    assert box.metrics.started["w"] == ({"P1": "applied"}, ())
    await box.patched.close()
    box.again()
    await box.patched.load(["w"])
    assert box.patched.running("w", 7) == start


async def test_a_store_that_cannot_be_read_costs_the_comparison_only(box, monkeypatch):
    """Workers start all the same."""

    class Broken:
        async def get(self, key, default=None):
            raise sqlite3.OperationalError("disk I/O error")

        async def set(self, key, value):
            raise sqlite3.OperationalError("disk I/O error")

    box.worker("P1_STEPS")
    monkeypatch.setattr(box.patched._notes, "_meta", Broken())
    await box.patched.load(["w"])
    start = await box.start(1)
    assert (start.incarnation, start.lost) == (1, ())
    await box.patched.close()


async def test_a_build_that_went_between_gate_and_spawn_stops_the_spawn(box):
    """Nothing else would run than what the gate saw."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    assert await box.shut() is None
    box.made.clear()
    with pytest.raises(UnavailableError, match="is gone"):
        await box.patched.prepare("w", 1)
    box.patched.spawned("w", 1)
    assert box.patched.running("w", 1) is None


async def test_a_build_is_read_once_by_its_name(box):
    """A probe asks twice a second."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    (name,) = box.made
    looked = box.looked
    box.again()
    assert box.patched.build(name) is box.made[name]
    assert box.patched.build(name) is box.made[name]
    assert box.looked == looked + 1
    assert box.patched.build("none-0123456789ab+0123456789ab") is None


# --- facts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ()),
        ({"gpus": [0]}, ((86, 48),)),
        ({"gpus": [0, 1]}, ((86, 48), (89, 48))),
        ({"gpus": [0, 5]}, None),
        ({"gpus": [2]}, None),
        ({"env": {"CUDA_VISIBLE_DEVICES": "0"}}, None),
    ],
)
async def test_cards_are_known_or_not_to_be_told(box, more, expected):
    """A card that is missing, or whose capability is, makes the whole answer unknown: half an answer is wrong."""
    box.cards.known[2] = Card(2, 48, 48, {}, None)
    spec = WorkerSpec(pin="cpu", model="m", **more)
    assert await box.patched._knowledge.gpus(spec) == expected


async def test_a_ledger_that_does_not_answer_leaves_cards_unknown(box, monkeypatch):
    """A patch for certain cards then says that it cannot tell."""

    async def silent():
        raise UnavailableError("NVML is not there")

    monkeypatch.setattr(box.cards, "cards", silent)
    assert await box.patched._knowledge.gpus(WorkerSpec(pin="cpu", model="m", gpus=[0])) is None


# --- what was found at fault, and what was right before -------------------------------------------------------------


class Guilty(NoOverrides):
    """Whatever is in quarantine, and where the worker was taken back to."""

    def __init__(self):
        self.names, self.start = {}, None

    def quarantined(self, _worker, pin):
        return self.names if pin == "cpu" else {}

    def back(self, _worker, _spec):
        return self.start


async def test_a_patch_in_quarantine_is_not_run_by_way_of_a_build_of_before(box):
    """The worker was taken back, and the search blamed a patch of that very build: the pin runs without it."""
    box.patched._overrides = guilty = Guilty()
    box.worker("P1_STEPS", "P2_SIZE")
    guilty.start = await box.start(1)
    box.worker("P2_SIZE")
    assert (await box.start(2)).build == guilty.start.build
    assert box.patched.can_go_back("w", guilty.start)
    guilty.names = {"P2": "makes the pin fail"}
    box.worker("P1_STEPS", "P2_SIZE")
    assert not box.patched.can_go_back("w", guilty.start)
    found = await box.start(3)
    assert found.build != guilty.start.build
    assert {name: found.patches[name].verdict for name in ("P1", "P2")} == {"P1": "applied", "P2": "quarantined"}


async def test_nobody_is_taken_back_to_a_build_that_is_gone(box):
    """The step would change nothing, and count as taken."""
    box.worker("P1_STEPS")
    start = await box.start(1)
    assert box.patched.can_go_back("w", start)
    box.collect()
    assert not box.patched.can_go_back("w", start)
    assert box.patched.can_go_back("w", Start(None, pin="cpu"))
