"""Values as text for a watchlist: plain where that reads back, else in quotes, long ones below their field. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[A-Za-z0-9][\w./#+,()-]*(?: [\w./+,()-][\w./#+,()-]*)*", re.ASCII)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_OTHER_MEANING = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})

Value = str | Sequence[str]


def scalar(value: str, style: str = "") -> str:
    """``value`` on one line, in the style that a neighbour or predecessor has, where it can be."""
    if not value.isprintable() or style == '"':
        return _escaped(value)
    if style != "'" and _PLAIN.fullmatch(value) and value.casefold() not in _OTHER_MEANING:
        return value
    return "'" + value.replace("'", "''") + "'"


def field_lines(name: str, value: Value, indent: str) -> list[str]:
    """The lines of one field of a row."""
    if isinstance(value, str):
        return _text_lines(name, value, indent)
    if not value:
        return [f"{indent}{name}: []"]
    return [f"{indent}{name}:", *(f"{indent}- {scalar(item)}" for item in value)]


def row_lines(fields: Sequence[tuple[str, Value]], dash: str) -> list[str]:
    """The lines of a row whose dash is indented by ``dash``."""
    indent = f"{dash}  "
    lines = [line for name, value in fields for line in field_lines(name, value, indent)]
    return [f"{dash}- {lines[0].removeprefix(indent)}", *lines[1:]]


def _escaped(value: str) -> str:
    return '"' + "".join(_ESCAPES.get(sign) or _sign(sign) for sign in value) + '"'


def _sign(sign: str) -> str:
    if sign.isprintable():
        return sign
    code = ord(sign)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _text_lines(name: str, value: str, indent: str) -> list[str]:
    lines = value.removesuffix("\n").split("\n")
    tame = all(line.isprintable() for line in lines) and not value.startswith((" ", "\n"))
    if "\n" not in value or not tame or not lines[-1]:
        return [f"{indent}{name}: {scalar(value)}"]
    sign = "|" if value.endswith("\n") else "|-"
    return [f"{indent}{name}: {sign}", *(f"{indent}  {line}" if line else "" for line in lines)]
