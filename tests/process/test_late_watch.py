"""A daemon that watches nothing neither loads the watch nor pretends to have one; a reload can bring it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import aiohttp
import pytest
import yaml

from genesisd.config import load
from genesisd.control.ports import Peer
from genesisd.errors import ConflictError
from genesisd.store.store import Store
from genesisd.telemetry.metrics import Metrics
from genesisd.watch.decisions import Standing
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.wiring import late_watch
from genesisd.wiring.late_watch import LateWatch
from genesisd.wiring.watch_needs import WatchNeeds
from tests.helpers.watched_box import NEVER, Heard, NoWorkers, ShiftedClock
from tests.process.test_watch_sweep import LIST

pytestmark = pytest.mark.process
ROOT, ONE = Peer(pid=1, uid=0, gid=0), Ref(UPSTREAM, 1)


def config(folder, **watch):
    content = {"daemon": {name: str(folder / name) for name in ("state_dir", "runtime_dir", "cache_dir")}}
    (folder / "genesisd.yaml").write_text(yaml.safe_dump(content | ({"watch": watch} if watch else {})))
    return load(folder / "genesisd.yaml")


@pytest.fixture
async def late(tmp_path):
    """The watch of a daemon, and the list that holds its configuration."""
    in_force = [config(tmp_path)]
    clock = ShiftedClock()
    in_force[0].paths.state_dir.mkdir()
    store = Store.open(in_force[0].paths.store, clock)
    async with aiohttp.ClientSession() as session:
        needs = WatchNeeds(
            config=lambda: in_force[0],
            store=store,
            session=session,
            sink=Heard(),
            metrics=Metrics(clock).watch,
            clock=clock,
            workers=NoWorkers({}),
        )
        watch = LateWatch(needs)
        yield watch, in_force
        await watch.close()
    store.close()


def test_a_daemon_does_not_load_what_it_may_not_need():
    """The scheduler and the sweeps are five megabytes of an idle daemon."""
    loaded = "import sys, genesisd.daemon; print(*sorted({'apscheduler', 'genesisd.wiring.watching'} & {*sys.modules}))"
    said = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout
    assert said == "\n"


async def test_where_nothing_is_watched_that_is_the_answer(late):
    """Lists are empty, and whatever asks for one pull request is refused with how to mend it."""
    watch, _ = late
    await watch.start()
    await watch.refresh()
    await watch.reconfigured()
    desk = watch.desk
    assert (await desk.status()).watchlist is None
    assert (await desk.rows(), await desk.decisions(open_only=True)) == ((), ())
    for refused in (
        desk.show(ONE),
        desk.why(ONE),
        desk.report(None, "html"),
        desk.answer(1, Standing.ACCEPTED, ROOT, why=""),
        desk.dossiers(ONE, None, None, anew=False),
        desk.forget(ONE, ROOT),
        desk.sweep("nightly", ROOT),
        anext(desk.progress(None)),
    ):
        with pytest.raises(ConflictError, match="nothing is watched") as caught:
            await refused
        assert "watchlist" in caught.value.hint


async def test_a_reload_brings_the_watch_and_takes_its_list_away_again(late, tmp_path):
    """Whoever had the desk before has the same one, which answers for the list there is now."""
    watch, in_force = late
    await watch.start()
    desk = watch.desk
    (tmp_path / "list.yaml").write_bytes(LIST)
    nothing = in_force[0]
    in_force[0] = config(tmp_path, watchlist="list.yaml", schedule=NEVER)
    await watch.reconfigured()
    assert (await desk.status()).watchlist == str(tmp_path / "list.yaml")
    assert [row.ref for row in await desk.rows()] == ["vllm#1", "vllm#2", "vllm#1"]
    in_force[0] = nothing
    await watch.reconfigured()
    assert (await desk.status()).watchlist is None
    with pytest.raises(ConflictError):
        await desk.sweep("nightly", ROOT)


async def test_a_reload_at_the_end_brings_nothing_to_life(late, tmp_path):
    """The store is closed by then."""
    watch, in_force = late
    (tmp_path / "list.yaml").write_bytes(LIST)
    in_force[0] = config(tmp_path, watchlist="list.yaml", schedule=NEVER)
    await watch.close()
    await watch.reconfigured()
    assert (await watch.desk.status()).watchlist is None


async def test_it_is_loaded_beside_the_loop_and_once(late, tmp_path, monkeypatch):
    """Two reloads at once bring one watch, and workers do not wait for its five megabytes."""
    watch, in_force = late
    await watch.start()
    loaded, made, make = [], [], watch._make
    monkeypatch.setattr(late_watch, "import_module", lambda name: loaded.append((name, threading.current_thread())))
    monkeypatch.setattr(watch, "_make", lambda: made.append(make()))
    (tmp_path / "list.yaml").write_bytes(LIST)
    in_force[0] = config(tmp_path, watchlist="list.yaml", schedule=NEVER)
    await asyncio.gather(watch.reconfigured(), watch.reconfigured())
    assert {name for name, _ in loaded} == {"genesisd.wiring.watch_api"}
    assert threading.main_thread() not in {thread for _, thread in loaded}
    assert len(made) == 1
