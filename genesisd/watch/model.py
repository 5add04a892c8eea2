"""What is known of upstream: a pull request's state, and apart from it what each pin has of it. Pure data.

Three facts are kept apart (state, lineage, content), since each can be true without the others: a merged change may
have been undone, a picked one has another commit, a closed one may have landed by another hand.
Wall times are seconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from genesisd.watch.refs import Ref

AHEAD = 300.0
"""Seconds that a clock may be put back without a word."""


class State(StrEnum):
    """What the repository says of a pull request or an issue. An issue is never merged."""

    OPEN = "open"
    CLOSED = "closed"
    """Without a merge."""
    MERGED = "merged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """One answer of upstream about one pull request or issue.

    Attributes:
        ref: as it was asked for.
        state: now.
        checked_at: when the answer came.
        is_issue: it is an issue.
        title: one line.
        draft: not yet offered for review.
        base: the branch it goes to.
        head: the newest commit of it; a force-push changes it. Verdicts about its diff are kept by this.
        merge_commit: what the merge made on ``base``; None unless merged.
        merged_at, closed_at, updated_at, created_at: None where they do not apply or were not told.
        labels: names.
        files: paths that it changes; None: not asked, or more than were told.
        now_at: where the repository moved to, else None.
    """

    ref: Ref
    state: State
    checked_at: float
    is_issue: bool = False
    title: str = ""
    draft: bool = False
    base: str = ""
    head: str | None = None
    merge_commit: str | None = None
    merged_at: float | None = None
    closed_at: float | None = None
    updated_at: float | None = None
    created_at: float | None = None
    labels: tuple[str, ...] = ()
    files: tuple[str, ...] | None = None
    now_at: Ref | None = None


class WhyUnknown(StrEnum):
    """Why there is no answer. None of them says anything about the pull request."""

    NOT_FOUND = "not-found"
    """404: it is not there, or we may not see it."""
    GONE = "gone"
    """410."""
    BARRED = "barred"
    """451, or a permission that is lacking."""
    LIMITED = "limited"
    """A rate limit; the answer says until when."""
    OUTAGE = "outage"
    """No connection, a 5xx, a body that broke off, a deadline."""
    PARTIAL = "partial"
    """The others of the same batch were answered."""
    CONTRADICTED = "contradicted"
    """The answer goes back behind one that we have: a cache told an old state as new."""
    NOT_ASKED = "not-asked"
    """The budget of requests was spent before its turn."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that got no answer: an unknown, with its time."""

    ref: Ref
    why: WhyUnknown
    at: float
    text: str = ""


Answer = Pull | Unanswered


@dataclass(frozen=True, slots=True)
class Known:
    """The newest answer there is of a ref, and the newest failure if it is newer.

    Attributes:
        pull: the newest answer, however old, or None.
        unknown: why the newest question got none; None where the newest got one.
    """

    ref: Ref
    pull: Pull | None = None
    unknown: Unanswered | None = None

    def age(self, now: float) -> float | None:
        """Seconds since upstream last answered, or None if it never did or by a clock that was ahead: nobody knows."""
        if self.pull is None or self.pull.checked_at > now + AHEAD:
            return None
        return max(0.0, now - self.pull.checked_at)


class Lineage(StrEnum):
    """How a pull request's merge stands to a pin's commit, by git alone. It never tells what the pin's files hold."""

    ANCESTOR = "ancestor"
    CHERRY_PICKED = "cherry-picked"
    """Another commit of the pin's history is told to be a copy, or has the same patch id."""
    REVERTED = "reverted"
    """It is in the history, and so is a later commit that says to undo it."""
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LineageFact:
    """``how`` names the step that decided (merge-base, trailer, patch-id, subject); ``evidence`` shows it."""

    lineage: Lineage = Lineage.UNKNOWN
    how: str = ""
    evidence: str = ""


class Content(StrEnum):
    """Whether a pin's files hold what a pull request brings. Retiring rests on PRESENT alone, backporting on ABSENT."""

    PRESENT = "present"
    ABSENT = "absent"
    CHANGED = "changed"
    """The place was rewritten since: neither yes nor no."""
    NOT_APPLICABLE = "not-applicable"
    """It touches nothing that the pin ships (tests, documents, other languages), or its files are not there."""
    UNKNOWN = "unknown"
    """There was nothing to look with: no diff, no markers, no tree."""


class Rung(StrEnum):
    """What the verdict on content rests on, strongest first."""

    REVERSE_APPLY = "reverse-apply"
    MARKERS = "markers"
    REGION_HASH = "region-hash"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ContentFact:
    """``evidence`` is one line for people: which file and lines, which marker."""

    content: Content = Content.UNKNOWN
    rung: Rung = Rung.NONE
    evidence: str = ""


class Place(StrEnum):
    """Where a change stands to an anchor."""

    INSIDE = "inside"
    """It inserts between lines of the anchor."""
    OVER = "over"
    """It removes or rewrites lines of the anchor."""
    BESIDE = "beside"
    """It changes lines next to it, or of the same scope."""
    TWIN = "twin"
    """It brings a second place that looks like the anchor."""
    MOVED = "moved"
    """The scope or the file of the anchor goes elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """What a pull request's diff does to one edit of one patch, found by applying it to the pin's own files.

    Attributes:
        patch, edit, path: which.
        before, after: how often the anchor is found in its scope. One before and one after is no collision, but
            may be worth a word (``place``).
        place: where the change stands to it.
        breaks: the edit could be made before and cannot after.
        required: the edit is one that the patch cannot do without.
        text: one line for people.
    """

    patch: str
    edit: str
    path: str
    before: int
    after: int
    place: Place
    breaks: bool
    required: bool = True
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorFact:
    """How one of our patches stands on one pin's untouched files (``verdict`` is the patch engine's word)."""

    patch: str
    pin: str
    verdict: str
    lands: bool
    """It can be applied, or has nothing to do because upstream has it."""
    superseded: bool = False
    """One of the patch's own markers of upstream's fix is in the tree."""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinFacts:
    """What one pin has of one pull request.

    Attributes:
        pin: its id.
        slots: the parts it plays (current, rollback, candidate, stable).
        collisions: of its diff with our patches on this pin; None: not looked at (no diff, no tree).
        of: the pin's ``identity`` when it was looked at. Ids are names that people give anew; facts are of files.
        head: the commit whose diff was looked at, or None.
    """

    pin: str
    slots: tuple[str, ...] = ()
    lineage: LineageFact = LineageFact()
    content: ContentFact = ContentFact()
    collisions: tuple[Collision, ...] | None = None
    of: str = ""
    head: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchFact:
    """What the watch needs to know of one patch id.

    Attributes:
        id: as the register has it.
        title: one line.
        implemented: this project has it, so that its anchors can be looked for.
        active: it may be in a build: implemented, and neither retired nor superseded.
        retired: it ended (deprecated, retired or a tombstone).
        planned: the name was given to work that was never seen done.
        upstream: pull requests that it carries, undoes or gives way to.
        files: that it changes, relative to the tree.
        required: it has an edit it cannot do without.
        proven_by: the behaviour test that exists for it, or "".
        superseded_by: the id that took its place.
    """

    id: str
    title: str = ""
    implemented: bool = False
    active: bool = False
    retired: bool = False
    planned: bool = False
    upstream: tuple[Ref, ...] = ()
    files: tuple[str, ...] = ()
    required: bool = False
    proven_by: str = ""
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A pin as the watch sees it.

    Attributes:
        id, version: as in the pins file.
        commit: commit or tag of upstream's repository, or None.
        slots: the parts it plays.
        tree: the folder of its untouched files, or "" where none is cached.
        python: of its environment, or "" where none is built.
    """

    id: str
    version: str
    commit: str | None = None
    slots: tuple[str, ...] = ()
    tree: str = ""
    python: str = ""

    @property
    def identity(self) -> str:
        """Equal for pins with the same files and history, whatever they are called."""
        return f"{self.version} {self.commit or ''}".strip()
