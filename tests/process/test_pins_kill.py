"""Builders that are killed, interrupted, doubled, or run into a full disk."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import find_environment
from genesisd.pins.layout import environment_name
from genesisd.pins.verify import verify
from tests.helpers.loopback_index import make_wheel, serve_index

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

TORCH = make_wheel("faketorch", "1.0+cpu")
VLLM = make_wheel("fakevllm", "1.0", requires=("faketorch==1.0+cpu", "fakelib"), command="vllm")
LIB = make_wheel("fakelib", "2.0")
HEAVY = make_wheel("fakelib", "2.0", ballast=48 << 20)


@pytest.fixture
def pinsfile(tmp_path):
    pin = {
        "package": "fakevllm",
        "version": "1.0",
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "shim": {"name": "vllm", "version": "1.0+cpu"},
        "disk": 1,
    }
    path = tmp_path / "pins.yaml"
    path.write_text(yaml.safe_dump({"pins": {"fake": pin, "greedy": pin | {"disk": "1024TiB"}}}))
    return path


@pytest.fixture
def index():
    with serve_index(VLLM, TORCH, LIB) as served:
        yield served


class Builder:
    """The module as the daemon starts it, with its JSON lines."""

    def __init__(self, pinsfile: Path, cache: Path, index_url: str, pin="fake", progress="json"):
        env = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        env |= {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_INDEX_URL": index_url}
        argv = [sys.executable, "-m", "genesisd.pins.build", str(pinsfile), pin, "--cache", str(cache)]
        argv += ["--progress", progress]
        self.child = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.stdout.close()
        self.child.wait()

    def until(self, step):
        """Reads until ``step`` is told; True unless it ended first."""
        return any(json.loads(line).get("step") == step for line in self.child.stdout)

    def end(self):
        """Exit status and last line."""
        lines = self.child.stdout.read().splitlines()
        return self.child.wait(), (json.loads(lines[-1]) if lines[-1].startswith("{") else lines)


def processes_below(folder):
    mark = os.fsencode(str(folder))
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdecimal() and mark in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def nobody_below(folder, deadline=60.0):
    end = time.monotonic() + deadline
    while processes_below(folder) and time.monotonic() < end:
        time.sleep(0.02)
    return processes_below(folder) == []


def usable(pinsfile, cache):
    env = find_environment(find_pin(load_pins(pinsfile), "fake"), cache)
    return env is not None and verify(env, full=True) == () and subprocess.check_output([env.vllm]) == b"1.0\n"


STEPS = ["venv", "resolve", "download", "install", "compile", "check"]


@pytest.mark.parametrize("step", STEPS)
def test_killed_builder_leaves_nothing_usable_and_the_next_one_succeeds(step, pinsfile, tmp_path, index):
    """SIGKILL at any step: no environment, no child that goes on; the next build completes."""
    cache = tmp_path / "cache"
    with Builder(pinsfile, cache, index.url) as first:
        assert first.until(step)
        first.child.kill()
    assert find_environment(find_pin(load_pins(pinsfile), "fake"), cache) is None
    assert nobody_below(cache)
    with Builder(pinsfile, cache, index.url) as second:
        status, last = second.end()
    assert (status, last["event"]) == (0, "built"), last
    assert usable(pinsfile, cache)
    assert sorted(path.name for path in (cache / "envs").iterdir() if not path.name.startswith(".trash")) == [
        last["name"]
    ]


def test_build_goes_on_from_its_downloads_without_the_index(pinsfile, tmp_path):
    """What was fetched before the kill is not asked for again: the index may be gone."""
    cache = tmp_path / "cache"
    with serve_index(VLLM, TORCH, LIB) as index, Builder(pinsfile, cache, index.url) as first:
        assert first.until("install")
        first.child.kill()
    with Builder(pinsfile, cache, index.url) as second:
        assert second.end()[0] == 0
    assert usable(pinsfile, cache)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_builder_ends_its_children_and_says_so(number, pinsfile, tmp_path, index):
    """Ctrl-C or SIGTERM in the middle: children ended, half environment removed, exit status 128 + signal."""
    cache = tmp_path / "cache"
    with Builder(pinsfile, cache, index.url) as builder:
        assert builder.until("resolve")
        builder.child.send_signal(number)
        status, last = builder.end()
    assert (status, last.get("code")) == (128 + number, "interrupted"), last
    assert processes_below(cache) == []
    assert list((cache / "envs").iterdir()) == []


def test_two_builders_make_one_environment(pinsfile, tmp_path, index):
    """The second builder waits, says so, and finds what the first one built."""
    cache = tmp_path / "cache"
    with Builder(pinsfile, cache, index.url) as first:
        assert first.until("venv")
        with Builder(pinsfile, cache, index.url) as second:
            assert second.until("wait")
            assert first.end()[0] == 0
            status, last = second.end()
    assert (status, last["event"]) == (0, "built")
    assert usable(pinsfile, cache)
    assert len(index.downloads()) <= 2 * 3  # once to resolve, once to keep


def test_builder_waits_for_the_children_of_a_killed_one(pinsfile, tmp_path, index):
    """The lock outlives a killed builder for as long as a child of it might still write."""
    cache = tmp_path / "cache"
    gate = tmp_path / "gate"
    # It shrugs off its parent's death, and lives until it is let go.
    stubborn = "import ctypes, os, time\nctypes.CDLL(None).prctl(1, 0)\nprint(1, flush=True)\n"
    stubborn += f"while not os.path.exists({str(gate)!r}):\n  time.sleep(0.05)"
    code = "import sys; from pathlib import Path; from genesisd.pins import child, lock\n"
    code += "with lock.exclusive(Path(sys.argv[1]), print) as fd:\n"
    code += f"  child.run([sys.executable, '-c', {stubborn!r}],"
    code += " env={}, keep_fd=fd, on_line=lambda _: print('up', flush=True))\n"
    held = cache / "locks" / environment_name(find_pin(load_pins(pinsfile), "fake"))
    with subprocess.Popen([sys.executable, "-c", code, held], stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout.readline() == b"up\n"
        keeper.kill()
        try:
            with Builder(pinsfile, cache, index.url) as builder:
                assert builder.until("wait")
                gate.touch()
                assert builder.end()[0] == 0
        finally:
            gate.touch()


FAILURES = [("fake", 10, "unavailable"), ("greedy", 12, "no_space"), ("nope", 11, "not_found")]


@pytest.mark.parametrize(("pin", "status", "code"), FAILURES, ids=[one[2] for one in FAILURES])
def test_failure_is_told_by_status_and_last_line(pin, status, code, pinsfile, tmp_path):
    """Each kind of failure has its exit status, and the last JSON line says how to mend it."""
    with Builder(pinsfile, tmp_path / "cache", "http://127.0.0.1:9/simple", pin=pin) as builder:
        ended, last = builder.end()
    assert (ended, last["event"], last["code"]) == (status, "failed", code)
    assert last["message"]


def test_broken_pins_file_is_told_with_its_line(pinsfile, tmp_path):
    """A pins file that cannot be used gives status 2 with file, line and field."""
    pinsfile.write_text("pins:\n  fake:\n    pakage: x\n")
    with Builder(pinsfile, tmp_path, "http://127.0.0.1:9/simple") as builder:
        status, last = builder.end()
    assert (status, last["fields"]["line"], last["fields"]["field"]) == (2, 2, "pins.fake.package")


def test_people_get_plain_lines(pinsfile, tmp_path, index):
    """Away from a terminal a person reads whole lines, the last of which says where it is."""
    with Builder(pinsfile, tmp_path / "cache", index.url, progress="human") as builder:
        status, lines = builder.end()
    assert status == 0
    assert lines[0].startswith("venv")
    assert lines[-1].startswith(f"built {tmp_path}/cache/envs/fake-")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 40 MiB, unmounted at the end."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_disk_that_fills_up_half_way_is_told_as_such(pinsfile, small_disk):
    """A wheel larger than the disk: clear words, status 12, and no half environment that keeps the disk full."""
    with serve_index(VLLM, TORCH, HEAVY) as index, Builder(pinsfile, small_disk, index.url) as builder:
        status, last = builder.end()
    assert (status, last["code"]) == (12, "no_space"), last
    assert str(small_disk) in last["message"]
    assert list((small_disk / "envs").iterdir()) == []
