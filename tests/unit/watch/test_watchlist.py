"""Reading a watchlist: every form of a row, and what a person is told about one that is wrong."""

from datetime import date

import pytest

from genesisd.errors import ConfigError
from genesisd.watch.model import State
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Action, Detection, Trigger, row_id
from genesisd.watch.watchlist import load, read
from tests.helpers.watchlists import END, FORMS, ROW, SWEEP_ROW, small, sweep, watch


@pytest.fixture(scope="module")
def forms():
    return load(FORMS)


def test_every_field_of_a_watch_row_is_read(forms):
    """A row comes with all it says, and with its line."""
    row = forms.watch[1]
    assert (row.index, row.line, row_id(row)) == (1, 16, "watch:vllm#102")
    assert (row.status, row.action, row.since) == (State.MERGED, Action.DRIFT_CHECK, date(2026, 6, 2))
    assert (row.fix_upstream, row.fix_status) == (Ref("vllm-project/vllm", 103), "open-NOT-in-pin")
    assert row.severity == "P0-correctness"
    assert row.affects == ("Qwen3.6-27B-int4-AutoRound", "Gemma-4-26B-A4B")
    assert row.patches == ()
    assert row.notes == "Folded over\nlines, with an apostrophe's double.\n"


def test_every_way_of_writing_says_the_same(forms):
    """Quotes, lists in brackets, rows in braces, other orders and text over lines are all read."""
    assert [row.status for row in forms.watch] == [
        *(State.OPEN, State.MERGED, State.CLOSED, State.OPEN, State.OPEN, State.OPEN),
    ]
    assert [row.since.day for row in forms.watch] == [1, 2, 3, 4, 5, 6]
    assert [row.patches for row in forms.watch] == [("P64", "P67b"), (), ("P3", "P4"), (), (), ("PN129",)]
    assert forms.watch[0].notes == "First line: with a colon.\n# not a comment\n\nThird paragraph's end.\n"
    assert forms.watch[2].notes == 'escapes: → "quoted"\nand a second line'
    assert forms.watch[3].upstream == Ref("somebody/something", 1)
    assert forms.watch[3].notes == "Plain text that goes over two lines."
    assert forms.watch[5].duplicate_of == Ref("vllm-project/vllm", 101)


def test_every_binding_of_a_sweep_row_is_read(forms):
    """Lists of ids, work that is planned with and without an id, and nothing on purpose."""
    first, second, third, fourth, fifth = forms.sweep
    assert (first.patches, first.planned, first.watch_only) == (("P64", "P67b"), None, False)
    assert (second.planned, second.planned_ids) == ("PN998 (a guard that nobody wrote yet)", ("PN998",))
    assert (third.watch_only, third.patches, third.planned) == (True, (), None)
    assert (fourth.planned, fourth.planned_ids) == ("something that has no id yet", ())
    assert [row.detection for row in forms.sweep] == [
        *(Detection.ANCHOR, Detection.ANCHOR, Detection.MANUAL, Detection.MARKERS, Detection.TEST),
    ]
    assert [row.trigger for row in forms.sweep[:3]] == [Trigger.REANCHOR, Trigger.RETIRE, Trigger.REVIEW]
    assert [str(row.upstream) for row in forms.sweep[2:4]] == ["vllm#203", "somebody/something#2"]
    assert (fifth.duplicate_of, fifth.line) == (first.upstream, 80)


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        ("PN371", ("PN371",)),
        ("P79e", ("P79e",)),
        ("PN-tbd (FP8 MoE + LoRA fail-fast guard)", ()),
        ("PN-next (all-NaN logits OOV kernel half)", ()),
        ("G4-family vendor (fp8_e5m2 KV predicate)", ()),
        ("G4_60E and G4_T1, as P67b", ("G4_60E", "G4_T1", "P67b")),
        (
            "PN521_SPLIT_K, PN-FP8MOE-KPAD, SNDR_WORKSPACE_001",
            ("PN521_SPLIT_K", "PN-FP8MOE-KPAD", "SNDR_WORKSPACE_001"),
        ),
        ("twice PN1, PN1", ("PN1",)),
        ("XP64 and P64x2", ()),
    ],
)
def test_ids_are_found_in_what_is_planned(written, ids):
    """What looks like an id in the plan is taken for one; what only begins like one is not."""
    row = SWEEP_ROW.replace(b"P1\n", f"'planned: {written}'\n".encode())
    assert read(sweep(row), "x").sweep[0].planned_ids == ids


def test_all_refs_are_told_once_in_their_order(forms):
    """What is to be asked of upstream: rows and fixes, each once."""
    numbers = [ref.number for ref in forms.refs()]
    assert numbers == [101, 102, 103, 104, 1, 105, 106, 201, 202, 203, 2, 205]


def test_line_breaks_and_marks_of_other_systems_are_read():
    """CRLF, a byte-order mark, a missing last line break: the rows are the same."""
    texts = small()
    rows = [read(texts[name], "x") for name in ("forms", "crlf", "bom", "no-newline")]
    assert len({(one.watch, one.sweep) for one in rows}) == 1
    assert len({one.digest for one in rows}) == 4
    assert [row.line for row in read(texts["old-mac"], "x").watch] == [2, 6]


def test_sections_may_be_empty_or_absent():
    """A list that watches nothing yet is a list."""
    for text in (b"watch: []\nsweep: []\n" + END, END):
        assert read(text, "x").refs() == ()


FAULTS = {
    # text, line, column, field, words of the message
    "nothing": (b"", 1, 1, None, ("empty", "__sentinel__: complete")),
    "comments": (b"# x\n\n", 3, 1, None, ("empty",)),
    "a list": (b"- a\n", 2, 1, None, ("a list", "watch and sweep")),
    "not yaml": (b"watch: [\n", 2, 1, None, ("not valid YAML",)),
    "unquoted colon": (sweep(SWEEP_ROW.replace(b"P1", b"planned: P1")), 3, 25, None, ("quotes",)),
    "tab": (b"watch:\n\t- a\n", 2, 1, None, ("spaces",)),
    "not utf-8": (watch(ROW + "  notes: é".encode() + b"\xe9\n"), 6, 11, None, ("UTF-8",)),
    "control": (watch(ROW + "  notes: éé\x07\n".encode()), 6, 12, None, ("control characters",)),
    "second document": (END + b"---\n", 2, 1, None, ("second document",)),
    "deep": (b"a: " + b"[" * 12 + b"]" * 12, 1, 12, None, ("nested deeper",)),
    "alias": (watch(ROW.replace(b"open", b"&a open")), 3, 11, None, ("aliases", "write the value out")),
    "tag": (watch(ROW.replace(b"open", b"!!str open")), 3, 11, None, ("tag",)),
    "key twice": (watch(ROW + b"  status: closed\n"), 6, 3, None, ("'status' is set twice", "line 3")),
    "key is a list": (b"? [a]\n: 1\n", 1, 3, None, ("a list is no name",)),
    "unknown section": (b"wacth: []\n" + END, 1, 1, "wacth", ("unknown section",)),
    "null section": (b"watch:\n" + END, 1, 1, "watch", ("nothing", "'watch: []'")),
    "section of text": (b"watch: rows\n" + END, 1, 1, "watch", ("'rows'", "list of rows")),
    "row of text": (watch(b"- vllm#1\n"), 2, 3, "watch[0]", ("'vllm#1'", "a row")),
    "no sentinel": (b"watch: []\n", 2, 1, "__sentinel__", ("missing", "cut off")),
    "half a sentinel": (b"watch: []\n__sentinel__: comp", 2, 15, "__sentinel__", ("'comp'",)),
    "sentinel in front": (END + b"watch: []\n", 1, 15, "__sentinel__", ("not the last",)),
    "unknown field": (watch(ROW + b"  severty: P1\n"), 6, 3, "watch[0].severty", ("did you mean 'severity'",)),
    "sweep field in watch": (watch(ROW + b"  trigger: x\n"), 6, 3, "watch[0].trigger", ("known here", "since")),
    "missing": (watch(ROW.replace(b"  action: watch\n", b"")), 2, 3, "watch[0].action", ("missing",)),
    "status": (
        watch(ROW.replace(b"open", b"Open")),
        3,
        11,
        "watch[0].status",
        ("'Open'", "closed or merged", "write open"),
    ),
    "status of old": (watch(ROW.replace(b"open", b"on")), 3, 11, "watch[0].status", ("'on'",)),
    "status in a list": (watch(ROW.replace(b"open", b"[open]")), 3, 11, "watch[0].status", ("a list",)),
    "status below": (watch(ROW.replace(b"open", b"|-\n    open")), 3, 11, "watch[0].status", ("on one line",)),
    "status folded": (watch(ROW.replace(b"open", b'"op\\\n   en"')), 3, 11, "watch[0].status", ("several lines",)),
    "action": (watch(ROW.replace(b" watch", b" look")), 4, 11, "watch[0].action", ("'look'", "a-b-test")),
    "ref": (watch(ROW.replace(b"vllm#1", b"vllm-1")), 2, 13, "watch[0].upstream", ("'vllm-1'", "owner/repo#123")),
    "ref of a stranger": (watch(ROW.replace(b"vllm#1", b"sglang#1")), 2, 13, "watch[0].upstream", ("'sglang#1'",)),
    "commented ref": (watch(ROW.replace(b"vllm#1", b"#1")), 2, 3, "watch[0].upstream", ("begins a comment",)),
    "number in watch": (watch(ROW.replace(b"vllm#1", b"1")), 2, 13, "watch[0].upstream", ("'1'",)),
    "day": (watch(ROW.replace(b"06-01", b"6-1")), 5, 10, "watch[0].since", ("'2026-6-1'", "2026-07-05")),
    "no such day": (watch(ROW.replace(b"06-01", b"02-30")), 5, 10, "watch[0].since", ("'2026-02-30'",)),
    "severity": (watch(ROW + b"  severity: high\n"), 6, 13, "watch[0].severity", ("'high'", "P0 to P3")),
    "severity far": (watch(ROW + b"  severity: P4\n"), 6, 13, "watch[0].severity", ("'P4'",)),
    "patches of text": (
        watch(ROW + b"  local_patches: P1\n"),
        6,
        18,
        "watch[0].local_patches",
        ("a list of patch ids",),
    ),
    "patch in a list": (watch(ROW + b"  local_patches: [[P1]]\n"), 6, 19, "watch[0].local_patches[0]", ("a list",)),
    "patch of null": (watch(ROW + b"  affects_models: [~]\n"), 6, 20, "watch[0].affects_models[0]", ("nothing",)),
    "patch with a space": (watch(ROW + b"  local_patches: [P 1]\n"), 6, 19, "watch[0].local_patches", ("'P 1'", "P67")),
    "fix of itself": (watch(ROW + b"  fix_upstream: vllm#1\n"), 6, 17, "watch[0].fix_upstream", ("another",)),
    "status of no fix": (
        watch(ROW + b"  fix_status: open\n"),
        6,
        15,
        "watch[0].fix_status",
        ("name it as fix_upstream",),
    ),
    "duplicate of itself": (watch(ROW + b"  duplicate_of: vllm#1\n"), 6, 17, "watch[0].duplicate_of", ("another",)),
    "row twice": (watch(ROW, ROW), 6, 13, "watch[1].upstream", ("vllm#1 has a row", "line 2")),
    "row twice by other names": (
        sweep(SWEEP_ROW, SWEEP_ROW.replace(b"pr: 1", b"pr: vllm-project/vllm#1")),
        *(6, 7, "sweep[1].pr", ("vllm#1 has a row",)),
    ),
    "row twice in other letters": (
        sweep(SWEEP_ROW, SWEEP_ROW.replace(b"pr: 1", b"pr: VLLM-Project/vLLM#1")),
        *(6, 7, "sweep[1].pr", ("vllm#1 has a row",)),
    ),
    "row of another repository twice": (
        watch(ROW.replace(b"vllm#1", b"Owner/Repo#1"), ROW.replace(b"vllm#1", b"owner/repo#1")),
        *(6, 13, "watch[1].upstream", ("owner/repo#1 has a row",)),
    ),
    "pr": (sweep(SWEEP_ROW.replace(b"pr: 1", b"pr: 0")), 2, 7, "sweep[0].pr", ("'0'", "a number")),
    "pr of zeros": (sweep(SWEEP_ROW.replace(b"pr: 1", b"pr: 01")), 2, 7, "sweep[0].pr", ("'01'",)),
    "trigger": (
        sweep(SWEEP_ROW.replace(b"review-on-merge", b"review")),
        4,
        12,
        "sweep[0].trigger",
        ("retire-on-merge",),
    ),
    "detection": (
        sweep(SWEEP_ROW + b"  detection: upstream_markers\n"),
        6,
        14,
        "sweep[0].detection",
        ("write UPSTREAM",),
    ),
    "no note": (sweep(SWEEP_ROW.replace(b" A note.", b"")), 5, 3, "sweep[0].note", ("empty",)),
    "no patch": (sweep(SWEEP_ROW.replace(b" P1", b"")), 3, 3, "sweep[0].genesis_patch", ("empty",)),
    "patch between commas": (sweep(SWEEP_ROW.replace(b"P1", b"P1,,P2")), 3, 18, "sweep[0].genesis_patch", ("missing",)),
    "nothing planned": (sweep(SWEEP_ROW.replace(b"P1", b"'planned:'")), 3, 18, "sweep[0].genesis_patch", ("missing",)),
    "words for a patch": (
        sweep(SWEEP_ROW.replace(b"P1", b"later on")),
        3,
        18,
        "sweep[0].genesis_patch",
        ("no patch id",),
    ),
}


@pytest.mark.parametrize(("text", "line", "column", "field", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_with_its_place(text, line, column, field, words):
    """File, line, column and field are in the error, for programs as fields and for people in the text."""
    with pytest.raises(ConfigError) as caught:
        read(text, "etc/list.yaml")
    error = caught.value
    told = {name: error.fields[name] for name in ("file", "line", "column", "field")}
    assert told == {"file": "etc/list.yaml", "line": line, "column": column, "field": field}
    assert error.message.startswith(f"etc/list.yaml:{line}:{column}: ")
    assert [word for word in words if word not in error.message] == []


def test_all_faults_are_told_at_once():
    """A file with several faults needs one reading, not one for each; they come in the order of the file."""
    rows = (ROW.replace(b"open", b"shut"), ROW.replace(b"#1", b"#2").replace(b"2026", b"26"))
    with pytest.raises(ConfigError) as caught:
        read(watch(*rows).replace(END, b""), "x")
    problems = caught.value.fields["problems"]
    assert [(one["line"], one["field"]) for one in problems] == [
        *((3, "watch[0].status"), (9, "watch[1].since"), (10, "__sentinel__")),
    ]
    assert problems[0]["expected"] == "open, closed or merged"
    assert len(caught.value.message.splitlines()) == 3


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.8, 0.99])
def test_a_list_that_was_cut_off_is_refused(cut):
    """Whatever a broken copy left is not taken for the whole, also where it ends between two rows."""
    whole = FORMS.read_bytes()
    lines = whole.splitlines(keepends=True)
    for part in (whole[: int(len(whole) * cut)], b"".join(lines[: int(len(lines) * cut)])):
        with pytest.raises(ConfigError):
            read(part, "x")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    """The error names the file, and says what to do."""
    with pytest.raises(ConfigError, match="No such file") as caught:
        load(tmp_path / "none.yaml")
    assert caught.value.fields["file"] == str(tmp_path / "none.yaml")
    assert caught.value.hint


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    """A log that took the name of the list does not take the memory of the daemon."""
    path = tmp_path / "w.yaml"
    path.write_bytes(END + b"#" * (5 << 20))
    with pytest.raises(ConfigError, match="larger than 4 MiB"):
        load(path)
