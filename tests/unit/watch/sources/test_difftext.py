"""Whether a diff is whole, and one made of pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.watch.sources.difftext import heads, joined, whole

HUNK = b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ def f():\n one\n-two\n+zwei\n three\n"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        HUNK,
        HUNK * 3,
        b"@@ -1 +1 @@\n-a\n+b\n",
        b"@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n",
        b"@@ -1,2 +1,2 @@\n-a\n\\ No newline at end of file\n+b\n c\n",
        b"@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n",
        b"diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n",
        b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
    ],
)
def test_what_is_whole(text):
    """Hunks with all their lines, changes without lines, and nothing at all."""
    assert whole(text)


@given(st.integers(1, len(HUNK) - 1))
def test_a_diff_that_breaks_off_is_noticed(length):
    """Wherever inside a hunk a text ends, it is not whole."""
    begins = HUNK.index(b"@@")
    assert whole(HUNK[:length]) is (HUNK[:length].endswith(b"\n") and length <= begins)


@pytest.mark.parametrize("text", [b"@@ -1,1 +1,1 @@\n a\n b\n@@ -9,2 +9,2 @@\n a\n", b"@@ -1,2 +1,2 @@\n a\nx\n"])
def test_lines_that_are_none(text):
    """A line that belongs to no hunk where one is expected breaks it."""
    assert not whole(text)


FILE = {"filename": "vllm/a.py", "status": "modified", "changes": 2, "patch": "@@ -1 +1 @@\n-a\n+b"}


@pytest.mark.parametrize(
    ("entry", "text", "complete"),
    [
        (
            FILE,
            "diff --git a/vllm/a.py b/vllm/a.py\n--- a/vllm/a.py\n+++ b/vllm/a.py\n@@ -1 +1 @@\n-a\n+b\n",
            True,
        ),
        (
            FILE | {"status": "added", "patch": "@@ -0,0 +1 @@\n+b\n"},
            "diff --git a/vllm/a.py b/vllm/a.py\nnew file mode 100644\n--- /dev/null\n+++ b/vllm/a.py\n@@ -0,0 +1 @@\n+b\n",
            True,
        ),
        (
            FILE | {"status": "removed", "patch": "@@ -1 +0,0 @@\n-a"},
            (
                "diff --git a/vllm/a.py b/vllm/a.py\ndeleted file mode 100644\n--- a/vllm/a.py\n+++ /dev/null\n"
                "@@ -1 +0,0 @@\n-a\n"
            ),
            True,
        ),
        (
            FILE | {"status": "renamed", "previous_filename": "vllm/b.py"},
            (
                "diff --git a/vllm/b.py b/vllm/a.py\nrename from vllm/b.py\nrename to vllm/a.py\n"
                "--- a/vllm/b.py\n+++ b/vllm/a.py\n@@ -1 +1 @@\n-a\n+b\n"
            ),
            True,
        ),
        (
            {"filename": "y", "previous_filename": "x", "status": "renamed", "changes": 0},
            "diff --git a/x b/y\nrename from x\nrename to y\n",
            True,
        ),
        ({"filename": "x.png", "status": "modified", "changes": 0}, "diff --git a/x.png b/x.png\n", False),
        ({"filename": "x", "status": "modified", "changes": 9000}, "diff --git a/x b/x\n", False),
        ({"filename": "x", "status": "added", "changes": 0}, "diff --git a/x b/x\nnew file mode 100644\n", True),
    ],
)
def test_a_file_as_git_would_write_it(entry, text, complete):
    """Each sort of change, and whether it is all of it."""
    assert joined([entry]) == (text.encode(), complete)
    assert whole(text.encode())


def test_one_that_is_missing_makes_all_incomplete():
    """The others are there all the same."""
    text, complete = joined([FILE, {"filename": "x", "status": "modified", "changes": 9}, FILE])
    assert not complete
    assert text.count(b"@@ -1 +1 @@") == 2


def test_pieces_name_their_commit():
    """By the address of a file's content; more than one means that something was pushed in between."""
    at = "https://github.com/repos/a/b/contents/x?ref="
    assert heads([{"contents_url": at + "a" * 40}, {"contents_url": at + "a" * 40}, {}]) == {"a" * 40}
    assert heads([{"contents_url": at + "a" * 40}, {"contents_url": at + "b" * 40}]) == {"a" * 40, "b" * 40}
