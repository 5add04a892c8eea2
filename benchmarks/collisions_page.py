"""The page of how well collisions are foretold."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from benchmarks.planting import KINDS
from benchmarks.scores import Score

if TYPE_CHECKING:
    from benchmarks.collisions import Table

HEAD = ("told by", "precision", "recall", "found", "missed", "false alarms", "rightly quiet")
COMMAND = "python -m benchmarks.collisions --write docs/collisions.md"
TARGET = 10.0
INTRODUCTION = """\
An edit *breaks* when it could be made before a change and cannot after: its anchor is gone, stands twice, or its scope
or file went elsewhere. Before upstream merges a change, genesisd makes its diff on the pin's own files and looks for
every edit again, with the matcher that builds use (`watch/collide.py`). A hunk that finds no place in the pin, since the
text around it drifted, is not made but laid beside the anchor, line by line (`watch/drifted.py`).

*Precision*: of the edits that were told to break, those that do. *Recall*: of the edits that break, those that were
told. What really breaks is seen by making the change on the text that it was made for. The peer is what one does by
hand and what tools do: whether the changed lines, or all lines of a hunk, are lines of the anchor, by number.
"""
PLANTED = """\
## Planted changes

At every edit of the catalog that lands, one after another: lines put between those of the anchor (*inside*), a line of it
rewritten (*over*), its function, class or text a second time (*twin*), the same taken to another file (*move*), its
function or class renamed (*rename*), the whole file renamed (*file*), and as near misses a line put right above and
right below. *Over* and *inside* break nothing where an edit has room for it (its anchor begins within a line).
"""
HOPS = """\
## What releases changed

The changes of each release hop, made on the tree one hop older, so that the context has drifted: {hops}. A case is a
change and an edit that lands on both the older tree and the one the change was made for. Patches that give way, as
upstream's own fix comes with the change, are no cases. Overlap by number is also told with the lines numbered as in the
diff's own base, which nobody has who looks from an older pin: that is what overlap could do at best.

Few of the catalog's edits break in these hops, since they were written to land on every release. So anchors were drawn
by lot as well: {drawn} a file that patches name, of 1 to 6 lines, anywhere in its functions. The rules were made looking
at another draw from the same files.
"""


def page(
    same: Sequence[Mapping[str, Table]],
    drifted: Sequence[Mapping[str, Table]],
    hops: Mapping[tuple[str, str], Table],
    speed: tuple[list[float], int, int],
    edits: int,
    began: float,
    *,
    names: str,
    drawn: int,
) -> str:
    """All of it, in Markdown."""
    parts = [
        "# Collisions foretold\n",
        _made(began),
        INTRODUCTION,
        PLANTED,
        *_planted("On the same text, all releases together", same),
        *_planted("Made on one release, met on the one before, so that context has drifted", drifted),
        HOPS.format(hops=names, drawn=drawn),
    ]
    for (units, kind), table in hops.items():
        parts.append(f"### By {units}, {kind}\n")
        parts.append(_table(HEAD, ((way, *score.row()) for way, score in table.scores.items())))
        parts += _wrong(next(iter(table.scores.values())))
    return "\n".join([*parts, *_speed(speed, edits)])


def _planted(title: str, tables: Sequence[Mapping[str, Table]]) -> Iterable[str]:
    head = (
        "planted",
        "cases that break",
        "told",
        "missed",
        "cases that do not",
        "false alarms",
        "lines overlap: told",
        "hunks overlap: told",
        "and false",
    )
    rows = []
    misses = Score()
    for kind in KINDS:
        by_way = [
            _sum(list(table[kind].scores.values())[at] for table in tables if table[kind].scores) for at in range(3)
        ]
        mine, lines, hunks = by_way
        rows.append(
            (kind, *map(str, (mine.found + mine.missed, mine.found, mine.missed, mine.false + mine.quiet, mine.false,
                              lines.found, hunks.found, hunks.false)))
        )  # fmt: skip
        misses.misses += mine.misses
        misses.alarms += mine.alarms
    return [f"### {title}\n", _table(head, rows), *_wrong(misses)]


def _sum(scores: Iterable[Score]) -> Score:
    total = Score()
    for score in scores:
        total.found += score.found
        total.missed += score.missed
        total.false += score.false
        total.quiet += score.quiet
        total.misses += score.misses
        total.alarms += score.alarms
    return total


def _wrong(score: Score) -> list[str]:
    told = [("Missed", score.misses), ("False alarms", score.alarms)]
    return [f"{what}: {'; '.join(dict.fromkeys(those))}.\n" for what, those in told if those]


def _speed(speed: tuple[list[float], int, int], edits: int) -> list[str]:
    seconds, ours, worth = sorted(speed[0]), speed[1], speed[2]
    met = "met" if seconds[-1] <= TARGET else "**missed**"
    told = (
        f"300 diffs of one file each (from 0.24.0 to 0.30.0, all {ours} of files that patches name among them) against the "
        f"{edits} edits of the catalog, reading included, on one core: median {seconds[len(seconds) // 2]:.1f} s, slowest of "
        f"{len(seconds)} {seconds[-1]:.1f} s; target {TARGET:.0f} s, {met}. {worth} places were worth a word.\n"
    )
    return ["## Speed\n", told]


def _made(began: float) -> str:
    day, took = time.strftime("%Y-%m-%d", time.gmtime(began)), time.time() - began
    return (
        f"Written by `{COMMAND}`; do not edit by hand. {day}, Python {platform.python_version()}, took {took:.0f} s.\n"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
