"""What comes of attesting one life. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from genesisd.attest.roles import Role


class State(StrEnum):
    """Whether a life runs what its build says."""

    ATTESTED = "attested"
    PENDING = "pending"
    REFUSED = "refused"


class Cause(StrEnum):
    """What is wrong with a process."""

    DIGEST = "digest"
    """A thing is alive and is not the build's."""
    MISSING = "missing"
    """A thing is not there."""
    ORIGIN = "origin"
    """A module comes from elsewhere."""
    UNPATCHED = "unpatched"
    """The process runs another vLLM, or another build."""
    UNSEEN = "unseen"
    """The plugin reported, and left something out."""
    SILENT = "silent"
    """No report came in time."""
    FILE = "file"
    """A file of the build is not the one that was built."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the tree, as the kernel shows it."""

    pid: int
    start_ticks: int
    title: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason to refuse.

    Attributes:
        process: as people call it: ``EngineCore (pid 17)``.
        item: full name of the function or constant, '' where the whole process is meant.
        text: the whole sentence.
        patches: ids of the patches concerned; empty where it is all of them.
    """

    cause: Cause
    pid: int | None
    process: str
    item: str
    text: str
    patches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleView:
    """What the processes of one role run.

    Attributes:
        processes: as people call them.
        wanted: how many there must be at least.
        live: things that were found as the build has them, in the process that has the most.
        not_loaded: things whose modules that process has not imported.
    """

    role: Role
    processes: tuple[str, ...]
    wanted: int
    live: int
    not_loaded: int


class Standing(StrEnum):
    """What is known of one patch in one life."""

    ATTESTED = "attested"
    NOT_LOADED = "not_loaded"
    UNATTESTABLE = "unattestable"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PatchView:
    """One patch.

    Attributes:
        items: things that it changed and that can be attested.
        live: by role, how many of those are alive somewhere.
        blind: what it changed and nobody can look at, as sentences.
    """

    id: str
    standing: Standing
    items: int
    live: Mapping[Role, int]
    blind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attestation:
    """The judgement on one life.

    Attributes:
        findings: why it is refused.
        waiting: what it waits for, as sentences.
        faults: what the plugin could not do without harm to the judgement.
    """

    state: State
    findings: tuple[Finding, ...]
    waiting: tuple[str, ...]
    roles: tuple[RoleView, ...]
    patches: tuple[PatchView, ...]
    faults: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One sentence for people."""
        match self.state:
            case State.REFUSED:
                more = len(self.findings) - 1
                return self.findings[0].text + (f" (and {more} more)" if more else "")
            case State.PENDING:
                return "; ".join(self.waiting)
            case State.ATTESTED:
                told = ", ".join(f"{one.role} {len(one.processes)}" for one in self.roles if one.processes)
                return f"every process runs the build ({told})"
