"""From a worker's switches to a build: what shuts the gate, and what is built."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from genesisd.errors import ConfigError, UnavailableError
from genesisd.supervisor.ports import Card
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.launcher import Patches, _patched
from tests.unit.wiring.patched_box import box, on

__all__ = ["box"]


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
