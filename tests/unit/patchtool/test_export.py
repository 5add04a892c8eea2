"""A patch as upstream takes it."""

from __future__ import annotations

import subprocess

import pytest

from genesisd.patches.edits import NewFile
from genesisd.patches.model import Study
from tests.unit.patches.made import edit, patch
from tests.unit.patchtool.conftest import FILE, TEXT, two, upon


def git(folder, *argv):
    who = ["-c", "user.name=Tester", "-c", "user.email=tester@localhost", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, *argv], cwd=folder, capture_output=True, text=True, check=True).stdout


def repository(tree):
    git(tree, "init", "-q")
    git(tree, "add", "vllm")
    git(tree, "commit", "-qm", "pristine")


def test_git_am_takes_the_letter(ask, tree, tmp_path):
    """Title, author, study and edits arrive as a commit."""
    ours = two(
        upstream=(42,),
        credit="Ann",
        study=Study("adds one " * 20, "two at once", "its table"),
        edits=(*two().edits, NewFile("n", "vllm/new.py", "x = 1\n")),
    )
    line = ["export", "P1", "--tree", str(tree), "--author", "Ann <ann@example.org>", "-o", str(tmp_path / "p")]
    assert ask(line, ours).status == 0
    repository(tree)
    git(tree, "am", "-q", str(tmp_path / "p"))
    told = git(tree, "log", "-1", "--format=%an <%ae>%n%B")
    assert told.startswith("Ann <ann@example.org>\nReturn two\n\ntwo at once\n")
    assert "Related: vllm-project/vllm#42\nBased-on-work-of: Ann" in told
    assert (tree / FILE).read_text() == TEXT.replace("return 1", "return 2")
    assert (tree / "vllm/new.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("author", ["Ann", "<a@b>", "Ann <ann>", "Ann\nSubject: x <a@b>", "Ann <a@b> x", ""])
def test_an_author_that_git_would_not_take_is_refused(ask, tree, author):
    """With the form to write it in."""
    told = ask(["export", "P1", "--tree", str(tree), "--author", author], two())
    assert (told.status, told.out) == (2, "")
    assert 'write it as "Ann <ann@example.org>"' in told.err


def test_a_file_that_cannot_be_written_is_told(ask, tree, tmp_path):
    """The system's own words, with the path, and no traceback."""
    told = ask(["export", "P1", "--tree", str(tree), "-o", str(tmp_path / "absent" / "p")], two())
    assert (told.status, told.out) == (1, "")
    assert told.err == f"genesisctl: {tmp_path}/absent/p: No such file or directory\n"


def test_a_patch_on_another_carries_it(ask, tree):
    """Upstream has the pristine file alone."""
    told = ask(f"export P2 --tree {tree}", two(), upon())
    assert "It carries P1, on whose text it stands." in told.out
    subprocess.run(["git", "apply"], input=told.out, text=True, cwd=tree, check=True)
    assert (tree / FILE).read_text() == TEXT.replace("return 1", "return 3")


def test_what_is_only_required_stays_out(ask, tree):
    """It is upstream's to take by itself."""
    wanted = patch(edit("return 0", "return 9", "stop", path=FILE), id="P2", title="Nine", requires=("P1",))
    told = ask(f"export P2 --tree {tree}", two(), wanted)
    assert "+    return 9" in told.out
    assert "return 2" not in told.out


def test_a_patch_that_does_not_apply_is_refused(ask, tree):
    """With the verdict and where the anchor was looked for."""
    (tree / FILE).write_text("def run():\n    return 7\n")
    told = ask(f"export P1 --tree {tree}", two())
    assert told.status == 5
    assert "P1 does not apply to tree (0.32.0): anchor_missing: vllm/core.py: e finds no place in run" in told.err


def test_only_implemented_patches_can_be_exported(ask, tree):
    """An id that the register alone knows has no edits to give."""
    told = ask(f"export P67 --tree {tree}", two())
    assert told.status == 1
    assert "P67 is known, and this project does not implement it" in told.err
