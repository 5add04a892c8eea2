"""Whether the patches that a configuration switches on are accounted for: complaints with their lines, and coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genesisd.config.root import Config
from genesisd.patches.attribution import Severity, coverage, lint, on_with_roles
from genesisd.patches.environ import Contradiction, Problem, Undeclared, environ_problems
from genesisd.patches.flags import ENABLE
from genesisd.patches.model import Patch
from genesisd.patches.parameters import BadValue
from genesisd.yamlfile import dotted

PHANTOM = "phantom-env"
"""The finding that keys of ours mean nothing: it can be waived, as every other."""


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


def environ_complaints(config: Config, patches: Sequence[Patch]) -> list[Complaint]:
    """Keys of ours in a worker's ``env`` that mean nothing there, or whose value cannot be used."""
    found = []
    for worker, spec in config.workers.items():
        problems = environ_problems(spec.env, patches, spec.patches.extra_env)
        waived = PHANTOM in spec.patches.waive
        told = {one.name: _of_variable(one) for one in problems if not (waived and isinstance(one, Undeclared))}
        if spec.pin is None:
            switches = (name for name in spec.env if name.startswith(ENABLE) and name not in spec.patches.extra_env)
            told |= dict.fromkeys(
                switches, "only a worker with a 'pin' gets patches: this one has a command of its own"
            )
        for name, text in told.items():
            home, at = config.sources[worker].home(("workers", worker, "env", name))
            found.append(Complaint(Severity.ERROR, worker, str(home.path), home.locate(at), dotted(at), text))
    return found


def _of_variable(problem: Problem) -> str:
    if isinstance(problem, Contradiction):
        return str(problem)
    if isinstance(problem, BadValue):
        return f"{problem.found!r} cannot be used: expected {problem.expected}"
    near = f"; did you mean {problem.near}?" if problem.near else ""
    return f"no patch declares it, so that it would do nothing{near}; list it under patches.extra_env to pass it on"


def covered(config: Config, patches: Sequence[Patch], program: str) -> float:
    """Share of the patches that are on, over all workers, whose role is known; 1 where none is on."""
    roles = [
        role
        for spec in config.workers.values()
        for role, _ in on_with_roles(spec.patches.attribution, spec.env, patches, program).values()
    ]
    return coverage(roles)
