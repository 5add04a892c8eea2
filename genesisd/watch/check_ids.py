"""Whether the ids of a watchlist stand for what the rows take them for. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from genesisd.watch.findings import Finding, FindingKind, Level
from genesisd.watch.model import PatchFact
from genesisd.watch.refs import Ref
from genesisd.watch.row_reading import WATCH_ONLY
from genesisd.watch.rows import SweepRow, Trigger
from genesisd.watch.view import View, about, several

_ACTS = frozenset({Trigger.RETIRE, Trigger.REANCHOR})
"""Triggers that lead to work on the patches of the row."""


def unknown_ids(view: View) -> Iterator[Finding]:
    """Names that the register does not have: a slip of the pen, or a patch that nobody registered."""
    for row in view.rows():
        names = [name for name in dict.fromkeys(row.patches) if view.find(name) is None]
        if names:
            hint = "correct the name; an id that was ever given is in the register, also after its end"
            text = f"{several(names)} {_is(names)} not in the register"
            yield about(row, FindingKind.UNKNOWN_ID, Level.ERROR, text, hint)


def retired_ids(view: View) -> Iterator[Finding]:
    """Patches that ended. A row that has no other is there for nothing; where it acts on a merge, it would misfire."""
    for row in view.rows():
        bound = view.bound(row)
        ended = [fact for fact in bound if fact.retired]
        if not ended:
            continue
        acts = isinstance(row, SweepRow) and row.trigger in _ACTS
        level = Level.NOTICE if len(ended) < len(bound) else Level.ERROR if acts else Level.WARNING
        names = [
            f"{fact.id} ({fact.superseded_by} took its place)" if fact.superseded_by else fact.id for fact in ended
        ]
        left = "" if len(ended) < len(bound) else ", and the row names no other"
        hint = "name the patch that does the work now, or take the id out"
        yield about(row, FindingKind.RETIRED_ID, level, f"{several(names)} ended{left}", hint)


def repeated_ids(view: View) -> Iterator[Finding]:
    """One patch twice in a row, be it in another spelling."""
    for row in view.rows():
        count = Counter(view.find(name) or name for name in row.patches)
        twice = [name for name, times in count.items() if times > 1]
        if twice:
            text = f"{several(twice)} {_is(twice)} named more than once"
            yield about(row, FindingKind.REPEATED_ID, Level.NOTICE, text, "once is enough")


def planned_taken(view: View) -> Iterator[Finding]:
    """Ids that were planned for this pull request, and stand for another by now."""
    for row in view.watchlist.sweep:
        for name in row.planned_ids:
            fact = view.patches.get(view.find(name) or "")
            if fact is None or fact.planned or row.upstream in fact.upstream:
                continue
            others = several([str(ref) for ref in fact.upstream])
            stands = f"is for {others}" if others else f"is {fact.title!r}" if fact.title else "is another patch"
            text = f"{fact.id} was planned for {row.upstream}, and {stands}"
            yield about(row, FindingKind.PLANNED_TAKEN, Level.ERROR, text, "plan it under an id that is free")


def planned_done(view: View) -> Iterator[Finding]:
    """Rows that still plan what a patch does already, whatever the patch was called in the end."""
    carriers: dict[Ref, list[PatchFact]] = defaultdict(list)
    for fact in view.patches.values():
        for ref in () if fact.planned else fact.upstream:
            carriers[ref].append(fact)
    for row in view.watchlist.sweep:
        facts = carriers.get(row.upstream)
        if row.planned is None or not facts:
            continue
        names = [f"{fact.id} (which ended)" if fact.retired else fact.id for fact in facts]
        text = f"it is planned ({_short(row.planned)}), and {several(names)} {_carry(names)} {row.upstream} already"
        alive = [fact.id for fact in facts if not fact.retired]
        hint = f"write 'genesis_patch: {several(alive)}'" if alive else f"write {WATCH_ONLY}, or take the row out"
        yield about(row, FindingKind.PLANNED_DONE, Level.WARNING, text, hint)


def unwatched(view: View) -> Iterator[Finding]:
    """Pull requests of active patches that no row watches: their merge would pass unseen."""
    watched = set(view.watchlist.refs())
    carriers: dict[Ref, list[str]] = defaultdict(list)
    for fact in view.patches.values():
        for ref in fact.upstream if fact.active else ():
            if ref not in watched:
                carriers[ref].append(fact.id)
    for ref, names in sorted(carriers.items()):
        yield Finding(
            kind=FindingKind.UNWATCHED,
            severity=Level.WARNING,
            text=f"no row watches {ref}, which {several(names)} {_carry(names)}",
            hint=f"add a row to sweep: 'pr: {ref}' with 'genesis_patch: {several(names)}'",
        )


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _carry(names: list[str]) -> str:
    return "carries" if len(names) == 1 else "carry"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:57]}..."
