"""Which processes an engine must have, by its flags, and which role a process has, by its title. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise


class Role(StrEnum):
    """What a process of an engine is there for."""

    API = "api"
    ENGINE = "engine"
    WORKER = "worker"
    OTHER = "other"


WORDS = {Role.API: "API server", Role.ENGINE: "EngineCore", Role.WORKER: "Worker", Role.OTHER: "helper"}
"""What people call them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The least number of processes of each role that must report.

    An engine of one card may run its worker inside EngineCore or beside it, as its platform likes: no worker is
    wanted then, but one that is there must report as well.
    """

    api: int = 1
    engine: int = 1
    worker: int = 0

    def of(self, role: Role) -> int:
        """How many of one role."""
        return {Role.API: self.api, Role.ENGINE: self.engine, Role.WORKER: self.worker}.get(role, 0)


_TITLE = re.compile(r"^\S*?::(\S+)")
_LABELS = (
    (re.compile(r"(DP)?EngineCore"), Role.ENGINE),
    (re.compile(r"(Vllm)?Worker|RayWorker"), Role.WORKER),
    (re.compile(r"A(PI|pi)Server"), Role.API),
)


def label_of(title: str) -> str:
    """``Worker_TP0`` of ``genesis:llm:3::Worker_TP0``; '' for a process that the engine has not named."""
    match = _TITLE.match(title)
    return match[1] if match else ""


def role_of(title: str) -> Role | None:
    """The role of a process by its title; None for one that the engine has not named, or that runs no patched code."""
    label = label_of(title)
    return next((role for pattern, role in _LABELS if pattern.match(label)), None)


def wanted_roles(args: Sequence[str]) -> Wanted:
    """What the flags of ``vllm serve`` ask for. A number that cannot be read counts as the default: vLLM refuses it."""
    given = _flags(args)
    world = given.number("tensor-parallel-size", "tp") * given.number("pipeline-parallel-size", "pp")
    world *= given.number("prefill-context-parallel-size", "pcp")
    backend = given.text("distributed-executor-backend")
    # Ray starts its workers itself, perhaps on other machines; 'uni' and launchers from outside have none.
    apart = backend == "mp" or (backend == "" and world > 1)
    engines = given.number("data-parallel-size", "dp")
    engines = min(engines, given.number("data-parallel-size-local", "dpl", default=engines))
    apis = 0 if given.has("headless") else given.number("api-server-count", "asc")
    return Wanted(max(apis, 1), engines, engines * world if apart else 0)


@dataclass(frozen=True, slots=True)
class _Flags:
    values: dict[str, str]

    def has(self, name: str) -> bool:
        return name in self.values

    def text(self, *names: str) -> str:
        return next((self.values[name] for name in names if name in self.values), "")

    def number(self, *names: str, default: int = 1) -> int:
        text = self.text(*names)
        return int(text) if text.isdecimal() and int(text) > 0 else default


def _flags(args: Sequence[str]) -> _Flags:
    """Long and short flags alike, by name without dashes; the last one counts."""
    values: dict[str, str] = {}
    for one, after in pairwise([*args, ""]):
        if not one.startswith("-"):
            continue
        name, has_value, value = one.lstrip("-").partition("=")
        values[name.replace("_", "-")] = value if has_value else ("" if after.startswith("-") else after)
    return _Flags(values)
