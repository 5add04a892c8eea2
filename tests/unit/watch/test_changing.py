"""What a sweep found is written into the file as it is now."""

import subprocess
from pathlib import Path

from genesisd.watch import changing, commit
from genesisd.watch.changing import write, write_changes
from genesisd.watch.model import State
from genesisd.watch.refs import Ref
from genesisd.watch.result import StatusChange

TEXT = """\
watch:
- upstream: vllm#1
  status: open   # mine
  local_patches: []
  action: watch
  since: 2026-07-05
  notes: n
- upstream: vllm#2
  status: 'open'
  local_patches: []
  action: watch
  since: 2026-07-05
  notes: n
sweep: []
__sentinel__: complete
"""


def change(number, before=State.OPEN, after=State.MERGED):
    return StatusChange(
        row=f"watch:vllm#{number}", line=0, ref=Ref("vllm-project/vllm", number), before=before, after=after,
        evidence=f"upstream 2026-11-30: {after} (was {before})",
    )  # fmt: skip


def lines(path):
    return path.read_text().splitlines()


def test_each_change_is_one_line(tmp_path):
    """Two rows change, the comment stays, and all other lines are what they were."""
    path = tmp_path / "w.yaml"
    path.write_text(TEXT)
    made, trouble, _ = write_changes(path, [change(1), change(2, after=State.CLOSED)])
    assert ([one.row for one in made], trouble) == (["watch:vllm#1", "watch:vllm#2"], "")
    differing = [(old, new) for old, new in zip(TEXT.splitlines(), lines(path), strict=True) if old != new]
    assert [old for old, _ in differing] == ["  status: open   # mine", "  status: 'open'"]
    assert differing[0][1].startswith("  status: merged")
    assert "# mine" in differing[0][1]
    assert "upstream 2026-11-30: merged (was open)" in differing[0][1]
    assert differing[1][1].startswith("  status: 'closed'")


def test_a_person_who_was_faster_is_right(tmp_path):
    """A row that says something else by now, and one that is gone, are left alone."""
    path = tmp_path / "w.yaml"
    path.write_text(TEXT.replace("status: open   # mine", "status: closed"))
    before = path.read_bytes()
    assert write_changes(path, [change(1), change(9)])[:2] == ((), "")
    assert path.read_bytes() == before


def test_an_edit_in_between_is_kept(tmp_path, monkeypatch):
    """The file that changed under the sweep is read again, and both edits are in it."""
    path = tmp_path / "w.yaml"
    path.write_text(TEXT)
    real = changing.save

    def slow(target: Path, content: bytes, *, seen: str) -> None:
        monkeypatch.setattr(changing, "save", real)
        path.write_text(path.read_text().replace("  notes: n\nsweep", "  notes: by hand\nsweep"))
        real(target, content, seen=seen)

    monkeypatch.setattr(changing, "save", slow)
    made, trouble, _ = write_changes(path, [change(1)])
    assert (len(made), trouble) == (1, "")
    assert "notes: by hand" in path.read_text()
    assert "status: merged" in path.read_text()


def test_a_file_that_is_broken_by_now_stays_as_it_is(tmp_path):
    """And the sweep says where it is broken."""
    path = tmp_path / "w.yaml"
    path.write_text(TEXT.replace("__sentinel__: complete\n", ""))
    before = path.read_bytes()
    made, trouble, _ = write_changes(path, [change(1)])
    assert made == ()
    assert "w.yaml" in trouble
    assert path.read_bytes() == before


def git(folder, *arguments):
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True).stdout


async def test_what_was_saved_is_committed(tmp_path):
    """With the evidence in the message; where git refuses, the changes stand and the reason is told."""
    path = tmp_path / "w.yaml"
    path.write_text(TEXT)
    made, trouble = await write(path, [change(1)], record=True)
    assert len(made) == 1
    assert trouble.startswith("not committed: ")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "w.yaml")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "first")
    assert await write(path, [change(1)], record=True) == ((), "")
    made, trouble = await write(path, [change(2, after=State.CLOSED)], record=True)
    assert (len(made), trouble) == (1, "")
    assert git(tmp_path, "log", "-1", "--format=%B").split("\n")[:3] == [
        "Follow upstream: vllm#2 is closed",
        "",
        "vllm#2: upstream 2026-11-30: closed (was open)",
    ]


async def test_what_a_person_wrote_is_not_committed_for_them(tmp_path, monkeypatch):
    """Git was asked while the file was clean; an edit between that and the change is theirs to commit."""
    path = tmp_path / "w.yaml"
    path.write_text(TEXT)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "w.yaml")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "first")
    asked = commit.unfit

    async def edited(path):
        found = await asked(path)
        path.write_text(path.read_text().replace("# mine", "# mine, and new"))
        return found

    monkeypatch.setattr(commit, "unfit", edited)
    made, trouble = await write(path, [change(1)], record=True)
    assert len(made) == 1
    assert trouble == f"not committed: somebody edited {path} just before it was saved"
    assert git(tmp_path, "log", "--format=%s") == "first\n"
    assert "# mine, and new" in path.read_text()
