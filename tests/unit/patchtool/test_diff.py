"""Git reads what we write as diffs: real git, on the texts that break naive writers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.patchtool.diff import blob, git_diff

CASES = {
    "the middle": ("a\nb\nc\n", "a\nB\nc\n"),
    "the start": ("a\nb\n", "x\na\nb\n"),
    "the end": ("a\nb\n", "a\nb\nc\n"),
    "no final newline on either side": ("a\nb", "a\nc"),
    "a final newline gained": ("a", "a\n"),
    "a final newline lost": ("a\n", "a"),
    "carriage returns": ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"),
    "form feed and line separator": ("a\fb\u2028c\nd\n", "a\fb\u2028x\nd\n"),
    "byte order mark": ("\ufeffa\nb\n", "\ufeffa\nB\n"),
    "far apart": ("".join(f"{n}\n" for n in range(100)), "".join(f"{n % 90}\n" for n in range(100))),
    "repeated lines": ("a\na\na\na\n", "a\na\na\n"),
    "all of it": ("a\n", "b\n"),
    "made empty": ("a\n", ""),
}


def apply(folder: Path, before: dict[str, str], diff: str, *options: str) -> None:
    for name, text in before.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    done = subprocess.run(["git", "apply", *options], input=diff.encode(), cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode() + diff


@pytest.mark.parametrize("case", CASES)
def test_git_applies_the_difference(tmp_path, case):
    """The tree after git apply holds the very bytes that were meant."""
    before, after = CASES[case]
    apply(tmp_path, {"vllm/a.py": before}, git_diff({"vllm/a.py": before}, {"vllm/a.py": after}))
    assert (tmp_path / "vllm/a.py").read_bytes() == after.encode()


def test_git_makes_a_new_file(tmp_path):
    """What the tree lacks is announced as new, and comes with its folders."""
    apply(tmp_path, {}, git_diff({}, {"vllm/new/b.py": "x = 1\n"}))
    assert (tmp_path / "vllm/new/b.py").read_text() == "x = 1\n"


def test_git_reverses_the_difference(tmp_path):
    """It can be taken back."""
    apply(tmp_path, {"a.py": "b\n"}, git_diff({"a.py": "a\n"}, {"a.py": "b\n"}), "--reverse")
    assert (tmp_path / "a.py").read_text() == "a\n"


def test_what_did_not_change_is_left_out():
    """An empty section would be corrupt."""
    assert git_diff({"a.py": "a\n"}, {"a.py": "a\n"}) == ""


def test_contents_have_the_names_that_git_gives_them(tmp_path):
    """With them git can fall back to merging."""
    (tmp_path / "f").write_bytes("späße\r\n".encode())
    told = subprocess.run(["git", "hash-object", "f"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert blob("späße\r\n") == told.stdout.strip()


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n"]), max_size=30).map("".join)


@settings(max_examples=40, deadline=None)
@given(before=LINES, after=LINES, tail=st.sampled_from(["", "end"]))
def test_any_two_texts(tmp_path_factory, before, after, tail):
    """Whatever the texts share, git arrives at the second."""
    folder = tmp_path_factory.mktemp("any")
    diff = git_diff({"a.py": before}, {"a.py": after + tail})
    if diff:
        apply(folder, {"a.py": before}, diff)
        assert (folder / "a.py").read_bytes() == (after + tail).encode()
