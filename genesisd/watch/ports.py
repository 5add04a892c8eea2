"""What the watch needs of others. Each port has one adapter in ``wiring`` or ``sources``, and a double in tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from genesisd.errors import GenesisError
from genesisd.watch.cost import Asked, Budget, Release
from genesisd.watch.decisions import Decision, Dossier, KeptDecision, Standing
from genesisd.watch.model import (
    AnchorFact,
    Answer,
    Collision,
    ContentFact,
    Known,
    LineageFact,
    PatchFact,
    Pin,
    PinFacts,
    Pull,
)
from genesisd.watch.refs import Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """Pull requests that changed since a mark.

    Attributes:
        pulls: newest change first, each with ``files`` where the budget allowed.
        mark: what to pass next time.
        complete: everything since the mark was seen; else the budget ended first, and the rest comes next time.
    """

    pulls: tuple[Pull, ...]
    mark: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Diff:
    """A pull request's unified diff, kept by the commit it was taken at.

    Attributes:
        ref, head: of which state of which pull request.
        path: the file in the cache that holds it (bytes as upstream sent them).
        complete: False where upstream told only some files.
    """

    ref: Ref
    head: str
    path: Path
    complete: bool = True


class Upstream(Protocol):
    """The repository's API. Never raises for what upstream does: whatever goes wrong is an Unanswered a ref."""

    async def pulls(self, refs: Sequence[Ref]) -> Mapping[Ref, Answer]:
        """One answer for each of ``refs``."""
        ...

    async def recent(self, repo: str, mark: str | None, *, most: int) -> Recent | None:
        """What changed since ``mark`` (None: the newest page), at most ``most``; None where upstream did not answer."""
        ...

    async def diff(self, pull: Pull) -> Diff | None:
        """Its diff at ``pull.head``, from the cache where it is there; None where it cannot be had."""
        ...

    def asked(self) -> Asked:
        """What was asked since the object was made."""
        ...

    def budget(self) -> Budget:
        """As upstream last told."""
        ...


class Mirror(Protocol):
    """A local copy of upstream's history. Unknown wherever it is missing, shallow, or lacks a commit."""

    async def update(self) -> str | None:
        """Fetch; a sentence where that failed (what is there is used all the same), else None."""
        ...

    async def lineage(self, pulls: Sequence[Pull], pins: Sequence[Pin]) -> Mapping[tuple[Ref, str], LineageFact]:
        """For each pull request and pin id."""
        ...


class Index(Protocol):
    """The package index that pip is configured with.

    Attributes:
        asked: requests over the network since the object was made.
        unchanged: of these, the pages that had not changed.
        troubles: what did not answer the last time, a sentence each.
    """

    asked: int
    unchanged: int
    troubles: tuple[str, ...]

    async def releases(self, package: str) -> tuple[Release, ...] | None:
        """Newest first by version; None where it did not answer."""
        ...


class Appraiser(Protocol):
    """Looks into pins' trees; a process of its own does it, since it reads thousands of files."""

    async def appraise(
        self, pins: Sequence[Pin], pulls: Sequence[Pull], diffs: Mapping[Ref, Diff], patches: Sequence[str]
    ) -> Appraisal:
        """Content of each pull request and its collisions with ``patches`` on each pin that has a tree.

        Raises:
            UnavailableError: the process came to nothing; all that it would have told is unknown.
        """
        ...

    async def dossier(self, patch: str, pull: Pull, diff: Diff | None, pin: Pin, others: Sequence[Pin] = ()) -> Dossier:
        """Ours beside upstream's, edit by edit, and the patch's behaviour test on both. Raises UnavailableError.

        ``others`` are pins on one of which ours may still have its place, where ``pin`` takes it no more.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Appraisal:
    """By pull request and pin id; anchors by pin; ``troubles`` tells, a sentence each, what was not looked at."""

    content: Mapping[tuple[Ref, str], ContentFact]
    collisions: Mapping[tuple[Ref, str], tuple[Collision, ...]]
    anchors: tuple[AnchorFact, ...] = ()
    troubles: tuple[str, ...] = ()


class Patches(Protocol):
    """The register and the catalog."""

    def facts(self) -> Mapping[str, PatchFact]:
        """Every id that was ever named, by its proper spelling."""
        ...

    def find(self, name: str) -> str | None:
        """The id that ``name`` means, in any case of letters or by an alias."""
        ...

    def text_of(self, patch: str) -> str:
        """Equal as long as what the patch looks for and writes is the same; "" for one that is not implemented."""
        ...


class Ledger(Protocol):
    """Which sweeps were done: what makes one a window, never two and never none, also over a restart."""

    async def begin(self, kind: str, window: str, owner: str, now: float, *, lease: float) -> int | None:
        """Claim a window; the sweep's id, or None where it is done or somebody else's lease holds."""
        ...

    async def renew(self, sweep: int, now: float, *, lease: float) -> bool:
        """Hold on to it; False where it was lost."""
        ...

    async def finish(self, sweep: int, now: float, *, outcome: str, summary: Mapping[str, Any]) -> None:
        """It is over: ``done``, ``partial`` or ``failed``. Only what is not failed counts as the window's."""
        ...

    async def last(self, kind: str) -> tuple[str, float] | None:
        """Window and time of the newest sweep of ``kind`` that counts."""
        ...


class Facts(Protocol):
    """What outlives a sweep. A newer failure never takes an older answer away."""

    async def known(self, refs: Sequence[Ref] | None = None) -> Mapping[Ref, Known]:
        """What is known of these, or of all."""
        ...

    async def learn(self, answers: Sequence[Answer]) -> None:
        """Keep answers, and failures beside them."""
        ...

    async def recall(self, kind: str, keys: Sequence[str] | None = None) -> Mapping[str, Any]:
        """Small JSON values of a ``kind`` (etag, appraisal, mark), by key."""
        ...

    async def note(self, kind: str, values: Mapping[str, Any]) -> None:
        """Keep them; None removes one."""
        ...


Refuse = Callable[[KeptDecision, Sequence[Dossier], Sequence[PinFacts]], GenesisError | None]
"""Why an answer cannot be taken, or None: judged by the decision, all dossiers, and what pins have of its pull request."""


class Decisions(Protocol):
    """Decisions and what became of them."""

    async def all(self, *, open_only: bool = False) -> tuple[KeptDecision, ...]:
        """In the order of their ids."""
        ...

    async def meet(self, decisions: Sequence[Decision], now: float, *, covers: Sequence[str] | None) -> Met:
        """Take what triage made, in one transaction.

        New keys open, known ones are seen again, and those of the rows in ``covers`` (None: of all) that were not
        made again have passed. Declined and snoozed ones stay so.
        """
        ...

    async def answer(
        self,
        id_: int,
        standing: Standing,
        *,
        by: str,
        why: str,
        until: float | None,
        revisit_when: Sequence[str],
        refuse: Refuse | None = None,
    ) -> KeptDecision:
        """What a person said. Raises NotFoundError, ConflictError for one that has passed, or what ``refuse`` returns.

        What ``refuse`` is shown is what stands when the answer is kept: nothing can be changed between the two.
        """
        ...

    async def dossiers(self, patch: str | None = None) -> tuple[Dossier, ...]:
        """Newest first."""
        ...

    async def keep_dossier(self, dossier: Dossier, made_from: Pull | None = None) -> bool:
        """Keep it; one a patch, ref and pin.

        Not, and False, where ``made_from`` is not what is known any more: forgotten, or with other commits.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """What a set of decisions changed."""

    opened: tuple[KeptDecision, ...] = ()
    again: tuple[KeptDecision, ...] = ()
    passed: tuple[KeptDecision, ...] = ()
    reopened: tuple[KeptDecision, ...] = ()


class Trials(Protocol):
    """Where trials are opened. Until there are any, the intent is recorded and shown."""

    async def want(self, ref: Ref, patches: Sequence[str], *, why: str) -> str:
        """Record that a trial is wanted; a sentence that says what was done."""
        ...
