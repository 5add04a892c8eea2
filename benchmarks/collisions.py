"""How well collisions are foretold: planted changes and those of real releases, beside the overlap of lines.

python -m benchmarks.collisions [--write docs/collisions.md]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.hops import PACKAGES, Release, changes, hop_files, release
from benchmarks.planting import KINDS, plants
from benchmarks.sampled_anchors import sampled
from benchmarks.scores import Score, overlaps
from genesisd.patches.catalog import catalog
from genesisd.watch.collide import Anchor, Look, collide
from genesisd.watch.diffs import FileChange, read_diff
from genesisd.watch.replay import replay
from genesisd.wiring.anchors import CatalogAnchors

HOPS = (("0.23.0", "0.24.0", "0.30.0"), ("0.24.0", "0.30.0", "0.32.0"), ("0.30.0", "0.32.0", "0.33.0"))
"""What changed from the second to the third, made on the first."""
REPLAY, NUMBERS, RANGES = "replay", "overlap of changed lines", "overlap of hunks with their context"
DRAWN = 40
"""Anchors a file that are drawn by lot."""
DIFFS = 300


@dataclass(slots=True)
class Table:
    """A score a way of telling."""

    scores: dict[str, Score] = field(default_factory=dict)

    def add(self, way: str, told: bool, true: bool, what: str = "") -> None:
        """One more case of one way."""
        self.scores.setdefault(way, Score()).add(told, true, what)


@dataclass(frozen=True, slots=True)
class Side:
    """A release as a diff meets it: texts, and the anchors in them."""

    release: Release
    anchors: CatalogAnchors

    def look(self, anchor: Anchor) -> Look | None:
        """What it has of an edit; None where that cannot be broken."""
        known = {(one.patch, one.edit): one for one in self.anchors.touching({anchor.path})}
        mine = known.get((anchor.patch, anchor.edit))
        look = None if mine is None else self.anchors.look(mine, self.release.texts)
        return look if look is not None and look.lands and not look.given_way and look.lines is not None else None


def planted(made_on: str, met: str) -> dict[str, Table]:
    """Every kind of planted change at every edit of the catalog, made on one release's text and replayed on another's."""
    tables = {kind: Table() for kind in KINDS}
    base, here = (Side(release(one), release(one).anchors()) for one in (made_on, met))
    for anchor in base.anchors.touching(set(base.release.texts)):
        was, look = base.look(anchor), here.look(anchor)
        if was is None or look is None or anchor.path not in here.release.texts:
            continue
        for plant in plants(anchor, was, base.release.texts):
            now = base.anchors.look(anchor, plant.texts)
            what = f"{plant.kind}: {met} {anchor.patch} {anchor.edit}"
            _score(tables[plant.kind], plant.diff, anchor, here, look, None, _is_broken(was, now), what)
    return tables


def hops(units: str, drawn: int = 0) -> Table:
    """Every change of a hop (``files`` or ``hunks``) against every edit that it could break.

    The catalog's edits, or so many ``drawn`` by lot in each file.
    """
    table = Table()
    for old, base, new in HOPS:
        before, between = release(old), release(base)
        pair = sampled(before, between, drawn) if drawn else (before.anchors(), between.anchors())
        _hop(Side(before, pair[0]), Side(between, pair[1]), _units(changes(base, new), units), table)
    return table


def _units(every: Iterable[FileChange], units: str) -> Iterator[FileChange]:
    for change in every:
        if units == "files":
            yield change
        else:
            yield from (replace(change, hunks=(hunk,), after=change.before) for hunk in change.hunks)


def _hop(here: Side, base: Side, units: Iterable[FileChange], table: Table) -> None:
    for change in units:
        if change.before not in base.release.texts:
            continue
        edits = [(one, here.look(one), base.look(one)) for one in base.anchors.touching({change.before})]
        edits = [(anchor, look, was) for anchor, look, was in edits if look is not None and was is not None]
        after = replay([change], base.release.texts).over(base.release.texts) if edits else {}
        for anchor, look, was in edits:
            now = base.anchors.look(anchor, after)
            if not now.given_way:
                what = f"{here.release.version}, {change.before}: {anchor.patch} {anchor.edit}"
                _score(table, (change,), anchor, here, look, was, _is_broken(was, now), what)


def _is_broken(was: Look, now: Look) -> bool:
    return now.raw != was.raw if now.unread else not now.lands


def _score(
    table: Table,
    diff: tuple[FileChange, ...],
    anchor: Anchor,
    here: Side,
    look: Look,
    was: Look | None,
    true: bool,
    what: str,
) -> None:
    told = _told(diff, here)
    table.add(REPLAY, told.get((anchor.patch, anchor.edit), False), true, what)
    for where, one in (("", look), (", lines numbered as in the diff's own base", was)):
        for name, context in ((NUMBERS, False), (RANGES, True)):
            if one is not None and one.lines is not None:
                hit = any(overlaps(change, anchor.path, one.lines, context=context) for change in diff)
                table.add(name + where, hit, true)


_LAST: list[object] = []


def _told(diff: tuple[FileChange, ...], here: Side) -> dict[tuple[str, str], bool]:
    """What replay says, once a diff: every edit of a file asks for the same."""
    if not _LAST or _LAST[0] is not diff[0] or _LAST[1] is not here:
        found = collide(diff, here.release.texts, here.anchors)
        _LAST[:] = [diff[0], here, {(one.patch, one.edit): one.breaks for one in found}]
    told = _LAST[2]
    assert isinstance(told, dict)
    return told


def speed(times: int = 5) -> tuple[list[float], int, int]:
    """Seconds for so many diffs against the whole catalog, reading them and the release's anchors included.

    Those of files that patches name come first; how many there are, and how many collisions were told, comes along.
    """
    ours = set(release("0.24.0").texts)
    texts = sorted(hop_files("0.24.0", "0.30.0"), key=lambda one: one[0] not in ours)[:DIFFS]
    found, told = [], 0
    for _ in range(times):
        began = time.perf_counter()
        anchors = release("0.24.0").anchors()
        told = sum(len(collide(read_diff(text), release("0.24.0").texts, anchors)) for _, text in texts)
        found.append(time.perf_counter() - began)
    return found, sum(name in ours for name, _ in texts), told


def main() -> int:
    """Measure, and write it down."""
    from benchmarks import collisions_page  # noqa: PLC0415 - it needs the names above

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="a Markdown file")
    asked = parser.parse_args()
    began = time.time()
    with ProcessPoolExecutor(2) as pool:  # only speed() is timed, and it is alone by then
        pairs = [*((version, version) for version in PACKAGES), *((base, old) for old, base, _ in HOPS)]
        tables = list(pool.map(planted, *zip(*pairs, strict=True)))
        asks = (
            ("files", 0, "the catalog's edits"),
            ("hunks", 0, "the catalog's edits"),
            ("files", DRAWN, "edits drawn by lot"),
        )
        units, drawn, kinds = zip(*asks, strict=True)
        found = dict(zip(zip(units, kinds, strict=True), pool.map(hops, units, drawn), strict=True))
    same, drifted = tables[: len(PACKAGES)], tables[len(PACKAGES) :]
    edits = sum(len(patch.edits) for patch in catalog())
    names = ", ".join(f"{base} to {new} on {old}" for old, base, new in HOPS)
    text = collisions_page.page(same, drifted, found, speed(), edits, began, names=names, drawn=DRAWN)
    print(text)
    if asked.write:
        asked.write.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
