"""Which rows a sweep looks at, whom it asks about, and what it changes in the file."""

from dataclasses import replace
from datetime import date

from genesisd.watch.evidence import changes
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import Known, PatchFact, Pull, State, Unanswered, WhyUnknown
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Action, SweepRow, Watchlist, WatchRow
from genesisd.watch.wanted import merged, refs_of, rows_of, touching, with_diffs

REPO = "vllm-project/vllm"
ONE, TWO, THREE, FOUR = (Ref(REPO, n) for n in (1, 2, 3, 4))
ROW = WatchRow(index=0, line=2, upstream=ONE, status=State.OPEN, action=Action.WATCH, since=date(2026, 7, 5))
GRAVE = replace(ROW, index=1, line=9, upstream=TWO, severity="P1-crash", fix_upstream=THREE)
TWIN = SweepRow(index=0, line=20, upstream=TWO)
LONE = SweepRow(index=1, line=24, upstream=FOUR, duplicate_of=ONE)
LIST = Watchlist(file="w.yaml", digest="", watch=(ROW, GRAVE), sweep=(TWIN, LONE))
PULL = Pull(
    ref=ONE,
    state=State.MERGED,
    checked_at=1_800_000_100.0,
    head="h",
    merge_commit="0cd9b7af25ffff",
    merged_at=1_781_300_000.0,
)


def test_an_hourly_sweep_looks_at_what_is_grave():
    """Rows of P0 and P1 and their twins of the other section; every other sweep looks at all."""
    assert rows_of(LIST, SweepKind.HOURLY) == (GRAVE, TWIN)
    assert rows_of(LIST, SweepKind.NIGHTLY) == (ROW, GRAVE, TWIN, LONE)


def test_each_ref_is_asked_once():
    """Rows, the fixes and duplicates they name, and what active patches carry."""
    active = PatchFact(id="P1", active=True, upstream=(FOUR, Ref(REPO, 9)))
    gone = PatchFact(id="P2", retired=True, upstream=(Ref(REPO, 10),))
    assert refs_of(LIST.watch + LIST.sweep, [active, gone], [Ref(REPO, 11)]) == (
        ONE, TWO, THREE, FOUR, Ref(REPO, 9), Ref(REPO, 11),
    )  # fmt: skip


def test_what_has_a_head_has_a_diff():
    """Issues and what upstream never answered about have none; closed pull requests have."""
    known = {
        ONE: Known(ONE, PULL),
        TWO: Known(TWO, replace(PULL, ref=TWO, is_issue=True)),
        THREE: Known(THREE, None, Unanswered(THREE, WhyUnknown.OUTAGE, 1.0)),
        FOUR: Known(FOUR, replace(PULL, ref=FOUR, state=State.CLOSED, merge_commit=None)),
    }
    pulls = with_diffs([ONE, TWO, THREE, FOUR, Ref(REPO, 5)], known)
    assert [pull.ref for pull in pulls] == [ONE, FOUR]
    assert merged(pulls) == (PULL,)
    rewritten = replace(PULL, merge_commit=None)  # its base branch was pushed anew
    assert merged([rewritten]) == (rewritten,)


def test_patches_meet_a_pull_request_in_their_files():
    """Only active patches count, and files that were not told meet nothing."""
    patches = [
        PatchFact(id="P1", active=True, files=("vllm/a.py", "vllm/b.py")),
        PatchFact(id="P2", active=True, files=("vllm/c.py",)),
        PatchFact(id="P3", retired=True, files=("vllm/a.py",)),
    ]
    assert touching(replace(PULL, files=("vllm/b.py", "docs/x.md")), patches) == ("P1",)
    assert touching(PULL, patches) == ()


def test_an_answer_changes_the_line_it_contradicts():
    """The change names the row, both states and the evidence."""
    (found,) = changes(LIST.watch, {ONE: Known(ONE, PULL)}, since=1_800_000_000.0)
    assert (found.row, found.line, found.before, found.after) == ("watch:vllm#1", 2, State.OPEN, State.MERGED)
    assert found.evidence == "upstream 2027-01-15: merged 2026-06-12 as 0cd9b7af25 (was open)"


def test_only_an_answer_of_this_sweep_changes_anything():
    """An older answer, a newer failure and an equal state leave the file alone."""
    since = 1_800_000_000.0
    assert changes(LIST.watch, {ONE: Known(ONE, replace(PULL, checked_at=since - 1))}, since) == ()
    assert changes(LIST.watch, {ONE: Known(ONE, PULL, Unanswered(ONE, WhyUnknown.PARTIAL, since + 1))}, since) == ()
    assert changes(LIST.watch, {ONE: Known(ONE, replace(PULL, state=State.OPEN))}, since) == ()
    assert changes(LIST.watch, {}, since) == ()


def test_an_issue_is_closed_and_not_unmerged():
    """The words for an issue do not speak of a merge."""
    issue = replace(PULL, state=State.CLOSED, is_issue=True, merge_commit=None, closed_at=1_781_300_000.0)
    (found,) = changes(LIST.watch, {ONE: Known(ONE, issue)}, since=1.0)
    assert found.evidence.endswith("issue closed 2026-06-12 (was open)")
