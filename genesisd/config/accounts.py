"""Whether the patches that a configuration switches on are accounted for: complaints with their lines, and coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genesisd.config.root import Config
from genesisd.patches.attribution import Severity, coverage, lint, on_with_roles
from genesisd.patches.model import Patch
from genesisd.yamlfile import dotted


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong or unwise about one worker's patches, and where it is written."""

    severity: Severity
    worker: str
    file: str
    line: int
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field}: {self.text}"


def complaints(config: Config, patches: Sequence[Patch], program: str) -> list[Complaint]:
    """Everything that the lint finds in any worker."""
    found = []
    for worker, spec in config.workers.items():
        for one in lint(spec.patches, spec.env, patches, program):
            home, at = config.sources[worker].home(("workers", worker, *one.at))
            found.append(Complaint(one.severity, worker, str(home.path), home.locate(at), dotted(at), one.text))
    return found


def covered(config: Config, patches: Sequence[Patch], program: str) -> float:
    """Share of the patches that are on, over all workers, whose role is known; 1 where none is on."""
    roles = [
        role
        for spec in config.workers.values()
        for role, _ in on_with_roles(spec.patches.attribution, spec.env, patches, program).values()
    ]
    return coverage(roles)
