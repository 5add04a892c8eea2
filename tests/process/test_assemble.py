"""The builder of patched builds as a child: what it makes of a job, what it says last, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest

from genesisd.pins.build_verify import verify_build
from genesisd.pins.builds import find_build
from genesisd.pins.layout import Cache
from genesisd.wiring.builders import Builders, Command, Told
from tests.fakes.supervision import FakeSink
from tests.helpers import assembler
from tests.helpers.assembler import CACHE, KEY, SCHED, Pin, begin, ended, run
from tests.helpers.keeper import eventually
from tests.helpers.pin_tree import contents, packages_of


@pytest.fixture
def pin(tmp_path):
    return Pin(tmp_path / "cache")


@pytest.fixture
def env(pin):
    return pin.make()


def found(pin, env, key=KEY):
    return find_build(pin.cache, env.name, key)


def value(build, env, code):
    """What an expression comes to in a process of the build."""
    argv = [sys.executable, "-S", "-c", f"import sys; sys.path.append({str(packages_of(env.path))!r})\n{code}"]
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.check_output(argv, env=own | {"PYTHONPATH": str(build.path)}, text=True, cwd="/").strip()


def test_the_selected_patches_become_a_build_that_runs_them(pin, env):
    """Exit status 0, the build's name last, steps before; the pin's own tree is as it was."""
    before = contents(packages_of(env.path))
    said = run(pin.job("P1", "P2", "P8"))
    assert (said.status, said.errors) == (0, "")
    assert said.last == {"built": f"{env.name}+{KEY}"}
    assert said.steps[-1] == "done"
    assert {"link", "patch"} <= set(said.steps)
    build = found(pin, env)
    code = "from vllm.core import sched, cache, new; print(sched.steps(), cache.size(), new.new())"
    assert value(build, env, code) == "2 20 8"
    assert verify_build(build, pin.cache, deep=True) == ()
    assert contents(packages_of(env.path)) == before


def test_a_chain_is_applied_in_its_order(pin, env):
    """However the job lists it."""
    assert run(pin.job("P4", "P1", "P3")).status == 0
    assert value(found(pin, env), env, "from vllm.core import sched; print(sched.steps())") == "4"


def test_the_manifest_tells_what_became_of_each_patch(pin, env):
    """For those who have only the build: verdicts, proofs of what is applied, and what is to be attested."""
    assert run(pin.job("P1", "P5", "P7", "PN1")).status == 0
    build = found(pin, env)
    told = build.manifest.notes["patches"]
    assert {name: one["verdict"] for name, one in told.items()} == {
        "P1": "applied", "P5": "anchor_missing", "P7": "superseded", "PN1": "not_applicable",
    }  # fmt: skip
    assert told["P5"]["text"] == f"{CACHE}: e finds no place in size"
    assert build.manifest.notes["proofs"] == {
        "P1": [
            {"role": "engine", "counter": "vllm.core.sched:_genesis_hits"},
            {"role": "api", "log": "two steps"},
        ]
    }
    assert [(one["patches"], one["path"], one["name"]) for one in build.attest["items"]] == [(["P1"], SCHED, "steps")]
    told = json.loads((build.path / "genesisd_attest.json").read_text())
    assert told["proofs"] == build.manifest.notes["proofs"]


def test_an_optional_edit_without_a_place_is_left_out_and_told(pin, env):
    """Its file is not changed by anybody: nothing of it is to be attested."""
    said = run(pin.job("P9"))
    assert said.status == 0, said.last
    build = found(pin, env)
    assert build.manifest.notes["patches"]["P9"] == {
        "verdict": "applied", "text": "without o, for which there is no place",
    }  # fmt: skip
    assert [one["path"] for one in build.attest["items"]] == [SCHED]
    assert (build.path / CACHE).samefile(packages_of(env.path) / CACHE)


def test_patches_of_which_none_applies_make_a_build_without_changes(pin, env):
    """Upstream has it all: the worker starts, and says which patches are superseded."""
    said = run(pin.job("P7"))
    assert said.status == 0, said.last
    build = found(pin, env)
    assert build.attest["items"] == []
    assert value(build, env, "from vllm.core import cache; print(cache.size())") == "10"


def test_a_broken_chain_is_told_with_its_dependants(pin, env):
    """Its base has no place in this tree: nothing is built, and the message says who stands on it."""
    said = run(pin.job("P1", "P5", "P6"))
    assert said.status == 1
    assert said.last == {
        "failed": "P6 stand on P5, which is not applied: AnchorMissing",
        "hint": "switch the dependants off, or the base on",
        "code": "conflict",
    }
    assert found(pin, env) is None
    assert not Cache(pin.cache).builds.exists()


def test_a_chain_whose_base_was_not_selected_is_told_with_all_that_stand_on_it(pin, env):
    """Also what stands on it by way of another."""
    said = run(pin.job("P3", "P4"))
    assert said.status == 1
    assert said.last["failed"].startswith("P3, P4 stand on P1, which is not applied")


@pytest.mark.parametrize(
    ("job", "last"),
    [
        (
            {"patches": ("P1", "P999")},
            {"failed": "no patch P999 is implemented", "hint": "genesisctl patches list", "code": "not-found"},
        ),
        ({"patches": ("P1",), "pin": "other"}, {"failed": "no pin 'other'; known: fake", "hint": None, "code": "not-found"}),
        ({"patches": ("P1",), "key": "short"}, {"failed": "the key of a build is twelve hexadecimal digits, not 'short'", "hint": None, "code": "build"}),
    ],
    ids=["patch", "pin", "key"],
)  # fmt: skip
def test_a_job_that_cannot_be_done_says_why(pin, env, job, last):
    """One object, no traceback, status 1."""
    more = {name: value for name, value in job.items() if name != "patches"}
    said = run(pin.job(*job["patches"], **more))
    assert (said.status, said.errors) == (1, "")
    assert {name: said.last[name] for name in ("failed", "hint")} == {name: last[name] for name in ("failed", "hint")}


def test_a_pin_that_is_not_built_is_told_with_the_command_for_it(pin):
    """The gate of pins comes first; this is for whoever asks otherwise."""
    pin.write()
    said = run(pin.job("P1"))
    assert (said.status, said.last["failed"]) == (1, "pin fake is not built")
    assert said.last["hint"] == "genesisctl pins build fake"


def test_a_crash_is_told_as_such(pin, env):
    """Else the last step of the work would be shown as the reason; the traceback goes to the daemon's log."""
    said = run(b'{"pins": 1}')
    assert said.status == 1
    assert said.last["failed"] == "KeyError: 'pin'"
    assert "Traceback" in said.errors


def test_a_cache_that_takes_no_build_is_told_by_its_path(pin, env):
    """The system's own words and what to do, and no traceback."""
    Cache(pin.cache).builds.write_text("a file in the place of the folder")
    said = run(pin.job("P1"))
    assert (said.status, said.errors) == (1, "")
    assert said.last["failed"] == f"{Cache(pin.cache).builds}: File exists"
    assert said.last["hint"].startswith("a build is made in the cache: let it be written")


def test_the_second_run_finds_the_build_at_once(pin, env):
    """Nothing is planned, linked or written."""
    run(pin.job("P1"))
    build = found(pin, env)
    before = contents(Cache(pin.cache).builds)
    said = run(pin.job("P1"))
    assert (said.status, said.lines) == (0, [{"built": build.name}])
    assert contents(Cache(pin.cache).builds) == before


def test_a_build_that_is_there_is_found_though_its_patches_are_gone(pin, env):
    """The address says it all: the catalog of today is not asked."""
    run(pin.job("P1"))
    assert run(pin.job("P999")).lines == [{"built": f"{env.name}+{KEY}"}]


def test_two_at_once_make_one_build(pin, env):
    """One works, the other waits or finds it; both say that it is there."""
    children = [begin(pin.job("P1", "P2")) for _ in range(3)]
    said = [ended(child) for child in children]
    assert [one.status for one in said] == [0, 0, 0], [one.lines for one in said]
    assert {one.last["built"] for one in said} == {f"{env.name}+{KEY}"}
    assert sum("link" in one.steps for one in said) == 1
    assert sorted(one.name for one in Cache(pin.cache).builds.iterdir()) == [
        f"{env.name}+{KEY}",
        f"{env.name}+{KEY}.json",
    ]
    assert verify_build(found(pin, env), pin.cache, deep=True) == ()


def test_builds_of_different_patches_stand_beside_each_other(pin, env):
    """Each with its own text of the same file."""
    jobs = [pin.job("P1"), pin.job("P1", "P3", key="ffffffffffff")]
    assert [ended(child).status for child in [begin(job) for job in jobs]] == [0, 0]
    code = "from vllm.core import sched; print(sched.steps())"
    assert value(found(pin, env), env, code) == "2"
    assert value(found(pin, env, "ffffffffffff"), env, code) == "3"


def test_the_module_itself_answers_as_a_child(pin, env):
    """As the daemon starts it: with the catalog that it has."""
    argv = [sys.executable, "-P", "-m", "genesisd.wiring.assemble"]
    done = subprocess.run(argv, input=pin.job("P999"), capture_output=True, timeout=assembler.SECONDS, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["failed"] == "no patch P999 is implemented"


@pytest.mark.parametrize(
    ("patches", "kinds", "failure"),
    [
        (("P1",), {"build_step", "build_made"}, None),
        (
            ("P1", "P5", "P6"),
            {"build_failed"},
            "P6 stand on P5, which is not applied: AnchorMissing; switch the dependants off, or the base on",
        ),
    ],
    ids=["made", "failed"],
)
async def test_the_daemon_follows_the_child(pin, env, patches, kinds, failure):
    """Steps become events and the last word the reason, with how to mend it."""
    sink = FakeSink()
    builders = Builders(Told("build_step", "build_made", "build_failed", "build"), sink)
    builders.begin("b", Command(assembler.command(), pin.job(*patches)))
    await eventually(lambda: not builders.is_building("b"))
    await builders.close()
    assert set(sink.kinds) == kinds
    assert builders.recent_failure("b") == failure
    builders.forget_failures()
    assert builders.recent_failure("b") is None


async def test_a_daemon_that_ends_takes_its_builder_along(pin, env, tmp_path, monkeypatch):
    """The half-made build goes; the next builder begins anew and ends well."""
    builders = Builders(Told("build_step", "build_made", "build_failed", "build"), FakeSink())
    builders.begin("b", Command(assembler.command(), pin.job("P1")))
    await eventually(lambda: builders.progress("b") != "starting" or not builders.is_building("b"))
    await builders.close()
    said = await asyncio.to_thread(run, pin.job("P1"))
    assert said.status == 0
    assert verify_build(found(pin, env), pin.cache, deep=True) == ()


# --- incidents and weaknesses that take files; the others are in tests/unit/patches/test_incidents.py -----------------


@pytest.mark.parametrize("step", ["pristine", "link", "patch"])
def test_weakness_7_a_kill_leaves_no_half_written_engine(pin, env, step):
    """The pin is as it was, no build counts, and the next builder begins anew and ends well."""
    before = contents(packages_of(env.path))
    said = run(pin.job("P1", "P2"), die_at=step)
    assert (said.status, said.steps[-1]) == (-signal.SIGKILL, step)
    assert found(pin, env) is None
    assert contents(packages_of(env.path)) == before
    assert run(pin.job("P1", "P2")).status == 0
    assert verify_build(found(pin, env), pin.cache, deep=True) == ()
    assert contents(packages_of(env.path)) == before


def test_weakness_9_stale_bytecode_is_never_run(pin, env):
    """The patched file has the size and the time of the pristine one, and its bytecode is another."""
    assert run(pin.job("P1")).status == 0
    build, pristine = found(pin, env), packages_of(env.path) / SCHED
    status = pristine.stat()
    os.utime(build.path / SCHED, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (build.path / SCHED).stat().st_size == status.st_size
    assert value(build, env, "from vllm.core import sched; print(sched.steps())") == "2"


def test_incident_1_what_is_told_as_applied_differs_from_the_pin(pin, env):
    """Applied means that files of the build are others, and that their functions are attested as such."""
    assert run(pin.job("P1", "P2", "P5", "P7", "P8")).status == 0
    build = found(pin, env)
    told = {name for name, one in build.manifest.notes["patches"].items() if one["verdict"] == "applied"}
    assert told == {"P1", "P2", "P8"}
    own = {path for path, file in build.manifest.files.items() if file.kind in {"patched", "new", "replaced"}}
    assert own == {SCHED, CACHE, "vllm/core/new.py"}
    for path in (SCHED, CACHE):
        assert (build.path / path).read_bytes() != (packages_of(env.path) / path).read_bytes()
    assert {name for one in build.attest["items"] for name in one["patches"]} == told


def test_incident_20_a_build_is_never_patched_twice(pin, env):
    """Each start uses the same immutable build: neither restarts nor other patches change a byte of it."""
    assert run(pin.job("P1")).status == 0
    build = found(pin, env)
    before = contents(build.path)
    for patches, key in ((("P1",), KEY), (("P1", "P3"), "ffffffffffff"), (("P1",), KEY)):
        assert run(pin.job(*patches, key=key)).status == 0
        assert found(pin, env) == build
        assert contents(build.path) == before
    assert value(build, env, "from vllm.core import sched; print(sched.steps())") == "2"
