"""Finding the one place of an edit: exact text, once, in the own text of its scope. Pure.

Nothing is guessed: no fuzz, no offset, no white space made equal. Whatever is not exactly one place is a refusal
that says what was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from genesisd.patches.edits import MODULE, AnchorEdit, Marker, Placement, Variant
from genesisd.patches.newline import spoken
from genesisd.patches.outcome import AnchorAmbiguous, AnchorMissing, TargetMissing
from genesisd.patches.scope import Definition, Source, Span
from genesisd.patches.splice import Cut


@dataclass(frozen=True, slots=True)
class Target:
    """A file as edits see it: its text, the definitions in it, and its line ending."""

    text: str
    source: Source
    ending: str


@dataclass(frozen=True, slots=True)
class Present:
    """What the edit writes is there already, in ``count`` places; ``undo`` takes the first of them back."""

    undo: Cut
    count: int


Found: TypeAlias = Cut | Present | TargetMissing | AnchorMissing | AnchorAmbiguous


def find(edit: AnchorEdit, target: Target) -> Found:
    """Where ``edit`` belongs in ``target``, or that it has been there, or why it has no place."""
    if edit.scope != MODULE and not target.source.named(edit.scope):
        return TargetMissing(edit.id, edit.path, edit.scope)
    sites = [site for variant in edit.variants for site in _sites(edit, variant, target)]
    present = [seen for variant in edit.variants for seen in _written(edit, variant, target)]
    # 'keep(); drop()' to 'keep()': the result is inside the anchor, so an anchor that is there speaks first.
    spans = [cut.anchor for cut in sites + present]
    present = [seen for seen in present if not any(s != seen.anchor and s.holds(seen.anchor) for s in spans)]
    if present:
        return Present(present[0], len({seen.anchor for seen in present}))
    if not sites:
        return AnchorMissing(edit.id, edit.path, edit.scope, _elsewhere(edit, target))
    return sites[0] if len(sites) == 1 else AnchorAmbiguous(edit.id, edit.path, edit.scope, len(sites))


def shows(marker: Marker, target: Target) -> bool:
    """Whether upstream's marker stands in ``target``, within its scope."""
    wanted, text = spoken(marker.text, target.ending), target.text
    if marker.scope == MODULE:
        return wanted in text
    return any(wanted in text[d.span.start : d.span.end] for d in target.source.named(marker.scope))


def _sites(edit: AnchorEdit, variant: Variant, target: Target) -> Iterator[Cut]:
    written = spoken(edit.written(variant), target.ending)
    for span in _occurrences(spoken(variant.anchor, target.ending), target.text):
        if _is_own(edit.scope, span, target):
            home = _home(edit.scope, span, target)
            at = _taken(edit.placement, span)
            yield Cut(edit.id, edit.path, edit.scope, variant.name, span, at, written, home)


def _written(edit: AnchorEdit, variant: Variant, target: Target) -> Iterator[Cut]:
    """Where the result of the edit stands, as cuts that undo it."""
    anchor = spoken(variant.anchor, target.ending)
    for span in _occurrences(spoken(edit.written(variant), target.ending), target.text):
        if _is_own(edit.scope, span, target):
            yield Cut(edit.id, edit.path, edit.scope, variant.name, span, span, anchor)


def _taken(placement: Placement, anchor: Span) -> Span:
    match placement:
        case Placement.BEFORE:
            return Span(anchor.start, anchor.start)
        case Placement.AFTER:
            return Span(anchor.end, anchor.end)
        case Placement.REPLACE:
            return anchor


def _is_own(scope: str, span: Span, target: Target) -> bool:
    """Whether ``span`` is text of ``scope`` and of no definition nested in it."""
    owner = target.source.owner(span)
    if scope == MODULE:
        return owner is None
    # A span at the scope's own first line is owned by what surrounds the scope, and still its text.
    return any(owner is None or owner == d or not d.span.holds(owner.span) for d in _around(scope, span, target))


def _home(scope: str, span: Span, target: Target) -> Span | None:
    """The lines of the definition that ``scope`` means at ``span``."""
    around = _around(scope, span, target)
    return around[-1].span if around else None


def _around(scope: str, span: Span, target: Target) -> list[Definition]:
    # Blank lines after a definition belong to none, and an anchor may take them along.
    inked = Span(span.start, span.start + len(target.text[span.start : span.end].rstrip()))
    return [d for d in target.source.named(scope) if d.span.holds(inked)]


def _elsewhere(edit: AnchorEdit, target: Target) -> tuple[str, ...]:
    anchors = (spoken(variant.anchor, target.ending) for variant in edit.variants)
    owners = [target.source.owner(span) for anchor in anchors for span in _occurrences(anchor, target.text)]
    return tuple(dict.fromkeys(owner.name if owner else "the module" for owner in owners))


def _occurrences(wanted: str, text: str) -> Iterator[Span]:
    """Every place, overlapping ones too: 'aa' stands twice in 'aaa'."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield Span(at, at + len(wanted))
        at = text.find(wanted, at + 1)
