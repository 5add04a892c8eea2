"""Text that no model writes: characters that stand for nothing, and scripts thrown together. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

_UNKNOWN = re.compile(
    r"<unk>|<\|unk\|>|\[UNK\]|<pad>|<\|pad\|>|\[PAD\]|<unused\d+>|<\|reserved_special_token_\d+\|>|<0x[0-9A-F]{2}>"
)
_BLANK = frozenset("\t\n\r\f\v\x1b")
"""Controls that texts do have; the escape stands for colours of a terminal."""
_FEW = 3
_REPLACED_SHARE = 0.02
_UNKNOWN_SHARE = 0.1
_PAIRS = 4
"""Kinds of neighbours within words (Latin beside Thai) from which on it is no quotation."""
_LETTERS = 40
_EASTERN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH", "HALFWIDTH", "IDEOGRAPHIC", "BOPOMOFO"})
_SIGNS = frozenset(
    {
        "MODIFIER",
        "COMBINING",
        "SUPERSCRIPT",
        "SUBSCRIPT",
        "MATHEMATICAL",
        "MICRO",
        "FEMININE",
        "MASCULINE",
        "OHM",
        "KELVIN",
        "ANGSTROM",
        "DOUBLE-STRUCK",
        "SCRIPT",
        "BLACK-LETTER",
        "GREEK",
    }
)
"""First words of names that belong to no script, or that science puts beside any."""


def garbled(text: str, asked: str) -> str | None:
    """What is not text in ``text``, unless ``asked`` has it too."""
    return _replaced(text, asked) or _controls(text, asked) or _unknown(text, asked) or _jumbled(text)


def _replaced(text: str, asked: str) -> str | None:
    """A character that was cut at the end leaves up to three."""
    count = text.rstrip("\ufffd").count("\ufffd")
    if "\ufffd" in asked or count < _FEW or count < _REPLACED_SHARE * len(text):
        ending = len(text) - len(text.rstrip("\ufffd"))
        return f"it ends in {ending} replacement characters" if ending > 3 and "\ufffd" not in asked else None
    return f"{count} of {len(text)} characters are replacement characters"


def _controls(text: str, asked: str) -> str | None:
    found = [one for one in text if unicodedata.category(one) == "Cc" and one not in _BLANK and one not in asked]
    if "\x00" in found or len(found) >= _FEW:
        return f"it holds {len(found)} control characters, such as U+{ord(found[0]):04X}"
    return None


def _unknown(text: str, asked: str) -> str | None:
    """Programs that handle tokens name them here and there; a flood is made of them."""
    found = [one for one in _UNKNOWN.findall(text) if one not in asked]
    if len(found) < _FEW or sum(map(len, found)) < _UNKNOWN_SHARE * len(text):
        return None
    return f"it holds {found[0]!r} and the like {len(found)} times"


def _jumbled(text: str) -> str | None:
    """Tokens drawn at random stick letters of many scripts together within words; translations do not."""
    if text.isascii() or sum(map(str.isalpha, text)) < _LETTERS:
        return None
    pairs = {frozenset(pair) for pair in _neighbours(text)}
    if len(pairs) < _PAIRS:
        return None
    shown = ", ".join(sorted("-".join(sorted(pair)).title() for pair in pairs)[:3])
    return f"scripts are thrown together within words ({shown}...)"


def _neighbours(text: str) -> Iterator[tuple[str, str]]:
    for one, other in pairwise(map(_script, text)):
        if one and other and one != other:
            yield one, other


def _script(letter: str) -> str | None:
    if not letter.isalpha():
        return None
    if letter.isascii():
        return "LATIN"
    first = unicodedata.name(letter, "").partition(" ")[0]
    if first in _SIGNS or not first:
        return None
    return "EASTERN" if first in _EASTERN else first
