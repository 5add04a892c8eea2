"""A patch: one constant, frozen, that says all there is to know about it. Pure data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from genesisd.patches.conditions import ALWAYS, Condition
from genesisd.patches.edits import AnchorEdit, Edit, Marker
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Forwarded, Implementation, Lifecycle, Origin, Retirement, StableKind
from genesisd.patches.parameters import Parameter


@dataclass(frozen=True, slots=True)
class Proof:
    """A sign of life: how a running engine shows that the patched code was reached. Exactly one of the two is given.

    Attributes:
        role: the process that shows it: ``api``, ``engine`` or ``worker``.
        counter: ``module:name`` of a dict in the patched module that counts under the patch's id.
        log: text of a log line that the patched code writes.
    """

    role: str
    counter: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """What was learned of upstream's own attempt before ours was written.

    Attributes:
        upstream: what upstream does.
        ours: what ours does better, or why not.
        tests: which of upstream's tests were carried over.
    """

    upstream: str
    ours: str
    tests: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What is to be done, where, when, and by whose reasons.

    Attributes:
        id: unique for ever: no id is used again.
        title: one line, for people.
        family: the part of the engine that it concerns.
        lifecycle: how far it is, on all pins alike.
        stable_kind: what a stable patch was proven by.
        implementation: what there is of it.
        origin: where it comes from.
        flag: how it is switched; None for what cannot be switched (a library).
        default_on: the reason to apply it unasked, or "" to wait for its flag. A reason, since a bare yes was
            given away too easily.
        upstream: numbers of upstream pull requests.
        credit: who wrote what it is based on.
        forwarded: whether upstream was offered it.
        applied_upstream: the release or commit in which upstream took it, or None.
        parameters: what else it reads from the environment.
        versions: of the engine, as ``>=0.23.0,<0.26``; "" for all.
        applies_to: the machines and models that it is for.
        requires: ids that must be applied, or superseded, with it.
        conflicts: ids that must not be.
        follows: ids that are applied before it, where both are.
        parts: what a coordinator switches.
        reason: why a patch without edits has none.
        retirement: why a retired patch is, and what replaces it.
        edits: what it does. All that is required, or nothing.
        markers: text of upstream's own fix.
        proofs: how it shows that it is at work; none where it cannot.
        study: of upstream's attempt; without one a backport stays experimental.
    """

    id: str
    title: str
    family: str
    lifecycle: Lifecycle = Lifecycle.EXPERIMENTAL
    stable_kind: StableKind | None = None
    implementation: Implementation = Implementation.FULL
    origin: Origin = Origin.ORIGINAL
    flag: Flag | None = None
    default_on: str = ""
    upstream: tuple[int, ...] = ()
    credit: str = ""
    forwarded: Forwarded = Forwarded.NO
    applied_upstream: str | None = None
    parameters: tuple[Parameter, ...] = ()
    versions: str = ""
    applies_to: Condition = ALWAYS
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    reason: str = ""
    retirement: Retirement | None = None
    edits: tuple[Edit, ...] = ()
    markers: tuple[Marker, ...] = ()
    proofs: tuple[Proof, ...] = ()
    study: Study | None = None

    def bases(self) -> tuple[str, ...]:
        """Ids of the patches on whose output an edit of this one stands."""
        return tuple(dict.fromkeys(edit.after for edit in self.anchored() if edit.after is not None))

    def anchored(self) -> Iterator[AnchorEdit]:
        """The edits that look for an anchor."""
        return (edit for edit in self.edits if isinstance(edit, AnchorEdit))


@dataclass(frozen=True, slots=True)
class ConflictSet:
    """Patches that must not all be applied together, though any fewer may. Evidence, not code."""

    name: str
    members: frozenset[str]
    reason: str
