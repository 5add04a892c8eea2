"""The watch as it is ordered about, reloaded and cut off: orders keep their kind, and each thing is told once."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from dataclasses import replace

import pytest

from genesisd.errors import ConflictError, UnavailableError
from genesisd.telemetry import names
from genesisd.watch.kinds import SweepKind
from tests.helpers.fakegithub import World
from tests.helpers.fakegithub.facts import Fact
from tests.helpers.watched_box import watched_box
from tests.process.test_watch_sweep import LIST, ONE, ROOT, TWO, until

pytestmark = pytest.mark.process
# The box knows of two pull requests and our patches name seventy more, so that a whole sweep is partial.
TRIED = LIST.replace(b"action: watch", b"action: a-b-test")


@pytest.fixture
def world():
    return World.of(Fact(ONE, state="closed", closed_at=1_767_600_000.0), Fact(TWO))


@pytest.fixture
async def box(tmp_path, world):
    """Its watchlist waits for what can never come, which is one open decision."""
    async with watched_box(tmp_path / "box", LIST, world) as opened:
        yield opened


def held(box, monkeypatch):
    """Sweeps wait for this before they ask anything."""
    gate, make = asyncio.Event(), box.watching.grounds.make

    async def waits(**more):
        await gate.wait()
        return await make(**more)

    monkeypatch.setattr(box.watching.grounds, "make", waits)
    return gate


def series(box, family):
    return box.metrics.watch._series[family].values


# --- orders -----------------------------------------------------------------------------------------------------


async def test_an_order_that_is_faster_than_the_start_waits_for_it(box, monkeypatch):
    """A daemon takes orders before its watch has begun."""
    box.watching.started.clear()
    schedule, box.watching._schedule = box.watching._schedule, None
    order = asyncio.create_task(box.desk.sweep("nightly", ROOT))
    await asyncio.sleep(0.05)
    assert not order.done()
    box.watching._schedule = schedule
    box.watching.started.set()
    assert (await order).kind == "now"


async def test_a_watch_that_never_begins_is_told(box, monkeypatch):
    """After a bounded wait, with what to look at."""
    monkeypatch.setattr("genesisd.wiring.watch_api.BEGIN_SECONDS", 0.05)
    box.watching.started.clear()
    with pytest.raises(ConflictError, match="has not begun yet"):
        await box.desk.sweep("nightly", ROOT)


async def test_a_wider_sweep_is_made_after_a_narrow_one(box, monkeypatch):
    """Who orders all rows while those of P0 and P1 are asked about gets all; who orders less gets what goes on."""
    gate = held(box, monkeypatch)
    narrow = await box.desk.sweep("hourly", ROOT)
    assert narrow.kind == "hourly"
    assert await box.desk.sweep("hourly", ROOT) == narrow
    wide = asyncio.create_task(box.desk.sweep("weekly", ROOT))
    await until(lambda: len(box.sink.of("order")) == 2)
    gate.set()
    begun = await wide
    assert (begun.kind, begun.id > narrow.id) == ("weekly", True)
    views = [one async for one in box.desk.progress(begun.id)]
    assert views[-1].finished
    await until(lambda: box.watching._schedule.running is None)
    await box.watching._schedule.look()
    assert [(one.kind, one.outcome) for one in await box.store.watch_ledger.list()] == [
        ("weekly", "partial"),
        ("hourly", "done"),
    ]
    told = [(one["sort"], one["sweep"]) for one in box.sink.of("watch_sweep_ended")]
    assert told == [("hourly", narrow.id), ("weekly", begun.id)]
    counted = {key: value for key, value in series(box, names.WATCH_SWEEPS).items() if value}
    assert counted == {("hourly", "done"): 1, ("weekly", "partial"): 1}


async def test_who_follows_slowly_sees_the_end(box):
    """Though the next sweep goes on by then: the ledger has what the stream left out."""
    await box.sweep()
    first = box.watching.progress.view
    box.watching.progress.view = first.__class__(id=first.id, kind="now", window=first.window, started=first.started)
    views = box.desk.progress(first.id)
    assert (await anext(views)).finished is None
    await box.sweep()
    (last,) = [one async for one in views]
    assert (last.id, last.finished is not None, last.outcome) == (first.id, True, "partial")


# --- what follows a sweep ---------------------------------------------------------------------------------------


async def test_a_report_that_fails_undoes_no_sweep(box, world, monkeypatch):
    """The line is changed, the end is told once and as partial, and the reason is shown."""

    def fails(*_, **__):
        raise ValueError("year 60000 is out of range")

    monkeypatch.setattr(box.watching.reports, "keep", fails)
    world.change(TWO, state="closed", closed_at=1_767_600_000.0)
    swept = await box.sweep()
    assert (swept.outcome, swept.summary["changed"]) == ("partial", 2)
    assert "year 60000" in swept.summary["text"]
    assert len(box.sink.of("watch_sweep_ended")) == 1
    assert not box.sink.of("watch_sweep_failed")
    assert len(box.sink.of("watch_row_changed")) == 2
    assert {key: one for key, one in series(box, names.WATCH_SWEEPS).items() if one} == {("now", "partial"): 1}


async def test_what_a_cut_off_sweep_did_not_tell_is_told_by_the_next(tmp_path, world, monkeypatch):
    """Decisions were kept and nobody heard of them: they are told, and the trial is wanted, once each."""
    world.merge(TWO)
    async with watched_box(tmp_path / "box", TRIED, world) as box:

        async def cut(*_, **__):
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as patched:
            patched.setattr(box.watching._following, "after", cut)
            assert (await box.sweep()).outcome == "failed"
        assert len(box.sink.of("watch_sweep_failed")) == 1
        assert not box.sink.of("watch_decision_opened")
        opened = [one for one in await box.kept() if str(one.decision.kind) not in {"note", "cookbook"}]
        assert {"trial", "trigger-can-never-fire"} <= {str(one.decision.kind) for one in opened}
        for _ in range(2):
            await box.sweep()
        told = box.sink.of("watch_decision_opened") + box.sink.of("watch_decision_urgent")
        assert sorted(one["decision"] for one in told) == [one.id for one in opened]
        assert len(box.sink.of("watch_trial_wanted")) == 1


async def test_a_disk_that_takes_no_note_is_no_end(box, monkeypatch):
    """What was told is not told again by this daemon, and is kept as told once that can be; the sweep is what it was."""
    note = box.store.watch_facts.note

    async def full(kind, values):
        if kind == "decision-told":
            raise sqlite3.OperationalError("database or disk is full")
        await note(kind, values)

    with monkeypatch.context() as patched:
        patched.setattr(box.store.watch_facts, "note", full)
        assert (await box.sweep()).outcome == "partial"
    assert not box.sink.of("watch_sweep_failed")
    for _ in range(2):
        await box.sweep()
    assert len(box.sink.of("watch_decision_opened")) == 1
    assert await box.store.watch_facts.recall("decision-told")


async def test_a_sweep_that_is_cut_off_is_told_as_failed(box, monkeypatch):
    """What began has an end, among the events as in the ledger."""
    held(box, monkeypatch)
    order = box.watching.order(SweepKind.NOW)
    await until(lambda: box.watching.progress.going)
    await box.watching.close()
    with pytest.raises(UnavailableError):
        await order
    (failed,) = box.sink.of("watch_sweep_failed")
    assert failed["text"] == "it was stopped"


async def test_a_sweep_tells_what_the_box_s_own_index_has(box):
    """Nothing here is asked of anybody across a network, who may take longer than a test."""
    await box.sweep()
    assert "index" not in box.watching.asked.requests
    assert "Newest in the index: 0.33.0." in (await box.desk.report(None, "markdown")).text


# --- reloads ----------------------------------------------------------------------------------------------------


async def test_a_reload_after_the_end_begins_nothing(box):
    """One that was under way when the daemon began to end."""
    await box.watching.close()
    await box.watching.reconfigured()
    with pytest.raises(ConflictError):
        box.watching.order(SweepKind.NOW)


async def test_a_reload_is_carried_out_though_a_worker_cannot_be_looked_at(box, monkeypatch):
    """Sweeps go on by the new settings; a reload that raised here would be told as none."""

    async def fails():
        raise PermissionError("model")

    await box.sweep()
    (dead,) = [one for one in await box.kept() if str(one.decision.kind) == "trigger-can-never-fire"]
    await box.desk.answer(dead.id, dead.standing.DECLINED, ROOT, why="x", revisit_when=["gpu.sm >= 89"])
    with monkeypatch.context() as broken:
        broken.setattr(box.workers, "facts", fails)
        await box.watching.reconfigured()
    assert (await box.sweep()).outcome == "partial"
    assert len(box.sink.of("watch_sweep_ended")) == 2


# --- what the series say ----------------------------------------------------------------------------------------


def shown(box):
    """Rows by state, stale ones, and the wall time since when the oldest waits."""
    rows = {state: int(count) for (state,), count in series(box, names.WATCH_ROWS).items() if count}
    oldest = series(box, names.WATCH_OLDEST)[()]
    return rows, int(series(box, names.WATCH_STALE)[()]), oldest


async def test_series_and_status_agree_while_nobody_sweeps(box):
    """Rows grow old in both at the same moment, and a list that somebody breaks does not end the alarm."""
    await box.sweep()
    for ahead, rows, stale in ((3600.0, {"closed": 2, "open": 1}, 0), (10 * 86400.0, {"unknown": 3}, 3)):
        box.clock.ahead = ahead
        await box.watching.refresh()
        status = await box.desk.status()
        assert (dict(status.rows), status.stale) == (rows, stale) == shown(box)[:2]
        assert status.oldest == pytest.approx(box.clock.wall() - shown(box)[2], abs=60)
    box.file.write_bytes(b"watch: [\n")
    await box.watching.refresh()
    assert shown(box)[1] == 3
    status = await box.desk.status()
    assert (status.stale, bool(status.troubles)) == (3, True)
    assert len(box.sink.of("watch_stale")) == 1


async def test_a_line_that_is_changed_as_the_daemon_ends_is_told(box, world, monkeypatch):
    """The next sweep finds it true and has nothing to say, so that nobody would ever hear of it."""
    world.change(TWO, state="closed", closed_at=1_767_600_000.0)
    begun, make = asyncio.Event(), box.watching.grounds.make

    async def slowly(path, changes, write):
        begun.set()
        await asyncio.sleep(0.2)
        return await write(path, changes)

    async def grounds(**more):
        grounded = await make(**more)
        write = grounded.ground.write
        grounded.ground = replace(grounded.ground, write=lambda path, changes: slowly(path, changes, write))
        return grounded

    monkeypatch.setattr(box.watching.grounds, "make", grounds)
    order = box.watching.order(SweepKind.NOW)
    await begun.wait()
    await box.watching.close()
    with pytest.raises(UnavailableError):
        await order
    assert box.file.read_bytes().count(b"status: closed") == 2
    assert len(box.sink.of("watch_row_changed")) == 2


@pytest.mark.parametrize("after", [0, 4, 9, 14, 19, 24, 26, 29, 33, 36])
async def test_a_disk_that_is_full_for_a_moment_loses_nothing(tmp_path, world, monkeypatch, after):
    """At whichever question to the store: the schedule goes on, and in the end each thing was told once."""
    world.merge(TWO)
    async with watched_box(tmp_path / "box", TRIED, world) as box:
        ask, asked = box.store._writer.ask, iter(range(1000))

        async def fails_once(work):
            if next(asked) == after:
                raise sqlite3.OperationalError("database or disk is full")
            return await ask(work)

        with monkeypatch.context() as patched:
            patched.setattr(box.store._writer, "ask", fails_once)
            with contextlib.suppress(UnavailableError):  # it could not even begin
                await box.sweep()
        assert next(asked) > after
        for _ in range(2):
            assert (await box.sweep()).outcome == "partial"
        opened = [one.id for one in await box.kept() if str(one.decision.kind) not in {"note", "cookbook"}]
        told = box.sink.of("watch_decision_opened") + box.sink.of("watch_decision_urgent")
        assert sorted(one["decision"] for one in told) == opened
        assert len(box.sink.of("watch_row_changed")) == 2
        assert len(box.sink.of("watch_trial_wanted")) == 1
        assert {one.outcome for one in await box.store.watch_ledger.list()} <= {"partial", "failed"}
        ends = box.sink.of("watch_sweep_ended") + box.sink.of("watch_sweep_failed")
        assert len(ends) == len({one["sweep"] for one in ends}) == len(box.sink.of("watch_sweep_started"))


async def test_an_hourly_sweep_without_news_writes_no_report(box, world):
    """They would push out those of the nights, and what one reads by default would be the one row that is grave."""
    await box.sweep()
    night = (await box.desk.report(None, "markdown")).sweep
    await box.sweep(SweepKind.HOURLY)
    assert (await box.desk.report(None, "markdown")).sweep == night
    world.change(ONE, state="open", closed_at=None)
    await box.sweep(SweepKind.HOURLY)
    assert (await box.desk.report(None, "markdown")).sweep > night


async def test_a_trouble_is_told_once_while_it_lasts(box, world):
    """Whether it concerns more or fewer that night, and whatever the sweeps of a few rows find between the whole ones."""
    await box.sweep()
    (told,) = box.sink.of("watch_source_failed")
    every = len(await box.store.watch_facts.known())  # all that our patches name, beside the two that are there
    assert told["text"].startswith(f"upstream did not answer for {every - 2} of {every}")
    box.double.faults.nulls = {TWO: "NOT_FOUND"}
    await box.sweep()
    await box.sweep(SweepKind.HOURLY)
    await box.sweep()
    assert len(box.sink.of("watch_source_failed")) == 1
    assert not box.sink.of("watch_source_back")


async def test_a_list_that_is_configured_away_in_the_middle_and_back(box, monkeypatch):
    """The sweep ends and is told as failed, those who wait hear of it, no series stays; then it begins anew."""
    gate, config = held(box, monkeypatch), box.watching._config()
    view = await box.desk.sweep("nightly", ROOT)
    follower = asyncio.create_task(_all(box.desk.progress(view.id)))
    order = box.watching.order(SweepKind.WEEKLY)
    nothing = replace(config, watch=config.watch.model_copy(update={"watchlist": None}))
    monkeypatch.setattr(box.watching, "_config", lambda: nothing)
    await box.watching.reconfigured()
    with pytest.raises(UnavailableError):
        await order
    assert (await follower)[-1].outcome == "failed"
    assert [one.outcome for one in await box.store.watch_ledger.list()] == ["failed"]
    assert not any(series(box, family) for family in names.WATCH_FAMILIES)
    assert (await box.desk.status()).watchlist is None
    with pytest.raises(ConflictError):
        await box.desk.sweep("nightly", ROOT)
    monkeypatch.setattr(box.watching, "_config", lambda: config)
    gate.set()
    await box.watching.reconfigured()
    assert (await box.sweep()).outcome == "partial"
    assert shown(box)[0] == {"open": 1, "closed": 2}


async def _all(views):
    return [one async for one in views]
