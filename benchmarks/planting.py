"""Changes planted at an anchor: what a pull request could do to it, and its near miss."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff

from genesisd.watch.collide import Anchor, Look
from genesisd.watch.diffs import FileChange, read_diff
from genesisd.watch.replay import lines_of

ELSEWHERE = "vllm/planted.py"
MARK = "# planted"
KINDS = ("inside", "over", "twin", "move", "rename", "file", "neighbour above", "neighbour below")


@dataclass(frozen=True, slots=True)
class Planted:
    """One planted change: texts afterwards, and the diff that leads there."""

    kind: str
    texts: Mapping[str, str]
    diff: tuple[FileChange, ...]


def plants(anchor: Anchor, look: Look, texts: Mapping[str, str]) -> Iterator[Planted]:
    """Every kind that the anchor has room for."""
    assert look.lines is not None
    path, lines = anchor.path, lines_of(texts[anchor.path])
    first, last = look.lines
    pad = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    note = f"{pad}{MARK}\n"
    if last > first:
        yield _planted("inside", path, texts, [*lines[: first + 1], note, *lines[first + 1 :]])
    yield _planted("over", path, texts, [*lines[:first], f"{pad}planted_{lines[first].lstrip()}", *lines[first + 1 :]])
    yield _planted("neighbour above", path, texts, [*lines[:first], note, *lines[first:]])
    yield _planted("neighbour below", path, texts, [*lines[: last + 1], note, *lines[last + 1 :]])
    yield _planted("file", path, texts, None, moved=lines)
    start, end = look.home or look.lines
    block = lines[start : end + 1]
    yield _planted("twin", path, texts, [*lines[: end + 1], "\n", *block, *lines[end + 1 :]])
    yield _planted("move", path, texts, [*lines[:start], *lines[end + 1 :]], moved=block)
    if look.home is not None:
        renamed = _renamed(block, anchor.scope.split(".")[-1])
        yield _planted("rename", path, texts, [*lines[:start], *renamed, *lines[end + 1 :]])


def _planted(
    kind: str, path: str, texts: Mapping[str, str], lines: list[str] | None, moved: list[str] | None = None
) -> Planted:
    after = {name: text for name, text in texts.items() if name != path or lines is not None}
    if lines is not None:
        after[path] = "".join(lines)
    if moved is not None:
        after[ELSEWHERE] = "".join(moved)
    return Planted(
        kind, after, _diff(path, texts[path], None if lines is None else "".join(lines), after.get(ELSEWHERE))
    )


def _diff(path: str, before: str, after: str | None, new: str | None) -> tuple[FileChange, ...]:
    if after is None:
        return (FileChange(path, ELSEWHERE, ()),)
    text = "".join(unified_diff(lines_of(before), lines_of(after), f"a/{path}", f"b/{path}"))
    if new is not None:
        text += "".join(unified_diff([], lines_of(new), "/dev/null", f"b/{ELSEWHERE}"))
    return read_diff(text)


def _renamed(block: list[str], name: str) -> list[str]:
    head = re.compile(rf"((?:class|def)\s+){re.escape(name)}\b")
    return [head.sub(rf"\g<1>{name}_planted", line) for line in block]
