"""Reloads of a whole daemon, in this process, whatever comes at the same time."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml

from genesisd.config import load
from genesisd.daemon import Daemon
from genesisd.errors import ConfigError, ConflictError
from genesisd.notify import Notifier
from tests.helpers.keeper import SECONDS


def spec(**fields):
    return {"command": ["/bin/sleep", "600"], "autostart": False, **fields}


class Box:
    """A daemon's file and folders. Nothing is started but by a test."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="g-", dir="/tmp"))  # short, for sockets
        self.file = self.root / "genesisd.yaml"

    def write(self, **workers):
        """The file, replaced as an editor does."""
        folders = {f"{name}_dir": str(self.root / name) for name in ("state", "runtime", "cache")}
        fresh = self.file.with_suffix(".new")
        fresh.write_text(yaml.safe_dump({"daemon": folders, "workers": workers}, sort_keys=False))
        fresh.rename(self.file)

    @contextlib.asynccontextmanager
    async def daemon(self, *, before=lambda daemon: None):
        daemon = Daemon(load(self.file), Notifier())
        running = asyncio.create_task(daemon.run())
        before(daemon)
        started = asyncio.create_task(daemon.started.wait())
        async with asyncio.timeout(SECONDS):
            await asyncio.wait({running, started}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                started.cancel()
                await running
            try:
                yield daemon
            finally:
                daemon.stop(drain=True)
                await running


@pytest.fixture
def box():
    box = Box()
    yield box
    shutil.rmtree(box.root)


async def told(daemon, kind):
    entries = await daemon.store.journal.query(limit=1000)
    return [entry for entry in entries if entry.kind == kind]


def names(daemon):
    return list(daemon.parts.supervisor.specs)


async def quiet(daemon):
    """Until no reload is under way or waits."""
    await asyncio.sleep(0)
    while daemon.reloads.waits or daemon.reloads.turn.locked():
        await asyncio.sleep(0.01)


async def test_a_storm_of_signals_reads_the_file_a_few_times(box):
    """The last change counts, and the daemon does not read for each signal."""
    box.write(a=spec())
    async with box.daemon() as daemon:
        for n in range(500):
            if n == 250:
                box.write(a=spec(), b=spec())
            daemon.reload_soon()
            if n % 50 == 0:
                await asyncio.sleep(0)
        box.write(a=spec(), c=spec())
        daemon.reload_soon()
        await quiet(daemon)
        assert names(daemon) == ["a", "c"]
        assert len(await told(daemon, "config_reloaded")) <= 12


async def test_a_signal_before_the_daemon_has_begun_is_obeyed_after(box):
    """A reload that met an adoption would act on workers that are not there yet."""
    box.write(a=spec())

    def edit(daemon):
        box.write(b=spec())
        daemon.reload_soon()

    async with box.daemon(before=edit) as daemon:
        await quiet(daemon)
        while names(daemon) != ["b"]:  # a leaves in the background
            await asyncio.sleep(0.01)


async def test_reloads_at_once_are_done_one_after_the_other(box):
    """Each answers, and what is in the file in the end is in force."""
    box.write(a=spec())
    async with box.daemon() as daemon:
        views = []
        for n in range(6):
            box.write(**{f"w{n}": spec(), "a": spec(env={"N": str(n)})})
            views.append(asyncio.create_task(daemon.reloads.now()))
            daemon.reload_soon()
            await asyncio.sleep(0.002 * n)
        await asyncio.gather(*views)
        await quiet(daemon)
        while names(daemon) != ["w5", "a"]:
            await asyncio.sleep(0.01)
        assert daemon.parts.supervisor.specs["a"].env == {"N": "5"}


async def test_a_broken_file_changes_nothing_and_is_told(box):
    """By the answer, by the event and by status; the next good one clears it."""
    box.write(a=spec())
    async with box.daemon() as daemon:
        box.file.write_text("workers: {a: {comand: [x]}}")
        with pytest.raises(ConfigError, match="comand"):
            await daemon.reloads.now()
        daemon.reload_soon()
        await quiet(daemon)
        assert (names(daemon), daemon.operations.daemon().config_ok) == (["a"], False)
        assert len(await told(daemon, "config_rejected")) == 2
        box.write(a=spec())
        await daemon.reloads.now()
        assert daemon.operations.daemon().config_ok


async def test_a_file_that_is_gone_changes_nothing(box):
    """Somebody is in the middle of replacing it."""
    box.write(a=spec())
    async with box.daemon() as daemon:
        box.file.unlink()
        with pytest.raises(ConfigError):
            await daemon.reloads.now()
        assert names(daemon) == ["a"]


async def test_no_reload_begins_once_the_daemon_ends(box):
    """It would bring workers that nobody stops any more."""
    box.write(a=spec())
    async with box.daemon() as daemon:
        box.write(a=spec(), b=spec(autostart=True))
        daemon.stop(drain=True)
        daemon.reload_soon()
        with pytest.raises(ConflictError, match="shutting down"):
            await daemon.reloads.now()
    assert not (box.root / "state" / "workers" / "b").exists()


async def test_a_removed_worker_and_one_of_its_name(box):
    """Removed and added again in quick turns: one worker in the end, with the last settings."""
    box.write(a=spec(), b=spec())
    async with box.daemon() as daemon:
        for n in range(5):
            box.write(b=spec())
            await daemon.reloads.now()
            box.write(a=spec(env={"N": str(n)}), b=spec())
            view = await daemon.reloads.now()
            assert view.added == ("a",)
        assert names(daemon) == ["a", "b"]
        assert daemon.parts.supervisor.specs["a"].env == {"N": "4"}
        assert [view.name for view in daemon.views.workers()] == ["a", "b"]


async def test_a_hundred_workers_change_at_once(box):
    """And nothing else does."""
    box.write(**{f"w{n}": spec() for n in range(100)}, keep=spec())
    async with box.daemon() as daemon:
        box.write(**{f"w{n}": spec(env={"X": "1"}) for n in range(100)}, keep=spec())
        view = await daemon.reloads.now()
        assert (len(view.changed), view.unchanged) == (100, ("keep",))
        assert await told(daemon, "worker_phase") == []
