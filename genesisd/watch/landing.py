"""What each file of a pin has of a change: place by place, also where the file is new, gone, or moved. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from genesisd.watch.diffs import FileChange
from genesisd.watch.places import Seen, Side, look
from genesisd.watch.text import bare, defined, module_names, read_text, telling

ENGINE = "vllm"
"""The folder that a release installs."""
SHIPPED = frozenset({".py", ".pyi"})
"""What a pin's tree keeps of a release: nothing else can be looked at."""
_ALIKE = 0.8
"""A file that has this part of a new file's telling lines is that file, with what was changed in it later."""


@dataclass(frozen=True, slots=True)
class Landing:
    """What one file has of a change.

    Attributes:
        path: as the diff names it.
        at: the file of the tree that was looked at, or "".
        seen: one each step, whatever it says.
        gone: the change wants a file that the tree does not have.
    """

    path: str
    at: str = ""
    seen: tuple[Seen, ...] = ()
    gone: bool = False


def landings(changes: Sequence[FileChange], texts: Mapping[str, str], *, by_words: bool = False) -> tuple[Landing, ...]:
    """What the tree has of each file that it could hold; ``by_words`` lets words decide where lines do not."""
    return tuple(_landing(one, texts, by_words=by_words) for one in changes if not one.binary and is_shipped(one.path))


def is_shipped(path: str) -> bool:
    """Whether a pin's tree would hold it: modules of the engine do, its tests, kernels and pages do not."""
    parts = PurePosixPath(path)
    return parts.parts[:1] == (ENGINE,) and parts.suffix in SHIPPED


def _landing(change: FileChange, texts: Mapping[str, str], *, by_words: bool) -> Landing:
    if change.before is None:
        return _added(change, texts, by_words=by_words)
    if change.after is None:
        return _removed(change, texts)
    at = next((path for path in (change.after, change.before) if path in texts), None)
    moved = _renamed(change, texts)
    if at is None:
        return Landing(change.path, seen=moved, gone=True)
    return Landing(change.path, at, (*moved, *_hunks(change, texts[at], by_words=by_words)))


def _hunks(change: FileChange, text: str, *, by_words: bool) -> Iterator[Seen]:
    read = read_text(text)
    brought: set[str] = set()
    for hunk in change.hunks:
        yield from look(read, hunk, frozenset(brought), by_words=by_words)
        brought |= {name for sign, line in hunk.lines if sign == "+" and (name := defined(line))}


def _added(change: FileChange, texts: Mapping[str, str], *, by_words: bool) -> Landing:
    """A new file is there, or is not, or another of its name is."""
    lines = [line for hunk in change.hunks for line in bare(hunk.new)]
    if change.path not in texts:
        side = Side.BEFORE if telling(lines) else Side.IDLE
        return Landing(change.path, seen=(Seen(side, brings=tuple(module_names(lines))),))
    text = read_text(texts[change.path])
    exact = text.lines == tuple(lines) or (not lines and not texts[change.path])
    if not exact and not by_words:
        return Landing(change.path, change.path, (Seen(Side.NEITHER),))
    alike = exact or _share(lines, text.lines) >= _ALIKE
    return Landing(change.path, change.path, (Seen(Side.AFTER if alike else Side.NEITHER, 1, exact=exact),))


def _share(wanted: Sequence[str], there: Sequence[str]) -> float:
    """Which part of the telling lines is in the file, in any order."""
    lines = [line for line in wanted if telling((line,))]
    have = frozenset(there)
    return sum(line in have for line in lines) / len(lines) if lines else 0.0


def _removed(change: FileChange, texts: Mapping[str, str]) -> Landing:
    """A file that is not there was removed, or is younger than the pin: that makes no verdict beside others."""
    path = change.path
    if path in texts:
        return Landing(path, path, (Seen(Side.BEFORE, 1),))
    return Landing(path, seen=(Seen(Side.AFTER, minor=True),))


def _renamed(change: FileChange, texts: Mapping[str, str]) -> tuple[Seen, ...]:
    if change.before == change.after:
        return ()
    there = (change.before in texts, change.after in texts)
    side = {(True, False): Side.BEFORE, (False, True): Side.AFTER}.get(there, Side.NEITHER)
    return (Seen(side),)
