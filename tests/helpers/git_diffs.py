"""Diffs as git writes them, made of texts before and after."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff

from genesisd.watch.diffs import FileChange, read_diff
from genesisd.watch.replay import lines_of


def git_diff(before: Mapping[str, str], after: Mapping[str, str], moves: Mapping[str, str] | None = None) -> str:
    """One diff from all of ``before`` to all of ``after``; ``moves`` says which files went where."""
    moves = moves or {}
    names = [*before, *(name for name in after if name not in before and name not in moves.values())]
    parts = (_file(name, before.get(name), moves.get(name, name), after.get(moves.get(name, name))) for name in names)
    return "".join(parts)


def changes(
    before: Mapping[str, str], after: Mapping[str, str], moves: Mapping[str, str] | None = None
) -> tuple[FileChange, ...]:
    """The same, read."""
    return read_diff(git_diff(before, after, moves))


def _file(old: str, before: str | None, new: str, after: str | None) -> str:
    if before == after and old == new:
        return ""
    head = f"diff --git a/{old} b/{new}\n"
    if old != new:
        head += f"similarity index 90%\nrename from {old}\nrename to {new}\n"
    elif before is None or after is None:
        head += f"{'new' if before is None else 'deleted'} file mode 100644\n"
    names = ("/dev/null" if before is None else f"a/{old}", "/dev/null" if after is None else f"b/{new}")
    diff = unified_diff(lines_of(before or ""), lines_of(after or ""), *names)
    return head + "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in diff)
