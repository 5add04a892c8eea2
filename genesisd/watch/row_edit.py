"""Whole rows and fields: added, changed, taken out, with every other line left as it is. Pure.

Comments outside the lines of a row are nobody's: they stay when the row goes, since more of them head a group of rows
than speak of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genesisd.watch.edit import set_line
from genesisd.watch.layout import SENTINEL, Layout, lay_out
from genesisd.watch.parts import Plain, Scalar
from genesisd.watch.row_reading import SWEEP_FIELDS, WATCH_FIELDS
from genesisd.watch.rows import Row
from genesisd.watch.splices import Splice, Target, by_hand, content_end, newline, next_line, pair_end, proven, target
from genesisd.watch.yaml_text import Value, field_lines, row_lines

FIELDS = {"watch": WATCH_FIELDS, "sweep": SWEEP_FIELDS}


def add_row(text: bytes, section: str, fields: Mapping[str, Value], *, file: str = "watchlist") -> bytes:
    """``text`` with a row at the end of ``section`` (``watch`` or ``sweep``).

    Raises:
        ConfigError: ``text`` is no watchlist, or would be none with the row (a field that is wrong or missing, a
            second row of the same pull request), or its section stands in brackets.
    """
    layout = lay_out(text, file)
    ordered = [(name, fields[name]) for name in FIELDS[section] if name in fields]
    ordered += [(name, value) for name, value in fields.items() if name not in FIELDS[section]]
    whole = layout.said()
    # A new section goes before the sentinel, but order is no part of what a mapping says.
    whole.setdefault(section, []).append({name: _plain(value) for name, value in ordered})
    return proven(layout, _addition(layout, section, ordered), whole)


def retire_row(text: bytes, row: Row, *, file: str = "watchlist") -> bytes:
    """``text`` without ``row``: exactly the lines from its dash to its last value. Raises as ``set_status`` does."""
    aim = target(text, row, file)
    if aim.listing.flow:
        raise by_hand(aim.layout, aim.part.place, aim.section, "the section is in brackets")
    whole, fields = aim.said()
    rows = whole[aim.section]
    rows.remove(fields)
    cut = Splice(_dash_line(aim), next_line(text, content_end(text, aim.part)), b"")
    return proven(aim.layout, [cut] if rows else [cut, _emptied(aim)], whole)


def update_row(text: bytes, row: Row, changes: Mapping[str, Value | None], *, file: str = "watchlist") -> bytes:
    """``text`` with fields of ``row`` set, or taken out where the new value is None. Raises as ``set_status`` does."""
    for name, value in changes.items():
        text = _update(text, row, name, value, file)
    return text


def _update(text: bytes, row: Row, name: str, value: Value | None, file: str) -> bytes:
    aim = target(text, row, file)
    part = aim.part.get(name)
    if part is None and value is None:
        return text
    if isinstance(part, Scalar) and isinstance(value, str) and _is_line(part) and "\n" not in value:
        return set_line(text, row, name, value, file=file)
    whole, fields = aim.said()
    if value is None:
        del fields[name]
    elif fields.get(name) == _plain(value):
        return text
    else:
        fields[name] = _plain(value)
    return proven(aim.layout, [_field(aim, name, value)], whole)


def _is_line(part: Scalar) -> bool:
    return not part.is_block and part.place.line == part.place.last_line and part.place.start < part.place.end


def _field(aim: Target, name: str, value: Value | None) -> Splice:
    """The lines of one field, in the place of those that are there, or behind the field that comes before it."""
    if aim.part.flow:
        raise by_hand(aim.layout, aim.part.place, name, "the row is in braces")
    indent = " " * (aim.part.place.column - 1)
    text = b"" if value is None else _lines(aim.raw, field_lines(name, value, indent))
    key, part = aim.part.key(name), aim.part.get(name)
    if key is None or part is None:
        at = next_line(aim.raw, _before(aim, name))
        return Splice(at, at, text)
    start = aim.layout.source.line_start(key.place.line)
    if aim.raw[start : key.place.start].strip():
        raise by_hand(aim.layout, key.place, name, "the field is not the first of its line")
    return Splice(start, next_line(aim.raw, pair_end(aim.raw, key, part)), text)


def _before(aim: Target, name: str) -> int:
    """The end of the last field that goes before ``name``; every row begins with one."""
    order = FIELDS[aim.section]
    earlier = order[: order.index(name)] if name in order else order
    ends = [pair_end(aim.raw, key, value) for key, value in aim.part.pairs if key.value in earlier]
    first = aim.part.pairs[0]
    return max(ends) if ends else pair_end(aim.raw, *first)


def _addition(layout: Layout, section: str, fields: Sequence[tuple[str, Value]]) -> list[Splice]:
    raw, listing = layout.source.raw, layout.section(section)
    if listing is not None and listing.items:
        if listing.flow:
            raise by_hand(layout, listing.place, section, "the section is in brackets")
        at = next_line(raw, content_end(raw, listing))
        return [Splice(at, at, _lines(raw, row_lines(fields, " " * (listing.place.column - 1))))]
    if layout.root.flow:
        raise by_hand(layout, layout.root.place, section, "the file is in braces")
    if listing is None:
        key = layout.root.key(SENTINEL)
        at = layout.source.line_start(key.place.line) if key else len(raw)
        return [Splice(at, at, _lines(raw, [f"{section}:", *row_lines(fields, "")]))]
    if raw[listing.place.start : listing.place.end].strip(b"[] \t\r\n"):
        raise by_hand(layout, listing.place, section, "there is a comment between the brackets")
    at = next_line(raw, listing.place.end)
    brackets = Splice(len(raw[: listing.place.start].rstrip(b" ")), listing.place.end, b"")
    return [brackets, Splice(at, at, _lines(raw, row_lines(fields, "")))]


def _dash_line(aim: Target) -> int:
    """The start of the line that holds the dash of the row; the row may begin lines below it."""
    column = aim.listing.place.column - 1
    source = aim.layout.source
    for line in range(aim.part.place.line, 0, -1):
        start = source.line_start(line)
        before, sign = aim.raw[start : start + column], aim.raw[start + column : start + column + 2]
        if not before.strip() and sign[:1] == b"-" and not sign[1:].strip():
            return start
    raise by_hand(aim.layout, aim.part.place, aim.section, "the row does not begin on a line of its own")


def _emptied(aim: Target) -> Splice:
    """Brackets behind the name of a section that has no row left."""
    key = aim.layout.root.key(aim.section)
    at = aim.raw.index(b":", key.place.end if key else 0) + 1
    return Splice(at, at, b" []")


def _lines(raw: bytes, lines: Sequence[str]) -> bytes:
    end = newline(raw)
    return b"".join(line.encode() + end for line in lines)


def _plain(value: Value) -> Plain:
    return str(value) if isinstance(value, str) else [str(item) for item in value]
