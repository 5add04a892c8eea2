"""Pull requests that compete for one patch: whichever is in a pin first decides, and the others are judged again. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from genesisd.watch.held import having, ids
from genesisd.watch.model import Content, Known, PinFacts, State
from genesisd.watch.refs import Ref, parse_ref
from genesisd.watch.rows import Action, Row, Trigger, Watchlist, WatchRow, row_id

_RIVALRY = re.compile(
    r"\b(cluster|racing|race|rivals?|compet\w+|either|whichever|both|duplicates?|successors?|related)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z(#'\"])|\n\s*\n")
# A word just before the number says of what it is a number: another project's, or an issue's.
_MENTION = re.compile(r"(?P<before>\bissues?\s+)?(?<![\w/#-])(?P<ref>(?:[\w.-]+/[\w.-]+|vllm)?#[1-9]\d{3,8})\b")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Pull requests that would each make the same patch superfluous.

    Attributes:
        name: the patch, or for duplicates without one the pull request that they duplicate.
        members: in the order of the file.
    """

    name: str
    members: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Race:
    """How a cluster stands.

    Attributes:
        cluster: which.
        winner: the member that is in a pin, of several the one that was merged first; None: undecided.
        pins: that have it.
        running: members that are still open.
    """

    cluster: Cluster
    winner: Ref | None = None
    pins: tuple[str, ...] = ()
    running: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """Pull requests that the prose of ``row`` names as rivals for ``patch``, and that no row binds to it."""

    row: str
    patch: str
    refs: tuple[Ref, ...]


Find = Callable[[str], str | None]


def clusters(watchlist: Watchlist, find: Find) -> tuple[Cluster, ...]:
    """Every cluster of two or more, by patch, and after those the duplicates that name no patch."""
    same = _duplicates(watchlist)
    named = [(patch, _with(members, same)) for patch, members in _by_patch(watchlist, find).items()]
    taken = {ref for _, members in named for ref in members}
    for ref in same:
        if ref not in taken:
            members = _with({ref: None}, same)
            named.append((str(ref), members))
            taken.update(members)
    return tuple(Cluster(name, tuple(members)) for name, members in named if len(members) > 1)


def _duplicates(watchlist: Watchlist) -> dict[Ref, dict[Ref, None]]:
    """What is the same as each, by the rows that say so; those first that are duplicated and duplicate nothing."""
    said = [(row.upstream, row.duplicate_of) for row in _rows(watchlist) if row.duplicate_of is not None]
    found: dict[Ref, dict[Ref, None]] = {}
    for first in dict.fromkeys(original for _, original in said):
        if first not in {ref for ref, _ in said}:
            found[first] = {}
    for ref, original in said:
        found.setdefault(original, {}).setdefault(ref)
        found.setdefault(ref, {}).setdefault(original)
    return found


def _with(members: Mapping[Ref, None], same: Mapping[Ref, Mapping[Ref, None]]) -> dict[Ref, None]:
    """``members``, what they duplicate, what that duplicates, and so on, be it in a circle."""
    found, waiting = dict(members), list(members)
    for ref in waiting:
        new = [other for other in same.get(ref, ()) if other not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return found


def race(cluster: Cluster, known: Mapping[Ref, Known], pins: Mapping[Ref, tuple[PinFacts, ...]]) -> Race:
    """Who won, and who is still running."""
    pulls = {ref: known[ref].pull for ref in cluster.members if ref in known}
    running = tuple(ref for ref, pull in pulls.items() if pull is not None and pull.state is State.OPEN)
    landed = {ref: found for ref in cluster.members if (found := having(pins.get(ref, ()), Content.PRESENT))}
    if not landed:
        return Race(cluster, running=running)

    def merged_at(ref: Ref) -> float:
        pull = pulls.get(ref)
        return float("inf") if pull is None or pull.merged_at is None else pull.merged_at

    winner = min(landed, key=merged_at)
    return Race(cluster, winner, ids(landed[winner]), running)


def proposals(watchlist: Watchlist, find: Find) -> tuple[Proposal, ...]:
    """Rivals that only prose names: each is told once a patch, at the first row that names it."""
    bound = _by_patch(watchlist, find)
    found = []
    for row in _rows(watchlist):
        for patch in _contested(row, find):
            told = bound[patch]
            new = tuple(ref for ref in rivals(row) if ref not in told)
            if new:
                told.update(dict.fromkeys(new))
                found.append(Proposal(row_id(row), patch, new))
    return tuple(found)


def rivals(row: Row) -> tuple[Ref, ...]:
    """Pull requests that a sentence of the row's prose names together with a word of rivalry."""
    text = row.notes if isinstance(row, WatchRow) else row.note
    found = (ref for part in _SENTENCE.split(text) if _RIVALRY.search(part) for ref in _mentions(part, row.upstream))
    return tuple(dict.fromkeys(ref for ref in found if ref != row.upstream))


def _mentions(sentence: str, own: Ref) -> Iterator[Ref]:
    for found in _MENTION.finditer(sentence):
        if found["before"] is None:
            yield parse_ref(found["ref"], own.repo)


def _by_patch(watchlist: Watchlist, find: Find) -> dict[str, dict[Ref, None]]:
    found: dict[str, dict[Ref, None]] = {}
    for row in _rows(watchlist):
        for patch in _contested(row, find):
            found.setdefault(patch, {}).setdefault(row.upstream)
    return found


def _contested(row: Row, find: Find) -> tuple[str, ...]:
    """The patches that the row would have retired."""
    retires = row.action is Action.RETIRE if isinstance(row, WatchRow) else row.trigger is Trigger.RETIRE
    return tuple(dict.fromkeys(find(name) or name for name in row.patches)) if retires else ()


def _rows(watchlist: Watchlist) -> Iterable[Row]:
    return (*watchlist.watch, *watchlist.sweep)
