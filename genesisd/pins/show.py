"""A build's progress on standard output: JSON lines for programs, a live line or plain lines for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from rich.console import Console

from genesisd.pins.disk import human

if TYPE_CHECKING:
    import signal
    from types import TracebackType

    from genesisd.errors import GenesisError
    from genesisd.pins.environment import Environment
    from genesisd.pins.progress import Progress

VERSION = 1
"""Of the JSON lines."""


class Show(Protocol):
    """Where a build tells how it goes."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def progress(self, progress: Progress) -> None:
        """A step moved."""

    def built(self, environment: Environment) -> None:
        """It is there."""

    def failed(self, error: GenesisError) -> None:
        """It is not, for a reason to act on."""

    def interrupted(self, number: signal.Signals) -> None:
        """Somebody ended it."""


class JsonShow:
    """One object a line: ``{"v": 1, "event": "progress" | "built" | "failed", ...}``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def progress(self, progress: Progress) -> None:
        """Step, message, and done, total, unit, percent or null."""
        p = progress
        counts = {"done": p.done, "total": p.total, "unit": p.unit, "percent": p.percent}
        self._write("progress", step=p.step.value, message=p.message, **counts)

    def built(self, environment: Environment) -> None:
        """Where it is and what it took."""
        where = {key: str(getattr(environment, key)) for key in ("path", "python", "vllm")}
        made = environment.manifest
        self._write("built", name=environment.name, seconds=made.seconds, bytes=made.bytes, **where)

    def failed(self, error: GenesisError) -> None:
        """As the control API tells errors."""
        self._write("failed", code=error.code, message=error.message, hint=error.hint, fields=error.fields)

    def interrupted(self, number: signal.Signals) -> None:
        """A failure with code ``interrupted``."""
        told = f"ended by {number.name}; what was fetched is kept"
        self._write("failed", code="interrupted", message=told, hint="build again to go on", fields={})

    def _write(self, event: str, **content: object) -> None:
        self._out.write(json.dumps({"v": VERSION, "event": event} | content, default=str) + "\n")
        self._out.flush()


class HumanShow:
    """A live line on a terminal; elsewhere a line for each step and for each tenth of it."""

    def __init__(self, out: TextIO) -> None:
        self._console = Console(file=out, highlight=False, soft_wrap=True)
        self._status = self._console.status("starting") if self._console.is_terminal else None
        self._said: tuple[str, int | None] | None = None

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def progress(self, progress: Progress) -> None:
        """The step, how far, and what."""
        share = "" if progress.percent is None else f"{progress.percent:3.0f} % "
        line = f"{progress.step.value:<9}{share}{progress.message}"
        if self._status is not None:
            self._status.update(line[: self._console.width - 4].replace("[", r"\["))
            return
        tenth = None if progress.percent is None else int(progress.percent // 10)
        if self._said != (progress.step.value, tenth):
            self._said = (progress.step.value, tenth)
            self._print(line)

    def built(self, environment: Environment) -> None:
        """Where it is and what it took."""
        made = environment.manifest
        self._print(f"built {environment.path} ({human(made.bytes)}, {made.seconds:.0f} s)")

    def failed(self, error: GenesisError) -> None:
        """What is wrong, and how to mend it."""
        self._print(f"failed: {error.message}" + (f"\n  {error.hint}" if error.hint else ""))

    def interrupted(self, number: signal.Signals) -> None:
        """That nothing is lost."""
        self._print(f"ended by {number.name}; what was fetched is kept: build again to go on")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False)
