"""Pull requests that compete for one patch."""

from __future__ import annotations

import pytest

from genesisd.watch.clusters import Cluster, Proposal, Race, clusters, proposals, race, rivals
from genesisd.watch.model import State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.rows import Action, Trigger, Watchlist
from tests.unit.watch.cases import (
    ABSENT,
    CANDIDATE,
    CHANGED,
    CURRENT,
    DAY,
    FIX,
    NOW,
    OTHER,
    PRESENT,
    REF,
    RIVAL,
    known,
    pin,
    sweep_row,
    watch_row,
)

THIRD = Ref(UPSTREAM, 1005)


def find(name: str) -> str | None:
    """P1 in any case of letters."""
    return "P1" if name.casefold() == "p1" else None


def listed(*sweep, watch=()) -> Watchlist:
    return Watchlist(file="w.yaml", digest="", watch=tuple(watch), sweep=sweep)


def retiring(ref: Ref, *patches: str, **more):
    return sweep_row(Trigger.RETIRE, upstream=ref, patches=patches, **more)


def test_rows_that_retire_one_patch_compete():
    """Of both sections, by the proper id, each pull request once, in the order of the file; unknown ids by their name."""
    watchlist = listed(
        retiring(RIVAL, "P1", "X9"),
        retiring(REF, "P1"),
        retiring(OTHER, "X9", "P7"),
        watch=(watch_row(Action.RETIRE, patches=("p1",)),),
    )
    assert clusters(watchlist, find) == (Cluster("P1", (REF, RIVAL)), Cluster("X9", (RIVAL, OTHER)))


def test_other_rows_do_not_compete():
    """Near miss: rows that only watch, review or re-anchor the same patch, and one alone."""
    watchlist = listed(
        retiring(REF, "P1"),
        sweep_row(Trigger.REVIEW, upstream=RIVAL, patches=("P1",)),
        sweep_row(Trigger.REANCHOR, upstream=OTHER, patches=("P1",)),
        watch=(watch_row(Action.DRIFT_CHECK, upstream=FIX, patches=("P1",)),),
    )
    assert clusters(watchlist, find) == ()


def test_a_duplicate_joins_the_cluster_of_its_original():
    """Whatever its row is for; and the original joins that of its duplicate."""
    joined = listed(retiring(REF, "P1"), sweep_row(upstream=RIVAL, duplicate_of=REF))
    assert clusters(joined, find) == (Cluster("P1", (REF, RIVAL)),)
    turned = listed(retiring(REF, "P1", duplicate_of=RIVAL))
    assert clusters(turned, find) == (Cluster("P1", (REF, RIVAL)),)


@pytest.mark.parametrize("turned", [False, True])
def test_a_duplicate_of_a_duplicate_runs_in_the_same_race(turned):
    """In whatever order the rows stand: with a patch, without one, and where they go round in a circle."""
    chain = [sweep_row(upstream=THIRD, duplicate_of=OTHER), sweep_row(upstream=OTHER, duplicate_of=RIVAL)]
    chain = chain[::-1] if turned else chain
    (bound,) = clusters(listed(*chain, retiring(RIVAL, "P1")), find)
    assert (bound.name, set(bound.members)) == ("P1", {RIVAL, OTHER, THIRD})
    (loose,) = clusters(listed(*chain), find)
    assert (loose.name, set(loose.members)) == (str(RIVAL), {RIVAL, OTHER, THIRD})
    (circle,) = clusters(listed(*chain, sweep_row(upstream=RIVAL, duplicate_of=THIRD)), find)
    assert set(circle.members) == {RIVAL, OTHER, THIRD}


def test_the_members_of_two_clusters_do_not_compete_by_a_common_one():
    """Near miss: only being the same is handed on, and not to run for the same patch."""
    both = (retiring(RIVAL, "P1", "X9"), retiring(REF, "P1"), retiring(OTHER, "X9"))
    watchlist = listed(*both, sweep_row(upstream=FIX, duplicate_of=RIVAL))
    assert clusters(watchlist, find) == (Cluster("P1", (RIVAL, REF, FIX)), Cluster("X9", (RIVAL, OTHER, FIX)))


def test_duplicates_without_a_patch_are_a_cluster_too():
    """It is named for what they duplicate."""
    watchlist = listed(
        sweep_row(duplicate_of=RIVAL), sweep_row(upstream=OTHER, duplicate_of=RIVAL), retiring(FIX, "P1")
    )
    assert clusters(watchlist, find) == (Cluster("vllm#1003", (RIVAL, REF, OTHER)),)


CLUSTER = Cluster("P1", (REF, RIVAL, OTHER))


def test_a_race_is_undecided_while_no_pin_has_any():
    """Merged or not; those that are open still run, and of what upstream never told nobody knows."""
    facts = {REF: known(State.OPEN), RIVAL: known(ref=RIVAL), OTHER: known(None, OTHER)}
    pins = {RIVAL: (pin(CHANGED),), REF: (pin(ABSENT),)}
    assert race(CLUSTER, facts, pins) == Race(CLUSTER, running=(REF,))
    assert race(CLUSTER, {}, {}) == Race(CLUSTER)


def test_the_first_in_a_pin_wins():
    """Of several the one that was merged first, and before those that landed without a merge."""
    facts = {
        REF: known(merged_at=NOW - 2 * DAY),
        RIVAL: known(ref=RIVAL, merged_at=NOW - 5 * DAY),
        OTHER: known(State.OPEN, OTHER),
    }
    pins = {REF: (pin(PRESENT),), RIVAL: (pin(ABSENT), pin(PRESENT, "candidate")), OTHER: (pin(PRESENT),)}
    assert race(CLUSTER, facts, pins) == Race(CLUSTER, RIVAL, (CANDIDATE,), (OTHER,))
    del pins[RIVAL]
    assert race(CLUSTER, facts, pins) == Race(CLUSTER, REF, (CURRENT,), (OTHER,))
    del pins[REF]
    assert race(CLUSTER, facts, pins).winner == OTHER
    assert race(CLUSTER, {}, {OTHER: (pin(PRESENT),), RIVAL: (pin(PRESENT),)}).winner == RIVAL


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("RACING CLUSTER (#1003 / #1004) - whichever merges first", (RIVAL, OTHER)),
        ("Watch BOTH #1001 and #1003; retire when either merges", (RIVAL,)),
        ("tracked so that EITHER merges. #1003 is something else.", ()),
        ("DUPLICATE of vllm#1003 (same bug, same issue #1004)", (RIVAL,)),
        ("DUPLICATE of #1003, issues #1004", (RIVAL,)),
        ("related: other/repo#1003, club-3090#1004, x/y-z.w#1005", (Ref("other/repo", 1003), Ref("x/y-z.w", 1005))),
        ("either #72, or iron-rule-#1003", ()),
        ("Plain prose about #1003 and #1004", ()),
        ("traced by embrace: #1003", ()),
        ("Related (track):\n  - vllm#1003 (a fix)\n  - vllm#1004\n\nElsewhere #1005", (RIVAL, OTHER)),
    ],
)
def test_prose_names_rivals(text, found):
    """A sentence with a word of rivalry; issues, other projects without an owner, short numbers and itself are none."""
    assert rivals(sweep_row(note=text)) == found
    assert rivals(watch_row(notes=text)) == found


def test_numbers_in_prose_are_of_the_rows_own_repository():
    """A bare number means where the row's pull request is."""
    assert rivals(sweep_row(upstream=Ref("a/b", 5), note="either #1003")) == (Ref("a/b", 1003),)


def test_rivals_are_proposed_once_a_patch():
    """At the first row that names them; those that a row binds to the patch already are none."""
    note = "racing: #1003, #1004, #1005"
    watchlist = listed(retiring(REF, "P1", note=note), retiring(RIVAL, "P1", note=note), retiring(FIX, "P7", note=note))
    assert proposals(watchlist, find) == (
        Proposal("sweep:vllm#1001", "P1", (OTHER, THIRD)),
        Proposal("sweep:vllm#1002", "P7", (RIVAL, OTHER, THIRD)),
    )


def test_rows_that_retire_nothing_propose_nothing():
    """Near miss: there is nothing to compete for."""
    assert (
        proposals(listed(sweep_row(patches=("P1",), note="racing #1003"), retiring(REF, note="racing #1003")), find)
        == ()
    )
