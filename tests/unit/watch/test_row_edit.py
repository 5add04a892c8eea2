"""Rows and fields added, changed and taken out: what is written, what stays, and what is left to a person."""

import difflib

import pytest

from genesisd.errors import ConfigError, ConflictError
from genesisd.watch.row_edit import add_row, retire_row, update_row
from genesisd.watch.rows import row_id
from genesisd.watch.watchlist import read
from genesisd.watch.yaml_text import scalar
from tests.helpers.watchlists import END, FORMS, ROW, SWEEP_ROW, small, sweep, watch

NEW = {"upstream": "vllm#900", "status": "open", "action": "watch", "since": "2026-07-01"}
NEW_SWEEP = {"pr": "900", "genesis_patch": "P1, P2", "trigger": "review-on-merge", "note": "A note."}


def diff(before: bytes, after: bytes) -> tuple[list[bytes], list[bytes]]:
    """Lines taken out and lines put in; all others stand as they were, in their order."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    gone, made = [], []
    for tag, at, to, other_at, other_to in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            gone += old[at:to]
            made += new[other_at:other_to]
    return gone, made


@pytest.fixture
def forms():
    return FORMS.read_bytes()


def test_a_row_is_added_behind_the_last(forms):
    """In front of the comments that belong to what follows, in the order that rows have."""
    text = add_row(forms, "watch", {"notes": "It's: new", "local_patches": ["P1", "P2"], **NEW})
    gone, made = diff(forms, text)
    assert (gone, b"".join(made).decode()) == (
        [],
        """\
- upstream: vllm#900
  status: open
  local_patches:
  - P1
  - P2
  action: watch
  since: 2026-07-01
  notes: 'It''s: new'
""",
    )
    assert text.index(b"vllm#900") < text.index(b"# The sweep follows.")
    assert read(text, "x").watch[-1].notes == "It's: new"


@pytest.mark.parametrize("name", sorted(set(small()) - {"braces"}))
def test_a_row_is_added_to_every_file(name):
    """Whatever the line breaks and the indentation: nothing is taken out, and both sections take a row."""
    text = small()[name]
    for section, fields in (("watch", NEW), ("sweep", NEW_SWEEP)):
        after = add_row(text, section, fields)
        before, now = read(text, "x"), read(after, "x")
        gone, made = diff(text, after)
        assert gone in ([], [f"{section}: []\n".encode()])
        assert len(made) <= 6
        assert len(now.watch) + len(now.sweep) == len(before.watch) + len(before.sweep) + 1
        assert b"\r\n" not in text or all(line.endswith(b"\r\n") for line in made)


@pytest.mark.parametrize(
    "note",
    [
        *("plain", "it's", "a: b", "# no comment", "yes", "null", " space", "tab\there", "two\nlines", "two\nlines\n"),
        *("empty\n\nline", "end\n\n", "\nfront", "  indented\nfirst", 'quote "x"', "back\\slash", "→ 🙂", "- dash"),
        *(
            "{a}",
            "[b]",
            "&c",
            "*d",
            "!e",
            "|f",
            ">g",
            "%h",
            "@i",
            "`j",
            "k #l",
            "m:",
            "a\u0085b \ufeff\x1b \U000e0041",
            "\u2028a",
            "a " * 200,
            "---",
        ),
    ],
)
def test_any_text_comes_back_as_it_was_written(note):
    """Plain, in quotes or below its field: what is read is what was meant."""
    text = add_row(sweep(SWEEP_ROW), "sweep", {**NEW_SWEEP, "note": note})
    assert read(text, "x").sweep[-1].note == note
    assert read(update_row(text, read(text, "x").sweep[0], {"note": note}), "x").sweep[0].note == note


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({**NEW, "upstream": "vllm#101"}, "vllm#101 has a row already"),
        ({**NEW, "status": "landed"}, "expected open, closed or merged"),
        ({**NEW, "trigger": "x"}, "unknown field"),
        ({"upstream": "vllm#900"}, "missing"),
        ({**NEW, "local_patches": "P1"}, "a list of patch ids"),
    ],
)
def test_a_row_that_would_be_wrong_is_not_added(forms, fields, words):
    """The same rules as for reading hold for what is written."""
    with pytest.raises(ConfigError, match=words):
        add_row(forms, "watch", fields)


@pytest.mark.parametrize("section", ["watch", "sweep"])
def test_every_row_can_be_taken_out(forms, section):
    """Exactly the lines of the row go; comments around it stay, also those between it and the next."""
    comments = [line for line in forms.splitlines() if line.startswith(b"#")]
    for row in getattr(read(forms, "x"), section):
        after = retire_row(forms, row)
        gone, made = diff(forms, after)
        assert made == []
        assert gone[0].startswith(b"-")
        assert not any(line.startswith(b"#") for line in gone)
        assert [line for line in after.splitlines() if line.startswith(b"#")] == comments
        left = [row_id(one) for one in (*read(after, "x").watch, *read(after, "x").sweep)]
        assert left == [row_id(one) for one in (*read(forms, "x").watch, *read(forms, "x").sweep) if one != row]


def test_the_last_row_of_a_section_leaves_an_empty_list():
    """A section without rows is written as one, and takes rows again."""
    text = watch(ROW + b"# behind it\n")
    after = retire_row(text, read(text, "x").watch[0])
    assert after == b"watch: []\n# behind it\n" + END
    assert add_row(after, "watch", NEW).startswith(b"watch:\n- upstream: vllm#900\n")


@pytest.mark.parametrize("name", sorted(set(small()) - {"braces", "empty"}))
def test_what_is_added_and_taken_out_leaves_no_trace(name):
    """The file has the same bytes as before."""
    text = small()[name]
    section = "watch" if read(text, "x").watch else "sweep"
    more = add_row(text, section, NEW if section == "watch" else NEW_SWEEP)
    assert retire_row(more, getattr(read(more, "x"), section)[-1]) == text


UPDATES = {
    # changes of row 0 -> lines out, lines in
    "value": (
        {"action": "retire"},
        ["  action: a-b-test        # was: port\n"],
        ["  action: retire        # was: port\n"],
    ),
    "same": ({"action": "a-b-test", "local_patches": ["P64", "P67b"]}, [], []),
    "out": ({"severity": None}, ["  severity: P1-correctness\n"], []),
    "absent": ({"duplicate_of": None}, [], []),
    "new": ({"duplicate_of": "vllm#9"}, [], ["  duplicate_of: vllm#9\n"]),
    "list": (
        {"local_patches": ["P64"]},
        ["  - P67b   # the half that matters\n"],
        [],
    ),
    "no list": (
        {"local_patches": []},
        ["  local_patches:\n", "  - P64\n", "  - P67b   # the half that matters\n"],
        ["  local_patches: []\n"],
    ),
    "text": (
        {"notes": "one line"},
        *(
            [
                "  notes: |\n",
                "    First line: with a colon.\n",
                "    # not a comment\n",
                "\n",
                "    Third paragraph's end.\n",
            ],
            ["  notes: one line\n"],
        ),
    ),
    "two": (
        {"severity": "P0-crash", "since": "2026-06-09"},
        ["  severity: P1-correctness\n", "  since: 2026-06-01\n"],
        ["  severity: P0-crash\n", "  since: 2026-06-09\n"],
    ),
}


@pytest.mark.parametrize(("changes", "out", "into"), UPDATES.values(), ids=UPDATES)
def test_fields_are_changed_where_they_stand(forms, changes, out, into):
    """Lines of the named fields alone; a new field goes where its like stand."""
    gone, made = diff(forms, update_row(forms, read(forms, "x").watch[0], changes))
    assert ([line.decode() for line in gone], [line.decode() for line in made]) == (out, into)


def test_a_new_field_goes_where_its_like_stand(forms):
    """Rows keep one order of fields: a duplicate is told before the notes, and a severity behind the status."""
    after = update_row(forms, read(forms, "x").watch[0], {"duplicate_of": "vllm#9"})
    assert b"  since: 2026-06-01\n  duplicate_of: vllm#9\n  notes: |\n" in after
    after = update_row(forms, read(forms, "x").watch[2], {"severity": "P1"})
    assert b'  status: "closed"\n  severity: P1\n  local_patches' in after


def test_a_sweep_row_is_changed_too(forms):
    """Planned work that was done gets its id; a value over two lines gives way as a whole."""
    rows = read(forms, "x").sweep
    gone, made = diff(forms, update_row(forms, rows[3], {"genesis_patch": "PN1", "detection": "manual"}))
    assert [line.decode() for line in made] == ["  genesis_patch: PN1\n", "  detection: manual\n"]
    assert len(gone) == 3


def test_what_is_left_to_a_person_is_refused(forms):
    """Rows in braces take new values, and nothing that would need lines of its own; the place is told."""
    row = read(forms, "x").watch[4]
    assert b"status: closed, action: port" in update_row(forms, row, {"status": "closed"})
    with pytest.raises(ConfigError, match="the row is in braces") as caught:
        update_row(forms, row, {"severity": "P1"})
    assert (caught.value.fields["line"], caught.value.hint) == (47, "change it by hand")
    braces = small()["braces"]
    for change in (
        lambda: add_row(braces, "watch", NEW),
        lambda: add_row(braces, "sweep", NEW_SWEEP),
        lambda: retire_row(braces, read(braces, "x").watch[0]),
    ):
        with pytest.raises(ConfigError, match=r"the (file|section) is in (braces|brackets)"):
            change()


def test_a_comment_between_brackets_is_not_lost():
    """An empty list that holds somebody's words is not replaced by rows."""
    with pytest.raises(ConfigError, match="a comment between the brackets"):
        add_row(b"watch: [ # none yet\n  ]\n" + END, "watch", NEW)
    assert add_row(b"watch: [ ]  # none yet\n" + END, "watch", NEW).startswith(b"watch:  # none yet\n- upstream")


def test_what_a_row_needs_is_not_taken_out(forms):
    """No edit leaves a row that could not be read again."""
    row = read(forms, "x").watch[0]
    with pytest.raises(ConfigError, match="not the first of its line"):
        update_row(forms, row, {"upstream": None})
    with pytest.raises(ConfigError, match="missing"):
        update_row(forms, row, {"since": None})
    with pytest.raises(ConfigError, match="vllm#102 has a row already"):
        update_row(forms, row, {"upstream": "vllm#102"})


def test_a_row_of_another_state_of_the_file_is_refused(forms):
    """A row that moved is not confused with the one that took its place."""
    row = read(forms, "x").watch[1]
    shorter = retire_row(forms, read(forms, "x").watch[0])
    with pytest.raises(ConflictError):
        retire_row(shorter, row)
    with pytest.raises(ConflictError):
        update_row(shorter, row, {"severity": None})


@pytest.mark.parametrize(
    ("value", "style", "written"),
    [
        ("open", "", "open"),
        ("open", "'", "'open'"),
        ("open", '"', '"open"'),
        ("vllm#1", "", "vllm#1"),
        ("P1, P2", "", "P1, P2"),
        ("yes", "", "'yes'"),
        ("a #b", "", "'a #b'"),
        ("it's", "", "'it''s'"),
        ("a\tb", "'", '"a\\tb"'),
        ("", "", "''"),
    ],
)
def test_a_value_is_quoted_where_it_has_to_be(value, style, written):
    """Plain text stays plain, quotes stay quotes, and what YAML would take for something else is quoted."""
    assert scalar(value, style) == written


def test_blank_lines_that_a_text_keeps_are_not_parted_from_it():
    """A row that is added behind such a text goes behind its blank lines too."""
    text = watch(ROW + b"  notes: |+\n    kept\n\n\n")
    after = add_row(text, "watch", NEW)
    assert [row.notes for row in read(after, "x").watch] == ["kept\n\n\n", ""]
    assert diff(text, after)[0] == []


def test_what_cannot_be_proven_is_left_to_a_person():
    """A row behind text that keeps its blank lines cannot go without them: the place is told, and nothing is lost."""
    kept = ROW + b"  notes: |+\n    kept\n\n"
    text = watch(kept, ROW.replace(b"#1", b"#2") + b"\n\n")
    with pytest.raises(ConfigError, match="reach other parts") as caught:
        retire_row(text, read(text, "x").watch[1], file="list.yaml")
    told = {name: caught.value.fields[name] for name in ("file", "line", "column")}
    assert told == {"file": "list.yaml", "line": 9, "column": 1}
    assert caught.value.hint == "change it by hand"
