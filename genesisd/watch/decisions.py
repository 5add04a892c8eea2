"""What follows from the facts about a row: a decision for a person, with its reason. Pure data.

Nothing here retires or changes a patch: the strongest decision asks a person to look at a dossier.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from genesisd.watch.refs import Ref


class DecisionKind(StrEnum):
    """What a person is asked, or told."""

    RETIRE_CANDIDATE = "retire-candidate"
    """The content is in a pin: look at the dossier, then accept or decline."""
    REANCHOR = "re-anchor-needed"
    """An edit that lands today does not land on a pin, or will not once the pull request is in."""
    REVIEW = "review"
    BACKPORT_NOT_NEEDED = "backport-no-longer-needed"
    """Planned or unimplemented work whose content a pin has."""
    BACKPORT_WANTED = "backport-wanted"
    """Merged, and absent from a pin that we run."""
    TRIGGER_DEAD = "trigger-can-never-fire"
    """Closed without a merge: what waits for the merge waits for ever."""
    CLUSTER_DECIDED = "cluster-decided"
    """One of several that compete for a patch is in a pin: judge the others again, once."""
    PAIR_GATE = "pair-gate"
    """A pin has a change that blocks a lane, and none of those that mend it."""
    REGRESSION = "regression-in-pin"
    """A pin has what breaks us and lacks the fix, or lost what it had."""
    TRIAL = "trial"
    """Open an enable or verify trial; the intent is recorded."""
    STALE = "unknown"
    """Upstream could not be asked for longer than allowed, or never answered."""
    COOKBOOK = "cookbook"
    NOTE = "note"
    """Nothing to do; said so that the report has a line for every row."""


QUIET = frozenset({DecisionKind.NOTE, DecisionKind.COOKBOOK})
"""Not counted as open."""


class Urgency(StrEnum):
    """How soon: derived from severity and from whether a pin that serves is concerned."""

    NOW = "now"
    SOON = "soon"
    LATER = "later"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One, as triage makes it.

    Attributes:
        kind: what is asked.
        row: ``rows.row_id``, or "" for one that no row stands for (a gate, a new pull request).
        ref: the pull request.
        patches: ids concerned.
        pins: ids of the pins it speaks of.
        urgency: how soon.
        severity: ``P0`` to ``P3``.
        derived: the severity was not written but derived.
        reason: one sentence.
        evidence: lines that show it, strongest first.
        key: equal for what a person would call the same decision again; a decline or snooze holds for it.
    """

    kind: DecisionKind
    row: str
    ref: Ref
    patches: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    urgency: Urgency = Urgency.NONE
    severity: str = "P3"
    derived: bool = True
    reason: str
    evidence: tuple[str, ...] = ()
    key: str = ""


class Standing(StrEnum):
    """What became of a decision."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    SNOOZED = "snoozed"
    PASSED = "passed"
    """The facts no longer ask for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDecision:
    """A decision and what became of it.

    Attributes:
        id: people quote it; never used twice.
        decision: as last made.
        opened, seen: when first and last made.
        standing: now.
        by: who answered (``root``, ``uid 1000``), or "".
        why: the reason given for the answer.
        until: a snooze ends then, or None.
        revisit_when: predicates; when one turns true a declined decision opens again, at once.
    """

    id: int
    decision: Decision
    opened: float
    seen: float
    standing: Standing = Standing.OPEN
    by: str = ""
    why: str = ""
    until: float | None = None
    revisit_when: tuple[str, ...] = ()


class Outcome(StrEnum):
    """What a deep diff of ours against upstream's came to."""

    RETIRE = "retire"
    """Upstream has all of it."""
    PARTIAL = "partial"
    """Upstream has some of it: the rest stays."""
    KEEP = "keep"
    """Upstream has none of it, or its own fails where ours passes."""
    DIFFERENT = "different-approach"
    """The same goal by another way: a person judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDossier:
    """One edit beside what upstream did at its place. ``ours`` and ``upstreams`` are unified diffs or excerpts."""

    edit: str
    path: str
    ours: str
    upstreams: str
    covered: bool | None
    """Upstream's text brings what the edit brings; None: cannot be told."""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """What must lie before a person who retires a patch.

    Attributes:
        patch, ref, pin: what against what.
        outcome: of the comparison.
        edits: one each.
        tests: name of a behaviour test -> what it said on the pin without our patch and with it.
        ran: those of them that were run on the pin's own files.
        made_at: when.
        reason: one sentence.
        of: the pin's ``identity`` when it was made: with another version under its id it shows nothing any more.
        head: upstream's commit whose diff it shows: a push makes another of it.
        ours: ``Patches.text_of`` the patch when it was made: with other edits there is something that nobody looked at.
        no_environment: ids of pins on which a test would have been run, had they had one: where one has it since, there
            is more to know. None: an earlier version made it, which did not keep that.
    """

    patch: str
    ref: Ref
    pin: str
    outcome: Outcome
    edits: tuple[EditDossier, ...]
    tests: dict[str, str]
    made_at: float
    reason: str
    ran: tuple[str, ...] = ()
    of: str = ""
    head: str | None = None
    ours: str = ""
    no_environment: tuple[str, ...] | None = None
