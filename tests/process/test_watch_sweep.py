"""Whole sweeps: what upstream does, told truly, and never turned into a false line or a lost patch."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from genesisd.control.ports import Peer
from genesisd.errors import ConflictError, UnavailableError
from genesisd.watch.decisions import DecisionKind, Standing
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import Content, Lineage, State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.watchlist import load
from tests.helpers.fakegithub import World
from tests.helpers.fakegithub.facts import Fact, from_fixture
from tests.helpers.fakegithub.faults import Slow
from tests.helpers.git_repo import Repo, lines
from tests.helpers.watched_box import watched_box
from tests.helpers.watchlists import SEED, WHY_NO_SEED

pytestmark = pytest.mark.process
FIXTURE = SEED.parent.parent / "fixtures" / "pull_requests.json"
ROOT = Peer(pid=1, uid=0, gid=0)
ONE, TWO = Ref(UPSTREAM, 1), Ref(UPSTREAM, 2)
LIST = b"""\
watch:
- upstream: vllm#1
  status: open   # by hand
  severity: P1-crash
  local_patches: [P62]
  action: retire
  since: 2026-01-01
  notes: one
- upstream: vllm#2
  status: open
  local_patches: []
  action: watch
  since: 2026-01-01
  notes: two
sweep:
- pr: 1
  genesis_patch: P62
  trigger: retire-on-merge
  note: a note
__sentinel__: complete
"""


def differing(before: bytes, after: bytes) -> list[tuple[str, str]]:
    """Lines that were taken out, each with the one that came in its place; anything else fails."""
    old, new = before.decode().splitlines(), after.decode().splitlines()
    assert len(old) == len(new)
    return [(one, other) for one, other in zip(old, new, strict=True) if one != other]


# --- the file ---------------------------------------------------------------------------------------------------


async def test_a_merge_is_written_once(tmp_path):
    """The line changes with its evidence, and the same sweep again changes nothing, in the file and among decisions."""
    world = World.of(Fact(ONE), Fact(TWO))
    async with watched_box(tmp_path / "box", LIST, world) as box:
        assert (await box.sweep()).summary["changed"] == 0
        assert box.file.read_bytes() == LIST
        world.merge(ONE)
        swept = await box.sweep()
        assert swept.summary["changed"] == 1
        ((old, new),) = differing(LIST, box.file.read_bytes())
        assert old == "  status: open   # by hand"
        assert new.startswith("  status: merged")
        assert "by hand" in new
        assert "(was open)" in new
        after, kept = box.file.read_bytes(), await box.kept()
        assert (await box.sweep()).summary["changed"] == 0
        assert box.file.read_bytes() == after
        assert [(one.id, one.standing) for one in await box.kept()] == [(one.id, one.standing) for one in kept]
        assert len(box.sink.of("watch_row_changed")) == 1


@pytest.mark.skipif(not SEED.exists(), reason=WHY_NO_SEED)
async def test_the_real_list_gets_what_upstream_says(tmp_path):
    """Each watch row has upstream's state, or stays where that is not known; the diff is those lines alone."""
    world = from_fixture(FIXTURE)
    before = SEED.read_bytes()
    async with watched_box(tmp_path / "box", before, world) as box:
        await box.sweep()
        after = box.file.read_bytes()
        old, new = load(SEED), load(box.file)
        wanted = {ref: fact.state for ref, fact in world.facts.items()}
        for was, now in zip(old.watch, new.watch, strict=True):
            told = wanted.get(was.upstream)
            assert now.status == (was.status if told is None else State(told)), was.upstream
        changed = [was.upstream for was, now in zip(old.watch, new.watch, strict=True) if was.status is not now.status]
        assert len(changed) >= 4
        assert len(differing(before, after)) == len(changed)
        assert all(line.startswith("  status:") for pair in differing(before, after) for line in pair)
        assert new.sweep == old.sweep

        views = await box.desk.rows()
        unknown = {view.ref for view in views if view.state == "unknown"}
        assert unknown == {str(row.upstream) for row in (*old.watch, *old.sweep) if row.upstream not in wanted}
        made = {one.decision.row: one.decision for one in await box.kept()}
        assert {view.row for view in views} <= made.keys()
        assert all(made[view.row].evidence and made[view.row].reason for view in views)

        await box.sweep()
        assert box.file.read_bytes() == after
        assert box.watching.asked.requests["rows"] <= 6


# --- what a merge does not prove --------------------------------------------------------------------------------


def tree(box: Path, version: str, repo: Repo, commit: str) -> None:
    """A pin's untouched files, as they are at a commit."""
    target = box / "cache" / "trees" / f"vllm-{version}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in repo.git("ls-tree", "-r", "--name-only", commit).splitlines():
        if name.startswith("vllm/"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(repo.git("show", f"{commit}:{name}") + "\n")


def pins(**commits: tuple[str, str, list[str]]) -> dict[str, object]:
    """Pins by id: version, commit, slots."""
    entries = {
        name: {"package": "vllm", "version": version, "commit": commit, "python": "3.11"}
        for name, (version, commit, _) in commits.items()
    }
    return {"pins": entries, "slots": {slot: name for name, (_, _, held) in commits.items() for slot in held}}


def body(text: str = "") -> str:
    return lines(12) + (text or "def step(items):\n    return items[0]\n") + lines(12)


FIXED = "def step(items):\n    if not items:\n        return None\n    return items[0]\n"


def mirror(repo: Repo, target: Path) -> Path:
    repo.git("clone", "-q", "--bare", str(repo.path), str(target))
    return target


async def told(box, ref, pin):
    """Lineage and content of a pull request on a pin."""
    facts = (await box.watching.looked()).facts[ref]
    return next((one.lineage.lineage, one.content.content) for one in facts if one.pin == pin)


@pytest.fixture
def repo(tmp_path):
    repo = Repo.make(tmp_path / "upstream")
    repo.commit("Begin the engine", **{"vllm/v1/core/sched/scheduler.py": body()})
    return repo


def landed(repo: Repo, commit: str) -> Fact:
    return Fact(
        ONE,
        state="merged",
        title="[Bugfix] Mend an empty step",
        merge_commit=commit,
        merged_at=1_767_500_000.0,
        files=("vllm/v1/core/sched/scheduler.py",),
        diff=repo.git("show", "--format=", commit) + "\n",
    )


async def test_s1_a_hidden_revert_retires_nothing(tmp_path, repo):
    """The merge is in the pin's history and its content is not in the files: an alarm, and no retire candidate."""
    fix = repo.commit("[Bugfix] Mend an empty step (#1)", **{"vllm/v1/core/sched/scheduler.py": body(FIXED)})
    head = repo.commit("[Perf] Tidy the scheduler (#2)", **{"vllm/v1/core/sched/scheduler.py": body()})
    tree(tmp_path / "box", "0.32.0", repo, head)
    declared = pins(now=("0.32.0", head, ["current", "stable"]))
    world = World.of(landed(repo, fix), Fact(TWO))
    async with watched_box(
        tmp_path / "box", LIST, world, pins=declared, mirror=str(mirror(repo, tmp_path / "m.git")), fetch=False
    ) as box:
        await box.sweep()
        assert await told(box, ONE, "now") == (Lineage.ANCESTOR, Content.ABSENT)
        kept = await box.kept()
        assert DecisionKind.RETIRE_CANDIDATE not in {one.decision.kind for one in kept}
        alarm = next(one.decision for one in kept if one.decision.kind is DecisionKind.REGRESSION)
        assert (alarm.severity, str(alarm.urgency), alarm.ref) == ("P0", "now", ONE)
        assert box.sink.of("watch_decision_urgent")


async def test_s2_a_release_branch_is_judged_by_its_own_files(tmp_path, repo):
    """Undone on the release alone: there absent, on main present. Only main's pin asks to retire, with a dossier."""
    fix = repo.commit("[Bugfix] Mend an empty step (#1)", **{"vllm/v1/core/sched/scheduler.py": body(FIXED)})
    repo.branch("releases/v1")
    release = repo.revert(fix)
    repo.checkout("main")
    main = repo.commit("Go on (#3)", **{"vllm/other.py": lines(3)})
    tree(tmp_path / "box", "0.31.0", repo, release)
    tree(tmp_path / "box", "0.32.0", repo, main)
    declared = pins(old=("0.31.0", release, ["rollback"]), new=("0.32.0", main, ["current"]))
    world = World.of(landed(repo, fix), Fact(TWO))
    async with watched_box(
        tmp_path / "box", LIST, world, pins=declared, mirror=str(mirror(repo, tmp_path / "m.git")), fetch=False
    ) as box:
        before = box.file.read_bytes()
        await box.sweep()
        assert await told(box, ONE, "old") == (Lineage.REVERTED, Content.ABSENT)
        assert await told(box, ONE, "new") == (Lineage.ANCESTOR, Content.PRESENT)
        candidates = [one for one in await box.kept() if one.decision.kind is DecisionKind.RETIRE_CANDIDATE]
        assert all(one.decision.pins == ("new",) for one in candidates)
        # Nothing is retired: the row stands, with upstream's status and nothing else changed.
        ((_, new),) = differing(before, box.file.read_bytes())
        assert new.startswith("  status: merged")
        assert {one.standing for one in candidates} <= {Standing.OPEN}


# --- when upstream does not answer ------------------------------------------------------------------------------


async def test_an_outage_changes_nothing_and_ages(tmp_path):
    """A day without an answer: no row changes, the age grows with the clock, and the next answer ends it."""
    world = World.of(Fact(ONE), Fact(TWO))
    async with watched_box(tmp_path / "box", LIST, world, max_age="20h", requests=50) as box:
        await box.sweep()
        first = {view.row: view.checked_at for view in await box.desk.rows()}
        box.double.faults.down = True
        world.merge(ONE)
        for _ in range(2):
            box.clock.ahead += 12 * 3600
            assert (await box.sweep()).outcome == "failed"
        assert box.file.read_bytes() == LIST
        views = await box.desk.rows()
        assert {view.row: view.checked_at for view in views} == first
        assert {view.state for view in views} == {"unknown"}
        assert (await box.desk.status()).stale == 3
        assert box.sink.of("watch_stale")
        assert DecisionKind.STALE in {one.decision.kind for one in await box.kept() if one.standing is Standing.OPEN}
        box.double.faults.down = False
        assert (await box.sweep()).summary["changed"] == 1
        assert {view.state for view in await box.desk.rows()} == {"merged", "open"}
        assert DecisionKind.STALE not in {
            one.decision.kind for one in await box.kept() if one.standing is Standing.OPEN
        }


async def test_a_cache_that_lies_changes_nothing(tmp_path):
    """An old state that is told with today's date is not believed, and the row says that it is not known."""
    world = World.of(Fact(ONE), Fact(TWO))
    past = world.as_it_is()
    world.merge(ONE)
    async with watched_box(tmp_path / "box", LIST, world) as box:
        await box.sweep()
        after = box.file.read_bytes()
        assert b"status: merged" in after
        box.double.faults.stale = past
        swept = await box.sweep()
        assert swept.outcome in {"partial", "failed"}
        assert box.file.read_bytes() == after
        row = next(view for view in await box.desk.rows() if view.row == "watch:vllm#1")
        assert row.unknown
        assert row.claimed == "merged"


async def test_half_an_answer_is_half_known(tmp_path):
    """One alias is null: that row stays and is unknown, the other is changed."""
    world = World.of(Fact(ONE), Fact(TWO))
    world.merge(ONE)
    world.change(TWO, state="closed", closed_at=1_767_600_000.0)
    async with watched_box(tmp_path / "box", LIST, world) as box:
        box.double.faults.nulls = {ONE: "SOMETHING"}
        swept = await box.sweep()
        assert swept.outcome == "partial"
        ((old, new),) = differing(LIST, box.file.read_bytes())
        assert (old, new.split()[1]) == ("  status: open", "closed")
        states = {view.row: view.state for view in await box.desk.rows()}
        assert states == {"watch:vllm#1": "unknown", "watch:vllm#2": "closed", "sweep:vllm#1": "unknown"}


async def test_a_sweep_that_is_cut_off_is_made_up_for(tmp_path):
    """A daemon that goes in the middle leaves the file whole and its window open; the next one sweeps at once."""
    world = World.of(Fact(ONE), Fact(TWO))
    world.merge(ONE)
    nightly = {"schedule": {"nightly": "0 0 * * *", "hourly": None, "weekly": None, "jitter": 0}}
    async with watched_box(tmp_path / "box", LIST, world) as box:
        box.double.faults.next = [Slow(60.0)]
        order = box.watching.order(SweepKind.NOW)
        await until(lambda: box.double.requests)
        await box.watching.close()
        with pytest.raises(UnavailableError):
            await order
        assert box.file.read_bytes() == LIST
        assert [one.outcome for one in await box.store.watch_ledger.list()] == ["failed"]
    async with watched_box(tmp_path / "box", LIST, world, **nightly) as box:
        await until(lambda: box.watching.progress.view is not None and box.watching.progress.view.finished)
        assert b"status: merged" in box.file.read_bytes()
        assert box.watching.progress.view.kind == "nightly"


async def until(condition):
    """Wait for something that is bound to come."""
    async with asyncio.timeout(100):
        while not condition():
            await asyncio.sleep(0.01)


# --- people -----------------------------------------------------------------------------------------------------


async def test_what_was_declined_opens_when_its_time_has_come(tmp_path):
    """Not flagged again by a sweep; at once when the predicate turns true."""
    world = World.of(Fact(ONE, state="closed", closed_at=1_767_600_000.0), Fact(TWO))
    async with watched_box(tmp_path / "box", LIST, world, workers={"w": {"sm": 86}}) as box:
        await box.sweep()
        dead = next(one for one in await box.kept() if one.decision.kind is DecisionKind.TRIGGER_DEAD)
        said = {"why": "not on this card", "revisit_when": ["gpu.sm >= 89"]}
        view = await box.desk.answer(dead.id, Standing.DECLINED, ROOT, **said)
        assert (view.standing, view.by) == ("declined", "uid 0")
        await box.sweep()
        assert next(one for one in await box.kept() if one.id == dead.id).standing is Standing.DECLINED
        with pytest.raises(ConflictError, match="true already"):
            await box.desk.answer(dead.id, Standing.DECLINED, ROOT, why="x", revisit_when=["gpu.sm >= 80"])
        box.workers.told["w"] = {"sm": 90}
        await box.watching.reconfigured()
        assert next(one for one in await box.kept() if one.id == dead.id).standing is Standing.OPEN


async def test_nothing_is_given_up_without_a_dossier(tmp_path, repo):
    """A retire candidate is refused until the comparison lies before the person; accepting it changes no patch."""
    fix = repo.commit("[Bugfix] Mend an empty step (#1)", **{"vllm/v1/core/sched/scheduler.py": body(FIXED)})
    tree(tmp_path / "box", "0.32.0", repo, fix)
    declared = pins(now=("0.32.0", fix, ["current"]))
    world = World.of(landed(repo, fix), Fact(TWO))
    async with watched_box(tmp_path / "box", LIST, world, pins=declared) as box:
        await box.sweep()
        candidate = next((one for one in await box.kept() if one.decision.kind is DecisionKind.RETIRE_CANDIDATE), None)
        assert candidate is not None, [(str(one.decision.kind), one.decision.reason) for one in await box.kept()]
        (dossier,) = await box.store.watch_decisions.dossiers()
        assert (dossier.patch, dossier.ref, dossier.pin) == ("P62", ONE, "now")
        assert dossier.edits
        await box.store._writer.ask(lambda connection: connection.execute("DELETE FROM watch_dossiers"))
        with pytest.raises(ConflictError, match="no dossier lies before it"):
            await box.desk.answer(candidate.id, Standing.ACCEPTED, ROOT, why="gone upstream")
        (shown,) = await box.desk.dossiers(ONE, "P62", "now", anew=False)
        assert shown.edits
        given = await box.desk.answer(candidate.id, Standing.ACCEPTED, ROOT, why="gone upstream")
        assert given.standing == "accepted"
        assert box.watching.patches.facts()["P62"].active


async def test_an_hourly_sweep_asks_about_what_is_grave(tmp_path):
    """The other rows keep their decisions, and nobody looks for new pull requests."""
    world = World.of(Fact(ONE), Fact(TWO))
    async with watched_box(tmp_path / "box", LIST, world) as box:
        await box.sweep()
        before, asked = await box.kept(), len(box.double.requests)
        world.merge(ONE)
        world.merge(TWO)
        await box.sweep(SweepKind.HOURLY)
        (line,) = differing(LIST, box.file.read_bytes())
        assert "by hand" in line[1]
        assert len(box.double.requests) - asked <= 2
        two = [one for one in before if one.decision.row == "watch:vllm#2"]
        now = {one.id: one for one in await box.kept()}
        assert all(now[one.id] == one for one in two)
