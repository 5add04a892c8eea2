"""How bad a row is where it strikes, and how soon a decision about it is due. Pure.

A written severity counts as it stands. Where none is written, one is derived from what the row binds and from
upstream's title and labels; it is always told as derived.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from genesisd.watch.decisions import QUIET, DecisionKind, Urgency
from genesisd.watch.model import PatchFact, Pull
from genesisd.watch.rows import Action, Row, Severity, Trigger, WatchRow

_GRAVE = re.compile(
    r"\b(crash\w*|segfault\w*|sigsegv|illegal memory|IMA|OOM|out of memory|deadlock\w*|hangs?|livelock|"
    r"corrupt\w*|wrong|incorrect\w*|garbage|gibberish|NaNs?|accuracy|race|silent\w*|out of bounds)\b",
    re.IGNORECASE,
)
_DEFECT = re.compile(r"\b(bug|bugfix|fix|fixes|regression|revert)\b", re.IGNORECASE)
_HARMLESS = re.compile(r"^\s*(?:\[(?:perf\w*|doc\w*|ci\b.*?|test\w*|misc|refactor|frontend)\]\s*)+", re.IGNORECASE)

_ORDER = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Rated:
    """A severity, whether it was derived, and what from."""

    severity: Severity
    derived: bool = False
    why: str = "written in the watchlist"


def written(row: Row) -> Severity | None:
    """The class at the beginning of the row's severity, such as P0 of ``P0-correctness``; None where there is none."""
    text = row.severity if isinstance(row, WatchRow) else None
    return next((one for one in Severity if text is not None and text.startswith(one)), None)


def rate(row: Row, pull: Pull | None, bound: Iterable[PatchFact], told: Severity | None = None) -> Rated:
    """The row's severity; ``bound`` are the active patches that it names, ``told`` is what another row of it says."""
    told = written(row) or told
    return derive(row, pull, tuple(bound)) if told is None else Rated(told)


def derive(row: Row, pull: Pull | None, bound: tuple[PatchFact, ...]) -> Rated:
    """From what would go unseen if nobody looked, and from how grave upstream's title sounds."""
    anchors = row.action is Action.DRIFT_CHECK if isinstance(row, WatchRow) else row.trigger is Trigger.REANCHOR
    needed = [patch.id for patch in bound if patch.required]
    if anchors and needed:
        return Rated(Severity.P1, derived=True, why=f"{needed[0]} cannot be applied once an anchor of it is gone")
    title = "" if pull is None else pull.title
    grave = _GRAVE.search(title)
    if grave is not None and bound:
        return Rated(Severity.P1, derived=True, why=f"the title says {grave[0]!r}, and it binds {bound[0].id}")
    harmless = _HARMLESS.match(title)
    labels = " ".join(() if pull is None else pull.labels)
    defect = grave or _DEFECT.search(title) or _DEFECT.search(labels)
    if defect is not None and harmless is None:
        return Rated(Severity.P2, derived=True, why=f"upstream calls it {defect[0]!r}")
    if bound:
        return Rated(Severity.P2, derived=True, why=f"it binds {bound[0].id}, which may be in a build")
    return Rated(Severity.P3, derived=True, why="nothing of ours hangs on it")


def at_least(rated: Rated, least: Severity, why: str) -> Rated:
    """``rated``, raised to ``least`` where it is milder; what was raised is told as derived."""
    if _ORDER.index(rated.severity) <= _ORDER.index(least):
        return rated
    return Rated(least, derived=True, why=why)


def is_grave(severity: Severity) -> bool:
    """Whether an hourly sweep looks at it."""
    return severity in {Severity.P0, Severity.P1}


_SERVING = {Severity.P0: Urgency.NOW, Severity.P1: Urgency.NOW, Severity.P2: Urgency.SOON, Severity.P3: Urgency.LATER}
_ELSEWHERE = {
    Severity.P0: Urgency.SOON,
    Severity.P1: Urgency.SOON,
    Severity.P2: Urgency.LATER,
    Severity.P3: Urgency.LATER,
}
_SOONEST = tuple(Urgency)
AT_MOST: dict[DecisionKind, Urgency] = {
    DecisionKind.RETIRE_CANDIDATE: Urgency.SOON,
    DecisionKind.REANCHOR: Urgency.NOW,
    DecisionKind.REVIEW: Urgency.SOON,
    DecisionKind.BACKPORT_NOT_NEEDED: Urgency.LATER,
    DecisionKind.BACKPORT_WANTED: Urgency.NOW,
    DecisionKind.TRIGGER_DEAD: Urgency.LATER,
    DecisionKind.CLUSTER_DECIDED: Urgency.LATER,
    DecisionKind.PAIR_GATE: Urgency.NOW,
    DecisionKind.REGRESSION: Urgency.NOW,
    DecisionKind.TRIAL: Urgency.SOON,
    DecisionKind.STALE: Urgency.SOON,
    DecisionKind.COOKBOOK: Urgency.NONE,
    DecisionKind.NOTE: Urgency.NONE,
}
"""The soonest that a kind can be due. Giving something up is never pressing; what is broken may be."""


def urgency(kind: DecisionKind, severity: Severity, *, serving: bool) -> Urgency:
    """How soon a decision is due; ``serving``: it speaks of the pin that serves now."""
    if kind in QUIET:
        return Urgency.NONE
    due = (_SERVING if serving else _ELSEWHERE)[severity]
    return max(due, AT_MOST[kind], key=_SOONEST.index)
