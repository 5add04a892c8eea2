"""What a pull request's diff does to the anchors of our patches, found by making it and looking again. Pure.

Whether lines overlap tells little: two lines put between those of an anchor end it, and touch none of them. So the
diff is made on the pin's own text, and each edit whose file it touches is looked for before and after.

A hunk that finds no place in the pin (its context drifted) is not made. Such a hunk is laid beside the anchor line by
line: where they have lines in common and it rewrites the anchor there, the edit will break once upstream's text is
what the hunk was made on. That is told as judged by lines alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from genesisd.watch.diffs import FileChange, Hunk
from genesisd.watch.drifted import laid_beside, owed, scope_taken, twin_put
from genesisd.watch.model import Collision, Place
from genesisd.watch.replay import Landed, Replay, Why, lines_of, replay

NEAR = 3
"""Lines next to an anchor that are beside it: what a hunk shows as context."""


class Lost(StrEnum):
    """What an edit does not find where it looks."""

    FILE = "file"
    SCOPE = "scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """One edit of one patch, by what the watch needs to know of it.

    Attributes:
        patch, edit, path: which, and where it looks.
        required: the patch cannot do without.
        scope: the class or function, "" for the file itself.
        forms: every text that it looks for, of which a pin has one; none for a whole file.
    """

    patch: str
    edit: str
    path: str
    required: bool = True
    scope: str = ""
    forms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What there is of an edit in some texts.

    Attributes:
        count: places that it could be made in.
        lands: there is one, and the edit can be made.
        lines: first and last line of the anchor, counted from 0, where there is one place.
        home: the same of its scope; None for the file itself.
        lost: what is not there at all.
        elsewhere: other scopes in which the anchor stands.
        raw: how often the anchor's text stands in the file, whatever the scope.
        unread: the file could not be read as Python: nothing but ``raw`` can be told.
        there: what the edit would write stands there.
        given_way: upstream's own fix is there, or the whole patch's text: it has nothing to do.
    """

    count: int
    lands: bool = False
    lines: tuple[int, int] | None = None
    home: tuple[int, int] | None = None
    lost: Lost | None = None
    elsewhere: tuple[str, ...] = ()
    raw: int = 0
    unread: bool = False
    there: bool = False
    given_way: bool = False


class Anchors(Protocol):
    """The edits of our patches, as far as they are for the pin."""

    def touching(self, paths: Collection[str]) -> Sequence[Anchor]:
        """Those that look at one of ``paths``."""
        ...

    def look(self, anchor: Anchor, texts: Mapping[str, str]) -> Look:
        """What there is of one in ``texts``, which holds every file that a patch names as far as it is there."""
        ...


def collide(
    changes: Sequence[FileChange], texts: Mapping[str, str], anchors: Anchors, *, in_part: bool = False
) -> tuple[Collision, ...]:
    """What ``changes`` do to each edit that looks at a file of theirs; none for those that they leave alone.

    Args:
        changes: one pull request's.
        texts: the files that patches name, as the pin has them.
        anchors: the edits that count on this pin.
        in_part: the pin may have some of it already. Then a hunk without a place that seems to bring a twin may well be
            what brought the place itself.
    """
    touched = {path for change in changes for path in (change.before, change.after) if path}
    concerned = anchors.touching(touched)
    if not concerned:
        return ()
    ours = {anchor.path for anchor in concerned} | set(texts)
    done = replay([change for change in changes if {change.before, change.after} & ours], texts)
    after = done.over(texts)
    judged = _Judged(anchors, texts, after, done, in_part)
    found = (_collision(anchor, judged) for anchor in concerned)
    return tuple(one for one in found if one is not None)


@dataclass(frozen=True, slots=True)
class _Judged:
    """One diff as it was made."""

    anchors: Anchors
    texts: Mapping[str, str]
    after: Mapping[str, str]
    done: Replay
    in_part: bool

    def without_place(self, path: str) -> list[Hunk]:
        """Hunks of a file that are neither made nor there."""
        of = (one for one in self.done.refused if one.path == path and one.why is not Why.THERE)
        return [one.hunk for one in of if one.hunk is not None]


def _collision(anchor: Anchor, on: _Judged) -> Collision | None:
    was, now, done = on.anchors.look(anchor, on.texts), on.anchors.look(anchor, on.after), on.done
    wanted = was.lands and not was.given_way and not now.given_way
    lost = on.without_place(anchor.path)
    broken = wanted and not _holds(was, now) and now.count - owed(anchor.forms, lost) != 1
    if wanted and not broken and lost and (drifted := _by_lines(anchor, was, lost, on)):
        return drifted
    place = _place(anchor, was, now, done)
    if place is None and not broken and was.count == now.count:
        return None
    return Collision(
        patch=anchor.patch,
        edit=anchor.edit,
        path=anchor.path,
        before=was.count,
        after=now.raw if now.unread else now.count,
        place=place or (Place.BESIDE if anchor.forms else Place.OVER),
        breaks=broken,
        required=anchor.required,
        text=_told(anchor, was, now, place, done),
    )


def _holds(was: Look, now: Look) -> bool:
    # Half a diff may leave a file that is no Python; then only the text itself can be counted.
    return now.raw == was.raw if now.unread else now.lands


def _place(anchor: Anchor, was: Look, now: Look, done: Replay) -> Place | None:
    left = now.lost or (now.elsewhere and now.raw >= was.raw)
    if was.lands and (left or anchor.path in done.moves):
        return Place.MOVED
    if now.count > max(1, was.count):
        return Place.TWIN
    if was.lines is None:
        return None
    at = [_beside(one, was.lines, was.home) for one in done.landed if one.path == anchor.path]
    return next((place for place in (Place.OVER, Place.INSIDE, Place.BESIDE) if place in at), None)


def _beside(landed: Landed, lines: tuple[int, int], home: tuple[int, int] | None) -> Place | None:
    first, last = lines
    found = None
    for step in landed.steps():
        end = step.at + len(step.taken)
        if step.taken and step.at <= last and end > first:
            return Place.OVER
        if first < step.at <= last:
            found = Place.INSIDE
        elif found is None and _is_near(step.at, end, (first - NEAR, last + NEAR), home):
            found = Place.BESIDE
    return found


def _is_near(start: int, end: int, near: tuple[int, int], home: tuple[int, int] | None) -> bool:
    return any(start <= span[1] + 1 and end >= span[0] for span in (near, home) if span is not None)


def _by_lines(anchor: Anchor, was: Look, hunks: Sequence[Hunk], on: _Judged) -> Collision | None:
    """What hunks that found no place would do to the anchor, or None."""
    if was.lines is None or anchor.path not in on.texts:
        return None  # the file is one that a patch of ours makes: the pin has no lines to lay hunks beside
    every = [*hunks, *(one.hunk for one in on.done.landed if one.path == anchor.path)]
    lines = lines_of(on.texts[anchor.path])
    if laid := laid_beside(lines, was.lines, anchor.forms, hunks):
        hunk, place, what = laid.hunk, laid.place, "ends the anchor"
    elif was.home and (taken := scope_taken(anchor.scope, lines, was.home, anchor.forms, hunks, every)):
        hunk, place, what = taken, Place.MOVED, f"takes {anchor.scope} away"
    elif not on.in_part and (twin := twin_put(anchor.scope, anchor.forms, hunks)):
        hunk, place, what = twin, Place.TWIN, "brings a second place like the anchor's"
    else:
        return None
    why = "its context is not in this pin, so that it was judged by the lines that it shares with it"
    return Collision(
        patch=anchor.patch,
        edit=anchor.edit,
        path=anchor.path,
        before=was.count,
        after=was.count + 1 if place is Place.TWIN else 0,
        place=place,
        breaks=True,
        required=anchor.required,
        text=f"{_name(anchor)}: a hunk at line {hunk.old_start} {what}; {why}",
    )


def _told(anchor: Anchor, was: Look, now: Look, place: Place | None, done: Replay) -> str:
    parts = [f"{_name(anchor)}: the anchor stands {_times(was.count)} before and {_times(now.count)} after"]
    if now.unread:
        parts = [f"{_name(anchor)}: the anchor's text stands {_times(was.raw)} before and {_times(now.raw)} after"]
    if now.lost is Lost.FILE or anchor.path in done.moves:
        parts.append(f"the file goes to {done.moves.get(anchor.path, 'nowhere')}")
    elif now.lost is Lost.SCOPE:
        parts.append(f"{anchor.scope} is no more")
    if now.elsewhere and not now.lands:
        parts.append(f"it stands in {', '.join(now.elsewhere)}")
    if now.given_way and not was.given_way:
        parts.append("the patch gives way: upstream's own fix is there")
    elif now.there and not was.there:
        parts.append("the very text of the edit is there, and not that of the whole patch")
    if place is Place.BESIDE and now.lands:
        parts.append("the change is beside it")
    return "; ".join(parts + _drift(anchor.path, done))


def _drift(path: str, done: Replay) -> list[str]:
    """What of the diff did not go where it says."""
    moved = [one.moved for one in done.landed if one.path == path and one.moved]
    refused = [one for one in done.refused if one.path == path]
    told = [f"{len(moved)} hunk(s) moved by up to {max(map(abs, moved))} lines"] if moved else []
    return told + ([f"{len(refused)} hunk(s) not made ({refused[0].why})"] if refused else [])


def _name(anchor: Anchor) -> str:
    return f"{anchor.patch} {anchor.edit} in {anchor.scope or anchor.path}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times" if count else "nowhere"
