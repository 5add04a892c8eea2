"""Changing one line of a watchlist: a new value, the old comment, and the evidence behind it. Pure.

All other bytes stay. A row that says so already is left alone, so that a second sweep changes nothing.
"""

from __future__ import annotations

from genesisd.watch.end_comment import evidence_splice
from genesisd.watch.model import State
from genesisd.watch.parts import Scalar
from genesisd.watch.rows import Row, WatchRow
from genesisd.watch.splices import Splice, by_hand, proven, target
from genesisd.watch.yaml_text import scalar


def set_status(text: bytes, row: WatchRow, status: State, evidence: str, *, file: str = "watchlist") -> bytes:
    """``text`` with the status of ``row`` changed, and ``evidence`` in the comment at the end of its line.

    Raises:
        ConfigError: ``text`` is no watchlist, or the line cannot be changed by the byte.
        ConflictError: ``row`` was read from another state of the file, and is not there any more.
    """
    return set_line(text, row, "status", status.value, evidence, file=file)


def set_line(text: bytes, row: Row, field: str, value: str, evidence: str = "", *, file: str = "watchlist") -> bytes:
    """As ``set_status``, for any field whose value stands on one line."""
    aim = target(text, row, file)
    part = aim.part.get(field)
    if not isinstance(part, Scalar) or part.is_block or part.place.line != part.place.last_line:
        place = part.place if part else aim.part.place
        raise by_hand(aim.layout, place, field, "there is no value on one line that could be changed")
    if part.value == value:
        return text
    whole, fields = aim.said()
    fields[field] = value
    change = Splice(part.place.start, part.place.end, scalar(value, part.style).encode())
    beside = evidence_splice(text, aim.layout.root, part.place.end, evidence)
    return proven(aim.layout, [change, beside] if beside else [change], whole)
