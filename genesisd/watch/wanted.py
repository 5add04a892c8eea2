"""What a sweep asks for: which rows, which pull requests, whose diffs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import Known, PatchFact, Pull, State
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Row, Watchlist, WatchRow
from genesisd.watch.severity import is_grave, written


def rows_of(watchlist: Watchlist, kind: SweepKind) -> tuple[Row, ...]:
    """The rows that a sweep of ``kind`` looks at: an hourly one at those of P0 and P1, and at their twins below."""
    rows: tuple[Row, ...] = (*watchlist.watch, *watchlist.sweep)
    if kind is not SweepKind.HOURLY:
        return rows
    urgent = {row.upstream for row in watchlist.watch if (told := written(row)) is not None and is_grave(told)}
    return tuple(row for row in rows if row.upstream in urgent)


def refs_of(rows: Iterable[Row], patches: Iterable[PatchFact] = (), more: Iterable[Ref] = ()) -> tuple[Ref, ...]:
    """Every pull request that these rows, active patches and ``more`` (markers, gates) speak of, each once."""
    found: list[Ref] = []
    for row in rows:
        found += [ref for ref in (row.upstream, row.duplicate_of) if ref is not None]
        if isinstance(row, WatchRow) and row.fix_upstream is not None:
            found.append(row.fix_upstream)
    found += [ref for patch in patches if patch.active for ref in patch.upstream]
    return tuple(dict.fromkeys((*found, *more)))


def with_diffs(refs: Iterable[Ref], known: Mapping[Ref, Known]) -> tuple[Pull, ...]:
    """The pull requests whose content can be looked for: whatever has a commit at its head, merged or not.

    Closed ones too: what was closed may have landed by another hand.
    """
    pulls = [known[ref].pull for ref in refs if ref in known]
    return tuple(pull for pull in pulls if pull is not None and not pull.is_issue and pull.head is not None)


def merged(pulls: Sequence[Pull]) -> tuple[Pull, ...]:
    """Those whose merge can be sought in a history: by its commit, or where upstream lost that, by what commits say."""
    return tuple(pull for pull in pulls if pull.state is State.MERGED)


def touching(pull: Pull, patches: Iterable[PatchFact]) -> tuple[str, ...]:
    """Ids of the active patches that change a file which ``pull`` changes too."""
    files = frozenset(pull.files or ())
    return tuple(patch.id for patch in patches if patch.active and not files.isdisjoint(patch.files))
