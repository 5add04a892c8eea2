"""The store on a real disk: order, bounds, damage, rivals, a full disk."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from genesisd.store import Store, StoreError, StoreLockedError, StoreTooNewError
from genesisd.store.schema import newest
from genesisd.supervisor.model import Phase, Reason, WorkerState

pytestmark = pytest.mark.process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "genesisd.db"


async def fill(path: Path, rows: int = 50) -> None:
    store = Store.open(path)
    try:
        for n in range(rows):
            await store.workers.save(f"w{n % 5}", WorkerState(phase=Phase.READY, incarnation=n, wanted=True))
            store.journal.append(float(n), "worker_phase", f"w{n % 5}", n, {"n": n})
        await store.meta.set("fact", {"a": [1, None]})
    finally:
        store.close()


async def test_a_reopened_store_has_everything(path):
    """States, events and facts come back after a close."""
    await fill(path)
    store = Store.open(path)
    try:
        assert store.problems == []
        assert store.workers.load()["w4"] == WorkerState(phase=Phase.READY, incarnation=49, wanted=True)
        assert [entry.fields["n"] for entry in await store.journal.query(limit=3)] == [47, 48, 49]
        assert await store.meta.get("fact") == {"a": [1, None]}
        assert await store.meta.get("nothing", 5) == 5
    finally:
        store.close()


async def test_a_forgotten_worker_is_gone(path):
    """What was removed from the configuration leaves nothing behind."""
    await fill(path)
    store = Store.open(path)
    await store.workers.forget("w1")
    await store.meta.set("fact", None)
    store.close()
    store = Store.open(path)
    assert sorted(store.workers.load()) == ["w0", "w2", "w3", "w4"]
    assert await store.meta.get("fact") is None
    store.close()


async def test_a_query_sees_what_was_appended_before_it(path):
    """Nobody has to wait for the thread, and the bounds of a query hold."""
    store = Store.open(path)
    try:
        ids = [store.journal.append(1.0, "k", "a" if n % 2 else None, None, {}).id for n in range(100)]
        assert [one.id for one in await store.journal.query(limit=1000)] == ids
        assert [one.id for one in await store.journal.query(since=ids[10], limit=2)] == ids[11:13]
        assert [one.id for one in await store.journal.query(worker="a", limit=2)] == [ids[97], ids[99]]
        assert await store.journal.query(since=ids[-1]) == ()
        assert await store.journal.query(limit=0) == ()
        late = store.journal.append(50.0, "k", "a", None, {}).id
        assert [one.id for one in await store.journal.query(from_time=1.5)] == [late]
    finally:
        store.close()


async def test_the_journal_is_bounded_by_rows_and_by_age(path):
    """Old rows go; ids are never used twice, also across a reopening with nothing left."""
    store = Store.open(path, max_rows=300, max_age=1000.0)
    for _ in range(1024):
        last = store.journal.append(5000.0, "k", None, None, {}).id
    assert len(await store.journal.query(limit=10_000)) == 300
    for _ in range(256):
        last = store.journal.append(99_999.0, "k", None, None, {}).id
    assert {one.at for one in await store.journal.query(limit=10_000)} == {99_999.0}
    store.close()
    store = Store.open(path)
    assert store.journal.append(1.0, "k", None, None, {}).id == last + 1
    store.close()


async def test_many_saves_at_once_all_return(path):
    """Concurrent savers share commits, and the newest state of each wins."""
    store = Store.open(path)
    try:
        await asyncio.gather(*(store.workers.save(f"w{n % 10}", WorkerState(incarnation=n)) for n in range(500)))
    finally:
        store.close()
    store = Store.open(path)
    assert {name: state.incarnation for name, state in store.workers.load().items()} == {
        f"w{n}": 490 + n for n in range(10)
    }
    store.close()


async def test_damage_that_is_met_while_running_replaces_the_file(path):
    """The workers' newest states are written into the new file; the damaged one is kept, and it is told."""
    await fill(path, 5)
    store = Store.open(path)
    for _ in range(4000):  # more than SQLite keeps in its memory
        store.journal.append(1.0, "k", None, None, {"pad": "x" * 1000})
    store.close()
    store = Store.open(path)
    problems = []
    store.on_problem = problems.append
    await store.workers.save("live", WorkerState(incarnation=7))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(random.Random(4).randbytes(size - 4096))
    await store.journal.query(limit=10_000)
    assert [problem.code for problem in problems] == ["damaged"]
    assert Path(problems[0].path).exists()
    await store.workers.save("later", WorkerState(incarnation=8))
    store.journal.append(1.0, "after", None, None, {})
    assert [one.kind for one in await store.journal.query()] == ["after"]
    store.close()
    store = Store.open(path)
    assert store.problems == []
    assert set(store.workers.load()) == {"live", "later", "w0", "w1", "w2", "w3", "w4"}
    store.close()


async def test_what_can_never_be_written_holds_up_nothing(path):
    """A number beyond 64 bits, and bytes that are no text: dropped or mended, counted, and the rest is kept."""
    store = Store.open(path)
    await store.workers.save("odd", WorkerState(incarnation=1 << 70))
    await store.workers.save("bytes", WorkerState(incarnation=2, reason=Reason("crash", "last words: \udcff")))
    await store.workers.save("endless", WorkerState(incarnation=3, deadline=float("inf")))
    store.journal.append(1.0, "huge", "w", 1 << 70, {})
    store.journal.append(1.0, "kind\ud800", "w\ud800", 1, {"text": "\udcff"})
    store.journal.append(1.0, "keys", "w", 1, {(1, 2): 3})
    loop = {}
    loop["itself"] = loop
    store.journal.append(1.0, "cycle", "w", 1, loop)
    store.journal.append(1.0, "good", "w", 1, {"path": Path("/x")})
    assert [one.kind for one in await store.journal.query()] == ["kind?", "keys", "cycle", "good"]
    assert store.errors == 2
    store.close()
    store = Store.open(path)
    states = store.workers.load()
    assert sorted(states) == ["bytes", "endless"]
    assert states["bytes"].reason.text == "last words: ?"
    assert states["endless"].deadline == float("inf")
    store.close()


async def test_a_file_that_is_deleted_under_the_daemon_harms_nobody(path):
    """An operator's rm costs the history and nothing else."""
    store = Store.open(path)
    await store.workers.save("w", WorkerState(incarnation=1))
    for file in path.parent.glob("genesisd.db*"):
        if not file.name.endswith(".lock"):
            file.unlink()
    await store.workers.save("w", WorkerState(incarnation=2))
    store.close()
    Store.open(path).close()


async def test_a_closed_store_takes_nothing_and_kills_nobody(path):
    """A late event or save during shutdown is harmless."""
    store = Store.open(path)
    store.close()
    store.journal.append(1.0, "k", None, None, {})
    await store.workers.save("w", WorkerState())
    assert store.errors == 1


async def test_a_cancelled_save_breaks_nothing(path):
    """An actor may be cancelled while it waits for the disk."""
    store = Store.open(path)
    task = asyncio.create_task(store.workers.save("w", WorkerState(incarnation=1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.workers.save("v", WorkerState(incarnation=2))
    store.close()
    assert store.errors == 0


async def test_truncation_at_any_byte_never_refuses(path, tmp_path):
    """I10: whatever a power cut leaves, the daemon starts, and tells when it lost something."""
    await fill(path, 400)
    whole = path.read_bytes()
    page = 4096
    offsets = {0, 1, 15, 16, 60, 99, 100, 101, page - 1, page, page + 1, len(whole) - 1, len(whole) - page}
    offsets |= set(random.Random(1).sample(range(len(whole)), 60))
    for offset in sorted(offsets):
        victim = tmp_path / f"cut{offset}" / "genesisd.db"
        victim.parent.mkdir()
        victim.write_bytes(whole[:offset])
        store = Store.open(victim)
        await store.workers.save("new", WorkerState(incarnation=1))
        store.journal.append(1.0, "k", None, None, {})
        assert "new" in {**store.workers.load(), "new": 1}
        assert store.errors == 0, offset
        store.close()
        if store.problems:
            assert store.problems[0].code == "damaged"
            assert Path(store.problems[0].path).read_bytes() == whole[:offset]
        else:
            assert offset == 0, f"a file cut at {offset} of {len(whole)} passed as whole"


async def test_a_cut_wal_loses_only_its_end(path, tmp_path):
    """After kill -9 the log beside the file may end anywhere; what was committed before the cut is kept."""
    store = Store.open(path)
    for n in range(60):
        await store.workers.save("w", WorkerState(incarnation=n))
    base, wal = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    store.close()
    for offset in random.Random(2).sample(range(len(wal)), 40):
        victim = tmp_path / f"wal{offset}" / "genesisd.db"
        victim.parent.mkdir()
        victim.write_bytes(base)
        Path(f"{victim}-wal").write_bytes(wal[:offset])
        store = Store.open(victim)
        await store.workers.save("x", WorkerState())
        assert store.errors == 0
        store.close()


@pytest.mark.parametrize("seed", range(30))
async def test_garbage_inside_the_file_never_refuses(path, seed):
    """Bits rot too: the store opens, or is replaced now or when the rot is met, and goes on."""
    await fill(path, 300)
    raw, dice = bytearray(path.read_bytes()), random.Random(seed)
    start = dice.randrange(len(raw))
    raw[start : start + 512] = dice.randbytes(len(raw[start : start + 512]))
    path.write_bytes(raw)
    try:
        store = Store.open(path)
    except StoreTooNewError:
        assert start < 100, "only the header holds the version"
        return
    for n in range(20):
        await store.workers.save(f"w{n}", WorkerState(incarnation=n))
        store.journal.append(1.0, "k", f"w{n}", 1, {})
    await store.journal.query(limit=1000)
    store.close()
    again = Store.open(path)
    assert {f"w{n}" for n in range(20)} <= set(again.workers.load())
    again.close()


async def test_an_empty_folder_or_text_file_in_its_place(path):
    """A text file is moved aside like any damage."""
    path.write_text("this is not a database, and it is longer than a header: " + "x" * 200)
    store = Store.open(path)
    assert [problem.code for problem in store.problems] == ["damaged"]
    assert "moved" in store.problems[0].text or "kept as" in store.problems[0].text
    store.close()


async def test_damage_is_kept_each_time_under_a_new_name(path):
    """A second damage must not overwrite the evidence of the first."""
    for _ in range(3):
        path.write_bytes(b"garbage" * 100)
        Store.open(path).close()
    assert sorted(one.name for one in path.parent.glob("*.damaged.*") if one.suffix[1:].isdigit()) == [
        f"genesisd.db.damaged.{n}" for n in (1, 2, 3)
    ]


async def test_a_newer_schema_is_refused_and_untouched(path):
    """A downgrade must not eat the state of the newer daemon."""
    await fill(path)
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version={newest() + 1}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNewError, match="schema version") as caught:
        Store.open(path)
    assert caught.value.hint
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.damaged*"))


async def test_a_row_that_cannot_be_read_costs_only_itself(path):
    """One worker starts anew; the others keep their state, and the trouble is told."""
    await fill(path)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE workers SET state='{\"phase\": \"dancing\"}' WHERE name='w1'")
    raw.close()
    store = Store.open(path)
    assert sorted(store.workers.load()) == ["w0", "w2", "w3", "w4"]
    assert [(problem.code, "w1" in problem.text) for problem in store.problems] == [("row", True)]
    store.close()


async def test_missing_tables_count_as_damage(path):
    """A file with the right version and the wrong content is of no use."""
    await fill(path)
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TABLE journal")
    raw.close()
    store = Store.open(path)
    assert [problem.code for problem in store.problems] == ["damaged"]
    store.close()


def test_a_second_opener_is_told_who_has_it(path):
    """The message names the pid, and the lock ends with its holder."""
    code = "import sys,pathlib; from genesisd.store import Store; s=Store.open(pathlib.Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreLockedError, match=f"pid {holder.pid}") as caught:
            Store.open(path)
        assert caught.value.fields["pid"] == holder.pid
    finally:
        holder.kill()
        holder.communicate()
    Store.open(path).close()


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path):
    """The daemon makes its folders; the store does not guess."""
    with pytest.raises(StoreError, match="No such file") as caught:
        Store.open(tmp_path / "nowhere" / "genesisd.db")
    assert caught.value.hint


def test_a_folder_in_its_place_is_a_clear_error(path):
    """A store in memory would hide it."""
    path.mkdir()
    with pytest.raises(StoreError, match="directory"):
        Store.open(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_a_file_of_somebody_else_is_a_clear_error(path):
    """As after one start by root: the folder is the daemon's, the file is not."""
    Store.open(path).close()
    code = (
        "import os,pathlib,sys; from genesisd.store import Store, StoreError\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: Store.open(pathlib.Path(sys.argv[1]))\n"
        "except StoreError as error: print(error.code, error.hint)"
    )
    for folder in (path.parent, *path.parent.parents):
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o011)
        if folder == Path("/tmp"):
            break
    os.chown(path.parent, 65534, 65534)
    path.chmod(0o600)
    path.with_name("genesisd.db.lock").unlink()
    child = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert child.stdout.startswith("store the folder and the file must belong"), child.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_somebody_else_is_a_clear_error(tmp_path):
    """Permissions are for the operator to mend, not for a store in memory to hide."""
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(StoreError):
        Store.open(tmp_path / "closed" / "genesisd.db")


KILLED = """
import asyncio, pathlib, sys
from genesisd.store import Store
from genesisd.supervisor.model import WorkerState
async def main():
    store = Store.open(pathlib.Path(sys.argv[1]))
    n = max((s.incarnation for s in store.workers.load().values()), default=0)
    while True:
        n += 1
        store.journal.append(float(n), "k", "w", n, {"n": n, "pad": "x" * 500})
        await store.workers.save("w", WorkerState(incarnation=n))
        print(n, flush=True)
asyncio.run(main())
"""


def test_kill_nine_in_the_middle_of_writes_loses_nothing_that_was_acknowledged(path):
    """What a save returned for is there after the kill, again and again on one file."""
    dice = random.Random(3)
    for _ in range(8):
        child = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True)
        acknowledged = [int(child.stdout.readline()) for _ in range(dice.randrange(5, 150))]
        child.send_signal(signal.SIGKILL)
        rest = child.communicate()[0].split("\n")
        acknowledged += [int(line) for line in rest[:-1]]
        store = Store.open(path)
        assert store.problems == []
        assert store.workers.load()["w"].incarnation in (acknowledged[-1], acknowledged[-1] + 1)
        store.close()


@pytest.fixture
def small_disk(tmp_path):
    """Four hundred kilobytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk takes root")
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {made.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


async def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


async def test_a_full_disk_is_told_once_and_mends_itself(small_disk):
    """Nothing raises; once there is room the newest states and the waiting events are written."""
    ballast = small_disk / "ballast"
    store = Store.open(small_disk / "genesisd.db")
    problems = []
    store.on_problem = problems.append
    await store.workers.save("w", WorkerState(incarnation=1))
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    n = 1
    while not store.errors:
        n += 1
        await store.workers.save("w", WorkerState(incarnation=n, restarts=tuple(map(float, range(400)))))
        assert n < 5000
    event = store.journal.append(1.0, "while_full", "w", 1, {"pad": "y" * 100_000})
    await until(lambda: store.errors >= 2)
    assert [problem.code for problem in problems] == ["write"], "each sort of trouble is told once a minute"
    assert "full" in problems[0].text
    await store.workers.save("v", WorkerState(incarnation=77))
    ballast.unlink()
    await store.workers.save("u", WorkerState(incarnation=88))
    store.journal.append(2.0, "after", None, None, {})
    assert [one.id for one in await store.journal.query(limit=2)] == [event.id, event.id + 1]
    store.close()
    store = Store.open(small_disk / "genesisd.db")
    assert {name: state.incarnation for name, state in store.workers.load().items()} == {"w": n, "v": 77, "u": 88}
    store.close()


async def test_a_disk_that_is_full_from_the_start_gives_a_store_in_memory(small_disk):
    """The daemon supervises without a disk, and says that it will forget."""
    with (small_disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    store = Store.open(small_disk / "genesisd.db")
    assert [problem.code for problem in store.problems] == ["memory"]
    await store.workers.save("w", WorkerState(incarnation=5))
    store.journal.append(1.0, "k", None, None, {})
    assert len(await store.journal.query()) == 1
    assert store.errors == 0
    store.close()
