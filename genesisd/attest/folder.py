"""The folder in which the processes of one incarnation report."""

from __future__ import annotations

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


def read_folder(folder: Path) -> Shelf:
    """Every report of the folder; one that does not exist is empty.

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
        try:
            reports.append(_read(path))
        except (ValueError, OSError) as error:
            faults.append(f"{path.name} is not a report: {error}")
    return Shelf(tuple(reports), tuple(faults))


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
