"""What a daemon of an earlier version left, found by this one."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import yaml

from genesisd.config import load
from genesisd.daemon import Daemon
from genesisd.notify import Notifier
from genesisd.probes.golden import Golden, Reply
from genesisd.store.store import Store
from genesisd.wiring.goldens import COMMAND, Goldens
from tests.helpers.keeper import SECONDS


async def test_a_recording_that_is_nobodys_any_more_is_told_and_stays():
    """It was of a worker, whatever its command; cases known right without their model are learnt anew, without a word."""
    root = Path(tempfile.mkdtemp(prefix="g-", dir="/tmp"))  # short, for sockets
    try:
        file = root / "genesisd.yaml"
        folders = {f"{name}_dir": str(root / name) for name in ("state", "runtime", "cache")}
        own = {"command": ["/bin/sleep", "600"], "autostart": False}
        file.write_text(yaml.safe_dump({"daemon": folders, "workers": {"own": own, "new": own}}))
        path = Goldens(root / "state" / "goldens").keep(Golden("own", COMMAND, None, "book@1", {"a": Reply("1")}))
        store = Store.open(root / "state" / "genesisd.db")
        await store.meta.set("known-right/own", ["tool-calls/one"])
        store.close()
        assert await _failed(Daemon(load(file), Notifier())) == [("own", "golden")]
        assert path.exists()
    finally:
        shutil.rmtree(root)


async def _failed(daemon: Daemon) -> list[tuple[str | None, object]]:
    """Workers and effects of all that failed until the daemon was up."""
    running = asyncio.create_task(daemon.run())
    async with asyncio.timeout(SECONDS):
        await daemon.started.wait()
        entries = await daemon.store.journal.query(limit=1000)
        daemon.stop(drain=True)
        await running
    return [(one.worker, one.fields["effect"]) for one in entries if one.kind == "effect_failed"]
