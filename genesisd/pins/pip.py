"""Pip as a child of the builder: of the environment that is being built, with the operator's own configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from genesisd.pins import child
from genesisd.pins.complaint import Complaint, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_MISLEAD = {
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_REQUIRE_VIRTUALENV",
}
"""Would send what is installed, or what is imported, elsewhere."""


class PipFailed(Exception):  # noqa: N818 - told apart and replaced before anybody sees it
    """Pip ended with an error."""

    def __init__(self, complaint: Complaint, output: tuple[str, ...]) -> None:
        super().__init__(complaint)
        self.complaint = complaint
        self.output = output


@dataclass(frozen=True)
class Pip:
    """The pip of ``python``; all that it writes besides its task lies under ``work``."""

    python: Path
    work: Path
    keep_fd: int | None = None

    def configured(self, command: str, *arguments: str, on_line: Callable[[str], None] = lambda _: None) -> None:
        """Run with the configuration and environment of the operator. Raises PipFailed."""
        self._run((command, *arguments), tool_environment(self.work), on_line=on_line)

    def isolated(self, command: str, *arguments: str, on_tick: Callable[[], None] = lambda: None) -> None:
        """Run with no configuration at all: everything it needs is in its arguments. Raises PipFailed."""
        own = {key: value for key, value in tool_environment(self.work).items() if not key.startswith("PIP_")}
        own["PIP_CONFIG_FILE"] = os.devnull
        self._run((command, "--disable-pip-version-check", "--no-cache-dir", *arguments), own, on_tick=on_tick)

    def _run(
        self,
        arguments: Sequence[str],
        env: dict[str, str],
        *,
        on_line: Callable[[str], None] = lambda _: None,
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        log = self.work / "pip.log"
        log.unlink(missing_ok=True)
        argv = (str(self.python), "-m", "pip", "--log", str(log), *arguments)
        ended = child.run(argv, env=env, keep_fd=self.keep_fd, on_line=on_line, on_tick=on_tick)
        if ended.code != 0:
            raise PipFailed(_explain(ended.lines, log), ended.lines)


def tool_environment(work: Path) -> dict[str, str]:
    """The operator's environment, less what would mislead, with every by-product below ``work``."""
    temporary = work / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if key not in _MISLEAD}
    return kept | {
        "PIP_CACHE_DIR": str(work / "pip-cache"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_USER": "0",
        "PIP_PROGRESS_BAR": "off",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": str(temporary),
        "LC_ALL": "C.UTF-8",
    }


def _explain(lines: tuple[str, ...], log: Path) -> Complaint:
    try:
        with log.open(errors="replace") as file:
            return explain(lines, file)
    except OSError:
        return explain(lines, ())
