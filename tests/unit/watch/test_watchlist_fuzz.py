"""Ten thousand broken watchlists: each is refused with its place, or edited without a byte lost that was to stay.

What is expected is worked out without the code under test: another loader tells what the file says, and the bytes
before and after the change are compared with each other.
"""

import random
import re
from collections import Counter

import pytest
import yaml

from genesisd.errors import ConfigError
from genesisd.watch.edit import set_status
from genesisd.watch.model import State
from genesisd.watch.row_edit import add_row, retire_row, update_row
from genesisd.watch.rows import WatchRow
from genesisd.watch.watchlist import read
from tests.helpers.watchlists import SEED, WHY_NO_SEED, mutations, small

BATCHES, EACH = 20, 500
EVIDENCE = "2026-07-06: merged as 1a2b3c4 → [x] # y"


def said(text: bytes):
    """What the file says, by a loader that resolves nothing."""
    return yaml.load(text, yaml.CBaseLoader)


def common(before: bytes, after: bytes) -> tuple[int, int]:
    """How many bytes are the same at the start, and of the rest at the end."""
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    end = next((at for at in range(shorter - start) if before[-1 - at] != after[-1 - at]), shorter - start)
    return start, end


def check_refusal(error: ConfigError, text: bytes) -> None:
    """The place is in the file, and is told in the text as in the fields."""
    line, column = error.fields["line"], error.fields["column"]
    lines = text.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert 1 <= line <= len(lines)
    assert 1 <= column <= len(lines[line - 1]) + 2
    assert error.message.startswith(f"fuzz.yaml:{line}:{column}: ")


def span(text: bytes, row: WatchRow) -> tuple[int, int]:
    """The bytes of the row's status, by another loader's marks."""
    characters = text.decode("utf-8-sig")
    root = yaml.compose(characters, yaml.CSafeLoader)
    rows = next(value for key, value in root.value if key.value == "watch")
    node = next(value for key, value in rows.value[row.index].value if key.value == "status")
    mark = 3 if text.startswith(b"\xef\xbb\xbf") else 0
    return tuple(mark + len(characters[: at.index].encode()) for at in (node.start_mark, node.end_mark))


def check_status(text: bytes, row: WatchRow, status: State) -> None:
    """One value changes, one comment grows at most, and all other bytes are where they were."""
    after = set_status(text, row, status, EVIDENCE, file="fuzz.yaml")
    expected = said(text)
    expected["watch"][row.index]["status"] = status.value
    assert said(after) == expected
    start, end = span(text, row)
    value = re.sub(re.escape(row.status.encode()), status.encode(), text[start:end])
    assert after[: start + len(value)] == text[:start] + value
    behind, then = text[end:], after[start + len(value) :]
    same, last = common(behind, then)
    gone, made = behind[same : len(behind) - last], then[same : len(then) - last]
    assert re.search(rb"[\r\n]", behind[:same]) is None or not made
    assert gone == b"" or re.search(
        rb"\[genesisd: (old|x)\]", behind[:same][-12:] + gone + behind[same + len(gone) :][:12]
    )
    assert made == b"" or b"2026-07-06: merged as 1a2b3c4" in made
    assert set_status(after, read(after, "fuzz.yaml").watch[row.index], status, "again", file="fuzz.yaml") == after


def lines(text: bytes) -> list[bytes]:
    """Lines as YAML counts them, without the brackets that an empty list has and others have not."""
    return re.split(rb"(?<=\n)|(?<=\r)(?!\n)|(?<=\xc2\x85)|(?<=\xe2\x80[\xa8\xa9])", re.sub(rb" *\[\s*\]", b"", text))


def assert_within(fewer: list[bytes], more: list[bytes]) -> None:
    """Each line of ``fewer`` is in ``more``, in the same order."""
    rest = iter(more)
    assert [line for line in fewer if line not in rest] == []


def check_rows(text: bytes, rng: random.Random) -> Counter:
    """Rows come and go as a whole, and nothing else does."""
    done: Counter = Counter()
    rows = read(text, "fuzz.yaml")
    every = (*rows.watch, *rows.sweep)
    row = rng.choice(every) if every else None
    new = {"upstream": "vllm#98765", "status": "open", "action": "watch", "since": "2026-07-01", "notes": "it's: new"}
    expected = said(text)
    expected.setdefault("watch", []).append(new)
    done[_try(lambda: add_row(text, "watch", new), text, expected, shrinks=False)] += 1
    if row is not None:
        section = "watch" if isinstance(row, WatchRow) else "sweep"
        expected = said(text)
        del expected[section][row.index]
        done[_try(lambda: retire_row(text, row), text, expected, shrinks=True)] += 1
        expected = said(text)
        expected[section][row.index]["duplicate_of"] = "vllm#98766"
        done[_try(lambda: update_row(text, row, {"duplicate_of": "vllm#98766"}), text, expected, shrinks=False)] += 1
    return done


def _try(edit, text: bytes, expected, *, shrinks: bool) -> str:
    try:
        after = edit()
    except ConfigError as error:
        refused = error
    else:
        refused = None
    if refused is not None:
        assert min(refused.fields["line"], refused.fields["column"]) >= 1
        return "by hand"
    assert said(after) == expected
    more, fewer = (text, after) if shrinks else (after, text)
    if shrinks or b"duplicate_of" not in text:
        assert_within(lines(fewer), lines(more))
    return "edited"


def run(texts: dict[str, bytes], count: int, seed: int) -> Counter:
    """All of it for ``count`` mutations; how often it came to what."""
    tally: Counter = Counter()
    for name, text in mutations(texts, count, seed):
        rng = random.Random(name)
        try:
            rows = read(text, "fuzz.yaml")
        except ConfigError as error:
            check_refusal(error, text)
            tally["refused"] += 1
            continue
        tally["read"] += 1
        if rows.watch:
            row = rng.choice(rows.watch)
            check_status(text, row, rng.choice([state for state in State if state is not row.status]))
            tally["status"] += 1
        for outcome, times in check_rows(text, rng).items():
            tally[outcome] += times
    return tally


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutated_watchlists_lose_nothing(batch):
    """Ten thousand slips in small files; that both outcomes are frequent keeps the fuzz from growing blunt."""
    tally = run(small(), EACH, batch)
    assert tally["refused"] + tally["read"] == EACH
    assert tally["refused"] > EACH / 10, tally
    assert tally["status"] > EACH / 10, tally
    assert tally["edited"] > tally["by hand"], tally


@pytest.mark.skipif(not SEED.exists(), reason=WHY_NO_SEED)
@pytest.mark.parametrize("batch", range(4))
def test_the_real_watchlist_loses_nothing(batch):
    """The same with the file that people wrote, whose comments and quotes nobody thought of."""
    tally = run({"seed": SEED.read_bytes()}, 15, batch)
    assert tally["status"], tally


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not SEED.exists(), reason=WHY_NO_SEED)
def test_the_real_watchlist_loses_nothing_for_long():
    """Two thousand slips in a file of a thousand lines."""
    tally = run({"seed": SEED.read_bytes()}, 2000, 2)
    assert tally["status"] > 400, tally
