"""What an operator declares about the watch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from genesisd.units import Duration, SpecModel
from genesisd.watch.cron import parse_cron

NonEmpty = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def _readable(line: str) -> str:
    parse_cron(line)
    return line


Cron = Annotated[str, AfterValidator(_readable)]
"""As ``watch.cron`` reads it: what it cannot read is told where it is written, and not when a sweep should begin."""


class TokenSpec(SpecModel):
    """Where the API token is; the file's content is never logged. Without one, sixty requests an hour must do."""

    file: Path | None = None
    """Readable by the daemon alone, one line."""
    credential: NonEmpty | None = None
    """Name of a systemd credential (LoadCredential=)."""


class ScheduleSpec(SpecModel):
    """When to sweep: five cron fields, UTC. Null: never."""

    nightly: Cron | None = "30 2 * * *"
    """All rows."""
    hourly: Cron | None = "5 * * * *"
    """Rows of P0 and P1."""
    weekly: Cron | None = "0 4 * * 0"
    """All rows, with nothing taken from what was kept."""
    jitter: Duration = Field(default=300.0, ge=0, le=3600)


class NewPullsSpec(SpecModel):
    """Pull requests that no row names yet."""

    most: int = Field(default=10, ge=0, le=100)
    """Told a night."""
    pages: int = Field(default=5, ge=0, le=50)
    """Requests that looking for them may cost a night."""
    labels: tuple[NonEmpty, ...] = ()
    models: tuple[NonEmpty, ...] = ()
    """Families besides those that the workers serve."""


class WatchSpec(SpecModel):
    """``watch`` in the main file. Without a watchlist nothing is watched."""

    watchlist: Path | None = None
    """Relative to the file that names it. The daemon changes the status lines in it."""
    markers: Path | None = None
    """Markers and gates; None: those that come with the project."""
    repository: NonEmpty = "vllm-project/vllm"
    package: NonEmpty = "vllm"
    """Of the index, for new releases."""
    api: NonEmpty = "https://api.github.com"
    token: TokenSpec = TokenSpec()
    mirror: Path | None = None
    """A bare clone of the repository; blobless will do, shallow will not. None: lineage is unknown."""
    fetch: bool = True
    """Bring the mirror up to date before a sweep."""
    schedule: ScheduleSpec = ScheduleSpec()
    new_pulls: NewPullsSpec = NewPullsSpec()
    requests: int = Field(default=200, ge=10, le=5000)
    """The most that one sweep may ask of the API."""
    max_age: Duration = Field(default=172800.0, ge=3600)
    """A row whose facts are older is told as unknown."""
    commit: bool = False
    """Commit the changed watchlist with git, the evidence in the message."""
    reports: int = Field(default=90, ge=1, le=10000)
    """How many are kept."""
