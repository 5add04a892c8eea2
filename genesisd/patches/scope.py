"""Where the classes and functions of a file begin and end, in characters of its text. Pure.

``ast`` counts columns in UTF-8 bytes, and does not see a byte order mark; here everything is an index into the
text as it is, line endings and mark included.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

BOM = "\ufeff"
# What Python's tokenizer ends a line at. str.splitlines knows more: form feeds, U+2028.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# A NUL byte is a ValueError, too deep a nesting one of the others.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_HAS_SCOPE = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NESTS = {"body", "orelse", "handlers", "finalbody", "cases"}
_HOLDERS: list[type[ast.AST]] = [ast.Module, ast.ExceptHandler, ast.match_case, *ast.stmt.__subclasses__()]
_BLOCKS = {kind: tuple(name for name in kind._fields if name in _NESTS) for kind in _HOLDERS}
"""The fields that hold statements, handlers or cases: definitions stand nowhere else."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end``, the end not included."""

    start: int
    end: int

    def holds(self, other: Span) -> bool:
        """Whether ``other`` lies within."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Whether a character belongs to both."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function.

    Attributes:
        name: qualified, as ``__qualname__``.
        span: its whole lines; decorators, indentation and the comments at its end included.
        head: where its first word (``@``, ``def``, ``async``, ``class``) stands.
    """

    name: str
    span: Span
    head: int


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read: its definitions in the order of the text, or why it is not Python."""

    definitions: tuple[Definition, ...] = ()
    fault: str | None = None

    def named(self, name: str) -> tuple[Definition, ...]:
        """All definitions of that qualified name: a property's getter and setter share one."""
        return tuple(found for found in self.definitions if found.name == name)

    def owner(self, span: Span) -> Definition | None:
        """The innermost definition within whose body ``span`` lies, or None for the module.

        A span that begins at a definition's first word, or before, shows that definition whole: it belongs to
        what surrounds it.
        """
        within = [d for d in self.definitions if d.head < span.start and span.end <= d.span.end]
        return within[-1] if within else None


@lru_cache(maxsize=128)
def read(text: str) -> Source:
    """The definitions of a Python file, or why it does not parse."""
    try:
        tree = _parse(text)
    except _UNREADABLE as error:
        return Source(fault=_told(error))
    return Source(tuple(_definitions(tree, _Lines(text))))


@lru_cache(maxsize=128)
def compiler_fault(text: str) -> str | None:
    """What only the compiler finds wrong with a file that parses (a return outside a function), or None."""
    try:
        _compile(_parse(text))
    except _UNREADABLE:
        # A tree may also be too deep to be compiled where its text is not: the text decides.
        return _fault(text.removeprefix(BOM))
    return None


# Whoever reads a text that was changed compiles it next; more than one tree would be memory for nothing.
@lru_cache(maxsize=1)
def _parse(text: str) -> ast.Module:
    with _quiet():
        return ast.parse(text.removeprefix(BOM))


def _compile(code: str | ast.Module) -> None:
    with _quiet():
        compile(code, "<patched>", "exec", dont_inherit=True)


def _fault(text: str) -> str | None:
    try:
        _compile(text)
    except _UNREADABLE as error:
        return _told(error)
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    # Upstream's invalid escapes are none of our business, and as errors they would look like ours.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _told(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    return str(error) or type(error).__name__


class _Lines:
    """Turns ast's positions into indexes of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = _LINE.findall(text)
        self.starts = [0, *accumulate(map(len, self.lines))]
        self.mark = len(text) - len(text.removeprefix(BOM))

    def line_of(self, index: int) -> int:
        """Where the line begins that holds ``index``."""
        return self.starts[bisect_right(self.starts, index) - 1]

    def end(self, line: int) -> int:
        return self.starts[line]

    def at(self, line: int, column: int) -> int:
        mark = self.mark if line == 1 else 0
        before = self.lines[line - 1][mark:].encode()[:column]
        return self.starts[line - 1] + mark + len(before.decode())


def _definitions(tree: ast.Module, lines: _Lines) -> list[Definition]:
    found: list[Definition] = []
    # A stack, not recursion: generated code nests deeper than Python recurses.
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, prefix = waiting.pop()
        for child in _statements(node):
            inner = prefix
            if isinstance(child, _HAS_SCOPE):
                found.append(_definition(child, prefix, lines))
                inner = found[-1].name + ("." if isinstance(child, ast.ClassDef) else ".<locals>.")
            if _BLOCKS[type(child)]:
                waiting.append((child, inner))
    return sorted(found, key=lambda d: (d.span.start, -d.span.end))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in the blocks of ``node``."""
    for name in _BLOCKS[type(node)]:
        yield from getattr(node, name)


def _definition(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, prefix: str, lines: _Lines) -> Definition:
    head = lines.at(node.lineno, node.col_offset)
    if node.decorator_list:
        first = node.decorator_list[0]
        # ast gives the decorator's expression; its '@' stands before that, perhaps lines before.
        head = lines.text.rindex("@", 0, lines.at(first.lineno, first.col_offset))
    start, end = lines.line_of(head), lines.end(node.end_lineno or node.lineno)
    return Definition(prefix + node.name, Span(start, _with_comments(lines.text, lines.text[start:head], end)), head)


def _with_comments(text: str, indent: str, end: int) -> int:
    """Comments that follow, indented deeper than the definition, are part of it; ast does not see them."""
    comments = re.compile(rf"(?:(?:[ \t\f]*(?:\r\n|\r|\n))*{re.escape(indent)}[ \t]+#[^\r\n]*(?:\r\n|\r|\n|\Z))*")
    found = comments.match(text, end)
    return found.end() if found else end
