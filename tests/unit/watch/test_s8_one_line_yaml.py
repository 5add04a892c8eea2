"""S8: one status changes, and the diff is one line; every row reads as before, and every other byte is the same.

That a save which dies midway leaves the old file is in tests/process/test_watchlist_save.py.
"""

import difflib

import pytest
import yaml

from genesisd.watch.edit import set_status
from genesisd.watch.model import State
from genesisd.watch.watchlist import read
from tests.helpers.watchlists import FORMS, SEED, WHY_NO_SEED

FILES = [
    pytest.param(FORMS, id="every-form"),
    pytest.param(SEED, id="real", marks=pytest.mark.skipif(not SEED.exists(), reason=WHY_NO_SEED)),
]


@pytest.mark.parametrize("path", FILES)
def test_s8_one_status_is_one_line(path):
    """Whichever row: one line of the diff, the other rows equal, the comment of the line kept to the letter."""
    text = path.read_bytes()
    before = read(text, path)
    for row in before.watch:
        to = State.CLOSED if row.status is State.MERGED else State.MERGED
        after = set_status(text, row, to, "2026-07-06: seen")
        old, new = text.split(b"\n"), after.split(b"\n")
        assert len(old) == len(new)
        ((at, line),) = [(at, line) for at, line in enumerate(new) if line != old[at]]
        head, _, tail = old[at].partition(row.status.encode())
        assert line.startswith(head + to.encode() + tail)
        assert line.endswith(b"[genesisd: 2026-07-06: seen]")
        now = read(after, path)
        assert now.sweep == before.sweep
        assert [one for one in now.watch if one.index != row.index] == [one for one in before.watch if one != row]
        assert now.watch[row.index].status is to


@pytest.mark.parametrize("path", FILES)
def test_s8_a_night_of_changes_is_exactly_those_lines(path):
    """All rows that upstream contradicts change at once, each by one line; the same answers again change nothing."""
    text = path.read_bytes()
    rows = read(text, path).watch
    answers = {row.upstream: State.MERGED if row.status is State.OPEN else row.status for row in rows}

    def sweep(content: bytes) -> bytes:
        for row in read(content, path).watch:
            content = set_status(content, row, answers[row.upstream], f"{row.upstream} was {row.status}")
        return content

    after = sweep(text)
    changes = [row for row in rows if row.status is not answers[row.upstream]]
    diff = list(difflib.unified_diff(text.decode().split("\n"), after.decode().split("\n"), n=0, lineterm=""))[2:]
    assert len(changes) > 3
    for sign in "-+":
        assert sum(line.startswith(sign) for line in diff) == len(changes)
    assert sweep(after) == after
    expected = yaml.safe_load(text)
    for row in changes:
        expected["watch"][row.index]["status"] = "merged"
    assert yaml.safe_load(after) == expected
