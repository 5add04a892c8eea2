"""Anchors drawn by lot from the files that patches change: as many as wanted, where the catalog has but a few."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.hops import Release
from genesisd.patches.edits import replacing
from genesisd.patches.model import Patch
from genesisd.patches.scope import read
from genesisd.patches.splice import Cut
from genesisd.patches.survey import survey
from genesisd.watch.replay import lines_of
from genesisd.wiring.anchors import CatalogAnchors

LENGTHS = (1, 2, 2, 3, 4, 6)
"""Lines of an anchor: about what those of the catalog have."""


def sampled(old: Release, base: Release, most: int, seed: int = 11) -> tuple[CatalogAnchors, CatalogAnchors]:
    """The same anchors, each of which stands once in either release, as both releases have them."""
    patches = [
        patch for path in sorted(old.texts) for patch in _of(path, old, base, most, random.Random(f"{seed} {path}"))
    ]
    return CatalogAnchors(patches, {}, old.texts), CatalogAnchors(patches, {}, base.texts)


def _of(path: str, old: Release, base: Release, most: int, lot: random.Random) -> Iterator[Patch]:
    text, other = old.texts[path], base.texts.get(path)
    lines, starts = lines_of(text), [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    scopes = [one for one in read(text).definitions if text[one.head : one.head + 5] != "class"]
    found = 0
    for attempt in range(most * 8 if other is not None and scopes else 0):
        scope = lot.choice(scopes)
        inner = [
            index for index, at in enumerate(starts[:-1]) if scope.head < at and starts[index + 1] <= scope.span.end
        ]
        length = lot.choice(LENGTHS)
        if len(inner) < length:
            continue
        first = lot.choice(inner[: len(inner) - length + 1])
        anchor = "".join(lines[first : first + length]).rstrip("\n")
        edit = replacing(f"e{attempt}", path, scope.name, anchor, anchor + "  # ours")
        if len(anchor.split()) > 1 and all(isinstance(survey(edit, one.texts), Cut) for one in (old, base)):
            yield Patch(id=f"S{attempt}@{path}", title="", family="", edits=(edit,))
            found += 1
            if found == most:
                return
