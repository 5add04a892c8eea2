"""Predicates over our configuration and hardware: when a declined decision is asked again, and whose lane a gate is. Pure.

They are read strictly: one that could never come true would keep a decision closed for ever. What is not known of a
worker makes the answer unknown, and an unknown opens nothing. docs/triage.md has the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from genesisd.watch.predicates import SPOKEN_OF, SUBJECTS, Compared, Found, Patched, Pinned, Said, Test

Worker = Mapping[str, object]
"""One worker: ``model``, ``flags`` (by name, after a dot the keys of JSON), ``flags_known``, ``patches`` (ids that are
active in it), ``pin``, ``gpu_memory`` (GiB a card) and the facts of docs/triage.md; a key that is missing is unknown."""

_AND = re.compile(r"\s+and\s+")
_NOT = re.compile(r"not\s+")
_HEAD = re.compile(r"(?P<name>[A-Za-z_][\w.]*)\s*(?P<colon>:)?\s*")


class PredicateError(ValueError):
    """Text that is no predicate; ``column`` counts from 1."""

    def __init__(self, text: str, column: int, expected: str) -> None:
        super().__init__(f"{text!r}, character {column}: expected {expected}")
        self.text = text
        self.column = column
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Term:
    """One test of a predicate, perhaps negated."""

    test: Test
    negated: bool = False

    def holds(self, worker: Worker) -> Found:
        """Of one worker; None: it cannot be told."""
        found = self.test(worker)
        return found if found is None or not self.negated else not found


@dataclass(frozen=True, slots=True)
class Predicate:
    """Terms that must all hold of the same worker."""

    text: str
    terms: tuple[Term, ...]

    def holds(self, worker: Worker) -> Found:
        """Of one worker; None: it cannot be told, and nothing else says no."""
        found = [term.holds(worker) for term in self.terms]
        if False in found:
            return False
        return None if None in found else True


def parse(text: str) -> Predicate:
    """The predicate in ``text``. Raises PredicateError, which says where and what was expected."""
    terms: list[Term] = []
    start = 0
    for gap in (*_AND.finditer(text), None):
        end = len(text) if gap is None else gap.start()
        terms.append(_term(text, start, end))
        start = end if gap is None else gap.end()
    if key := _never(terms):
        raise PredicateError(text, 1, f"what can come true: no worker's {key} is all of that")
    return Predicate(text, tuple(terms))


def _never(terms: Sequence[Term]) -> str | None:
    """What the terms speak of that no worker can have, or None: each of them must hold of one."""
    by_key: dict[str, list[Term]] = {}
    for term in terms:
        if isinstance(term.test, (Compared, Pinned, Said)):
            by_key.setdefault(term.test.key, []).append(term)
    for key, some in by_key.items():
        values = [one for term in some if isinstance(term.test, (Compared, Pinned, Said)) for one in term.test.near()]
        if not any(all(term.holds({key: value}) for term in some) for value in values):
            return SPOKEN_OF.get(key, key)
    return None


def holds(text: str, worker: Worker) -> Found:
    """Whether the predicate in ``text`` holds of ``worker``; None: it cannot be told. Raises PredicateError."""
    return parse(text).holds(worker)


def holds_of_any(text: str, workers: Iterable[Worker]) -> Found:
    """Whether one of ``workers`` is such; None: none is known to be, and not all are known not to be."""
    predicate = parse(text)
    found = [predicate.holds(worker) for worker in workers]
    if True in found:
        return True
    return None if None in found or not found else False


def come_true(predicates: Iterable[str], workers: Sequence[Worker]) -> tuple[str, ...]:
    """Those that hold now; what an earlier version took for a predicate, and is none, never does."""
    return tuple(text for text in predicates if _is_one(text) and holds_of_any(text, workers) is True)


def _is_one(text: str) -> bool:
    try:
        parse(text)
    except PredicateError:
        return False
    return True


def refuse(predicates: Sequence[str], workers: Sequence[Worker], find: Callable[[str], str | None] = str) -> None:
    """Raise PredicateError for what is none, ValueError for what could never turn true.

    That is what is true already, and what speaks of a patch that nobody knows; ``find`` gives the id that a name means.
    """
    for text in predicates:
        for name in (term.test.id for term in parse(text).terms if isinstance(term.test, Patched)):
            if (found := find(name)) is None or found.casefold() != name.casefold():
                mend = f"write {found}" if found else "genesisctl patches list shows them"
                raise ValueError(f"{text!r} can never come true: builds have no patch of the name {name} ({mend})")
    already = come_true(predicates, workers)
    if already:
        raise ValueError(
            f"{already[0]!r} is true already, so it would open the decision again at once; name what is to change"
        )


def _term(text: str, start: int, end: int) -> Term:
    while start < end and text[start].isspace():
        start += 1
    negated = _NOT.match(text, start, end)
    at = start if negated is None else negated.end()
    head = _HEAD.match(text, at, end)
    subject = None if head is None else SUBJECTS.get(head["name"])
    if head is None or subject is None:
        raise PredicateError(text, at + 1, f"one of {', '.join(sorted(SUBJECTS))}")
    if subject.colon is not (head["colon"] is not None):
        raise PredicateError(text, head.end("name") + 1, subject.form)
    rest = text[head.end() : end].rstrip()
    return Term(_test(subject.read, rest, text, head.end() + 1, subject.form), negated is not None)


def _test(read: Callable[[str], Test | None], rest: str, text: str, column: int, form: str) -> Test:
    found = read(rest)
    if found is None:
        raise PredicateError(text, column, form)
    return found
