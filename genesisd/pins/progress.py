"""How far a build has come: frozen events for whoever shows or stores them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Step(StrEnum):
    """The steps of an environment, then those that only a patched build has."""

    WAIT = "wait"
    """Another builder of the same environment is at work."""
    VENV = "venv"
    RESOLVE = "resolve"
    DOWNLOAD = "download"
    INSTALL = "install"
    COMPILE = "compile"
    CHECK = "check"
    PRISTINE = "pristine"
    """A build's first: what the environment holds of the engine is hashed and recorded, once."""
    LINK = "link"
    PATCH = "patch"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Progress:
    """One thing that happened; ``done`` of ``total`` where the step can tell."""

    step: Step
    message: str
    done: int | None = None
    total: int | None = None
    unit: Literal["items", "bytes"] = "items"

    @property
    def percent(self) -> float | None:
        """Share of the step that is done, 0 to 100."""
        if self.done is None or not self.total:
            return None
        return min(100.0, 100.0 * self.done / self.total)


Report = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """A Report that shows nothing."""
