"""The wire's words for patches: see ``messages``."""

from __future__ import annotations

from genesisd.control.message import Answer, Wire


class BuildMessage(Wire):
    """What a living worker runs, in short."""

    build: str | None
    state: str
    text: str
    applied: int
    lost: list[str]


class RoleMessage(Wire):
    """What the processes of one role were found to run."""

    role: str
    processes: list[str]
    wanted: int
    live: int
    not_loaded: int


class PatchMessage(Wire):
    """One patch in one life."""

    id: str
    verdict: str
    text: str
    role: str
    standing: str
    use: str
    hits: int
    skips: dict[str, int]
    blind: list[str]


class PatchesAnswer(Answer):
    """Answer of GET /v1/workers/NAME/patches."""

    worker: str
    build: BuildMessage
    roles: list[RoleMessage]
    findings: list[str]
    patches: list[PatchMessage]
    warnings: list[str]
    faults: list[str]
