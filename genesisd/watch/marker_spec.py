"""What a markers file may hold: how people tell a pull request's code from a pin's files, and which ones go in pairs."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from genesisd.units import SpecModel
from genesisd.watch.refs import Ref, parse_ref
from genesisd.watch.revisit import parse

Words = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Exact = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


def _ref(value: object) -> object:
    if isinstance(value, Ref):
        return value
    if not isinstance(value, str):
        raise ValueError(f"expected a pull request such as 'vllm#123', in quotes if it begins with #, not {value!r}")
    return parse_ref(value)


def _relative(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or "//" in path or {".", ".."}.intersection(parts) or path.endswith("/"):
        raise ValueError(f"expected a path below the tree's root, such as vllm/config/cache.py, not {path!r}")
    return path


def _expression(text: str) -> str:
    try:
        found = re.compile(text)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"not a regular expression{at}: {error.msg}") from None
    if found.match(""):
        raise ValueError(f"{text!r} matches the empty text, and so every file")
    return text


def _predicate(text: str) -> str:
    parse(text)
    return text


Predicate = Annotated[Words, AfterValidator(_predicate)]
Upstream = Annotated[Ref, BeforeValidator(_ref)]
TreePath = Annotated[str, StringConstraints(min_length=1), AfterValidator(_relative)]
Expression = Annotated[str, StringConstraints(min_length=1), AfterValidator(_expression)]
_SHOWS = ("has", "lacks", "matches", "missing")


class Pattern(SpecModel):
    """One thing that a file shows. Exactly one of ``has``, ``lacks``, ``matches`` and ``missing`` is given."""

    file: TreePath
    within: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
    """Qualified name of the class or function whose text counts; where it is not there, nothing is shown."""
    has: Exact | None = None
    """Exact text."""
    lacks: Exact | None = None
    """Exact text that is not there, though the file (and ``within``) is."""
    matches: Expression | None = None
    """A regular expression; ``^`` and ``$`` are ends of lines, and ``.`` is no line end."""
    missing: bool = False
    """The file, or with ``within`` that definition of it, is not there."""

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        given = [name for name in _SHOWS if getattr(self, name) not in {None, False}]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(_SHOWS)}, not {' and '.join(given) or 'none'}")
        return self


def _some(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    # As a length in the type it would be told once more of every row with a slip in a pattern.
    if not patterns:
        raise ValueError("give one pattern at least")
    return patterns


class Marker(SpecModel):
    """How to see in a tree whether it has what a pull request brings.

    Rows of the same pull request are forms of it in different releases: each is for the trees that it fits.
    """

    pr: Upstream
    title: Words
    affects: Words | None = None
    """Whom it concerns, for people."""
    present: Annotated[tuple[Pattern, ...], AfterValidator(_some)]
    """Shown, all of them, by a tree that has it, and by no other."""
    absent: tuple[Pattern, ...] = ()
    """Shown, all of them, by a tree that still has what was there before. Without any, the absence is never certain."""
    note: Words | None = None


class Gate(SpecModel):
    """A pair: what breaks a lane, and what mends it."""

    id: Name
    blocks: Upstream
    """The pull request that breaks."""
    unless_any_of: tuple[Upstream, ...] = ()
    """Any one of these mends it."""
    lanes: tuple[Predicate, ...] = ()
    """Which workers it breaks: predicates (docs/triage.md) of which any one holds; without any, every worker."""
    text: Words
    """What happens."""
    mend: Words
    """What to do, in the imperative, without a full stop."""


class MarkerFile(SpecModel):
    """The whole file."""

    markers: tuple[Marker, ...] = ()
    gates: tuple[Gate, ...] = ()
