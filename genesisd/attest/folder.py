"""The folder in which the processes of one incarnation report."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from genesisd.attest.report import Report, read_report

_LIMIT = 4 << 20
"""Bytes of the largest report that is read; one of a thousand items has a tenth of that."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """What lies in the folder: reports, and a sentence for each file that is none."""

    reports: tuple[Report, ...] = ()
    faults: tuple[str, ...] = ()


def read_folder(folder: Path, living: Collection[int] | None = None) -> Shelf:
    """Every report of the folder; one that does not exist is empty.

    Args:
        folder: where processes report.
        living: pids whose reports count; None for all. What a process left that is gone is removed then: an engine
            that forks for years would fill the folder, and each look would read it all.

    Raises:
        OSError: the folder is there and may not be read.
    """
    reports, faults = [], []
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return Shelf()
    for path in paths:
        if path.suffix != ".json" or not path.stem.isdecimal():
            continue  # a report that is being written, or nothing of ours
        if living is not None and int(path.stem) not in living:
            _clear(path)
            continue
        try:
            reports.append(_read(path))
        except (ValueError, OSError) as error:
            faults.append(f"{path.name} is not a report: {error}")
    return Shelf(tuple(reports), tuple(faults))


def _clear(path: Path) -> None:
    if not Path("/proc", path.stem).exists():
        with contextlib.suppress(OSError):  # one that cannot be removed is passed over all the same
            path.unlink()


def _read(path: Path) -> Report:
    report = read_report(_text(path))
    if report.pid != int(path.stem):
        raise ValueError(f"it is the report of pid {report.pid}")
    return report


def _text(path: Path) -> str:
    with path.open("rb") as file:
        found = file.read(_LIMIT + 1)
    if len(found) > _LIMIT:
        raise ValueError(f"it is larger than {_LIMIT} bytes")
    return found.decode()  # UnicodeDecodeError is a ValueError
