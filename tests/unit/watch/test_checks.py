"""Each kind of finding: a list in which it is found, and one that comes close and is in order."""

import pytest

from genesisd.watch.checks import RULES, check
from genesisd.watch.findings import FindingKind, Level
from genesisd.watch.model import Known, PatchFact, Pull, State, Unanswered, WhyUnknown
from genesisd.watch.refs import Ref, parse_ref
from genesisd.watch.watchlist import read
from tests.helpers.watchlists import ROW, SWEEP_ROW

NOW = 1_790_000_000.0  # 2026-09-21
DAY = 86400.0
FIRST = Ref("vllm-project/vllm", 1)


def patch(id_, *upstream, **fields):
    facts = {"implemented": True, "active": True, "required": True, "title": f"Title of {id_}"} | fields
    if facts.get("retired") or facts.get("planned"):
        facts |= {"implemented": False, "active": False}
    return PatchFact(id=id_, upstream=tuple(parse_ref(ref) for ref in upstream), **facts)


PATCHES = {
    fact.id: fact
    for fact in (
        patch("P1", "vllm#1", proven_by="tests/p1.py"),
        patch("P2", "vllm#1", required=False),
        patch("P3", "vllm#1", retired=True, superseded_by="P1"),
        patch("P4", "vllm#900", retired=True),
        patch("P5", planned=True),
        patch("P6", "vllm#1", implemented=False, active=False),
        patch("P7", proven_by="tests/p7.py"),
    )
}


def look(text, *pulls, marked=None, unknown=(), asked=True, now=NOW, patches=None, ran=("P1",)):
    facts = PATCHES if patches is None else patches
    names = {name.casefold(): name for name in facts}
    known = {pull.ref: Known(pull.ref, pull) for pull in pulls} | {
        one.ref: Known(one.ref, None, one) for one in unknown
    }
    return check(
        read(text, "w.yaml"),
        facts,
        lambda name: names.get(name.casefold()),
        known if asked else None,
        now,
        2 * DAY,
        marked,
        ran if asked else None,
    )


def of(kind, findings):
    return [finding for finding in findings if finding.kind is kind]


def pull(number=1, state=State.OPEN, **fields):
    return Pull(ref=Ref("vllm-project/vllm", number), state=state, **{"checked_at": NOW - 60} | fields)


def rows(watch=b"", sweep=b""):
    sections = (b"watch:\n" + watch if watch else b"") + (b"sweep:\n" + sweep if sweep else b"")
    return sections + b"__sentinel__: complete\n"


def watched(status="open", action="watch", number=1, more=""):
    text = (
        ROW.decode().replace("#1", f"#{number}").replace("open", status).replace("action: watch", f"action: {action}")
    )
    return (text + more).encode()


def swept(patches="P1", trigger="review", number=1, more=""):
    text = SWEEP_ROW.decode().replace("pr: 1", f"pr: {number}").replace("P1", patches)
    return (text.replace("review", trigger) + more).encode()


OLD = NOW - 3 * DAY
MAY = 1_778_000_000.0  # 2026-05-05, before the rows were written
JULY = 1_783_000_000.0  # 2026-07-02, after

CASES = {
    # kind: (a list in which it is found, what upstream said), (a near miss, what upstream said)
    FindingKind.CONTRADICTION: (
        (rows(watched("closed"), swept(trigger="retire")), ()),
        (rows(watched("closed"), swept(trigger="review")), ()),
    ),
    FindingKind.ISSUE_MERGED: (
        (rows(watched("merged")), (pull(is_issue=True, state=State.CLOSED),)),
        (rows(watched("closed")), (pull(is_issue=True, state=State.CLOSED),)),
    ),
    FindingKind.UNKNOWN_ID: (
        (rows(watched(more="  local_patches: [P1, P99]\n")), ()),
        (rows(watched(more="  local_patches: [p1, P5]\n")), ()),
    ),
    FindingKind.RETIRED_ID: (
        (rows(sweep=swept("P3", "retire")), ()),
        (rows(sweep=swept("'planned: P3'", "retire")), ()),
    ),
    FindingKind.REPEATED_ID: (
        (rows(sweep=swept("P1, p1")), ()),
        (rows(sweep=swept("P1, P2")), ()),
    ),
    FindingKind.PLANNED_TAKEN: (
        (rows(sweep=swept("'planned: P4'")), ()),
        (rows(sweep=swept("'planned: P5, or P1'")), ()),
    ),
    FindingKind.PLANNED_DONE: (
        (rows(sweep=swept("'planned: a guard'")), ()),
        (rows(sweep=swept("'planned: a guard'", number=2)), ()),
    ),
    FindingKind.TRIGGER_DEAD: (
        (rows(sweep=swept(trigger="retire")), (pull(state=State.CLOSED),)),
        (rows(sweep=swept(trigger="retire")), (pull(state=State.MERGED),)),
    ),
    FindingKind.MERGED_BEFORE: (
        (rows(watched("open", "port")), (pull(state=State.MERGED, merged_at=MAY),)),
        (rows(watched("open", "port")), (pull(state=State.MERGED, merged_at=JULY),)),
    ),
    FindingKind.DATED_AHEAD: (
        (rows(watched().replace(b"2026-06-01", b"2026-09-23")), ()),
        (rows(watched().replace(b"2026-06-01", b"2026-09-22")), ()),
    ),
    FindingKind.UNWATCHED: (
        (rows(watched(number=2)), ()),
        (rows(watched(number=2, more="  fix_upstream: vllm#1\n")), ()),
    ),
    FindingKind.UNVERIFIED: (
        (rows(watched("merged")), ()),
        (rows(watched("merged")), (pull(state=State.MERGED),)),
    ),
    FindingKind.OUTDATED: (
        (rows(watched()), (pull(checked_at=OLD),)),
        (rows(watched()), (pull(checked_at=NOW - 2 * DAY),)),
    ),
    FindingKind.WRONG: (
        (rows(watched("merged")), (pull(),)),
        (
            rows(watched("merged", more="  fix_upstream: vllm#2\n  fix_status: open-NOT-in-pin\n")),
            (
                pull(state=State.MERGED),
                pull(2),
            ),
        ),
    ),
    FindingKind.DETECTION_WEAK: (
        (rows(sweep=swept("P2", "reanchor")), ()),
        (rows(sweep=swept("P2, P1", "reanchor")), ()),
    ),
    FindingKind.TEST_UNRUN: (
        (rows(sweep=swept("P7", "review", more="  detection: test\n")), ()),
        (rows(sweep=swept("P7, P1", "review", more="  detection: test\n")), ()),
    ),
    FindingKind.DUPLICATE_UNWATCHED: (
        (rows(watched(more="  duplicate_of: vllm#2\n")), ()),
        (rows(watched(more="  duplicate_of: vllm#2\n"), swept(number=2)), ()),
    ),
    FindingKind.DUPLICATE_CIRCLE: (
        (rows(watched(more="  duplicate_of: vllm#2\n") + watched(number=2, more="  duplicate_of: vllm#1\n")), ()),
        (rows(watched(more="  duplicate_of: vllm#2\n") + watched(number=2)), ()),
    ),
    FindingKind.MOVED: (
        (rows(watched()), (pull(now_at=Ref("elsewhere/vllm", 1)),)),
        (rows(watched()), (pull(now_at=FIRST),)),
    ),
}


def test_every_kind_has_its_cases():
    """No kind of finding is without a list that shows it."""
    assert set(CASES) == set(FindingKind)


@pytest.mark.parametrize("kind", CASES)
def test_a_kind_is_found(kind):
    """The finding tells the row with its line, says what it is, and how to mend it."""
    (text, pulls), _ = CASES[kind]
    findings = of(kind, look(text, *pulls))
    assert findings
    for finding in findings:
        assert finding.text
        assert finding.hint
        if kind is not FindingKind.UNWATCHED:
            assert finding.row.partition(":")[0] in {"watch", "sweep"}
            assert text.splitlines()[finding.line - 1].startswith(b"- ")


@pytest.mark.parametrize("kind", CASES)
def test_a_near_miss_is_in_order(kind):
    """What comes close to a finding is none."""
    _, (text, pulls) = CASES[kind]
    assert of(kind, look(text, *pulls)) == []


def test_a_list_in_order_has_no_findings():
    """A row that claims what upstream says, with patches that are there, is left in peace."""
    text = rows(watched("open", more="  local_patches: [P1, P2]\n"), swept("P1, P2"))
    assert look(text, pull()) == ()


def test_findings_come_in_the_order_of_the_file():
    """People go through a file from its top; what no row stands for comes last."""
    text = rows(watched("merged", number=2, more="  local_patches: [P99]\n"), swept("P98", number=3))
    lines = [finding.line for finding in look(text)]
    assert lines == [*sorted(line for line in lines if line), 0]
    assert len(set(lines)) == 3


CONTRADICTIONS = [
    # watch row, sweep row, words
    (watched("closed"), swept(trigger="reanchor"), ("closed without one", "line 2")),
    (watched("merged"), swept(trigger="retire"), ("as merged",)),
    (watched("open", "retire"), swept(trigger="reanchor"), ("gives the patch up",)),
    (watched("open", "drift-check"), swept(trigger="retire"), ("keeps the patch fit",)),
    (watched("open", "port"), swept(trigger="retire"), ("takes it over",)),
    (watched(more="  local_patches: [P1]\n"), swept("watch-only"), ("names no patch", "P1")),
    (watched(more="  local_patches: [P1]\n"), swept("P2"), ("names P2", "names P1")),
]
AGREEMENTS = [
    (watched("merged"), swept(trigger="review")),
    (watched("open", "retire"), swept(trigger="retire")),
    (watched("open", "drift-check"), swept(trigger="reanchor")),
    (watched("open", "port"), swept(trigger="review")),
    (watched(), swept("watch-only")),
    (watched(more="  local_patches: [P1, P2]\n"), swept("p2")),
    (watched("closed"), swept(trigger="retire", number=2)),
]


@pytest.mark.parametrize(("watch", "sweep", "words"), CONTRADICTIONS)
def test_sections_contradict_each_other(watch, sweep, words):
    """A claim, a purpose or the patches of one section do not go with the other's."""
    (finding,) = of(FindingKind.CONTRADICTION, look(rows(watch, sweep)))
    assert (finding.severity, finding.row) == (Level.ERROR, "sweep:vllm#1")
    assert [word for word in words if word not in finding.text] == []


@pytest.mark.parametrize(("watch", "sweep"), AGREEMENTS)
def test_sections_agree(watch, sweep):
    """Rows that say different things of one pull request may both be meant."""
    assert of(FindingKind.CONTRADICTION, look(rows(watch, sweep))) == []


DEAD = [
    (rows(watched("closed", "retire")), (), Level.ERROR),
    (rows(watched("open", "port")), (pull(state=State.CLOSED),), Level.ERROR),
    (rows(watched("open", "port")), (pull(is_issue=True),), Level.ERROR),
    (rows(sweep=swept()), (pull(state=State.CLOSED),), Level.WARNING),
    (rows(sweep=swept("watch-only")), (pull(state=State.CLOSED),), Level.NOTICE),
    (rows(watched("closed"), swept(trigger="retire")), (), Level.ERROR),
]
ALIVE = [
    (rows(watched("closed", "watch")), ()),
    (rows(watched("closed", "retire")), (pull(state=State.MERGED),)),
    (rows(watched("closed", "retire")), (pull(),)),
    (rows(sweep=swept(trigger="retire")), ()),
]


@pytest.mark.parametrize(("text", "pulls", "level"), DEAD)
def test_a_trigger_is_dead(text, pulls, level):
    """Closed without a merge, or no pull request at all: by upstream's word, else by the file's own."""
    assert [one.severity for one in of(FindingKind.TRIGGER_DEAD, look(text, *pulls))] == [level]


@pytest.mark.parametrize(("text", "pulls"), ALIVE)
def test_a_trigger_may_still_fire(text, pulls):
    """What upstream says goes before what the file claims, and what nobody knows is not dead."""
    assert of(FindingKind.TRIGGER_DEAD, look(text, *pulls)) == []


def test_a_row_that_was_written_after_a_merge_may_say_so():
    """A merge that is older than the row is no fault where the row says merged and waits for nothing."""
    merged = pull(state=State.MERGED, merged_at=MAY)
    assert of(FindingKind.MERGED_BEFORE, look(rows(watched("merged", "a-b-test")), merged)) == []
    assert of(FindingKind.MERGED_BEFORE, look(rows(watched("merged", "retire")), merged))
    assert of(FindingKind.MERGED_BEFORE, look(rows(watched("open", "watch")), merged))


def test_a_merge_on_the_day_of_the_row_is_not_older():
    """Which of the two came first that day nobody wrote down."""
    first_of_june = 1_780_272_000.0
    merged = [pull(state=State.MERGED, merged_at=at) for at in (first_of_june, first_of_june - 1)]
    found = [of(FindingKind.MERGED_BEFORE, look(rows(watched("open", "port")), one)) for one in merged]
    assert [len(one) for one in found] == [0, 1]


def test_silence_makes_no_claim_wrong():
    """What upstream never answered is unverified, with the reason, and neither wrong nor dead."""
    gone = Unanswered(FIRST, WhyUnknown.NOT_FOUND, NOW)
    text = rows(watched("merged", "port"), swept(trigger="review"))
    (finding,) = of(FindingKind.UNVERIFIED, look(text, unknown=[gone]))
    assert "not-found" in finding.text
    quiet = {FindingKind.WRONG, FindingKind.TRIGGER_DEAD, FindingKind.MERGED_BEFORE, FindingKind.ISSUE_MERGED}
    assert quiet.isdisjoint(one.kind for one in look(text, unknown=[gone]))


def test_an_old_answer_with_a_newer_failure_says_both():
    """The age is of the last answer, and the reason of the newest failure."""
    known = {FIRST: Known(FIRST, pull(checked_at=OLD), Unanswered(FIRST, WhyUnknown.OUTAGE, NOW))}
    findings = check(read(rows(watched()), "w"), PATCHES, PATCHES.get, known, NOW, 2 * DAY)
    (finding,) = of(FindingKind.OUTDATED, findings)
    assert "72 hours" in finding.text
    assert "outage" in finding.text


def test_nobody_to_ask_is_not_nobody_answered():
    """Offline, without a store, no claim is called unverified."""
    assert of(FindingKind.UNVERIFIED, look(rows(watched("merged")), asked=False)) == []


@pytest.mark.parametrize(
    ("status", "state", "found"),
    [
        ("merged-in-pin", State.MERGED, False),
        ("merged-in-pin", State.OPEN, True),
        ("open", State.MERGED, True),
        ("open-NOT-in-pin", State.OPEN, False),
        ("open, NOT in pin", State.MERGED, True),
        ("opened lately", State.MERGED, False),
        ("waits for review", State.MERGED, False),
    ],
)
def test_the_claim_about_a_fix_is_held_against_upstream(status, state, found):
    """A fix_status claims a state by its first word; other words claim nothing."""
    text = rows(watched("open", more=f"  fix_upstream: vllm#2\n  fix_status: {status}\n"))
    findings = of(FindingKind.WRONG, look(text, pull(), pull(2, state=state, merged_at=JULY)))
    assert [("vllm#2" in one.text) for one in findings] == [True] * found


DETECTIONS = [
    # patches, trigger, detection, markers that are there, found
    ("P1", "reanchor", "anchor", None, False),
    ("P2", "reanchor", "anchor", None, True),
    ("P6", "retire", "anchor", None, True),
    ("P2, P6", "reanchor", "anchor", None, True),
    ("P3", "retire", "anchor", None, True),
    ("watch-only", "retire", "anchor", None, True),
    ("watch-only", "review", "anchor", None, False),
    ("P2", "review", "anchor", None, False),
    ("'planned: P5'", "retire", "anchor", None, False),
    ("P2", "retire", "manual", None, False),
    ("P1", "reanchor", "test", None, False),
    ("P2", "reanchor", "test", None, True),
    ("P2", "review", "test", None, True),
    ("watch-only", "retire", "test", None, True),
    ("P1", "retire", "UPSTREAM_MARKERS", {FIRST}, False),
    ("P1", "retire", "UPSTREAM_MARKERS", set(), True),
    ("P1", "retire", "UPSTREAM_MARKERS", None, False),
]


@pytest.mark.parametrize(("patches", "trigger", "detection", "marked", "found"), DETECTIONS)
def test_a_detection_has_force_or_not(patches, trigger, detection, marked, found):
    """An anchor wants an edit that must land, a test one that exists, markers an entry; what is manual asks a person."""
    text = rows(sweep=swept(patches, trigger, more=f"  detection: {detection}\n"))
    findings = of(FindingKind.DETECTION_WEAK, look(text, marked=marked))
    assert bool(findings) == found
    assert all(one.severity is (Level.ERROR if trigger == "reanchor" else Level.WARNING) for one in findings)


def test_a_test_that_was_run_nowhere_is_told_only_where_it_can_be_known():
    """Offline nobody knows; and of a row that goes by something else nobody asks."""
    text = rows(sweep=swept("P7", "review", more="  detection: test\n"))
    assert of(FindingKind.TEST_UNRUN, look(text, asked=False)) == []
    assert of(FindingKind.TEST_UNRUN, look(text.replace(b"test\n", b"manual\n"))) == []
    assert of(FindingKind.TEST_UNRUN, look(text, ran=("P7",))) == []


RETIRED = [
    (watched(more="  local_patches: [P3]\n"), b"", Level.WARNING, "P1 took its place"),
    (watched(more="  local_patches: [P3, P1]\n"), b"", Level.NOTICE, "P3"),
    (b"", swept("P4", "reanchor"), Level.ERROR, "names no other"),
    (b"", swept("P4"), Level.WARNING, "P4 ended"),
    (b"", swept("P4, P1", "retire"), Level.NOTICE, "P4 ended"),
]


@pytest.mark.parametrize(("watch", "sweep", "level", "words"), RETIRED)
def test_patches_that_ended_weigh_by_what_the_row_would_do(watch, sweep, level, words):
    """A trigger that acts on a patch that ended is worse than a note that mentions it."""
    (finding,) = of(FindingKind.RETIRED_ID, look(rows(watch, sweep)))
    assert (finding.severity, words in finding.text) == (level, True)


def test_what_is_planned_and_done_names_the_patch():
    """The hint is the line to write, with an id that is in use."""
    patches = {"P8": patch("P8", "vllm#7", retired=True), "P9": patch("P9", "vllm#7")}
    text = rows(sweep=swept("'planned: P8 or so'", number=7))
    (finding,) = of(FindingKind.PLANNED_DONE, look(text, patches=patches))
    assert "P8 (which ended), P9 carry vllm#7" in finding.text
    assert finding.hint == "write 'genesis_patch: P9'"


STANDS = [
    (patch("P4", "vllm#900"), "P4 was planned for vllm#1, and is for vllm#900"),
    (patch("P4"), "P4 was planned for vllm#1, and is 'Title of P4'"),
    (patch("P4", title=""), "P4 was planned for vllm#1, and is another patch"),
]


@pytest.mark.parametrize(("fact", "text"), STANDS)
def test_an_id_that_is_taken_is_told_with_what_it_stands_for(fact, text):
    """By its pull request, else by its title, as far as the register knows either."""
    findings = of(FindingKind.PLANNED_TAKEN, look(rows(sweep=swept("'planned: P4'")), patches={"P4": fact}))
    assert [one.text for one in findings] == [text]


@pytest.mark.parametrize(("ids", "text"), [("P98", "P98 is not"), ("P98, P99", "P98, P99 are not")])
def test_unknown_ids_are_told_in_one_sentence(ids, text):
    """One finding a row, and in words that read."""
    (finding,) = of(FindingKind.UNKNOWN_ID, look(rows(sweep=swept(ids))))
    assert finding.text == f"{text} in the register"


@pytest.mark.parametrize(("length", "shown"), [(60, "x" * 60), (61, "x" * 57 + "...")])
def test_a_long_plan_is_shown_by_its_beginning(length, shown):
    """The finding stays a sentence."""
    (finding,) = of(FindingKind.PLANNED_DONE, look(rows(sweep=swept(f"'planned: {'x' * length}'"))))
    assert f"({shown})" in finding.text


def test_what_is_itself_only_planned_does_nothing_yet():
    """An id that was planned for the pull request is no patch that carries it."""
    patches = {"P5": patch("P5", "vllm#1", planned=True)}
    assert look(rows(sweep=swept("'planned: P5'")), pull(), patches=patches) == ()


def test_what_active_patches_carry_is_watched_once_each():
    """One finding a pull request, with all patches that carry it; patches that ended or were planned do not count."""
    patches = {
        "P7": patch("P7", "vllm#5", "a/b#6"),
        "P8": patch("P8", "vllm#5"),
        "P9": patch("P9", "vllm#8", retired=True),
        "P10": patch("P10", "vllm#9", implemented=False, active=False),
    }
    findings = of(FindingKind.UNWATCHED, look(rows(watched()), patches=patches))
    assert [(one.line, one.row) for one in findings] == [(0, "")] * 2
    assert "a/b#6, which P7 carries" in findings[0].text
    assert "vllm#5, which P7, P8 carry" in findings[1].text


def test_a_circle_is_told_of_its_members_alone():
    """Who leads into a circle is not in it; and a long way round ends."""
    text = rows(
        watched(more="  duplicate_of: vllm#2\n")
        + watched(number=2, more="  duplicate_of: vllm#3\n")
        + watched(number=3, more="  duplicate_of: vllm#2\n")
    )
    findings = of(FindingKind.DUPLICATE_CIRCLE, look(text))
    assert [one.row for one in findings] == ["watch:vllm#2", "watch:vllm#3"]
    assert "vllm#2 -> vllm#3 -> vllm#2" in findings[0].text


def test_every_rule_is_in_the_table():
    """A rule that nobody calls finds nothing."""
    from genesisd.watch import check_claims, check_detection, check_ids, check_sections

    modules = (check_claims, check_detection, check_ids, check_sections)
    rules = {
        value
        for module in modules
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
    }
    assert rules == set(RULES)
