"""Pull requests and issues as upstream's two interfaces write them. Pure.

Strict on purpose: an answer that lacks its state, or is about another number, says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from genesisd.watch.model import Pull, State
from genesisd.watch.refs import Ref

_OID = re.compile(r"[0-9a-f]{7,64}")
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.{1,2}$)[A-Za-z0-9._-]+")
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
MOST_FILES = 100
_FIRST_YEAR, _LAST_YEAR = 2, 9998
"""Anything else could not be told as a date in every zone."""


class Unreadable(Exception):  # noqa: N818 - it is a verdict on an answer; ours catches it at once
    """An answer that cannot be taken for one."""


def possible(ref: Ref) -> bool:
    """Whether upstream could have such a repository; anything else would be another address."""
    return _REPO.fullmatch(ref.repo) is not None


def when(value: Any) -> float:
    """Seconds since the epoch; raises ValueError, also for a time without a zone, or of a year that has no date here."""
    moment = datetime.fromisoformat(str(value))
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {value!r}")
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"no time of this repository: {value!r}")
    return moment.timestamp()


def node_pull(ref: Ref, home: str, node: Any, at: float) -> Pull:
    """A node of GraphQL's; ``home`` is the repository's name now. Raises Unreadable."""
    try:
        is_issue = {"PullRequest": False, "Issue": True}[node["__typename"]]
        state = State(str(node["issueState" if is_issue else "state"]).lower())
        if node["number"] != ref.number:
            raise Unreadable(f"asked for {ref}, answered {node['number']}")
        head, merge = node.get("headRefOid"), node.get("mergeCommit")
        return Pull(
            ref=ref,
            state=state,
            checked_at=at,
            is_issue=is_issue,
            title=_line(node["title"]),
            draft=bool(node.get("isDraft")),
            base=text(node.get("baseRefName") or ""),
            head=_oid(head),
            merge_commit=_oid(merge["oid"]) if merge and state is State.MERGED else None,
            merged_at=_when(node.get("mergedAt")),
            closed_at=_when(node.get("closedAt")),
            updated_at=_when(node.get("updatedAt")),
            created_at=_when(node.get("createdAt")),
            labels=_labels((node.get("labels") or {}).get("nodes")),
            files=_files(node.get("files")),
            now_at=moved(ref, home, ref.number),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unreadable(f"not understood: {error}") from None


def rest_pull(ref: Ref, told: Any, at: float) -> Pull:
    """An answer of ``/pulls/N``, or an entry of the list of them. Raises Unreadable."""
    try:
        merged = bool(told.get("merged") or told.get("merged_at"))
        state = State.MERGED if merged else State(told["state"])
        base, number = told["base"], int(told["number"])
        return Pull(
            ref=ref,
            state=state,
            checked_at=at,
            draft=bool(told.get("draft")),
            base=text(base["ref"]),
            head=_oid(told["head"]["sha"]),
            # Of one that is open it is a trial merge, which is on no branch.
            merge_commit=_oid(told.get("merge_commit_sha")) if merged else None,
            merged_at=_when(told.get("merged_at")),
            now_at=moved(ref, str((base.get("repo") or {}).get("full_name") or ""), number),
            **_common(told),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unreadable(f"not understood: {error}") from None


def rest_issue(ref: Ref, told: Any, at: float) -> Pull:
    """An answer of ``/issues/N`` about what is no pull request. Raises Unreadable."""
    try:
        if told.get("pull_request"):
            raise Unreadable(f"{ref} is a pull request")
        home = str(told["repository_url"]).partition("/repos/")[2]
        now_at = moved(ref, home, int(told["number"]))
        return Pull(ref=ref, state=State(told["state"]), checked_at=at, is_issue=True, now_at=now_at, **_common(told))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unreadable(f"not understood: {error}") from None


def moved(ref: Ref, home: str, number: int) -> Ref | None:
    """Where ``ref`` is now, if elsewhere. Raises Unreadable for an answer about something else."""
    there = Ref(home, number)
    if not possible(there):
        raise Unreadable(f"asked for {ref}, answered for the repository {home!r}")
    if home.lower() != ref.repo.lower():
        return there
    if number != ref.number:
        raise Unreadable(f"asked for {ref}, answered {there}")
    return None


def _common(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": _line(told["title"]),
        "closed_at": _when(told.get("closed_at")),
        "updated_at": _when(told.get("updated_at")),
        "created_at": _when(told.get("created_at")),
        "labels": _labels(told.get("labels")),
    }


def text(value: Any) -> str:
    """Text that files, stores, pages and terminals take.

    JSON can spell half of a character, which UTF-8 cannot, and commands to whatever shows it: anybody may write a title.
    """
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", str(value).encode("utf-8", "replace").decode())


def _line(value: Any) -> str:
    return text(" ".join(str(value).split()))


def _when(value: Any) -> float | None:
    return None if value is None else when(value)


def _oid(value: Any) -> str | None:
    return value if isinstance(value, str) and _OID.fullmatch(value) else None


def _labels(nodes: Any) -> tuple[str, ...]:
    return tuple(text(node["name"]) for node in nodes or () if node)


def _files(told: Any) -> tuple[str, ...] | None:
    if not told or told["totalCount"] > MOST_FILES:
        return None
    found = tuple(text(node["path"]) for node in told["nodes"] or () if node)
    return found if len(found) == told["totalCount"] else None
