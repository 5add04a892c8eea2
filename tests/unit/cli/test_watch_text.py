"""The watch as people read it: every table and paragraph, and what they write for pull requests and times."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from genesisd.cli import watch_text as text
from genesisd.cli.text import table
from genesisd.cli.watch_words import pull_request, until
from genesisd.control import watch_wire
from genesisd.control.client import ControlError
from genesisd.control.watch_views import WatchedView
from tests.fakes.watch_api import DECISIONS, DOSSIER, GOING_ON, PINS, PULL, ROWS, SWEEP, WALL, FakeWatch


def told(wire, view, key=None):
    """As the client has it."""
    said = json.loads(wire(view))
    return said if key is None else said[key]


def drawn(head, rows):
    return table(head, rows, width=None, colour=False)


def test_rows():
    """What the file claims stands beside the state where it is another, and an answer that is missing is marked."""
    rows = told(watch_wire.rows, ROWS, "rows")
    assert drawn(text.ROWS_HEAD, [text.row_row(one, WALL) for one in rows]) == (
        "PR          STATE                  CHECKED  FOR              SEV  PATCHES  OPEN  TITLE\n"
        "vllm#42006  merged (file: closed)  1h00m    retire           P1   PN384    3     Keep the last block\n"
        "vllm#39598  open                   1h00m    a-b-test         ~P2  P64      4     Drops tool calls\n"
        "vllm#45199  unknown                never!   review-on-merge  -    PN371    -     -\n"
    )


@pytest.mark.parametrize(
    ("state", "claimed", "shown"),
    [("merged", "merged", "merged"), ("merged", "open", "merged (file: open)"), ("unknown", "open", "unknown"), ("open", "", "open")],
)  # fmt: skip
def test_a_claim_is_told_only_against_what_is_known(state, claimed, shown):
    """An outage contradicts nobody."""
    row = told(watch_wire.rows, [replace(ROWS[0], state=state, claimed=claimed)], "rows")[0]
    assert text.row_row(row, WALL)[1].text == shown


def test_many_patches_are_cut_short():
    """They would leave no room for anything else."""
    row = told(watch_wire.rows, [replace(ROWS[0], patches=("P1", "P2", "P3", "P4", "P5"))], "rows")[0]
    assert text.row_row(row, WALL)[5].text == "P1, P2, P3 +2"
    assert text.few(("P1", "P2", "P3")) == "P1, P2, P3"


def test_decisions():
    """Answered ones say so."""
    rows = told(watch_wire.decisions, DECISIONS, "decisions")
    assert drawn(text.DECISIONS_HEAD, [text.decision_row(one, WALL) for one in rows]) == (
        "ID  URGENCY  DECISION          PR          PATCHES  SINCE           WHY\n"
        "3   now      retire-candidate  vllm#42006  PN384    1d0h            its content is in the pin that serves\n"
        "4   later    trial             vllm#39598  P64      2d0h            try it with and without\n"
        "2   none     backport-wanted   vllm#45199  -        9d0h, declined  merged, and absent from cpu-0.32.0\n"
    )


async def test_status():
    """Rows, ages, decisions, requests, each kind of sweep, and what keeps it from knowing more."""
    view = await FakeWatch().status()
    assert text.describe_status(told(watch_wire.status, replace(view, sweep=GOING_ON)), WALL) == (
        "/etc/genesisd/upstream_watchlist.yaml\n"
        "  rows          1 open, 1 merged, 1 unknown\n"
        "  checked       the oldest 1h00m ago; 1 longer ago than allowed, or never\n"
        "  decisions     1 now, 1 later (1 retire-candidate, 1 trial)\n"
        "  requests      4990 of 5000 left, all of them again in 10m00s\n"
        "  nightly sweep next in 2h00m, last 59m18s ago\n"
        "  weekly sweep  not scheduled, last never\n"
        "  now           sweep 13 (nightly) [1/6]: asking upstream\n"
        "  trouble       no mirror is configured: lineage is unknown\n"
    )
    bare = replace(view, rows={}, oldest=None, decisions={}, urgent={}, remaining=None, schedule=(), troubles=())
    assert text.describe_status(told(watch_wire.status, bare), WALL) == (
        "/etc/genesisd/upstream_watchlist.yaml\n"
        "  rows          none\n"
        "  checked       -\n"
        "  decisions     none open\n"
        "  requests      upstream did not say how many are left\n"
    )


def test_a_pull_request():
    """Its state, the rows, each pin with its evidence, what it breaks, what follows, and the dossiers."""
    view = WatchedView(
        ref=PULL.ref, pull=PULL, rows=ROWS[:1], pins=PINS, decisions=DECISIONS[:1], dossiers=(replace(DOSSIER, edits=()),)
    )  # fmt: skip
    shown = text.describe_watched(told(watch_wire.watched, view), WALL)
    lines = shown.splitlines()
    assert lines[0] == "vllm#42006: merged (pull request): Keep the last block"
    assert lines[1] == "  checked    1h00m ago"
    assert lines[2].endswith(" as bbbbbbbbbbbb into main")
    counts = "its anchor is found 1 time before, 0 after: it rewrites two lines of the anchor"
    assert lines[3:] == [
        "  labels     kv-cache",
        "  files      1: vllm/v1/core/kv_cache_manager.py",
        "  row        line 31 of watch, says closed: retire for PN384, P1",
        "  in cpu-0.32.0 (current): present by reverse-apply: 2 of 2 hunks can be taken back",
        "    history    ancestor by merge-base: bbbbbbbbbb",
        f"    breaks PN384 last-block (vllm/v1/core/kv_cache_manager.py): over; {counts}",
        "  in cpu-0.33.0 (candidate): unknown",
        "    history    unknown",
        "    collisions not looked for",
        "  decision 3: retire-candidate, now, P1: its content is in the pin that serves",
        "    2 of 2 hunks can be taken back",
        "    open, first made 1d0h ago",
        "  dossier    PN384 on cpu-0.32.0: partial, 1m00s ago: one of two edits is upstream",
    ]


def test_a_pull_request_that_nobody_answered_for():
    """Unknown, why, since when; and that nothing was changed for it."""
    view = WatchedView(ref="vllm#1", unknown="outage", unknown_at=WALL - 60, unknown_text="502", rows=ROWS[2:])
    assert text.describe_watched(told(watch_wire.watched, view), WALL) == (
        "vllm#1: unknown\n"
        "  unanswered outage: 502, 1m00s ago; nothing was changed for it\n"
        "  row        line 612 of sweep: review-on-merge for PN371, -\n"
    )


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"is_issue": True}, "merged (issue)"),
        ({"state": "open", "draft": True, "merged_at": None, "closed_at": None}, "open (draft)"),
        ({"files": tuple("abcdef")}, "  files      6: a, b, c, d, ..."),
        ({"files": None}, "checked"),
        ({"state": "closed", "merged_at": None}, "  closed     20"),
        ({"now_at": "new/home#7"}, "  moved to   new/home#7"),
    ],
)
def test_the_forms_of_a_pull_request(changes, shown):
    """Each fact is there where it is known, and only there."""
    view = WatchedView(ref=PULL.ref, pull=replace(PULL, **changes))
    assert shown in text.describe_watched(told(watch_wire.watched, view), WALL)
    assert ("  files" in text.describe_watched(told(watch_wire.watched, view), WALL)) == (view.pull.files is not None)


def test_an_answered_decision_says_by_whom_why_and_until_when():
    """So that nobody asks again."""
    one = told(watch_wire.decision, DECISIONS[2], "decision")
    assert list(text.describe_decision(one, WALL)) == [
        "decision 2: backport-wanted, none, P3 derived: merged, and absent from cpu-0.32.0",
        "  declined by root: no such card here, first made 9d0h ago; again when gpu.sm >= 89",
    ]
    snoozed = told(watch_wire.decision, replace(DECISIONS[0], standing="snoozed", until=WALL), "decision")
    assert " until 2027-01-" in list(text.describe_decision(snoozed, WALL))[-1]


def test_a_dossier():
    """Each edit with ours and upstream's; what is not upstream is said, and so is what cannot be told."""
    one = told(watch_wire.dossiers, [DOSSIER], "dossiers")[0]
    assert text.describe_dossier(one, WALL) == (
        "PN384 against vllm#42006 on cpu-0.32.0: partial\n"
        "  one of two edits is upstream (made 1m00s ago)\n"
        "  test tests/catalog/cases/pn384.py: red without the patch, green with it\n"
        "  last-block (vllm/v1/core/kv_cache_manager.py): upstream has it\n"
        "    ours:\n      -    a\n      +    b\n"
        "    upstream's:\n      -    a\n      +    b\n"
        "  count (vllm/v1/core/block_pool.py): upstream has it not: upstream does not count\n"
        "    ours:\n      +    n += 1\n"
        "    upstream's: nothing\n"
    )
    one["edits"][0]["covered"] = None
    assert "(vllm/v1/core/kv_cache_manager.py): cannot be told\n" in text.describe_dossier(one, WALL)
    assert "\x1b" not in text.describe_dossier(one, WALL)


def test_sweeps():
    """One that goes on has steps, one that is over an outcome."""
    assert text.sweep_line(told(watch_wire.sweep, GOING_ON, "sweep")) == "sweep 13 (nightly) [1/6]: asking upstream"
    over = told(watch_wire.sweep, SWEEP, "sweep")
    assert text.sweep_line(over) == "sweep 12 (nightly): done after 42s: 3 rows changed, 2 decisions opened"
    queued = told(watch_wire.sweep, replace(GOING_ON, id=0, step="", of=0), "sweep")
    assert text.sweep_line(queued) == "nightly sweep: begun"
    assert [cell.text for cell in text.sweep_row(over)][3:5] == ["42s", "done"]
    assert text.sweep_row(queued)[3].text == "goes on"


def test_upstreams_words_do_not_steer_the_terminal():
    """A title, a label and a diff are anybody's."""
    bad = "a\x1b[2Jb\nc"
    view = WatchedView(
        ref=PULL.ref, pull=replace(PULL, title=bad, labels=(bad,), files=(bad,)), decisions=(replace(DECISIONS[0], reason=bad, evidence=(bad,)),)
    )  # fmt: skip
    dossier = told(watch_wire.dossiers, [replace(DOSSIER, reason=bad, edits=(replace(DOSSIER.edits[0], ours=f"+{bad}"),))], "dossiers")[0]  # fmt: skip
    shown = text.describe_watched(told(watch_wire.watched, view), WALL) + text.describe_dossier(dossier, WALL)
    row = told(watch_wire.rows, [replace(ROWS[0], title=bad)], "rows")[0]
    assert "\x1b" not in shown + drawn(text.ROWS_HEAD, [text.row_row(row, WALL)])


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("42006", "vllm#42006"),
        ("#42006", "vllm#42006"),
        ("vllm#42006", "vllm#42006"),
        ("owner/repo#7", "owner/repo#7"),
        ("https://github.com/vllm-project/vllm/pull/42006", "vllm#42006"),
        ("https://github.com/owner/repo/issues/7#issuecomment-1", "owner/repo#7"),
        ("https://github.com/owner/repo/pull/7/files?w=1", "owner/repo#7"),
        ("rubbish", "rubbish"),
    ],
)
def test_what_people_write_for_a_pull_request(said, meant):
    """A number, a reference, the address of its page; anything else is for the daemon to judge."""
    assert pull_request(said) == meant


@pytest.mark.parametrize(
    ("span", "seconds"), [("12h", 43200), ("14d", 14 * 86400), ("2w", 14 * 86400), ("1.5d", 129600)]
)
def test_a_snooze_for_a_while(span, seconds):
    """From now."""
    assert until(span, None, 1000.0) == 1000.0 + seconds


def test_a_snooze_until_a_day():
    """In the local zone."""
    assert until(None, "2027-01-31", WALL - 1) < until(None, "2027-01-31T12:00", WALL - 1)


@pytest.mark.parametrize(
    ("span", "day", "words"),
    [
        (None, None, "until when?"),
        ("1d", "2027-01-31", "until when?"),
        ("soon", None, "cannot read --for 'soon'"),
        ("0x1d", None, "cannot read --for"),
        ("99999999w", None, "longer than a century"),
        ("9" * 400 + "w", None, "longer than a century"),
        (None, "tomorrow", "cannot read --until 'tomorrow'"),
        (None, "2020-01-01", "--until 2020-01-01 is past"),
        (None, "9999-12-31", "--until 9999-12-31 is longer than a century"),
    ],
)
def test_a_snooze_that_cannot_be_read(span, day, words):
    """What was said, and what to write instead."""
    with pytest.raises(ControlError) as caught:
        until(span, day, WALL)
    assert caught.value.code == "usage"
    assert words in caught.value.message
