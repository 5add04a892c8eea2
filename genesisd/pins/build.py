"""``python -m genesisd.pins.build PINSFILE ID --cache DIR --progress json|human``: one build in its own process.

Its own process, since a build blocks for minutes and must end as a whole: SIGINT and SIGTERM end pip too.
Standard output is progress: with ``json`` one object a line, the last one ``built`` or ``failed``.

Exit status: 0 built (or there already), 1 failed, 2 usage or pins file, 5 requirements contradict each other,
10 an index did not answer, 11 no such pin, version or Python, 12 no disk space, 128 + N ended by signal N.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from genesisd.errors import ConfigError, ConflictError, GenesisError, NotFoundError, UnavailableError
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import build
from genesisd.pins.errors import NoSpaceError
from genesisd.pins.show import HumanShow, JsonShow, Show

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from genesisd.pins.progress import Progress, Report

_STATUS: dict[type[GenesisError], int] = {
    ConfigError: 2,
    ConflictError: 5,
    UnavailableError: 10,
    NotFoundError: 11,
    NoSpaceError: 12,
}


class Interrupted(BaseException):
    """A signal asked for the end; not an Exception, so that nothing on the way mistakes it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Signals:
    """SIGINT, SIGTERM and SIGHUP as an Interrupted, once."""

    _numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._came: int | None = None
        for number in self._numbers:
            signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, _frame: FrameType | None) -> NoReturn:
        # Once is enough: a second Ctrl-C must not cut the ending of pip short.
        for other in self._numbers:
            signal.signal(other, signal.SIG_IGN)
        self._came = number
        raise Interrupted(number)

    def checked(self, report: Report) -> Report:
        """``report``, which raises again what Python swallowed because it was raised inside a finalizer."""

        def told(progress: Progress) -> None:
            if self._came is not None:
                raise Interrupted(self._came)
            report(progress)

        return told


def main(argv: Sequence[str] | None = None) -> int:
    """Build one pin; returns the exit status."""
    asked = _parser().parse_args(argv)
    show: Show = JsonShow(sys.stdout) if asked.progress == "json" else HumanShow(sys.stdout)
    signals = _Signals()
    with show:
        try:
            pin = find_pin(load_pins(asked.pinsfile), asked.id)
            show.built(build(pin, asked.cache.expanduser(), signals.checked(show.progress)))
        except GenesisError as error:
            show.failed(error)
            return _STATUS.get(type(error), 1)
        except Interrupted as interrupted:
            show.interrupted(signal.Signals(interrupted.number))
            return 128 + interrupted.number
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m genesisd.pins.build", description="Build the environment of a pin."
    )
    parser.add_argument("pinsfile", type=Path)
    parser.add_argument("id")
    parser.add_argument("--cache", type=Path, required=True, help="folder for environments and downloads")
    parser.add_argument("--progress", choices=("json", "human"), default="human")
    return parser


if __name__ == "__main__":
    sys.exit(main())
