"""A file of a pin as a change looks for its lines in it: exactly, by scope, and word by word. Pure."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise

_DEFINITION = re.compile(r"(?:async\s+def|def|class)\s+(\w+)")
_MODULE_NAME = re.compile(r"^(?:class|def|async def) (\w+)", re.MULTILINE)
_DISTINCT = 8
"""Shorter names (main, run) are defined in many a place."""
_WORD = re.compile(r"[^\W\d]\w{2,}")
_TOKEN = re.compile(r"(\"\"\"|'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|(#[^\n]*)|(\w+|[^\s\w])")
_COMMON = {
    *("self", "cls", "return", "None", "True", "False", "else", "elif", "try", "finally", "except", "pass", "not"),
    *("and", "for", "with", "raise", "def", "class", "import", "from", "break", "continue", "yield", "async"),
    *("await", "lambda", "assert", "int", "str", "bool", "float", "list", "dict", "tuple", "super"),
}


class Fit(StrEnum):
    """Whether a place lies where the diff's heading says."""

    YES = "yes"
    NO = "no"
    """What the heading names is elsewhere in the file: this is a twin."""
    UNTOLD = "untold"
    """There is no heading, or what it names is not in the file any more."""


def bare(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines without their ends: a file may have been stored with other ones."""
    return tuple(line.rstrip("\r\n") for line in lines)


def telling(lines: Sequence[str]) -> int:
    """How many of the lines have a name in them that is not in every file: brackets and ``else:`` prove nothing."""
    return sum(1 for line in lines if not is_idle(line) and any(word not in _COMMON for word in _WORD.findall(line)))


def is_idle(line: str) -> bool:
    """Blank, or a comment alone."""
    return (found := line.strip()) == "" or found.startswith("#")


def words(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines' tokens: no comments, no spaces, no line ends, one kind of quotes, no comma before a bracket."""
    found: list[str] = []
    for string, comment, plain in _TOKEN.findall("\n".join(lines)):
        if comment:
            continue
        token = _requoted(string) if string else plain
        if token in {")", "]", "}"} and found and found[-1] == ",":
            found.pop()
        found.append(token)
    return tuple(found)


def _requoted(string: str) -> str:
    inside = string[1:-1]
    return string if '"' in inside or string in {'"""', "'''"} else f'"{inside}"'


def defined(line: str) -> str | None:
    """The name that a line begins to define, or None."""
    found = _DEFINITION.match(line.strip())
    return found[1] if found else None


def module_names(lines: Sequence[str]) -> set[str]:
    """Classes and functions of the module itself that begin in these lines."""
    return {name for line in lines if (name := defined(line)) and not line[:1].isspace()}


@dataclass(frozen=True, slots=True)
class Heading:
    """What must stand over a place.

    Attributes:
        shown: the line that the diff shows behind ``@@``, or "" for none.
        names: definitions that may stand there instead.
    """

    shown: str = ""
    names: frozenset[str] = frozenset()


class Text:
    """One file. Lines are counted from 0; whoever shows them adds one."""

    def __init__(self, text: str) -> None:
        self.lines = tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n"))
        """Without their ends."""
        self._joined = "\n" + "\n".join(self.lines) + "\n"

    def find(self, block: Sequence[str]) -> tuple[int, ...]:
        """First lines of all places where these lines stand, one below the other."""
        if not block:
            return ()
        wanted = "\n" + "\n".join(block) + "\n"
        return tuple(self._joined.count("\n", 0, at) for at in _all(self._joined, wanted))

    def find_words(self, wanted: Sequence[str]) -> tuple[int, ...]:
        """Numbers of the tokens at which these begin, one after the other, whatever their layout."""
        if not wanted:
            return ()
        joined, starts, _ = self._words
        return tuple(bisect_right(starts, at) - 1 for at in _all(joined, "\0" + "\0".join(wanted) + "\0"))

    def find_laid(self, block: Sequence[str]) -> tuple[int, ...]:
        """As ``find_words`` of the lines of ``block``, where each statement is as deep in the others as it is there.

        Words alone would take a line that left its condition for the one within it.
        """
        laid = tuple(_laid(block))
        return tuple(at for at in self.find_words([token for token, _ in laid]) if self._steps_agree(laid, at))

    def _steps_agree(self, laid: Sequence[tuple[str, int | None]], at: int) -> bool:
        _, _, line_of = self._words
        depths = [
            (depth, _depth(self.lines[line_of[n]]))
            for n, (_, depth) in enumerate(laid, at)
            if depth is not None and (n == 0 or line_of[n] != line_of[n - 1])
        ]
        return all(_step(one[0], two[0]) == _step(one[1], two[1]) for one, two in pairwise(depths))

    def line_of(self, token: int) -> int:
        """The line on which a token stands."""
        return self._words[2][token]

    def fit(self, line: int, heading: Heading) -> Fit:
        """Whether ``heading`` stands over ``line``."""
        if not heading.shown:
            return Fit.UNTOLD
        name = defined(heading.shown)
        over = tuple(self._over(line))
        if any(_same(above, heading.shown, name) or defined(above) in heading.names for above in over):
            return Fit.YES
        return Fit.NO if any(_same(one, heading.shown, name) for one in self.lines) else Fit.UNTOLD

    def scope(self, line: int) -> str:
        """Names of the definitions around ``line``, joined by dots; "" for the module."""
        names = [defined(above) for above in self._around(line)]
        return ".".join(name for name in reversed(names) if name)

    def definitions(self, name: str) -> tuple[str, ...]:
        """The whole lines of each class and function of that qualified name (``Scheduler.schedule``)."""
        return tuple("\n".join(self.lines[first:last]) for found, first, last in self._definitions if found == name)

    def is_prose(self, first: int, last: int) -> bool:
        """Whether every line from ``first`` to before ``last`` is blank, a comment, or inside a docstring."""
        return all(is_idle(self.lines[n]) or n in self._docstrings for n in range(first, min(last, len(self.lines))))

    def _over(self, line: int) -> Iterator[str]:
        """What git may show as the heading of a place: with its rules for Python, and with those for any text."""
        above = self.lines[:line]
        yield from self._around(line)
        yield next((one for one in reversed(above) if defined(one)), "")
        yield next((one for one in reversed(above) if one[:1].isalpha() or one[:1] in {"_", "$"}), "")

    def _around(self, line: int) -> Iterator[str]:
        """The lines that begin the definitions around ``line``, innermost first."""
        depth = next((_depth(one) for one in self.lines[line:] if not is_idle(one)), 0)
        for above in reversed(self.lines[:line]):
            if depth == 0:
                return
            if not is_idle(above) and _depth(above) < depth and not above.lstrip().startswith((")", "]", "}")):
                depth = _depth(above)
                if defined(above):
                    yield above

    @cached_property
    def _words(self) -> tuple[str, list[int], list[int]]:
        found: list[str] = []
        at_line: list[int] = []
        for number, line in enumerate(self.lines):
            here = words((line,))
            if here and here[0] in {")", "]", "}"} and found and found[-1] == ",":
                found.pop()
                at_line.pop()
            found.extend(here)
            at_line.extend([number] * len(here))
        # Each token is preceded by one separator, so that a match of "\0a" begins at a token.
        starts = [0, *accumulate(len(token) + 1 for token in found)]
        return "\0" + "\0".join(found) + "\0", starts, at_line

    @cached_property
    def _docstrings(self) -> frozenset[int]:
        alone = (
            node.value
            for node in ast.walk(self._tree())
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        return frozenset(n for one in alone for n in range(one.lineno - 1, one.end_lineno or one.lineno))

    @cached_property
    def _definitions(self) -> tuple[tuple[str, int, int], ...]:
        return tuple(_named(self._tree(), ""))

    def _tree(self) -> ast.Module:
        """Empty where the file is no Python that can be read: then nothing in it is prose, and nothing is defined.

        It is not kept: a tree takes a hundred times the memory of its text.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse("\n".join(self.lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module([], [])


class Names:
    """Which module of a tree defines a class or function; the tree is read once, when it is first asked."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def where(self, name: str) -> str | None:
        """The path of a file that defines it; None too for names so short that many do."""
        return self._index.get(name) if len(name) >= _DISTINCT else None

    @cached_property
    def _index(self) -> dict[str, str]:
        modules = [path for path in self._texts if path.endswith(".py")]
        return {name: path for path in modules for name in _MODULE_NAME.findall(self._texts.get(path, ""))}


@lru_cache(maxsize=64)
def read_text(text: str) -> Text:
    """The file, prepared once however many changes are looked for in it."""
    return Text(text)


def _named(node: ast.AST, over: str) -> Iterator[tuple[str, int, int]]:
    """Definitions below ``node`` with their first line and the line behind their last."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{over}{child.name}"
            first = min([child.lineno, *(one.lineno for one in child.decorator_list)]) - 1
            yield name, first, child.end_lineno or child.lineno
            yield from _named(child, f"{name}.")
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _named(child, over)


def _all(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _same(line: str, heading: str, name: str | None) -> bool:
    if name is not None:
        return defined(line) == name
    # Git shows no more than eighty bytes of it.
    return line.strip().startswith(heading)


def _laid(lines: Sequence[str]) -> Iterator[tuple[str, int | None]]:
    """Each word, and where it begins a statement how deep that stands. Within brackets depth says nothing."""
    found: list[tuple[str, int | None]] = []
    level = 0
    for line in lines:
        here = words((line,))
        if here and here[0] in {")", "]", "}"} and found and found[-1][0] == ",":
            found.pop()
        for n, token in enumerate(here):
            found.append((token, _depth(line) if n == 0 and level == 0 else None))
            level = max(0, level + (token in {"(", "[", "{"}) - (token in {")", "]", "}"}))
    yield from found


def _step(one: int, two: int) -> int:
    return (two > one) - (two < one)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
