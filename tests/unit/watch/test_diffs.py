"""Diffs are read whole, or refused with the line."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from genesisd.watch.diffs import FileChange, Hunk, read_diff
from genesisd.watch.replay import replay
from tests.helpers.git_diffs import changes, git_diff

ONE = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def f():\n a\n-b\n+c\n"
TEXT = st.text(st.sampled_from("ab\n\r\x0c \\+-@\u2028é"), max_size=40)


def test_a_hunk_has_its_lines_with_their_signs_and_ends():
    """What a reverse look needs: the old lines and the new ones, joined as they stand in the file."""
    (change,) = read_diff(ONE)
    assert change == FileChange(
        "x.py", "x.py", (Hunk(1, 1, ((" ", "a\n"), ("-", "b\n"), ("+", "c\n")), "def f():"),), binary=False
    )
    assert (change.hunks[0].old, change.hunks[0].new) == (("a\n", "b\n"), ("a\n", "c\n"))


def test_new_removed_renamed_and_binary_files_are_told_apart():
    """None stands for a side on which there is no file."""
    text = (
        "diff --git a/new.py b/new.py\nnew file mode 100644\nindex 0000000..7898192\n--- /dev/null\n+++ b/new.py\n"
        "@@ -0,0 +1 @@\n+a\n"
        "diff --git a/empty.py b/empty.py\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/old.py b/old.py\ndeleted file mode 100644\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        "diff --git a/here.py b/there.py\nsimilarity index 100%\nrename from here.py\nrename to there.py\n"
        "diff --git a/x.png b/x.png\nindex 48b0abb..7ecdb1b 100644\nBinary files a/x.png and b/x.png differ\n"
    )
    found = [(one.before, one.after, len(one.hunks), one.binary) for one in read_diff(text)]
    assert found == [
        (None, "new.py", 1, False),
        (None, "empty.py", 0, False),
        ("old.py", None, 1, False),
        ("here.py", "there.py", 0, False),
        ("x.png", "x.png", 0, True),
    ]


def test_quoted_names_are_read_as_the_bytes_they_stand_for():
    """Git writes what is not ASCII as octal numbers."""
    text = 'diff --git "a/\\303\\244 \\"b.py" "b/c\\td.py"\nsimilarity index 100%\nrename from "\\303\\244 \\"b.py"\nrename to "c\\td.py"\n'
    (change,) = read_diff(text)
    assert (change.before, change.after) == ('ä "b.py', "c\td.py")


def test_names_without_prefix_keep_all_their_parts():
    """Only git's own a/ and b/ are taken off, and only both."""
    (change,) = read_diff("--- vllm/x.py\n+++ vllm/x.py\n@@ -1 +1 @@\n-b\n+c\n")
    assert change.path == "vllm/x.py"


def test_a_line_without_end_is_kept_without():
    """'No newline at end of file' belongs to the line above it."""
    (change,) = read_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+b\n")
    assert change.hunks[0].lines == (("-", "b"), ("+", "b\n"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ONE.removesuffix("+c\n"), 5),  # it breaks off
        (ONE.removesuffix("\n"), 6),
        (ONE + "+d\n", 7),  # more than its head tells
        (ONE + " d\n", 7),
        ("--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n--b\n++c\n", 3),  # a merge's
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n@@ nonsense @@\n", 6),
        ("<html>502 Bad Gateway</html>\n", 1),
        ("@@ -1 +1 @@\n-b\n+c\n", 1),
        ("diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\n", 1),
    ],
)
def test_what_is_no_whole_diff_is_refused_with_its_line(text, line):
    """Half a diff that passes for a whole one would show what it lacks as absent."""
    with pytest.raises(ValueError, match=rf"^line {line} of the diff: "):
        read_diff(text)


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_an_empty_text_changes_nothing(text):
    """A pull request may come to nothing."""
    assert read_diff(text) == ()


def test_mail_around_a_diff_is_passed_over():
    """As ``git format-patch`` writes it, signature and all."""
    text = f"From 1234 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n x.py | 2 +-\n\n{ONE}-- \n2.39.5\n\n"
    assert [one.path for one in read_diff(text)] == ["x.py"]


@settings(deadline=None)
@given(TEXT, TEXT)
def test_a_diff_made_on_its_own_text_gives_the_other(before, after):
    """Whatever ends the lines, and whatever signs they begin with."""
    done = replay(changes({"x": before}, {"x": after}), {"x": before})
    assert not done.refused
    assert done.over({"x": before}) == {"x": after}


@settings(deadline=None)
@given(TEXT, TEXT, st.data())
def test_a_diff_that_breaks_off_is_refused_or_lacks_only_files(before, after, data):
    """Nothing of a hunk is ever lost in silence."""
    text = git_diff({"x": before}, {"x": after})
    cut = data.draw(st.integers(0, len(text)))
    assume(not text[cut:].startswith("\\ No"))  # that a last line has no end, nothing before tells
    try:
        read = read_diff(text[:cut])
    except ValueError:
        return
    for change in read:
        assert read_diff(text)[0].hunks[: len(change.hunks)] == change.hunks
