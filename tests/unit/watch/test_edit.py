"""Changing one line: the value gives way, a person's comment stays, the evidence stands behind it, and nothing else moves."""

import pytest

from genesisd.errors import ConfigError, ConflictError
from genesisd.watch.edit import set_line, set_status
from genesisd.watch.end_comment import LONGEST, bracketed
from genesisd.watch.model import State
from genesisd.watch.watchlist import read
from tests.helpers.watchlists import END, FORMS, ROW, small, watch


def changed(before: bytes, after: bytes) -> list[tuple[bytes, bytes]]:
    """The lines that differ; a file that gained or lost lines has moved something."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    assert len(old) == len(new)
    return [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]


def status(line: bytes, to: State = State.MERGED, evidence: str = "seen", index: int = 0) -> bytes:
    """The status line of a row, written as ``line``, after it was set."""
    text = watch(ROW.replace(b"  status: open\n", line))
    after = set_status(text, read(text, "x").watch[index], to, evidence)
    ((_, new),) = changed(text, after)
    return new


LINES = {
    # as written -> as it is then
    b"  status: open\n": b"  status: merged  # [genesisd: seen]\n",
    b"  status: open  \n": b"  status: merged  # [genesisd: seen]\n",
    b"  status: 'open'\n": b"  status: 'merged'  # [genesisd: seen]\n",
    b'  status: "open"\t# mine\n': b'  status: "merged"\t# mine [genesisd: seen]\n',
    b'  status: open          # a word: it\'s "odd" # twice\n': (
        b'  status: merged          # a word: it\'s "odd" # twice [genesisd: seen]\n'
    ),
    b"  status: open # mine  \n": b"  status: merged # mine  [genesisd: seen]\n",
    b"  status: open #\n": b"  status: merged # [genesisd: seen]\n",
    b"  status: open # mine [genesisd: older]\n": b"  status: merged # mine [genesisd: seen]\n",
    b"  status: open # mine [genesisd: older] and mine\n": b"  status: merged # mine [genesisd: seen] and mine\n",
    b"  status: open # [genesisd: a] [genesisd: b]\n": b"  status: merged # [genesisd: a] [genesisd: seen]\n",
    b"  status: open # [see genesisd: x]\n": b"  status: merged # [see genesisd: x] [genesisd: seen]\n",
    b"  status: open # \xe2\x80\x94 \xf0\x9f\x99\x82\n": (
        b"  status: merged # \xe2\x80\x94 \xf0\x9f\x99\x82 [genesisd: seen]\n"
    ),
    b"  ? status\n  : open # mine\n": b"  : merged # mine [genesisd: seen]\n",
    b"  status:\n    open # mine\n": b"    merged # mine [genesisd: seen]\n",
    b"  'status' : open\n": b"  'status' : merged  # [genesisd: seen]\n",
}


@pytest.mark.parametrize(("line", "after"), LINES.items())
def test_one_line_is_changed(line, after):
    """The value in its quotes, then the comment as it was, then the evidence."""
    assert status(line) == after


def test_the_row_in_braces_is_changed_too():
    """The comment goes to the end of the line, behind all that the row says there."""
    text = FORMS.read_bytes()
    ((_, new),) = changed(text, set_status(text, read(text, "x").watch[4], State.MERGED, "seen"))
    assert (
        new
        == b"- {upstream: vllm#105, status: merged, action: port, since: 2026-06-05}  # in braces [genesisd: seen]\n"
    )


def test_evidence_never_goes_into_a_value():
    """Where a value runs on over the end of the line there is no place for a comment; the status is set all the same."""
    row = b"- {upstream: vllm#1, status: open, action: watch, since: 2026-06-01, notes: 'a # b\n    c'}\n"
    ((_, new),) = changed(watch(row), set_status(watch(row), read(watch(row), "x").watch[0], State.MERGED, "seen"))
    assert new == row.splitlines(keepends=True)[0].replace(b"open", b"merged")


def test_evidence_goes_behind_a_value_that_ends_the_line():
    """A value that ends where the line does runs on over nothing."""
    for last in (b"status: open, action: watch", b"action: watch, status: open"):
        text = watch(b"- {upstream: vllm#1, since: 2026-06-01, " + last + b"\n  }\n")
        after = set_status(text, read(text, "x").watch[0], State.MERGED, "seen")
        assert last.replace(b"open", b"merged") + b"  # [genesisd: seen]\n  }" in after


def test_text_over_several_lines_is_not_changed_as_a_line():
    """What would move other lines is no change of a line."""
    text = FORMS.read_bytes()
    for index in (0, 1, 3):
        with pytest.raises(ConfigError, match="no value on one line"):
            set_line(text, read(text, "x").watch[index], "notes", "short")


def test_a_sign_within_a_value_begins_no_comment():
    """A '#' in quotes on the same line is text, and what follows the value is where the comment goes."""
    row = b"- {upstream: vllm#1, status: open, action: watch, since: 2026-06-01, notes: 'a # b'}\n"
    after = set_status(watch(row), read(watch(row), "x").watch[0], State.MERGED, "seen")
    assert row.replace(b"open", b"merged").rstrip() + b"  # [genesisd: seen]\n" in after


@pytest.mark.parametrize("name", sorted(small()))
def test_every_file_keeps_its_other_bytes(name):
    """Line breaks, byte-order marks and the lack of a last line break stay as they are."""
    text = small()[name]
    for row in read(text, "x").watch:
        to = State.CLOSED if row.status is State.OPEN else State.OPEN
        after = set_status(text, row, to, "seen → now")
        ((old, new),) = changed(text, after)
        words = new.replace("[genesisd: seen → now]".encode(), b"").replace(b"#", b"").split()
        assert words == old.replace(row.status.encode(), to.encode(), 1).replace(b"#", b"").split()
        assert [one.status for one in read(after, "x").watch if one.index == row.index] == [to]


def test_a_status_that_is_so_already_changes_nothing():
    """A second sweep writes nothing, whatever its evidence says."""
    text = FORMS.read_bytes()
    once = set_status(text, read(text, "x").watch[0], State.MERGED, "first")
    assert set_status(once, read(once, "x").watch[0], State.MERGED, "second") is once


def test_evidence_does_not_pile_up():
    """After many changes there is one piece of evidence, the newest, and the person's words are untouched."""
    text = FORMS.read_bytes()
    line = text.splitlines(keepends=True)[3]
    for number in range(20):
        to = State.MERGED if number % 2 == 0 else State.OPEN
        text = set_status(text, read(text, "x").watch[0], to, f"sweep {number}")
    assert text.splitlines(keepends=True)[3] == line.replace(b"\n", b" [genesisd: sweep 19]\n")


def test_without_evidence_no_comment_is_made():
    """An edit that has nothing to show leaves the comment alone."""
    assert status(b"  status: open # mine\n", evidence=" \n") == b"  status: merged # mine\n"


EVIDENCE = {
    "2026-07-06: merged as 1a2b3c4": b"[genesisd: 2026-07-06: merged as 1a2b3c4]",
    "two\nlines\r\nand\ta tab": b"[genesisd: two lines and a tab]",
    "[Bugfix] in brackets [genesisd: x]": b"[genesisd: (Bugfix) in brackets (genesisd: x)]",
    "breaks \u0085 \u2028 \u2029 \ufeff \x00 \x1b[0m": b"[genesisd: breaks (0m]",
    "title # 'of' \"it\": {a}": b"[genesisd: title # 'of' \"it\": {a}]",
    "": b"",
}


@pytest.mark.parametrize(("evidence", "written"), EVIDENCE.items())
def test_evidence_is_one_line_of_visible_signs(evidence, written):
    """What upstream calls its pull requests cannot end the comment or forge its brackets."""
    assert bracketed(evidence) == written
    if written:
        assert status(b"  status: open\n", evidence=evidence) == b"  status: merged  # " + written + b"\n"


def test_long_evidence_is_cut():
    """A line stays one that can be read; the store has the rest."""
    assert len(bracketed("x" * 999)) == LONGEST + len("[genesisd: ]")
    assert bracketed("x" * 999).endswith(b"...]")


def test_a_row_that_is_no_longer_there_is_refused():
    """A row read from another state of the file changes no other row in its place."""
    text = FORMS.read_bytes()
    rows = read(text, "x").watch
    swapped = watch(ROW.replace(b"#1", b"#101"), ROW.replace(b"#1", b"#9"))
    set_status(swapped, rows[0], State.MERGED, "seen")
    for row in rows[1:]:
        with pytest.raises(ConflictError, match="any more") as caught:
            set_status(swapped, row, State.MERGED, "seen", file="list.yaml")
        assert caught.value.fields == {"file": "list.yaml", "row": f"watch:{row.upstream}"}


def test_a_broken_file_is_refused():
    """What cannot be read is not changed."""
    row = read(watch(ROW), "x").watch[0]
    with pytest.raises(ConfigError) as caught:
        set_status(watch(ROW).replace(END, b""), row, State.MERGED, "seen")
    assert caught.value.fields["line"] == 6


def test_a_value_that_the_field_does_not_take_is_refused():
    """No edit makes a file that could not be read again."""
    text = watch(ROW)
    row = read(text, "x").watch[0]
    with pytest.raises(ConfigError, match="'landed'; expected open, closed or merged"):
        set_line(text, row, "status", "landed")
    with pytest.raises(ConfigError, match="no value on one line") as caught:
        set_line(text, row, "severity", "P1")
    assert caught.value.hint == "change it by hand"


def test_a_fix_status_is_changed_like_a_status():
    """Any value on one line can be changed with its evidence."""
    text = FORMS.read_bytes()
    ((_, new),) = changed(text, set_line(text, read(text, "x").watch[1], "fix_status", "merged", "seen"))
    assert new == b"  fix_status: merged  # the fix waits for review [genesisd: seen]\n"
