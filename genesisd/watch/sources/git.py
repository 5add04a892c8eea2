"""The local mirror of upstream's repository: whether a pull request is in a pin's history, as git tells it.

A pin's history never changes, so neither does what was once found in it: a sweep asks git about new pins and newly
merged pull requests only.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from genesisd.versions import commit_of, parse_version, public
from genesisd.watch.lineage import OID, Copies, History, Question, judge, lands
from genesisd.watch.model import Lineage, LineageFact, Pin, Pull, State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources.git_child import Git, GitFailed
from genesisd.watch.sources.git_history import read_histories, with_commit
from genesisd.watch.sources.git_twins import Twins

FETCH_SECONDS = 1800.0
_MOST_KEPT = 20_000
_ABBREVIATED = re.compile(r"[0-9a-f]{7,64}")
_TAG = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")
_FETCH = (
    # In front, so that it ends before the fetch does; and what a pin was once made of stays, wherever branches went.
    *("-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false", "-c", "gc.pruneExpire=never"),
    *("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60"),
    *("fetch", "--quiet", "--force", "--no-recurse-submodules", "origin"),
    *("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"),
)
_Key = tuple[int, str | None, str]
"""Number, merge commit, tip: together they decide for ever."""
_CLONE = "make it with: git clone --bare --filter=blob:none URL DIR"


class GitMirror:
    """Implements ``ports.Mirror`` with the git command.

    Args:
        path: the bare repository. Blobless will do; a shallow one is refused, since there a missing commit looks
            like one that is not an ancestor.
        repository: ``owner/name`` that it mirrors; pull requests of others are unknown to it.
        fetch: ask the remote: to bring it up to date, and for contents that a blobless mirror lacks.
    """

    def __init__(self, path: Path, repository: str = UPSTREAM, *, fetch: bool = True) -> None:
        self._git = Git(path)
        self._online = Git(path, online=True)
        self._repository = repository
        self._fetch = fetch
        self._twins = Twins(self._online if fetch else self._git)
        self._turn = asyncio.Lock()
        self._kept: dict[_Key, LineageFact] = {}

    async def update(self) -> str | None:
        """Fetch branches and tags; a sentence where that failed, else None."""
        async with self._turn:
            if (reason := await self._unusable()) is not None:
                return reason
            if not self._fetch:
                return None
            try:
                if (await self._git.read("rev-parse", "--is-bare-repository")).strip() != b"true":
                    return f"the mirror {self._git.path} is not bare, so nothing is fetched into it; {_CLONE}"
                await self._online.read(*_FETCH, seconds=FETCH_SECONDS)
            except GitFailed as failed:
                return f"the mirror {self._git.path} could not be brought up to date: {failed.text}"
        return None

    async def lineage(self, pulls: Sequence[Pull], pins: Sequence[Pin]) -> Mapping[tuple[Ref, str], LineageFact]:
        """For each pull request and pin id. Never raises for what git does: that is an unknown with its reason."""
        async with self._turn:
            if (reason := await self._unusable()) is not None:
                return _all_unknown(pulls, pins, reason)
            try:
                return await self._look(pulls, pins)
            except GitFailed as failed:
                return _all_unknown(pulls, pins, f"git could not read the mirror: {failed.text}")

    async def _unusable(self) -> str | None:
        try:
            shallow = await self._git.read("rev-parse", "--is-shallow-repository")
        except GitFailed as failed:
            if failed.code is None:
                return failed.text
            return f"there is no mirror at {self._git.path} ({failed.text}); {_CLONE}"
        if shallow.strip() == b"true":
            return f"the mirror {self._git.path} is shallow: what it lacks looks like what never was; {_CLONE}"
        return None

    async def _look(self, pulls: Sequence[Pull], pins: Sequence[Pin]) -> dict[tuple[Ref, str], LineageFact]:
        ours = [pull for pull in pulls if not pull.is_issue and self._home(pull) is not None]
        names = {name for pin in pins for name in _names(pin)}
        merges = {pull.merge_commit for pull in ours if pull.merge_commit}
        commits = await self._resolve(sorted(names | {_commit(one) for one in merges if _ABBREVIATED.fullmatch(one)}))
        tips = {pin.id: next((commits[name] for name in _names(pin) if name in commits), None) for pin in pins}
        asked = {pull.ref: self._question(pull, commits) for pull in ours}
        facts = await self._facts(tuple(asked.values()), {tip for tip in tips.values() if tip is not None})
        return {(pull.ref, pin.id): self._fact(pull, pin, asked, tips, facts) for pull in pulls for pin in pins}

    async def _facts(self, questions: Sequence[Question], tips: Iterable[str]) -> dict[_Key, LineageFact]:
        """By question and tip. What is unknown today is asked again the next time."""
        facts = {key: self._kept[key] for tip in tips for one in questions if (key := _key(one, tip)) in self._kept}
        new = {tip: [one for one in questions if _key(one, tip) not in facts] for tip in tips}
        new = {tip: some for tip, some in new.items() if some}
        wanted = {one for some in new.values() for one in some}
        histories = await read_histories(self._git, tuple(new), wanted, self._repository)
        for tip, some in new.items():
            for question in some:
                await asyncio.sleep(0)  # each takes a moment; a hundred in one go would be felt
                facts[_key(question, tip)] = await self._judged(question, tip, histories[tip])
        self._kept = {} if len(self._kept) > _MOST_KEPT else self._kept
        self._kept.update((key, fact) for key, fact in facts.items() if fact.lineage is not Lineage.UNKNOWN)
        return facts

    async def _judged(self, question: Question, tip: str, history: History) -> LineageFact:
        if question.merge is None or question.lacking or lands(question, history):
            return judge(question, history)
        twin, why = await self._twins.find(question.merge, tip)
        if not isinstance(twin, Copies) and twin not in history.seen:
            history = await with_commit(self._git, history, tip, twin)
        full = Question(question.number, question.merge, question.lacking, twin, why)
        return judge(full, history)

    def _fact(
        self,
        pull: Pull,
        pin: Pin,
        asked: Mapping[Ref, Question],
        tips: Mapping[str, str | None],
        facts: Mapping[_Key, LineageFact],
    ) -> LineageFact:
        if pull.is_issue:
            return _unknown("an issue has no merge")
        if pull.ref not in asked:
            return _unknown(f"the mirror is of {self._repository}, not of {pull.ref.repo}")
        tip = tips[pin.id]
        if tip is None:
            tried = ", ".join(name.removesuffix("^{commit}") for name in _names(pin)) or "nothing to look for"
            return _unknown(f"the mirror has no commit of pin {pin.id} (tried: {tried}); fetch it, or name its commit")
        return facts[_key(asked[pull.ref], tip)]

    def _home(self, pull: Pull) -> Ref | None:
        """The pull request within the mirrored repository, also where that was renamed since."""
        return next((ref for ref in (pull.ref, pull.now_at) if ref and ref.repo == self._repository), None)

    def _question(self, pull: Pull, commits: Mapping[str, str]) -> Question:
        home = self._home(pull) or pull.ref
        if pull.state is not State.MERGED or not pull.merge_commit:
            # The commit that upstream tells of an open one is a trial merge, which no branch ever gets.
            return Question(home.number)
        merge = commits.get(_commit(pull.merge_commit))
        return Question(home.number, merge or pull.merge_commit, lacking=merge is None)

    async def _resolve(self, names: Sequence[str]) -> dict[str, str]:
        """Commits by name; what is missing or ambiguous is left out."""
        asked = "".join(f"{name}\n" for name in names).encode()
        lines = (await self._git.read("cat-file", "--batch-check=%(objectname)", stdin=asked)).decode().splitlines()
        return {name: oid for name, oid in zip(names, lines, strict=True) if OID.fullmatch(oid) and _means(name, oid)}


def _names(pin: Pin) -> tuple[str, ...]:
    """What to look the pin's commit up by, surest first."""
    if pin.commit:
        return (_commit(pin.commit),) if _ABBREVIATED.fullmatch(pin.commit) else _tags(pin.commit)
    try:
        version = parse_version(pin.version)
    except ValueError:
        return ()
    sha = commit_of(version)
    return (_commit(sha),) if sha else _tags(f"v{public(version)}")


def _tags(name: str) -> tuple[str, ...]:
    return (f"refs/tags/{name}^{{commit}}",) if _TAG.fullmatch(name) else ()


def _commit(oid: str) -> str:
    return f"{oid.lower()}^{{commit}}"


def _means(name: str, oid: str) -> bool:
    """Git takes a branch that is called like an abbreviated commit for that branch."""
    return name.startswith("refs/tags/") or oid.startswith(name.removesuffix("^{commit}"))


def _key(question: Question, tip: str) -> _Key:
    return question.number, question.merge, tip


def _unknown(reason: str) -> LineageFact:
    return LineageFact(Lineage.UNKNOWN, "", reason)


def _all_unknown(pulls: Sequence[Pull], pins: Sequence[Pin], reason: str) -> dict[tuple[Ref, str], LineageFact]:
    return {(pull.ref, pin.id): _unknown(reason) for pull in pulls for pin in pins}
