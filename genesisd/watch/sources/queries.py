"""The GraphQL questions, and how their answers are read: one alias for each ref, judged by itself. Pure.

Each question has an alias that was never used before. A cache that serves an old answer to a new question does not
know it, so that such an answer is told from a fresh one whatever its headers say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genesisd.watch.model import Answer, Pull, Unanswered, WhyUnknown
from genesisd.watch.refs import Ref
from genesisd.watch.sources.reading import Unreadable, node_pull

_TIMES = "createdAt updatedAt closedAt"
_LABELS = "labels(first: 20) { nodes { name } }"
_PULL = f"number title state isDraft baseRefName headRefOid mergeCommit {{ oid }} mergedAt {_TIMES} {_LABELS}"
# A field of two types under one name makes a query invalid.
_ISSUE = f"number title issueState: state {_TIMES} {_LABELS}"
_FILES = "files(first: 100) { totalCount nodes { path } }"
_RATE = "rateLimit { cost limit remaining resetAt }"
_FINAL = {
    "NOT_FOUND": WhyUnknown.NOT_FOUND,
    "FORBIDDEN": WhyUnknown.BARRED,
    "INSUFFICIENT_SCOPES": WhyUnknown.BARRED,
}
"""Types of errors that asking again does not change."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A question about several refs; ``at`` has the two aliases of each, ``nonce`` the alias that proves freshness."""

    text: str
    nonce: str
    at: Mapping[Ref, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Read:
    """What an answer told.

    Attributes:
        answers: what was told, and what will not be told however often it is asked.
        again: nothing was told this time; the text says why.
        heavy: upstream said that the question was too much.
        trouble: why there is nothing at all to read, or "".
    """

    answers: Mapping[Ref, Answer] = field(default_factory=dict)
    again: Mapping[Ref, str] = field(default_factory=dict)
    heavy: bool = False
    trouble: str = ""


def batch(refs: Sequence[Ref], nonce: str) -> Batch:
    """One question about all of ``refs``, whatever their repositories, and whether each is an issue or not."""
    repos = {repo: f"r{index}" for index, repo in enumerate(dict.fromkeys(ref.repo for ref in refs))}
    at = {ref: (repos[ref.repo], f"i{index}") for index, ref in enumerate(refs)}
    parts = []
    for repo, alias in repos.items():
        asked = " ".join(
            f"{at[ref][1]}: issueOrPullRequest(number: {ref.number}) {{ __typename ...P ...I }}"
            for ref in refs
            if ref.repo == repo
        )
        parts.append(f"{alias}: {_repository(repo)} {{ nameWithOwner {asked} }}")
    fragments = f"fragment P on PullRequest {{ {_PULL} }} fragment I on Issue {{ {_ISSUE} }}"
    return Batch(f"query {{ {nonce}: {_RATE} {' '.join(parts)} }} {fragments}", nonce, at)


def newest(repo: str, first: int, after: str | None, nonce: str, *, files: bool = True) -> str:
    """The pull requests of ``repo`` that changed last, with their ``files``; on from the cursor ``after``."""
    place = f", after: {json.dumps(after)}" if after else ""
    asked = f"pullRequests(first: {first}{place}, orderBy: {{field: UPDATED_AT, direction: DESC}})"
    edges = f"pageInfo {{ hasNextPage }} edges {{ cursor node {{ __typename {_PULL} {_FILES if files else ''} }} }}"
    return f"query {{ {nonce}: {_RATE} r0: {_repository(repo)} {{ nameWithOwner {asked} {{ {edges} }} }} }}"


def read(asked: Batch, body: Any, at: float) -> Read:
    """What an answer to ``asked`` tells. Never raises: what cannot be understood is an unknown."""
    data, errors, trouble = opened(body, asked.nonce)
    heavy = any(_heavy(error) for error in errors)
    if trouble:
        return Read(heavy=heavy, trouble=trouble)
    blamed = {tuple(map(str, _path(error)[:2])): error for error in errors}
    answers: dict[Ref, Answer] = {}
    again: dict[Ref, str] = {}
    for ref, (repo, alias) in asked.at.items():
        told = data.get(repo)
        home, node = (told.get("nameWithOwner"), told.get(alias)) if isinstance(told, dict) else ("", None)
        if node is not None:
            try:
                answers[ref] = node_pull(ref, str(home), node, at)
            except Unreadable as reason:
                again[ref] = str(reason)
            continue
        error = blamed.get((repo, alias)) or blamed.get((repo,)) or {}
        text = " ".join(str(error.get("message", "null, and no reason given")).split())[:200]
        if (why := _FINAL.get(str(error.get("type")))) is not None:
            answers[ref] = Unanswered(ref, why, at, text)
        else:
            again[ref] = text
    return Read(answers, again, heavy=heavy)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of what changed last: pull requests with their cursors, and whether there are more."""

    items: tuple[tuple[str, Pull], ...]
    more: bool


def read_page(repo: str, nonce: str, body: Any, at: float) -> Page | str:
    """A page, or why it is none.

    A pull request that cannot be understood spoils it: nothing may be passed over. Files that could not be told do
    not: they are unknown.
    """
    data, errors, trouble = opened(body, nonce)
    errors = [error for error in errors if "files" not in _path(error)]
    if trouble or errors:
        return trouble or " ".join(str(errors[0].get("message", "an error without a reason")).split())[:200]
    try:
        told = data["r0"]
        items = tuple(_items(repo, told, told["pullRequests"]["edges"], at))
        more = bool(told["pullRequests"]["pageInfo"]["hasNextPage"])
    except (Unreadable, KeyError, TypeError) as error:
        return f"not understood: {error}"
    return Page(items, more)


def _items(repo: str, told: Mapping[str, Any], edges: Iterable[Any], at: float) -> Iterator[tuple[str, Pull]]:
    for edge in edges:
        node = edge["node"]
        yield str(edge["cursor"]), node_pull(Ref(repo, int(node["number"])), told["nameWithOwner"], node, at)


Opened = tuple[Mapping[str, Any], list[Mapping[str, Any]], str]


def opened(body: Any, nonce: str) -> Opened:
    """Data, errors, and why there is nothing to read or ""."""
    if not isinstance(body, dict):
        return {}, [], "the answer is no object"
    told = body.get("errors")
    errors: list[Mapping[str, Any]] = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    data = body.get("data")
    if not isinstance(data, dict):
        said = errors[0].get("message") if errors else body.get("message", "no data, and no reason given")
        return {}, errors, " ".join(str(said).split())[:200]
    if nonce not in data:
        return {}, errors, "an answer to another question than ours, as from a cache"
    return data, errors, ""


def _path(error: Mapping[str, Any]) -> list[Any]:
    """What an error is about: names and numbers, or nothing that can be read."""
    told = error.get("path")
    return told if isinstance(told, list) else []


def _repository(repo: str) -> str:
    owner, _, name = repo.partition("/")
    return f"repository(owner: {json.dumps(owner)}, name: {json.dumps(name)})"


def _heavy(error: Mapping[str, Any]) -> bool:
    """Wordings differ, and change: limits on resources, on nodes, on time."""
    text = f"{error.get('type', '')} {error.get('message', '')}".lower()
    return any(word in text for word in ("resource", "timeout", "timed out", "node_limit", "node limit", "too large"))
