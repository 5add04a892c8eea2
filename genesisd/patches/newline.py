r"""Line endings: a file keeps those it has, and a patch, written with ``\n``, speaks them. Pure."""

from __future__ import annotations

import re

_ENDING = re.compile(r"\r\n|\r|\n")


def endings(text: str) -> frozenset[str]:
    """The kinds of line ending that occur."""
    if "\r" not in text:  # nearly every file, and a search for each line of it would cost more than planning
        return frozenset("\n" if "\n" in text else "")
    return frozenset(_ENDING.findall(text))


def ending_of(text: str) -> str | None:
    r"""The one line ending of ``text`` (``\n`` where it has none), or None when kinds are mixed."""
    found = endings(text)
    if len(found) > 1:
        return None
    return next(iter(found), "\n")


def spoken(text: str, ending: str) -> str:
    r"""``text``, written with ``\n``, with ``ending`` in its place."""
    return text.replace("\n", ending)


def changed(before: str, after: str) -> bool:
    """Whether an edit brought another kind of line ending, or gave or took the final one."""
    had = endings(before)
    if had and not endings(after) <= had:
        return True
    return bool(before) and before.endswith(("\n", "\r")) != after.endswith(("\n", "\r"))
