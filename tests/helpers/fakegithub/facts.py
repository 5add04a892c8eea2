"""What the double knows: pull requests and issues, as they are and as they can be made to become."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from genesisd.watch.refs import UPSTREAM, Ref

EPOCH = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
DAY = 86400.0


@dataclass(frozen=True)
class Fact:
    """One pull request or issue. ``merged`` without ``merged_at``: the day is not known."""

    ref: Ref
    state: str = "open"
    is_issue: bool = False
    title: str = "Mend a thing"
    draft: bool = False
    base: str = "main"
    head: str = ""
    merge_commit: str | None = None
    created_at: float = EPOCH
    updated_at: float = EPOCH
    closed_at: float | None = None
    merged_at: float | None = None
    labels: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    diff: str | None = None
    unpatched: frozenset[str] = frozenset()
    """Files whose lines the list of files leaves out."""
    too_large: int = 0
    """Status with which the diff as a whole is refused."""

    def text(self) -> str:
        """Its diff: the one given, or one line into each of its files."""
        if self.diff is not None:
            return self.diff
        return "".join(
            f"diff --git a/{name} b/{name}\nindex 1111111..2222222 100644\n--- a/{name}\n+++ b/{name}\n"
            f"@@ -1,2 +1,3 @@\n first\n+{self.head[:8]}\n last\n"
            for name in self.files or ("vllm/thing.py",)
        )


def sha(*parts: object) -> str:
    """A commit of that name."""
    return hashlib.sha1(repr(parts).encode()).hexdigest()


@dataclass
class World:
    """All of it. ``renames`` maps the old name of a repository to the new one."""

    facts: dict[Ref, Fact] = field(default_factory=dict)
    renames: dict[str, str] = field(default_factory=dict)
    gone: dict[Ref, int] = field(default_factory=dict)
    """Refs that REST answers with 410 or 451."""
    heads: dict[tuple[str, str], str] = field(default_factory=dict)
    """Repository and commit -> the diff that it was; pushed away ones can still be compared with."""

    @classmethod
    def of(cls, *facts: Fact) -> World:
        world = cls()
        for fact in facts:
            world.add(fact)
        return world

    def add(self, fact: Fact) -> Fact:
        fact = fact if fact.head or fact.is_issue else replace(fact, head=sha(fact.ref, 0))
        self.facts[fact.ref] = fact
        self.heads[fact.ref.repo, fact.head] = fact.text()
        return fact

    def change(self, ref: Ref, **changes: object) -> Fact:
        """As somebody did something to it; it counts as changed a minute after its last change."""
        old = self.facts[ref]
        return self.add(replace(old, **{"updated_at": old.updated_at + 60.0} | changes))

    def merge(self, ref: Ref) -> Fact:
        at = self.facts[ref].updated_at + 60.0
        return self.change(
            ref, state="merged", merged_at=at, closed_at=at, updated_at=at, merge_commit=sha(ref, "merge")
        )

    def force_push(self, ref: Ref, diff: str | None = None) -> Fact:
        return self.change(ref, head=sha(ref, self.facts[ref].head), diff=diff)

    def now_called(self, repo: str) -> str:
        return self.renames.get(repo, repo)

    def find(self, repo: str, number: int) -> Fact | None:
        """By the old name or the new one."""
        names = {repo, *(old for old, new in self.renames.items() if new == repo)}
        return next((self.facts[Ref(name, number)] for name in names if Ref(name, number) in self.facts), None)

    def newest(self, repo: str) -> list[Fact]:
        """Pull requests, the one that changed last first."""
        pulls = [fact for fact in self.facts.values() if fact.ref.repo == repo and not fact.is_issue]
        return sorted(pulls, key=lambda fact: (-fact.updated_at, -fact.ref.number))

    def as_it_is(self) -> World:
        """A copy that does not change with this one."""
        return copy.deepcopy(self)


def synthetic(count: int = 113, repo: str = UPSTREAM) -> World:
    """Of every sort some: open, drafts, merged, closed, issues; a day lies between the changes."""
    world = World()
    for index in range(count):
        ref, at = Ref(repo, 40001 + index), EPOCH + (index + 1) * DAY
        sort = index % 5
        done = {"closed_at": at} if sort in {1, 2} else {}
        merged = {"merged_at": at, "merge_commit": sha(ref, "merge")} if sort == 1 else {}
        world.add(
            Fact(
                ref,
                state={1: "merged", 2: "closed"}.get(sort, "open"),
                is_issue=sort == 4,
                draft=sort == 3,
                title=f"Mend thing {index}",
                updated_at=at,
                labels=("bug", "v1") if index % 2 else (),
                files=(f"vllm/part_{index}.py", "tests/test_part.py"),
                **done,
                **merged,
            )
        )
    return world


def from_fixture(path: Path, confident: tuple[str, ...] = ("high", "medium")) -> World:
    """The public facts in a file of them, as of now. What is not known for certain is not there at all.

    Merge commits may be abbreviated, as the file has them; days stand for their first second.
    """
    world = World()
    for told in json.loads(path.read_text()):
        if told["state"] is None or told["kind"] is None or told["state_confidence"] not in confident:
            continue
        created, closed, merged = (_at(told[key]) for key in ("created_at", "closed_at", "merged_at"))
        seen = [_at(told[key]) for key in ("evidence_date", "corpus_latest_visible_date")]
        times = [at for at in (created, closed, merged, *seen) if at is not None]
        world.add(
            Fact(
                Ref(told["repo"], told["number"]),
                state=told["state"],
                is_issue=told["kind"] == "issue",
                title=told["title"] or "",
                merge_commit=told["merge_commit"],
                created_at=created or min(times, default=EPOCH),
                updated_at=max(times, default=EPOCH),
                closed_at=closed or merged,
                merged_at=merged,
                labels=tuple(told["labels"] or ()),
                files=tuple(told["files"] or ()),
            )
        )
    return world


def _at(text: str | None) -> float | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
