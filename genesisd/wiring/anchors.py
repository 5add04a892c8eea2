"""The catalog's edits as the watch looks for them: ``watch.collide.Anchors`` by the patch engine's own matcher.

What the watch predicts and what a build does later cannot differ, since both ask ``patches.survey``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from genesisd.patches.edits import AnchorEdit, Edit
from genesisd.patches.engine import plan
from genesisd.patches.match import Present
from genesisd.patches.model import Patch
from genesisd.patches.newline import ending_of, spoken
from genesisd.patches.outcome import (
    AlreadyApplied,
    AnchorAmbiguous,
    AnchorMissing,
    Applied,
    Failed,
    Fault,
    TargetMissing,
)
from genesisd.patches.scope import Span
from genesisd.patches.splice import Cut
from genesisd.patches.stack import plan_all
from genesisd.patches.survey import Found, Texts, Whole, shows, survey
from genesisd.versions import parse_range, parse_version
from genesisd.watch.collide import Anchor, Look, Lost


class CatalogAnchors:
    """The edits of ``patches`` on one pin."""

    def __init__(self, patches: Sequence[Patch], every: Mapping[str, Patch], texts: Texts) -> None:
        """``every`` holds the patches that others stand on; ``texts`` the pin's own files, looked at once."""
        self._every = every
        self._texts = texts
        self._looks: dict[tuple[str, str], Look] = {}
        self._edits = {(patch.id, edit.id): (patch, edit) for patch in patches for edit in patch.edits}
        self._reach = {patch.id: _reach(patch, every) for patch in patches}

    def touching(self, paths: Collection[str]) -> Sequence[Anchor]:
        """The edits that look at one of ``paths``, or stand on a patch that does."""
        return [
            _anchor(patch, edit)
            for patch, edit in self._edits.values()
            if edit.path in paths or (_base(edit) and not self._reach[patch.id].isdisjoint(paths))
        ]

    def look(self, anchor: Anchor, texts: Mapping[str, str]) -> Look:
        """What there is of one edit in ``texts``."""
        key = (anchor.patch, anchor.edit)
        if texts is not self._texts:
            return self._look(*self._edits[key], texts)
        if key not in self._looks:
            self._looks[key] = self._look(*self._edits[key], texts)
        return self._looks[key]

    def _look(self, patch: Patch, edit: Edit, texts: Texts) -> Look:
        base = _base(edit)
        under = self._stacked(base, texts) if base else (texts, ())
        if under is None:
            return Look(count=0, raw=_raw(edit, texts))
        seen, cuts = under
        look = _read(survey(edit, seen), edit, seen)
        given_way = any(shows(marker, texts) for marker in patch.markers)
        if look.there and not given_way:
            given_way = isinstance(plan(seen, patch, texts), AlreadyApplied)
        return _below(replace(look, given_way=given_way), edit, texts, cuts)

    def _stacked(self, base: str, texts: Texts) -> tuple[Texts, tuple[Cut, ...]] | None:
        """The texts with the patch that an edit stands on, or None where it cannot be applied."""
        planned = plan_all(texts, chain(self._every[base], self._every))
        outcome = planned.outcomes[base]
        return ({**texts, **planned.texts}, outcome.cuts) if isinstance(outcome, Applied) else None


def in_range(patch: Patch, version: str) -> bool:
    """Whether the patch is for this version of the engine. Raises ValueError for what is no version."""
    return parse_range(patch.versions).contains(parse_version(version))


def chain(patch: Patch, every: Mapping[str, Patch]) -> list[Patch]:
    """The patch and those that it stands on or requires, to any depth."""
    found: dict[str, Patch] = {}
    waiting = [patch]
    while waiting:
        one = waiting.pop()
        if one.id not in found:
            found[one.id] = one
            waiting += [every[name] for name in (*one.bases(), *one.requires) if name in every]
    return list(found.values())


def _anchor(patch: Patch, edit: Edit) -> Anchor:
    if isinstance(edit, AnchorEdit):
        forms = tuple(variant.anchor for variant in edit.variants)
        return Anchor(
            patch=patch.id, edit=edit.id, path=edit.path, required=edit.required, scope=edit.scope, forms=forms
        )
    return Anchor(patch=patch.id, edit=edit.id, path=edit.path)


def _base(edit: Edit) -> str | None:
    return edit.after if isinstance(edit, AnchorEdit) else None


def _reach(patch: Patch, every: Mapping[str, Patch]) -> frozenset[str]:
    return frozenset(edit.path for one in chain(patch, every) for edit in one.edits)


def _read(found: Found, edit: Edit, texts: Texts) -> Look:
    raw = _raw(edit, texts)
    match found:
        case Cut():
            text = texts[edit.path]
            home = None if found.home is None else _lines(text, found.home)
            return Look(count=1, lands=True, lines=_lines(text, found.anchor), home=home, raw=raw)
        case Present():
            return Look(count=0, there=True, raw=raw)
        case Whole():
            return Look(count=0 if found.there else 1, lands=not found.there, there=found.there, raw=raw)
        case AnchorAmbiguous():
            return Look(count=found.count, raw=raw)
        case AnchorMissing():
            return Look(count=0, elsewhere=found.elsewhere, raw=raw)
        case TargetMissing():
            return Look(count=0, lost=Lost.SCOPE if found.scope else Lost.FILE, raw=raw)
        case Failed():
            return Look(count=0, unread=found.fault is Fault.NOT_PYTHON, raw=raw)


def _raw(edit: Edit, texts: Texts) -> int:
    text = texts.get(edit.path)
    if text is None or not isinstance(edit, AnchorEdit):
        return 0
    ending = ending_of(text) or "\n"
    return sum(text.count(spoken(variant.anchor, ending)) for variant in edit.variants)


def _lines(text: str, span: Span) -> tuple[int, int]:
    return text.count("\n", 0, span.start), text.count("\n", 0, max(span.start, span.end - 1))


def _below(look: Look, edit: Edit, texts: Texts, cuts: Sequence[Cut]) -> Look:
    """A look at a base's output, with its lines as those of the pin's own file."""
    mine = [cut for cut in cuts if cut.path == edit.path]
    if not mine:
        return look
    lines, home = (span and _both_down(span, mine, texts[edit.path]) for span in (look.lines, look.home))
    return replace(look, lines=lines, home=home)


def _both_down(span: tuple[int, int], cuts: Sequence[Cut], text: str) -> tuple[int, int]:
    return _down(span[0], cuts, text), _down(span[1], cuts, text)


def _down(line: int, cuts: Sequence[Cut], text: str) -> int:
    grown = 0
    for cut in cuts:
        first, _ = _lines(text, cut.anchor)
        taken = text.count("\n", cut.anchor.start, cut.anchor.end)
        put = cut.text.count("\n")
        if line < first + grown:
            break
        if line < first + grown + put:
            return first
        grown += put - taken
    return line - grown
