"""From a spec to argv, environment, folders and a port."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from genesisd.config.paths import Paths
from genesisd.config.root import PortRange
from genesisd.errors import ConfigError, NotFoundError, UnavailableError
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import launcher as module
from genesisd.wiring.launcher import Patches, SpecLauncher, reports_of
from tests.fakes.supervision import life
from tests.fakes.wiring import FakeEngines

PATHS = Paths(Path("/s"), Path("/r"), Path("/c"), Path("/r/control.sock"))


@pytest.fixture
def taken(monkeypatch):
    """Ports that somebody holds."""
    ports: set[int] = set()
    monkeypatch.setattr(module, "is_free", lambda host, port: port not in ports)
    return ports


async def plain(_worker, _incarnation):
    """No patches are known of."""


@pytest.fixture
def make(taken):
    """``make(w=WorkerSpec(...))``: a launcher for these workers, on ports 100 to 103."""

    def build(paths=PATHS, lives=None, patches=plain, **specs):
        models = {"tiny": Path("/models/tiny")}
        return SpecLauncher(
            lambda: specs,
            paths,
            lambda: PortRange(first=100, last=103),
            FakeEngines(),
            models.get,
            (lives or {}).get,
            patches,
        )

    return build


def pinned(pin="new", **fields):
    return WorkerSpec(pin=pin, model="org/model", **fields)


def flag(argv, name):
    return argv[argv.index(name) + 1]


async def test_a_patched_build_is_found_before_the_pins_own_packages(make):
    """First on the path, before what the worker itself wants there, and with a folder for reports that is its own."""

    async def patches(_worker, _incarnation):
        return Patches({"PYTHONPATH": "/own", "GENESIS_ENABLE_P61C": "1"}, Path("/builds/b"))

    launch = await make(w=pinned(env={"GENESIS_ENABLE_P61C": "1", "GONE": "1"}), patches=patches).prepare("w", 3)
    assert launch.env["PYTHONPATH"] == "/builds/b:/own"
    assert launch.env["GENESIS_ENABLE_P61C"] == "1"
    assert "GONE" not in launch.env  # what a policy leaves out is left out
    reports = Path(launch.env["GENESIS_ATTEST_DIR"])
    assert reports == reports_of(PATHS, "w")
    assert reports in launch.scratch


@pytest.mark.parametrize(("asked", "given"), [("", "genesisd_attest"), ("lora,x", "lora,x,genesisd_attest")])
async def test_a_list_of_plugins_lets_ours_through(make, asked, given):
    """vLLM loads none that the list leaves out, and a worker that says nothing is never ready."""

    async def patches(_worker, _incarnation):
        return Patches({"VLLM_PLUGINS": asked}, Path("/builds/b"))

    assert (await make(w=pinned(), patches=patches).prepare("w", 3)).env["VLLM_PLUGINS"] == given


async def test_without_a_build_nothing_points_to_one(make):
    """The plain pin runs as it did before there were patches."""

    async def patches(_worker, _incarnation):
        return Patches({"A": "1"}, None)

    launch = await make(w=pinned(env={"A": "1"}), patches=patches).prepare("w", 3)
    assert {"PYTHONPATH", "GENESIS_ATTEST_DIR"}.isdisjoint(launch.env)
    assert launch.env == (await make(w=pinned(env={"A": "1"})).prepare("w", 3)).env


async def test_a_pinned_worker_runs_the_pins_vllm(make):
    """Executable, model, address and name, then the worker's own flags, which vLLM lets win."""
    launch = await make(w=pinned(args=("--seed", "1"))).prepare("w", 3)
    assert launch.argv[:3] == ("/pins/new/bin/vllm", "serve", "org/model")
    assert (flag(launch.argv, "--host"), flag(launch.argv, "--port")) == ("127.0.0.1", "100")
    assert flag(launch.argv, "--served-model-name") == "w"
    assert launch.argv[-2:] == ("--seed", "1")
    assert (launch.worker, launch.incarnation, launch.port, launch.cwd) == ("w", 3, 100, Path("/s/workers/w"))


async def test_server_load_tracking_is_added_once(make):
    """The daemon counts with it; whoever gave it already does not get it twice."""
    for args in ((), ("--enable-server-load-tracking",)):
        argv = (await make(w=pinned(args=args)).prepare("w", 1)).argv
        assert argv.count("--enable-server-load-tracking") == 1


@pytest.mark.parametrize("args", [("--shutdown-timeout", "7"), ("--shutdown-timeout=7",)])
async def test_a_shutdown_timeout_of_ones_own_stands(make, args):
    """Both ways of writing it count as given."""
    argv = (await make(w=pinned(args=args)).prepare("w", 1)).argv
    assert [part for part in argv if part.startswith("--shutdown-timeout")] == [args[0]]


@pytest.mark.parametrize(
    ("stop", "seconds"),
    [({"drain": "30s", "grace": "10s"}, "2"), ({"drain": "1s", "grace": "10s"}, "1"), ({"grace": "1s"}, "1")],
)
async def test_the_shutdown_timeout_is_short_and_ends_before_the_grace_does(make, stop, seconds):
    """The drain came before it; else SIGKILL would cut off what the engine still answers."""
    assert flag((await make(w=pinned(stop=stop)).prepare("w", 1)).argv, "--shutdown-timeout") == seconds


@pytest.mark.parametrize("spec", [pinned("old"), pinned(stop={"drain": 0})], ids=["0.17 pin", "no drain"])
async def test_no_shutdown_timeout_where_it_is_unknown_or_unwanted(make, spec):
    """A 0.17 engine would end with a usage error."""
    assert "--shutdown-timeout" not in (await make(w=spec).prepare("w", 1)).argv


async def test_the_projects_own_model_is_found_by_name(make):
    """``demo:tiny`` becomes a folder, any other demo is an error that names the right one."""
    launcher = make(w=WorkerSpec(pin="new", model="demo:tiny"), x=WorkerSpec(pin="new", model="demo:huge"))
    assert (await launcher.prepare("w", 1)).argv[2] == "/models/tiny"
    with pytest.raises(NotFoundError, match="demo:huge") as caught:
        await launcher.prepare("x", 1)
    assert "demo:tiny" in caught.value.hint


async def test_a_pin_that_is_not_built_is_refused(make):
    """With what to do about it."""
    with pytest.raises(UnavailableError, match="not built") as caught:
        await make(w=pinned("unbuilt")).prepare("w", 1)
    assert "pins build" in caught.value.hint


async def test_a_command_gets_its_port_and_keeps_its_braces(make):
    """Only {port}, {host} and {worker} are filled in; JSON in a flag is not format syntax."""
    options = '{"a": {"b": 1}, "c": "{other}"}'
    spec = WorkerSpec(command=("vllm", "--port={port}", "{host}:{port}", "{worker}", options, "{{port}}"))
    argv = (await make(w=spec).prepare("w", 1)).argv
    assert argv == ("vllm", "--port=100", "127.0.0.1:100", "w", options, "{100}")
    assert json.loads(argv[4])["a"] == {"b": 1}


async def test_the_environment_keeps_everything_in_the_workers_own_folders(make, monkeypatch):
    """What vLLM, torch and Triton write is emptied with the worker; weights are worth keeping."""
    monkeypatch.delenv("HF_HOME", raising=False)
    launch = await make(w=pinned()).prepare("w", 3)
    env, scratch = launch.env, [str(folder) for folder in launch.scratch]
    inside = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT")
    for name in (*inside, "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        assert any(env[name].startswith(folder) for folder in scratch), name
    assert not any(env["HF_HOME"].startswith(folder) for folder in scratch)
    assert (env["HF_HOME"], env["TMPDIR"]) == ("/c/huggingface", "/r/tmp/w")
    assert env["VLLM_PROCESS_NAME_PREFIX"] == "genesis:w:3"


async def test_only_little_of_the_daemons_environment_is_inherited(make, monkeypatch):
    """A secret of the daemon is not one of its workers."""
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.setenv("HF_HOME", "/weights")
    monkeypatch.setenv("LANG", "C.UTF-8")
    env = (await make(w=pinned()).prepare("w", 1)).env
    assert "SECRET_TOKEN" not in env
    assert "CUDA_VISIBLE_DEVICES" not in env
    assert (env["HF_HOME"], env["LANG"]) == ("/weights", "C.UTF-8")


async def test_cards_are_named_as_nvidia_smi_numbers_them(make):
    """CUDA's own order is by speed, and index 1 would be another card."""
    env = (await make(w=pinned(gpus=(1, 0))).prepare("w", 1)).env
    assert (env["CUDA_VISIBLE_DEVICES"], env["CUDA_DEVICE_ORDER"]) == ("1,0", "PCI_BUS_ID")


async def test_the_users_environment_wins(make):
    """Whatever the daemon would set, ``env`` is the last word."""
    own = {"TMPDIR": "/mine", "VLLM_NO_USAGE_STATS": "0", "CUDA_VISIBLE_DEVICES": "3", "NEW": "1"}
    env = (await make(w=pinned(env=own, gpus=(0,))).prepare("w", 1)).env
    assert own.items() <= env.items()


async def test_a_tmpdir_that_sockets_would_not_fit_below_is_refused(make):
    """At most 70 characters; the message has the path, the hint the setting."""
    longest = Paths(Path("/s"), Path("/" + "r" * 63), Path("/c"), Path("/x"))
    assert len((await make(longest, w=pinned()).prepare("w", 1)).env["TMPDIR"]) == 70
    with pytest.raises(ConfigError, match="70 characters") as caught:
        await make(longest, ww=pinned()).prepare("ww", 1)
    assert "runtime_dir" in caught.value.hint


async def test_the_log_settings_and_the_folder_are_the_specs(make):
    """Rotation is done by the shim, which is told here."""
    launch = await make(w=pinned(log={"max_bytes": "1MiB", "keep": 2}, cwd="/srv")).prepare("w", 1)
    assert (launch.log_max_bytes, launch.log_keep, launch.cwd) == (1 << 20, 2, Path("/srv"))


# --- ports ----------------------------------------------------------------------------------------------------


async def test_each_worker_has_a_port_of_its_own(make):
    """Two that start at the same time do not get the same."""
    launcher = make(a=pinned(), b=pinned(), c=pinned())
    assert [(await launcher.prepare(name, 1)).port for name in "abc"] == [100, 101, 102]


async def test_the_last_port_comes_first(make, taken):
    """A worker keeps its port across incarnations, while nobody else took it."""
    launcher = make(a=pinned(), b=pinned())
    taken.add(100)
    assert (await launcher.prepare("a", 1)).port == 101
    taken.clear()
    assert (await launcher.prepare("a", 2)).port == 101
    taken.add(101)
    assert (await launcher.prepare("a", 3)).port == 100
    assert (await launcher.prepare("b", 1)).port == 102


async def test_a_port_that_another_worker_was_given_is_skipped(make):
    """Chosen by its operator, held by an adopted life that does not listen yet: both are somebody's."""
    launcher = make(lives={"b": life("b", port=101)}, a=pinned(), b=pinned(), c=pinned(engine_port=100))
    assert (await launcher.prepare("a", 1)).port == 102


async def test_ports_of_workers_that_left_are_free_again(make):
    """Renaming workers on and on does not use the range up."""
    specs = {}
    launcher = SpecLauncher(
        lambda: specs, PATHS, lambda: PortRange(first=100, last=103), FakeEngines(), {}.get, {}.get, plain
    )
    for n in range(50):
        specs.clear()
        specs[f"w{n}"] = pinned()
        assert (await launcher.prepare(f"w{n}", 1)).port == 100


async def test_a_spent_range_is_an_error_with_its_bounds(make, taken):
    """The message names the range, the hint the setting."""
    taken.update(range(100, 104))
    with pytest.raises(UnavailableError, match="100-103") as caught:
        await make(w=pinned()).prepare("w", 1)
    assert "port_range" in caught.value.hint


async def test_a_port_outside_a_range_that_changed_is_given_up(make):
    """A reload that moves the range moves the workers with their next start."""
    bounds = [PortRange(first=100, last=103)]
    launcher = SpecLauncher(lambda: {"w": pinned()}, PATHS, lambda: bounds[0], FakeEngines(), {}.get, {}.get, plain)
    assert (await launcher.prepare("w", 1)).port == 100
    bounds[0] = PortRange(first=200, last=203)
    assert (await launcher.prepare("w", 2)).port == 200


async def test_without_a_front_the_engine_listens_where_the_public_does(make):
    """On that host and port, whatever the range says."""
    spec = pinned(listen="0.0.0.0:8000", front={"enabled": False})
    launch = await make(w=spec).prepare("w", 1)
    assert (launch.host, launch.port) == ("0.0.0.0", 8000)


async def test_a_held_port_is_really_seen(make, monkeypatch):
    """With real sockets: a listener on the first port of the range makes the next one the choice."""
    monkeypatch.undo()
    with socket.create_server(("127.0.0.1", 0)) as one:
        first = one.getsockname()[1]
        bounds = PortRange.model_construct(first=first, last=first + 50)
        launcher = SpecLauncher(lambda: {"w": pinned()}, PATHS, lambda: bounds, FakeEngines(), {}.get, {}.get, plain)
        assert (await launcher.prepare("w", 1)).port > first
