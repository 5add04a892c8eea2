"""S8, the other half: a save that is killed at any point leaves the old file or the new one, and the next save works."""

import hashlib
import subprocess
import sys

import pytest

from genesisd.watch.edit import set_status
from genesisd.watch.model import State
from genesisd.watch.save import save
from genesisd.watch.watchlist import read
from tests.helpers.watchlists import FORMS, ROOT

pytestmark = pytest.mark.process
CALLS = 40
"""More than a save has."""


@pytest.fixture
def files(tmp_path):
    """The list, and beside it what is to be saved."""
    old = FORMS.read_bytes()
    new = set_status(old, read(old, "x").watch[0], State.MERGED, "seen")
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "list.yaml").write_bytes(old)
    (tmp_path / "new").write_bytes(new)
    return folder / "list.yaml", tmp_path / "new", old, new


def die(path, new, old, how, number) -> int:
    """The exit status of a save that is killed on the way; 0 where it was done before."""
    command = [sys.executable, "-P", str(ROOT / "tests/helpers/dying_save.py"), path, new]
    command += [hashlib.sha256(old).hexdigest(), how, str(number)]
    return subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, check=False, timeout=60).returncode


def test_s8_a_save_that_is_killed_at_any_call_leaves_a_whole_file(files):
    """Before the rename it is the old file, from then on the new one; what was left never stands in the way."""
    path, new_file, old, new = files
    seen = []
    for number in range(1, CALLS):
        path.write_bytes(old)
        code = die(path, new_file, old, "call", number)
        content = path.read_bytes()
        assert content in {old, new}, f"torn at call {number}"
        seen.append(content == new)
        assert read(content, path)
        save(path, new, seen=hashlib.sha256(content).hexdigest())
        assert path.read_bytes() == new
        assert [file.name for file in path.parent.iterdir()] == ["list.yaml"]
        if code == 0:
            break
        assert code == -9
    else:
        pytest.fail("a save has more calls than were tried")
    assert seen == sorted(seen)
    assert seen.count(False) > 5
    assert seen.count(True) > 1


def test_s8_a_save_that_dies_within_its_write_leaves_the_old_file(files):
    """However many bytes reached the disk."""
    path, new_file, old, new = files
    for size in (0, 1, len(new) // 2, len(new) - 1):
        assert die(path, new_file, old, "write", size) not in {0, 1}
        assert path.read_bytes() == old
    assert die(path, new_file, old, "write", len(new)) == 0
    assert path.read_bytes() == new
