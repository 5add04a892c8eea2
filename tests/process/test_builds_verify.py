"""What looking at a build again finds, and what removing builds leaves alone."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genesisd.errors import ConflictError
from genesisd.pins import atomic, lock
from genesisd.pins.build_gc import collect_builds, remove_build
from genesisd.pins.build_verify import Fault, verify_build
from genesisd.pins.builds import find_build, hold_build, make_build
from genesisd.pins.gc import Kept, Removed
from genesisd.pins.layout import Cache
from tests.helpers.pin_tree import ENGINE, KEY, NAME, contents, environment_of, make_environment, packages_of, recipe

SCHED = "vllm/core/sched.py"
PATCHED = "def steps():\n    return 2\n"
OTHER = "bbbbbbbbbbbb"
TAG = sys.implementation.cache_tag
NAMES = {key: f"{NAME}+{key}" for key in (KEY, OTHER)}


@pytest.fixture
def cache(tmp_path):
    make_environment(tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def build(cache):
    return make_build(cache, environment_of(cache), recipe({SCHED: PATCHED}))


def rewrite(path):
    """Other content in a new file of the same name, size and time."""
    status, content = path.stat(), path.read_bytes()
    path.unlink()
    path.write_bytes(content[:-2] + b"#\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def write_through(path):
    """Other content in the same file, of the same size and time."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(status.st_size - 2)
        file.write(b"#\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def append(path):
    with path.open("ab") as file:
        file.write(b"\n")


DIST_INFO = f"vllm-1.0+cpu.genesis.{KEY}.dist-info"
CHANGES = {
    "patched file": (SCHED, write_through, Fault.CHANGED),
    "bytecode of a patched file": (f"vllm/core/__pycache__/sched.{TAG}.pyc", write_through, Fault.CHANGED),
    "plugin": ("genesisd_attest.py", write_through, Fault.CHANGED),
    "bytecode of the plugin": (f"__pycache__/genesisd_attest.{TAG}.pyc", write_through, Fault.CHANGED),
    "list of the plugin": ("genesisd_attest.json", write_through, Fault.CHANGED),
    "metadata": (f"{DIST_INFO}/METADATA", append, Fault.CHANGED),
    "entry points": (f"{DIST_INFO}/entry_points.txt", append, Fault.CHANGED),
    "linked file, replaced": ("vllm/core/cache.py", rewrite, Fault.CHANGED),
    "linked file, written through": ("vllm/core/cache.py", append, Fault.CHANGED),
    "linked bytecode": (f"vllm/core/__pycache__/cache.{TAG}.pyc", append, Fault.CHANGED),
    "library": ("vllm/_C.abi3.so", append, Fault.CHANGED),
    "patched file gone": (SCHED, os.unlink, Fault.MISSING),
    "linked file gone": ("vllm/core/cache.py", os.unlink, Fault.MISSING),
    "plugin gone": ("genesisd_attest.py", os.unlink, Fault.MISSING),
    "file added": ("vllm/core/added.py", lambda path: path.write_text("x = 1\n"), Fault.ADDED),
    "module that hides another": ("torch.py", lambda path: path.write_text("x = 1\n"), Fault.ADDED),
    "bytecode added": (f"vllm/__pycache__/added.{TAG}.pyc", lambda path: path.write_bytes(b"x"), Fault.ADDED),
    "link added": ("vllm/added", lambda path: path.symlink_to("/etc"), Fault.ADDED),
}


@pytest.mark.parametrize("deep", [False, True], ids=["shallow", "deep"])
@pytest.mark.parametrize("what", CHANGES)
def test_each_change_is_found_and_named(cache, build, what, deep):
    """One fault, with file, what was found and what was expected."""
    path, change, kind = CHANGES[what]
    change(build.path / path)
    (fault,) = verify_build(build, cache, deep=deep)
    assert (fault.path, fault.kind) == (path, kind)
    assert fault.found != fault.expected
    assert str(fault) == f"{path}: {kind.value}: found {fault.found}, expected {fault.expected}"


def test_change_that_keeps_size_time_and_inode_is_found_by_deep(cache, build):
    """Writing through a link and setting the time back takes a reading of every file to be seen."""
    write_through(build.path / "vllm/core/cache.py")
    assert verify_build(build, cache) == ()
    assert [fault.path for fault in verify_build(build, cache, deep=True)] == ["vllm/core/cache.py"]


def test_same_content_in_another_file_is_no_fault(cache, build):
    """What counts is what the engine would load: a restored copy is as good as the link."""
    shutil.copy(build.path / "vllm/core/cache.py", build.path / "copy")
    (build.path / "copy").rename(build.path / "vllm/core/cache.py")
    assert verify_build(build, cache) == ()


def test_link_in_the_place_of_a_file_is_a_fault(cache, build):
    """Even one that leads to the right content: it may lead elsewhere tomorrow."""
    (build.path / SCHED).rename(cache / "sched.py")
    (build.path / SCHED).symlink_to(cache / "sched.py")
    (fault,) = verify_build(build, cache)
    assert (fault.path, fault.found, fault.expected) == (SCHED, "a symbolic link", "a regular file")


def test_environment_that_is_gone_does_not_make_a_build_faulty(cache, build):
    """The linked content lives on in the build."""
    shutil.rmtree(packages_of(Cache(cache).env(NAME)) / "vllm")
    assert verify_build(build, cache) == ()


@pytest.mark.parametrize("damage", ["gone", "other"])
def test_record_that_is_not_the_one_of_the_build_is_a_fault(cache, build, damage):
    """Without the record nothing vouches for the linked files."""
    record = Cache(cache).pristine(NAME)
    if damage == "gone":
        record.unlink()
    else:
        content = json.loads(record.read_text())
        content["files"].pop("vllm/core/cache.py")
        record.write_text(json.dumps(content))
    (fault,) = verify_build(build, cache)
    assert (fault.path, fault.kind) == (str(record), Fault.MISSING)


def test_faults_come_sorted_and_complete(cache, build):
    """All of them, not the first alone."""
    append(build.path / "vllm/core/cache.py")
    (build.path / SCHED).unlink()
    (build.path / "a.py").touch()
    assert [fault.path for fault in verify_build(build, cache)] == ["a.py", "vllm/core/cache.py", SCHED]


@given(
    built=st.lists(
        st.dictionaries(
            st.sampled_from([path for path in ENGINE if path.endswith((".py", ".json"))]),
            st.text(st.characters(codec="utf-8"), max_size=12).map(lambda text: f"X = {text!r}\r\n"),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_switching_between_builds_leaves_the_pristine_tree_alone(cache, built):
    """Whatever is built, run and removed, in any order: every byte, mode and time of site-packages stays."""
    packages = packages_of(Cache(cache).env(NAME))
    collect_builds(cache, keep=())
    before = contents(packages)
    for number, files in enumerate(built):
        build = make_build(cache, environment_of(cache), recipe(files, f"{number:012x}"))
        assert {path: (build.path / path).read_bytes().decode() for path in files} == files
        assert verify_build(build, cache, deep=True) == ()
    assert contents(packages) == before
    collect_builds(cache, keep=())
    assert contents(packages) == before
    assert list(Cache(cache).builds.iterdir()) == []


@pytest.fixture
def both(cache, build):
    make_build(cache, environment_of(cache), recipe({SCHED: PATCHED}, OTHER))
    return cache


def present(cache):
    return {key for key in (KEY, OTHER) if find_build(cache, NAME, key)}


def test_collection_removes_all_but_what_is_kept(both):
    """Folder and manifest go; what is told is what it frees, and linked files free nothing."""
    collected = collect_builds(both, keep=[NAMES[KEY]])
    assert present(both) == {KEY}
    assert {one.path.name for one in collected.removed} == {NAMES[OTHER], f"{NAMES[OTHER]}.json"}
    assert 0 < sum(one.bytes for one in collected.removed) < 1 << 20
    assert verify_build(find_build(both, NAME, KEY), both, deep=True) == ()


def test_build_that_a_worker_uses_stays(both):
    """Named by the caller, since a worker that waits for its restart runs nothing."""
    collected = collect_builds(both, keep=(), in_use=[NAMES[KEY]])
    assert (present(both), collected.kept) == ({KEY}, (Kept(Cache(both).build(NAMES[KEY]), "a worker uses it"),))


def test_build_that_is_held_stays(both):
    """From finding it to the start of its process nobody removes it."""
    with hold_build(both, NAMES[KEY]) as held:
        assert held
        collected = collect_builds(both, keep=())
        assert (present(both), collected.kept[0].reason) == ({KEY}, "its lock is held")
        assert remove_build(both, NAMES[KEY]) == Kept(Cache(both).build(NAMES[KEY]), "its lock is held")
        with hold_build(both, NAMES[KEY]) as too:
            assert too
    collect_builds(both, keep=())
    assert present(both) == set()


def test_holding_what_is_not_there(cache):
    """It says so, and no lock outlives the block."""
    with hold_build(cache, NAMES[KEY]) as held:
        assert not held
    with lock.exclusive_now(Cache(cache).lock(NAMES[KEY])) as fd:
        assert fd is not None


def test_holding_what_somebody_removes(both):
    """It does not wait for the remover: to it the build is gone already."""
    with lock.exclusive_now(Cache(both).lock(NAMES[KEY])), hold_build(both, NAMES[KEY]) as held:
        assert not held


def test_build_that_is_held_can_still_be_asked_for(both):
    """Whoever asks for a build that others run gets it at once: it waits for none of them."""
    with hold_build(both, NAMES[KEY]):
        assert make_build(both, environment_of(both), recipe({SCHED: PATCHED})).key == KEY


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("how", ["PYTHONPATH", "mapped"])
def test_build_that_a_process_runs_from_stays(both, how, linked):
    """Also one that no daemon knows: by its environment, or by a library that it has mapped once that is wiped.

    A cache that is reached by a symbolic link is no other one: what is mapped stands there by its real path.
    """
    if linked:
        link = both.parent / "link"
        link.symlink_to(both)
        both = link
    folder = Cache(both).build(NAMES[KEY])
    code = "import mmap, sys; f = open(0, 'rb'); m = mmap.mmap(0, 0, prot=mmap.PROT_READ); print('up', flush=True)"
    code += "\nimport signal; signal.pause()"
    env = os.environ | ({"PYTHONPATH": f"{folder}:/elsewhere"} if how == "PYTHONPATH" else {})
    source = folder / "vllm/_C.abi3.so" if how == "mapped" else Cache(both).manifest(NAME)
    with (
        source.open("rb") as file,
        subprocess.Popen([sys.executable, "-c", code], stdin=file, stdout=subprocess.PIPE, env=env) as process,
    ):
        try:
            assert process.stdout.readline() == b"up\n"
            collected = collect_builds(both, keep=())
            assert (present(both), collected.kept[0].reason) == ({KEY}, f"process {process.pid} runs from it")
        finally:
            process.kill()
    collect_builds(both, keep=())
    assert present(both) == set()


def test_folder_that_a_process_runs_from_is_not_swept_for_a_new_build(cache, build):
    """Its manifest is damaged, but somebody still imports from it: making it anew is refused, by the process's id."""
    Cache(cache).build_manifest(build.name).write_text("{")
    env = os.environ | {"PYTHONPATH": str(build.path)}
    code = "import signal; print('up', flush=True); signal.pause()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) as process:
        try:
            assert process.stdout.readline() == b"up\n"
            with pytest.raises(ConflictError, match=f"process {process.pid} runs from it"):
                make_build(cache, environment_of(cache), recipe({SCHED: PATCHED}))
            assert (build.path / SCHED).exists()
        finally:
            process.kill()


def test_tampered_build_can_be_removed_and_made_again(cache, build):
    """A build is never mended in place."""
    append(build.path / SCHED)
    removed = remove_build(cache, build.name)
    assert isinstance(removed, Removed)
    assert removed.path == build.path
    assert verify_build(make_build(cache, environment_of(cache), recipe({SCHED: PATCHED})), cache, deep=True) == ()


def test_records_go_with_their_environment(both):
    """A record of an environment that is gone vouches for nothing that could be built."""
    collect_builds(both, keep=())
    assert Cache(both).pristine(NAME).exists()
    shutil.rmtree(Cache(both).env(NAME))
    with lock.shared(Cache(both).lock(f"{NAME}+pristine")):
        collect_builds(both, keep=())
        assert Cache(both).pristine(NAME).exists()
    collect_builds(both, keep=())
    assert list(Cache(both).pristines.iterdir()) == []


def test_manifest_goes_before_the_folder(both, monkeypatch):
    """A collection that is killed in between leaves a folder that does not count, not a manifest without one."""
    monkeypatch.setattr(atomic, "discard", lambda folder: (_ for _ in ()).throw(KeyboardInterrupt(str(folder))))
    with pytest.raises(KeyboardInterrupt):
        remove_build(both, NAMES[KEY])
    assert Cache(both).build(NAMES[KEY]).is_dir()
    assert not Cache(both).build_manifest(NAMES[KEY]).exists()


def test_collection_of_an_empty_cache(tmp_path):
    """Nothing to do is no error."""
    assert collect_builds(tmp_path / "none", keep=()).removed == ()
