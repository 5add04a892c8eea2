"""Building environments with the real pip against an index on the loopback."""

import errno
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from genesisd.errors import ConflictError, NotFoundError, UnavailableError
from genesisd.pins import lock
from genesisd.pins.environment import build, find_environment
from genesisd.pins.errors import BuildError, NoSpaceError
from genesisd.pins.gc import collect
from genesisd.pins.install import site_packages
from genesisd.pins.layout import Cache, environment_name
from genesisd.pins.slots import describe
from genesisd.pins.spec import PinSpec, PinsSpec
from genesisd.pins.verify import Kind, verify
from tests.helpers.loopback_index import make_wheel, serve_index

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

TORCH = make_wheel("faketorch", "1.0+cpu")
OLD_TORCH = make_wheel("faketorch", "0.9")
PLAIN_TORCH = make_wheel("faketorch", "1.0")
DROPPED = make_wheel("fakedropped", "3.0")
VLLM = make_wheel("fakevllm", "1.0", requires=("faketorch==1.0+cpu", "fakedropped"), command="vllm")
OLD_VLLM = make_wheel("fakevllm", "0.9", requires=("faketorch==1.0+cpu",), command="vllm")


def pin_of(fallback=None, **changes):
    source = {"fallback": [{"index": fallback, "packages": ["faketorch"]}]} if fallback else {}
    base = {
        "id": "fake-1.0",
        "package": "fakevllm",
        "version": "1.0",
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "source": source,
        "drop": [{"name": "fakedropped", "reason": "a test"}],
        "shim": {"name": "vllm", "version": "1.0+cpu"},
        "disk": 1,
    }
    return PinSpec.model_validate(base | changes)


@pytest.fixture(autouse=True)
def only_the_loopback(monkeypatch):
    """Pip with no configuration but what a test gives it."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "20")


@pytest.fixture
def serve(monkeypatch):
    """Starts an index; the first one becomes the configured one."""
    with ExitStack() as stack:
        served = []

        def start(*wheels):
            index = stack.enter_context(serve_index(*wheels))
            if not served:
                monkeypatch.setenv("PIP_INDEX_URL", index.url)
            served.append(index)
            return index

        yield start


def test_environment_holds_the_pin_and_nothing_dropped(serve, tmp_path):
    """The environment has the package, its torch and the shim, hashes on record, and starts; a second build asks nobody."""
    index, other = serve(VLLM, TORCH, DROPPED), serve(TORCH)
    pin = pin_of(other.url)
    assert find_environment(pin, tmp_path) is None
    events = []
    env = build(pin, tmp_path, events.append)

    assert env.path.parent == tmp_path / "envs"
    held = {one.name: one for one in env.manifest.distributions}
    assert held.keys() - {"pip", "setuptools"} == {"fakevllm", "faketorch", "vllm"}
    assert held["faketorch"].archive_sha256 == TORCH.sha256
    assert held["vllm"].version == "1.0+cpu"
    assert subprocess.check_output([env.vllm]) == b"1.0\n"
    assert other.asked == []
    assert [one.step for one in events if one.step == "done"] == ["done"]
    assert not list((tmp_path / "work").iterdir())
    assert verify(env, full=True) == ()

    before = len(index.asked)
    assert build(pin, tmp_path) == env
    assert len(index.asked) == before

    view = describe(PinsSpec(pins={pin.id: pin}), tmp_path)[0]
    assert (view.built, view.bytes, view.path) == (True, env.manifest.bytes, env.path)

    packages = site_packages(env.path)
    (packages / "sneaked.py").write_text("")
    (packages / "fakevllm" / "__init__.py").write_text("VERSION = '1.1'\n\n\ndef main():\n    print(VERSION)\n")
    (packages / "faketorch" / "__init__.py").unlink()
    assert [(one.path, one.kind) for one in verify(env, full=True)] == [
        ("faketorch/__init__.py", Kind.MISSING),
        ("fakevllm/__init__.py", Kind.CHANGED),
        ("sneaked.py", Kind.UNRECORDED),
    ]
    assert ("faketorch/__init__.py", Kind.MISSING) in [(one.path, one.kind) for one in verify(env)]


def test_fallback_is_asked_for_the_lacking_build_alone(serve, tmp_path):
    """An index without the build leads to the fallback, which hears of that package and no other."""
    index, other = serve(VLLM, DROPPED, PLAIN_TORCH), serve(TORCH, VLLM, DROPPED)
    env = build(pin_of(other.url), tmp_path)
    assert {one.name: one.version for one in env.manifest.distributions}["faketorch"] == "1.0+cpu"
    assert other.projects_asked() == {"faketorch"}
    assert "faketorch" in index.projects_asked()


def test_both_indexes_down_is_unavailable(serve, tmp_path):
    """An outage is an outage: named index, no credentials, and no word of a missing version."""
    index, other = serve(VLLM, DROPPED), serve(TORCH)
    other.status["faketorch"] = 503
    with pytest.raises(UnavailableError, match=r"faketorch.*503") as caught:
        build(pin_of(other.url), tmp_path)
    assert caught.value.fields["index"] == other.url.removesuffix("/simple")
    index.status |= {"fakevllm": 502}
    with pytest.raises(UnavailableError, match=r"fakevllm.*502"):
        build(pin_of(other.url, id="second"), tmp_path)
    assert not list((tmp_path / "envs").iterdir())


def test_closed_port_is_unavailable_and_keeps_credentials_secret(monkeypatch, tmp_path):
    """Nobody listening is an outage as well, and the password of the index is not in the message."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:s3cret@127.0.0.1:9/simple")
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9 \(asked for fakevllm\) did not answer") as caught:
        build(pin_of(), tmp_path)
    assert "s3cret" not in f"{caught.value.message}{caught.value.fields}"
    assert "s3cret" not in (tmp_path / "work" / environment_name(pin_of()) / "pip.log").read_text()


def test_outage_for_one_package_does_not_lead_to_the_fallback(serve, tmp_path):
    """An index that cannot answer for torch has not said that it lacks the build."""
    index, other = serve(VLLM, DROPPED, TORCH), serve(TORCH)
    index.status["faketorch"] = 500
    with pytest.raises(UnavailableError, match="faketorch"):
        build(pin_of(other.url), tmp_path)
    assert other.asked == []


def test_version_that_does_not_exist_is_not_found(serve, tmp_path):
    """An index that answers and lacks the version leads to an error that names what it has."""
    serve(OLD_VLLM, TORCH)
    with pytest.raises(NotFoundError, match=r"fakevllm==1\.0; it has 0\.9"):
        build(pin_of(), tmp_path)


def test_build_that_nobody_has_is_not_found(serve, tmp_path):
    """Once the fallback answered too and lacks the build, it does not exist."""
    serve(VLLM, DROPPED, PLAIN_TORCH)
    other = serve(PLAIN_TORCH)
    with pytest.raises(NotFoundError, match=r"faketorch==1\.0\+cpu"):
        build(pin_of(other.url), tmp_path)


def test_contradicting_requirements_are_a_conflict(serve, tmp_path):
    """Requirements that no set of versions meets are told as such, with both sides."""
    serve(VLLM, TORCH, DROPPED, make_wheel("fakelib", "1.0", requires=("faketorch==0.9",)), OLD_TORCH)
    with pytest.raises(ConflictError, match=r"fakelib 1\.0 depends on faketorch==0\.9"):
        build(pin_of(requirements=["fakelib"]), tmp_path)


def test_wheel_other_than_promised_is_refused_and_fetched_anew(serve, tmp_path):
    """Bytes that do not hash to the index's promise are never installed; once mended, the build goes on."""
    index = serve(VLLM, TORCH, DROPPED)
    build_resolves_first = pin_of()
    index.served[TORCH.filename] = VLLM.content
    with pytest.raises(BuildError, match="not what was recorded"):
        build(build_resolves_first, tmp_path)
    assert find_environment(build_resolves_first, tmp_path) is None
    index.served.clear()
    assert build(build_resolves_first, tmp_path).vllm.exists()


def test_damaged_download_in_the_store_is_replaced(serve, tmp_path):
    """A wheel that rotted in the shared store is noticed by its hash and fetched again."""
    index = serve(VLLM, TORCH, DROPPED)
    build(pin_of(), tmp_path)
    stored = Cache(tmp_path).wheel(TORCH.sha256, TORCH.filename)
    stored.write_bytes(b"rot" + stored.read_bytes()[3:])
    before = len(index.downloads())
    build(pin_of(constraints=["fakevllm<2"]), tmp_path)
    assert stored.read_bytes() == TORCH.content
    assert VLLM.filename not in index.downloads()[before + 3 :]


def test_wheel_named_by_path_and_hash(serve, tmp_path):
    """A pin may name its own wheel; its hash is held to."""
    serve(TORCH, DROPPED)
    wheel = tmp_path / VLLM.filename
    wheel.write_bytes(VLLM.content)
    source = {"wheel": str(wheel), "sha256": VLLM.sha256}
    assert build(pin_of(source=source), tmp_path / "cache").vllm.exists()
    with pytest.raises(BuildError, match="not what was recorded"):
        build(pin_of(source=source | {"sha256": TORCH.sha256}), tmp_path / "cache")


def test_package_without_the_command_is_refused(serve, tmp_path):
    """A package that brings no vllm command is not an engine, and leaves no environment."""
    serve(make_wheel("fakevllm", "1.0"))
    with pytest.raises(BuildError, match="brings no 'vllm' command"):
        build(pin_of(), tmp_path)
    assert not list((tmp_path / "envs").iterdir())


def test_missing_python_says_which(tmp_path):
    """A Python that is not there is named, with how to mend it."""
    with pytest.raises(NotFoundError, match=r"Python 3\.99") as caught:
        build(pin_of(python="3.99"), tmp_path)
    assert "install python3.99" in caught.value.hint


def test_shortage_is_predicted(tmp_path):
    """Too little space is told before anything is fetched, with both figures and the folder."""
    with pytest.raises(NoSpaceError, match=r"needs about \d+.* GiB, and .* is free in") as caught:
        build(pin_of(disk=1 << 60), tmp_path)
    assert caught.value.fields["folder"] == str(tmp_path)
    assert caught.value.fields["needed"] == 1 << 60


def test_no_space_error_of_our_own_writes_is_told_alike(serve, tmp_path, monkeypatch):
    """The disk filling up under a write of ours reads as one that fills up under pip."""
    serve(VLLM, TORCH, DROPPED)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("genesisd.pins.environment.write_manifest", full)
    with pytest.raises(NoSpaceError, match="ran out of space"):
        build(pin_of(), tmp_path)
    assert not list((tmp_path / "envs").iterdir())


def test_collection_spares_what_is_needed_or_in_use(serve, tmp_path):
    """Unneeded environments and downloads go; needed ones, held ones and running ones stay."""
    serve(VLLM, OLD_VLLM, TORCH, DROPPED)
    old, new = pin_of(id="old", version="0.9", drop=[]), pin_of()
    stale, env = build(old, tmp_path), build(new, tmp_path)
    cache = Cache(tmp_path)

    with lock.shared(cache.lock(stale.name)):
        assert [one.reason for one in collect([new], tmp_path).kept] == ["its lock is held"]
    with subprocess.Popen([stale.python, "-c", "input()"], stdin=subprocess.PIPE) as running:
        held = collect([new], tmp_path)
        running.communicate(b"\n")
    assert [one.reason for one in held.kept] == [f"process {running.pid} runs from it"]
    assert stale.vllm.exists()

    gone = {one.path for one in collect([new], tmp_path).removed}
    assert gone == {stale.path, cache.wheels / OLD_VLLM.sha256}
    assert find_environment(old, tmp_path) is None
    assert verify(env, full=True) == ()
