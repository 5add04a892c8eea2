"""The part of the REST interface that is used. Handlers return a body and its kind, or raise an HTTP answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .facts import Fact, World, sha
from .graph import moment

JSON = "application/json; charset=utf-8"
TEXT = "application/vnd.github.diff; charset=utf-8"
NOT_FOUND = {"message": "Not Found", "documentation_url": "https://docs.example.com/rest", "status": "404"}


@dataclass(frozen=True)
class Told:
    """An answer: JSON or, for diffs, text."""

    body: Any
    status: int = 200
    more: bool = False
    location: str = ""


def answer(world: World, address: str, path: str, query: dict[str, str], *, diff: bool, compare: bool) -> Told:
    """What is at ``path``."""
    if found := re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)", path):
        repo, rest = found.groups()
        if (now := world.now_called(repo)) != repo:
            return Told({"message": "Moved Permanently"}, 301, location=f"{address}/repositories/{_id(now)}{rest}")
    elif found := re.fullmatch(r"/repositories/(\d+)(/.*)", path):
        number, rest = found.groups()
        names = {*world.renames.values(), *(fact.ref.repo for fact in world.facts.values())}
        repo = next((name for name in names if _id(name) == int(number)), "")
    else:
        return Told(NOT_FOUND, 404)
    if rest == "/pulls":
        return _listed(world, address, repo, query)
    if compared := re.fullmatch(r"/compare/(.+)\.\.\.([0-9a-f]+)", rest):
        text = world.heads.get((repo, compared[2])) if compare and diff else None
        branch = any(fact.base == compared[1] for fact in world.facts.values())
        return Told(NOT_FOUND, 404) if text is None or not branch else _diff(world, repo, compared[2], text)
    if single := re.fullmatch(r"/(pulls|issues)/(\d+)(/files)?", rest):
        return _single(world, address, repo, *single.groups(), query, diff=diff)
    return Told(NOT_FOUND, 404)


def _single(
    world: World,
    address: str,
    repo: str,
    kind: str,
    number: str,
    files: str | None,
    query: dict[str, str],
    *,
    diff: bool,
) -> Told:
    fact = world.find(repo, int(number))
    if fact is None or (kind == "pulls" and fact.is_issue):
        return Told(NOT_FOUND, 404)
    if (status := world.gone.get(fact.ref)) is not None:
        return Told({"message": "Repository access blocked" if status == 451 else "This was deleted"}, status)
    if files:
        listed = changed(fact, address)
        page, size = int(query.get("page", 1)), int(query.get("per_page", 30))
        return Told(listed[(page - 1) * size : page * size], more=len(listed) > page * size)
    if diff and kind == "pulls":
        return _diff(world, repo, fact.head, fact.text())
    return Told(issue(fact, address, repo) if kind == "issues" else pull(fact, address, repo))


def _diff(world: World, repo: str, head: str, text: str) -> Told:
    refused = next((fact.too_large for fact in world.facts.values() if fact.head == head and fact.ref.repo == repo), 0)
    if refused:
        said = "Sorry, the diff exceeded the maximum number of files (300)."
        error = {"resource": "PullRequest", "field": "diff", "code": "too_large"}
        return Told({"message": said, "errors": [error]}, refused)
    return Told(text)


def _listed(world: World, address: str, repo: str, query: dict[str, str]) -> Told:
    assert (query["state"], query["sort"], query["direction"]) == ("all", "updated", "desc")
    page, size = int(query.get("page", 1)), int(query.get("per_page", 30))
    assert 1 <= size <= 100
    facts = world.newest(repo)
    shown = [pull(fact, address, repo, listed=True) for fact in facts[(page - 1) * size : page * size]]
    return Told(shown, more=len(facts) > page * size)


def issue(fact: Fact, address: str, repo: str) -> dict[str, Any]:
    """A pull request is an issue too, with a pointer to what it is besides."""
    told = _common(fact) | {
        "url": f"{address}/repos/{repo}/issues/{fact.ref.number}",
        "repository_url": f"{address}/repos/{repo}",
    }
    if not fact.is_issue:
        told["pull_request"] = {
            "url": f"{address}/repos/{repo}/pulls/{fact.ref.number}",
            "merged_at": moment(fact.merged_at),
        }
    return told


def pull(fact: Fact, address: str, repo: str, *, listed: bool = False) -> dict[str, Any]:
    """With the trial merge's commit while it is open, as upstream does it."""
    told = _common(fact) | {
        "url": f"{address}/repos/{repo}/pulls/{fact.ref.number}",
        "draft": fact.draft,
        "merged_at": moment(fact.merged_at),
        "merge_commit_sha": sha(fact.ref, "trial merge") if fact.state == "open" else fact.merge_commit,
        "head": {"ref": "topic", "sha": fact.head, "repo": {"full_name": "somebody/fork"}},
        "base": {"ref": fact.base, "sha": sha(repo, fact.base), "repo": {"full_name": repo, "id": _id(repo)}},
    }
    return told if listed else told | {"merged": fact.state == "merged", "changed_files": len(fact.files)}


def changed(fact: Fact, address: str) -> list[dict[str, Any]]:
    """The diff, a file each."""
    found = []
    for part in re.split(r"^(?=diff --git )", fact.text(), flags=re.MULTILINE)[1:]:
        head, _, hunks = part.partition("\n@@ ")
        before, after = re.match(r"diff --git a/(\S+) b/(\S+)", head).groups()
        status = "added" if "\nnew file" in head else "removed" if "\ndeleted file" in head else "modified"
        status = "renamed" if "\nrename from" in head else status
        lines = hunks.split("\n")[1:]
        plus, minus = (sum(line.startswith(mark) for line in lines) for mark in "+-")
        entry = {
            "sha": sha(after),
            "filename": after,
            "status": status,
            "additions": plus,
            "deletions": minus,
            "changes": plus + minus,
            "blob_url": f"https://github.com/{fact.ref.repo}/blob/{fact.head}/{after}",
            "raw_url": f"https://github.com/{fact.ref.repo}/raw/{fact.head}/{after}",
            "contents_url": f"{address}/repos/{fact.ref.repo}/contents/{after}?ref={fact.head}",
        }
        if hunks and after not in fact.unpatched:
            entry["patch"] = "@@ " + hunks.removesuffix("\n")
        if before != after:
            entry["previous_filename"] = before
        found.append(entry)
    return found


def _common(fact: Fact) -> dict[str, Any]:
    return {
        "number": fact.ref.number,
        "title": fact.title,
        "state": "open" if fact.state == "open" else "closed",
        "created_at": moment(fact.created_at),
        "updated_at": moment(fact.updated_at),
        "closed_at": moment(fact.closed_at),
        "labels": [{"name": name, "color": "ededed"} for name in fact.labels],
    }


def _id(repo: str) -> int:
    return int(sha(repo)[:7], 16)
