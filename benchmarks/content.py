"""How often the content of a change is told right: changes of real releases on all of them, beside ``git apply``.

    python -m benchmarks.content [--drawn 80] [--write docs/markers.md]

What changed in a file between two releases is looked for in each of them. The older ones cannot have it; the newer
ones have it, or have changed it since (now and then taken it back). Git is asked whether the same diff could be made
there, or undone.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from benchmarks.hops import PACKAGES, changes, release
from genesisd.watch.content import judge
from genesisd.watch.diffs import FileChange
from genesisd.watch.landing import is_shipped
from genesisd.watch.looks import look_for
from genesisd.watch.markers import load
from genesisd.watch.model import Content
from genesisd.watch.text import Names
from genesisd.wiring.tree_texts import TreeTexts

VERSIONS = tuple(PACKAGES)
OLDER, BEFORE, AFTER, NEWER = "older", "before it", "after it", "newer"
OURS, GIT = "genesisd", "git apply"
SHOWN = {
    Content.PRESENT: "present",
    Content.ABSENT: "absent",
    Content.CHANGED: "changed",
    Content.NOT_APPLICABLE: "not applicable",
}
_BEGIN, _END = "<!-- measured -->", "<!-- end of what was measured -->"
Counts = Counter[tuple[str, str, str, Content]]


def count(drawn: int, unit: str) -> Counts:
    """Verdicts by unit, who judged, where the release stands to the change, and what was said."""
    found: Counts = Counter()
    trees = {version: TreeTexts(release(version).root, keep=4096) for version in VERSIONS}
    names = {version: Names(tree) for version, tree in trees.items()}
    for old, new in pairwise(VERSIONS):
        for change in _units(list(changes(old, new)), drawn, unit):
            for version in VERSIONS:
                stands = _stands(version, old, new)
                found[unit, OURS, stands, judge([change], trees[version], names=names[version]).content] += 1
                if unit == "files":
                    found[unit, GIT, stands, by_git(change, release(version).root)] += 1
    return found


def _units(every: Sequence[FileChange], drawn: int, unit: str) -> Iterator[FileChange]:
    modified = [one for one in every if one.hunks and one.before == one.after and is_shipped(one.path)]
    for change in random.Random(1).sample(modified, min(drawn, len(modified))):
        if unit == "files":
            yield change
        else:
            yield from (replace(change, hunks=(hunk,)) for hunk in change.hunks)


def _stands(version: str, old: str, new: str) -> str:
    at = VERSIONS.index(version) - VERSIONS.index(old)
    return BEFORE if at == 0 else AFTER if version == new else OLDER if at < 0 else NEWER


def by_git(change: FileChange, root: Path) -> Content:
    """What follows from whether git could make the change there, and whether it could undo it."""
    if not (root / change.path).is_file():
        return Content.NOT_APPLICABLE
    text = _written(change)
    can = [_applies(text, root, *way) for way in ((), ("-R",))]
    return {(True, False): Content.ABSENT, (False, True): Content.PRESENT}.get((can[0], can[1]), Content.CHANGED)


def _applies(text: str, root: Path, *way: str) -> bool:
    argv = ["git", "apply", "--check", *way]
    done = subprocess.run(argv, cwd=root, input=text.encode(errors="surrogateescape"), capture_output=True, check=False)
    return done.returncode == 0


def _written(change: FileChange) -> str:
    lines = [f"--- a/{change.path}\n+++ b/{change.path}\n"]
    for hunk in change.hunks:
        lines.append(f"@@ -{hunk.old_start},{len(hunk.old)} +{hunk.new_start},{len(hunk.new)} @@ {hunk.heading}\n")
        for sign, line in hunk.lines:
            end = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
            lines.append(f"{sign}{line}{end}")
    return "".join(lines)


def tables(found: Counts) -> str:
    """As Markdown."""
    rows = [
        "| what | by | the release is | " + " | ".join(SHOWN.values()) + " |",
        "|---|---|---|" + "---:|" * len(SHOWN),
    ]
    for unit, judge_ in sorted({key[:2] for key in found}, reverse=True):
        for stands in (OLDER, BEFORE, AFTER, NEWER):
            cells = " | ".join(str(found[unit, judge_, stands, content]) for content in SHOWN)
            rows.append(f"| {unit} | {judge_} | {stands} | {cells} |")
    return "\n".join(rows)


def marked() -> str:
    """What each row of the project's markers says of each release, as Markdown."""
    trees: Mapping[str, TreeTexts] = {version: TreeTexts(release(version).root) for version in VERSIONS}
    rows = ["| pull request | " + " | ".join(VERSIONS) + " |", "|---|" + "---|" * len(VERSIONS)]
    for ref, markers in sorted(load().by_ref.items()):
        cells = [SHOWN[look_for(markers, trees[version]).content] for version in VERSIONS]
        rows.append(f"| {ref} {markers[0].title} | {' | '.join(cells)} |")
    return "\n".join(rows)


def page(drawn: int) -> str:
    """Both tables with the words between."""
    found = count(drawn, "files") + count(drawn, "hunks")
    said = (
        f"`python -m benchmarks.content --drawn {drawn}`: {drawn} files of each of the {len(VERSIONS) - 1} hops between\n"
        f"{', '.join(VERSIONS)}, whole and hunk by hunk, judged on every one of these releases."
    )
    return f"{said}\n\n{tables(found)}\n\nWhat the project's own rows say of these releases:\n\n{marked()}"


def main() -> None:
    """Measure, and show or write it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--drawn", type=int, default=80, help="files a hop")
    options.add_argument("--write", type=Path, help="the page whose measured part is replaced")
    given = options.parse_args()
    text = page(given.drawn)
    if given.write is None:
        print(text)
        return
    whole = given.write.read_text()
    part = f"{_BEGIN}\n{text}\n{_END}"
    given.write.write_text(re.sub(f"{_BEGIN}.*{_END}", lambda _: part, whole, flags=re.DOTALL))


if __name__ == "__main__":
    main()
