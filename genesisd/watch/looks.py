"""What markers show in a pin's tree: present, absent, or a place that has changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from genesisd.watch.marker_spec import Marker, Pattern
from genesisd.watch.model import Content, ContentFact, Rung
from genesisd.watch.text import read_text


def look_for(markers: Sequence[Marker], texts: Mapping[str, str]) -> ContentFact:
    """The verdict of one pull request's markers; unknown where there are none.

    Several are forms of one thing: the first that is sure decides, unless another is sure of the opposite.
    """
    if not markers:
        return ContentFact(evidence="there is no diff and no marker")
    facts = [_judged(marker, texts) for marker in markers]
    sure = [fact for fact in facts if fact.content in {Content.PRESENT, Content.ABSENT}]
    if len({fact.content for fact in sure}) > 1:
        told = " but ".join(dict.fromkeys(fact.evidence for fact in sure))
        return ContentFact(Content.CHANGED, Rung.MARKERS, told)
    there = [fact for fact in facts if fact.content is Content.CHANGED]
    return (sure or there or facts)[0]


def _judged(marker: Marker, texts: Mapping[str, str]) -> ContentFact:
    after = [(one, shown(one, texts)) for one in marker.present]
    before = [(one, shown(one, texts)) for one in marker.absent]
    seen_after, seen_before = ([told for _, told in side if told is not None] for side in (after, before))
    if len(seen_after) == len(after) and not (before and len(seen_before) == len(before)):
        return _fact(Content.PRESENT, f"as after it: {'; '.join(seen_after)}")
    if before and len(seen_before) == len(before) and not seen_after:
        return _fact(Content.ABSENT, f"as before it: {'; '.join(seen_before)}")
    if not any(one.file in texts for one in (*marker.present, *marker.absent)):
        files = dict.fromkeys(one.file for one in marker.present)
        return _fact(Content.NOT_APPLICABLE, f"{', '.join(files)} {'is' if len(files) == 1 else 'are'} not there")
    return _fact(Content.CHANGED, _undecided(seen_after, seen_before, marker))


def _undecided(after: Sequence[str], before: Sequence[str], marker: Marker) -> str:
    if after and before:
        return f"partly as after it ({'; '.join(after)}), partly as before it ({'; '.join(before)})"
    if after or before:
        of = len(marker.present) if after else len(marker.absent)
        when = "after" if after else "before"
        return f"{len(after or before)} of {of} signs of {when} it: {'; '.join(after or before)}"
    return f"neither as before nor as after it: {_told(marker.present[0])} is not so"


def shown(pattern: Pattern, texts: Mapping[str, str]) -> str | None:
    """What the tree shows of the pattern, with its place, or None where it does not."""
    if pattern.file not in texts:
        return f"{pattern.file} is not there" if pattern.missing else None
    text = texts[pattern.file].replace("\r\n", "\n")
    parts = [text] if pattern.within is None else read_text(text).definitions(pattern.within)
    if not parts:
        return f"{pattern.within} is not in {pattern.file}" if pattern.missing else None
    if pattern.missing:
        return None
    if pattern.lacks is not None:
        return None if any(pattern.lacks in part for part in parts) else _told(pattern)
    for part in parts:
        at = _place(pattern, part)
        if at is not None:
            line = text.count("\n", 0, text.index(part) + at) + 1
            return f"{_told(pattern)}, line {line}"
    return None


def _place(pattern: Pattern, part: str) -> int | None:
    if pattern.has is not None:
        at = part.find(pattern.has)
        return None if at < 0 else at
    found = re.search(pattern.matches or "", part, re.MULTILINE)
    return None if found is None else found.start()


def _told(pattern: Pattern) -> str:
    where = pattern.file if pattern.within is None else f"{pattern.within} of {pattern.file}"
    if pattern.missing:
        return f"{where} missing"
    if pattern.lacks is not None:
        return f"no {_short(pattern.lacks)} in {where}"
    return f"{_short(pattern.has or pattern.matches or '')} in {where}"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return f"'{plain}'" if len(plain) <= 70 else f"'{plain[:66]}...'"


def _fact(content: Content, evidence: str) -> ContentFact:
    return ContentFact(content, Rung.MARKERS, evidence)
