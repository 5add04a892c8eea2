"""Whether a pin's files hold what a pull request brings. Pure; docs/markers.md says how a verdict is reached.

The ladder, strongest first: each hunk is looked for backwards, line by line; then people's markers; then the words
of the region alone. The first rung that can tell tells, but never against what a stronger one saw: two that disagree
show a place that changed. Whether it was merged, picked or undone plays no part here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from genesisd.watch.diffs import FileChange
from genesisd.watch.landing import Landing, landings
from genesisd.watch.looks import look_for
from genesisd.watch.marker_spec import Marker
from genesisd.watch.model import Content, ContentFact, Rung
from genesisd.watch.places import Seen, Side
from genesisd.watch.text import Names, module_names

_SHOWN = 3
_FIRM = {Content.PRESENT, Content.ABSENT}


def judge(
    changes: Sequence[FileChange],
    texts: Mapping[str, str],
    markers: Sequence[Marker] = (),
    *,
    complete: bool = True,
    names: Names | None = None,
) -> ContentFact:
    """The verdict on one pull request in one pin's tree.

    Args:
        changes: its diff; empty where there is none.
        texts: the tree, by path; looked up file by file.
        markers: people's, of this pull request.
        complete: the diff has all its files. Half a diff can show what is absent, never that all is present.
        names: what the tree's modules define; whoever judges more than one pull request shares it.
    """
    told = look_for(markers, texts)
    if not changes:
        return told
    names = names or Names(texts)
    there = landings(changes, texts)
    lines = _moved(_folded(there, Rung.REVERSE_APPLY, complete=complete), there, changes, names)
    if lines.content is Content.NOT_APPLICABLE:
        return told if told.content in _FIRM else lines
    if lines.content in _FIRM or _partly(there) or not _count(there)[Side.NEITHER]:
        return _against(lines, there, told)
    if told.rung is Rung.MARKERS:
        return _against(told, there, told)
    there = landings(changes, texts, by_words=True)
    return _moved(_folded(there, Rung.REGION_HASH, complete=complete), there, changes, names)


def _moved(fact: ContentFact, there: Sequence[Landing], changes: Sequence[FileChange], names: Names) -> ContentFact:
    """``fact``, unless it is elsewhere: what is absent at its place, or what only went with a file that is gone."""
    brings = {name for _, seen in _deciding(there) for name in seen.brings}
    takes, puts = (
        {name for one in changes for hunk in one.hunks for name in module_names(side(hunk))}
        for side in (attrgetter("old"), attrgetter("new"))
    )
    sought = {Content.ABSENT: brings - takes, Content.PRESENT: takes - puts if _only_gone(there) else set()}
    found = [(name, names.where(name)) for name in sorted(sought.get(fact.content, ()))]
    told = [f"{name} is defined in {path}" for name, path in found if path is not None]
    return ContentFact(Content.CHANGED, fact.rung, f"{fact.evidence}, but {told[0]}") if told else fact


def _only_gone(there: Sequence[Landing]) -> bool:
    """Nothing speaks for it but files that are not there: they may as well have another name."""
    return all(not landing.at and seen.side is Side.AFTER for landing, seen in _deciding(there))


def _against(fact: ContentFact, there: Sequence[Landing], told: ContentFact) -> ContentFact:
    """``fact``, unless lines and markers contradict each other."""
    seen = _count(there)
    lines = {side for side in (Side.AFTER, Side.BEFORE) if seen[side]}
    unlike = {Content.PRESENT: Side.BEFORE, Content.ABSENT: Side.AFTER}.get(told.content)
    if unlike not in lines or len(lines) > 1:
        return fact
    at = "; ".join(_shown(there, unlike))
    evidence = f"lines and markers disagree: as {unlike} the change at {at}, but {told.evidence}"
    return ContentFact(Content.CHANGED, Rung.MARKERS, evidence)


def _folded(there: Sequence[Landing], rung: Rung, *, complete: bool) -> ContentFact:
    """One verdict of many places; partly landed is neither yes nor no."""
    seen, gone = _count(there), [one.path for one in there if one.gone]
    after, before, neither = seen[Side.AFTER], seen[Side.BEFORE], seen[Side.NEITHER]
    if not (after or before or neither):
        return ContentFact(Content.NOT_APPLICABLE, rung, _nothing(there, gone))
    of = after + before + neither
    parts = [
        f"{_counted(count, of)} {words} ({'; '.join(_shown(there, side))})"
        for side, count, words in (
            (Side.AFTER, after, "as after the change"),
            (Side.BEFORE, before, "as before it" if after else "as before the change"),
            (Side.NEITHER, neither, "neither as before nor as after the change"),
        )
        if count
    ]
    parts += [f"{path} is not there" for path in gone[:_SHOWN]]
    content = _verdict(after, before, neither, gone=bool(gone))
    if content is Content.PRESENT and not complete:
        content, parts = Content.CHANGED, [*parts, "the diff has not all its files"]
    return ContentFact(content, rung, ("partly landed: " if after and before else "") + ", ".join(parts))


def _counted(count: int, of: int) -> str:
    return "its place is" if of == 1 else f"{count} of {of} places {'is' if count == 1 else 'are'}"


def _verdict(after: int, before: int, neither: int, *, gone: bool) -> Content:
    if after and not (before or neither or gone):
        return Content.PRESENT
    # What is as before in most places was not there and then rewritten: measured in docs/markers.md.
    if before >= max(neither, 1) and not after:
        return Content.ABSENT
    return Content.CHANGED


def _count(there: Sequence[Landing]) -> Counter[Side]:
    return Counter(one.side for _, one in _deciding(there))


def _partly(there: Sequence[Landing]) -> bool:
    seen = _count(there)
    return bool(seen[Side.AFTER] and seen[Side.BEFORE])


def _deciding(there: Sequence[Landing]) -> Iterator[tuple[Landing, Seen]]:
    """The places that make the verdict: those that may only support one are left out where there are others."""
    places = [(landing, seen) for landing in there for seen in landing.seen if seen.side is not Side.IDLE]
    return iter([place for place in places if not place[1].minor] or places)


def _shown(there: Sequence[Landing], side: Side) -> list[str]:
    places = [_place(landing, seen) for landing, seen in _deciding(there) if seen.side is side]
    return places[:_SHOWN] + ([f"{len(places) - _SHOWN} more"] if len(places) > _SHOWN else [])


def _place(landing: Landing, seen: Seen) -> str:
    path = landing.at or landing.path
    where = f"{path}:{seen.line}" if seen.line else path
    return where + (f" in {seen.scope}" if seen.scope else "") + (", a twin" if seen.twin else "")


def _nothing(there: Sequence[Landing], gone: Sequence[str]) -> str:
    if gone:
        return f"{', '.join(gone[:_SHOWN])} {'is' if len(gone) == 1 else 'are'} not there"
    return "it changes no code there" if there else "it changes no file that the pin ships"
