"""The daemon's own log: for people on a terminal, JSON elsewhere; libraries' logging goes the same way."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, TextIO

from genesisd.telemetry.outlet import Outlet
from genesisd.telemetry.unloaded import unloaded

with unloaded("rich"):
    # structlog imports all of itself, and with it rich and pygments where they are: three megabytes of an idle daemon,
    # for tracebacks that are never shown here (see _console). It offers no way to be imported without.
    import structlog
    from structlog.typing import EventDict, Processor, WrappedLogger

Format = Literal["auto", "json", "human"]
_PRIORITY = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_QUIET = ("aiohttp.access", "apscheduler", "asyncio")
"""Loggers whose info says nothing to an operator."""


def configure(
    format: Format = "auto",  # noqa: A002 (the word of the configuration)
    level: str = "info",
    *,
    stream: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
) -> Callable[[], None]:
    """Send all logging to ``stream`` (stderr by default); returns what ends it, after the last lines left.

    Under systemd each line carries its priority, so that ``journalctl -p warning`` works.
    """
    stream = sys.stderr if stream is None else stream
    environ = os.environ if environ is None else environ
    human = format == "human" or (format == "auto" and stream.isatty())
    outlet = Outlet(stream)
    handler: logging.StreamHandler[Any] = logging.StreamHandler(outlet)
    handler.setFormatter(_formatter(human, colours=stream.isatty(), journal=_is_journal(stream, environ)))
    root = logging.getLogger()
    previous = root.handlers[:]
    root.handlers[:] = [handler]
    set_level(level)
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )

    def end() -> None:
        root.handlers[:] = previous
        outlet.close()

    return end


def set_level(level: str) -> None:
    """Change the level while running: a reload may."""
    logging.getLogger().setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger; pass facts as keywords, ``worker`` and ``incarnation`` under these names."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def _shared() -> list[Processor]:
    return [
        structlog.stdlib.filter_by_level,
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _formatter(human: bool, *, colours: bool, journal: bool) -> logging.Formatter:
    foreign = _shared()[1:]
    last: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if human:
        last += [_local_time, _harmless, _console(colours=colours)]
    else:
        last += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    if journal:
        last.append(_with_priority)
    return structlog.stdlib.ProcessorFormatter(processors=last, foreign_pre_chain=foreign)


def _console(*, colours: bool) -> Processor:
    """With plain tracebacks: the fancy ones of an installed rich show local variables, and so may show secrets."""
    return structlog.dev.ConsoleRenderer(
        colors=colours, pad_event_to=24, exception_formatter=structlog.dev.plain_traceback
    )


def _harmless(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """What others wrote (a title of upstream's, a worker's words) steers no terminal. Anything but text is shown quoted."""
    return {
        key: _STEERING.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value
        for key, value in event.items()
    }


def _local_time(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """People at a terminal need the second on their own clock, not the date and the zone."""
    event["timestamp"] = time.strftime("%H:%M:%S")
    return event


def _is_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Systemd gives device and inode of the stream that it connected."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _with_priority(_: WrappedLogger, method: str, line: Any) -> str:
    """One prefix a line: systemd takes each line for an entry of its own."""
    prefix = f"<{_PRIORITY.get(method, 6)}>"
    return "\n".join(prefix + part for part in str(line).splitlines())
