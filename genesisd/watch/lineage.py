"""What a pin's history says of a pull request: landed, copied, undone. Pure: git's words come in, a fact goes out.

Nothing here tells what the files hold. A later commit may take a change away under another title, and a conflict may
be resolved against it; only a look into the tree tells that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from genesisd.watch.model import Lineage, LineageFact

OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_AT_END = re.compile(r"\(#([1-9]\d{0,8})\)\s*$")
_TAGS = r"(?:\[[^\]]*\]\s*)*"
_QUOTED = re.compile(rf'^{_TAGS}(?P<verb>Revert|Reapply)\s+"(?P<title>.*)"\s*(?:\(#\d+\))?\s*$', re.IGNORECASE)
_NUMBERED = re.compile(
    rf"^{_TAGS}Revert(?:s|ed)?:?\s+(?:(?:PR|pull request)s?\s+)?(?P<list>\(?#\d+\)?(?:(?:\s*,\s*|\s+and\s+|\s*&\s*)\(?#\d+\)?)*)",
    re.IGNORECASE,
)
_REVERTED_COMMITS = re.compile(r"^This reverts commits? (?P<oids>.*?)(?:reversing|$)", re.MULTILINE | re.IGNORECASE)
_REVERTED_PULL = re.compile(r"^Reverts (?:(?P<repo>[\w.-]+/[\w.-]+))?#(?P<number>[1-9]\d{0,8})\b", re.MULTILINE)
_COPIED = re.compile(
    r"^[ \t]*\(cherry[- ]picked from commit (?P<oid>[0-9a-f]{7,64})\)[ \t\r]*$", re.MULTILINE | re.IGNORECASE
)
_HEX = re.compile(r"\b[0-9a-f]{7,64}\b")
_HUNK = re.compile(rb"^@@ -\S+ \+\S+ @@.*$")

WORTH_READING = ("revert", "reapply", "cherry picked from commit", "cherry-picked from commit")
"""A message that says anything of another commit holds one of these, in any case of letters."""


class How(StrEnum):
    """The step that decided, strongest first."""

    MERGE_BASE = "merge-base"
    TRAILER = "trailer"
    PATCH_ID = "patch-id"
    SUBJECT = "subject"
    REVERT = "revert"


@dataclass(frozen=True, slots=True)
class Message:
    """What one commit says of others.

    Attributes:
        undoes: commits, perhaps abbreviated.
        undoes_numbers: pull requests.
        undoes_title: the subject it quotes, where neither a commit nor a pull request is named.
        brings_back: pull requests that it applies again.
        copies: commits that it is a copy of.
    """

    oid: str
    subject: str
    undoes: tuple[str, ...] = ()
    undoes_numbers: frozenset[int] = frozenset()
    undoes_title: str = ""
    brings_back: frozenset[int] = frozenset()
    copies: tuple[str, ...] = ()

    @property
    def reverts(self) -> bool:
        """It says to undo something."""
        return bool(self.undoes or self.undoes_numbers or self.undoes_title)


@dataclass(frozen=True, slots=True)
class Seen:
    """A commit of a history. ``at`` grows towards the past: no commit comes after one of its ancestors."""

    oid: str
    at: int
    subject: str


@dataclass(frozen=True, slots=True)
class History:
    """The commits of one pin's history that matter, and what they say of others."""

    seen: Mapping[str, Seen]
    messages: Mapping[str, Message]


class Copies(StrEnum):
    """What looking for a commit with the same patch id came to, where there is none to show."""

    NONE = "none"
    UNTOLD = "untold"
    """It could not be looked for: a commit or the files' contents are not in the mirror."""


@dataclass(frozen=True, slots=True)
class Question:
    """One pull request as git may know it.

    Attributes:
        number: within the mirror's repository.
        merge: the merge commit, in full, or as upstream told it where the mirror lacks it; None: none was told.
        lacking: the mirror has no such commit.
        same_patch: a commit of the history with the same patch id.
        why_untold: a reason for Copies.UNTOLD.
    """

    number: int
    merge: str | None = None
    lacking: bool = False
    same_patch: str | Copies = Copies.NONE
    why_untold: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class _Landing:
    commit: Seen
    how: How


def number_at_end(subject: str) -> int | None:
    """The pull request that a squashed commit came by: ``(#12)`` at the very end; what is named before is a mention."""
    found = _AT_END.search(subject)
    return int(found[1]) if found else None


def plain_title(subject: str) -> str:
    """The subject less what the forge appended: what a revert quotes that was begun from the pull request."""
    return _AT_END.sub("", subject).strip()


def read_message(oid: str, subject: str, body: str, repository: str) -> Message:
    """What the message says of other commits; pull requests of other repositories are left out."""
    numbers = {int(one["number"]) for one in _REVERTED_PULL.finditer(body) if one["repo"] in {None, repository}}
    quoted, listed = _QUOTED.match(subject), _NUMBERED.match(subject)
    title, back = "", frozenset[int]()
    if quoted:
        number = number_at_end(quoted["title"])
        if quoted["verb"].lower() == "reapply":
            back = frozenset() if number is None else frozenset({number})
        elif number is None:
            title = quoted["title"]
        else:
            numbers.add(number)
    elif listed:
        numbers.update(int(one) for one in re.findall(r"#(\d+)", listed["list"]))
    numbers.discard(number_at_end(subject) or 0)
    undoes = tuple(name for one in _REVERTED_COMMITS.finditer(body) for name in _HEX.findall(one["oids"]))
    return Message(
        oid=oid,
        subject=subject,
        undoes=undoes,
        undoes_numbers=frozenset(numbers),
        # Titles are not unique: where something better is named, that is what is meant.
        undoes_title="" if undoes or numbers else title,
        brings_back=back,
        copies=tuple(one["oid"] for one in _COPIED.finditer(body)),
    )


def lands(question: Question, history: History) -> bool:
    """It is told without comparing patches: by its own commit, or by a copy that says so."""
    strong = {How.MERGE_BASE, How.TRAILER}
    return any(
        one.how in strong and not _undoing(one.commit, question, history) for one in _landings(question, history)
    )


def judge(question: Question, history: History) -> LineageFact:
    """The fact. Unknown only where nothing was found and something could not be looked at."""
    landed = _landings(question, history)
    undone = None
    for one in landed:
        by = _undoing(one.commit, question, history)
        if by is None:
            return LineageFact(_kind(question, one), one.how, _told(question, one))
        undone = undone or LineageFact(Lineage.REVERTED, How.REVERT, f"{_name(by)} undoes {_name(one.commit)}")
    if undone is not None:
        return undone
    if question.lacking:
        lacks = f"the mirror has no commit {(question.merge or '')[:10]}, and no commit of the history names it"
        return LineageFact(Lineage.UNKNOWN, "", lacks)
    if question.same_patch is Copies.UNTOLD:
        return LineageFact(Lineage.UNKNOWN, "", question.why_untold or "copies of it could not be looked for")
    what = f"neither {question.merge[:10]} nor a copy of it" if question.merge else "no commit that names it"
    return LineageFact(Lineage.ABSENT, How.MERGE_BASE if question.merge else How.SUBJECT, f"{what} is in the history")


def _landings(question: Question, history: History) -> tuple[_Landing, ...]:
    found: dict[str, _Landing] = {}

    def add(oids: Iterable[str], how: How) -> None:
        for commit in sorted((history.seen[oid] for oid in oids if oid in history.seen), key=lambda one: one.at):
            found.setdefault(commit.oid, _Landing(commit, how))

    if question.merge:
        add([question.merge], How.MERGE_BASE)
        add((oid for oid, said in history.messages.items() if _named(question.merge, said.copies)), How.TRAILER)
    if not isinstance(question.same_patch, Copies):
        add([question.same_patch], How.PATCH_ID)
    add((oid for oid, one in history.seen.items() if number_at_end(one.subject) == question.number), How.SUBJECT)
    add((oid for oid, said in history.messages.items() if question.number in said.brings_back), How.SUBJECT)
    return tuple(found.values())


def _undoing(commit: Seen, question: Question, history: History, known: dict[str, bool] | None = None) -> Seen | None:
    """The newer commit of the history that says to undo it and is not itself undone.

    It ends, since each is newer than the one it undoes; ``known`` tells which of them stand, so that each is judged once.
    """
    known = {} if known is None else known
    for said in history.messages.values():
        by = history.seen.get(said.oid)
        if by is None or by.at >= commit.at or not _undoes(said, commit, question, history):
            continue
        if by.oid not in known:
            own = Question(number_at_end(by.subject) or 0)
            known[by.oid] = _undoing(by, own, history, known) is None
        if known[by.oid]:
            return by
    return None


def _undoes(said: Message, commit: Seen, question: Question, history: History) -> bool:
    if _named(commit.oid, said.undoes):
        return True
    if said.undoes_title and said.undoes_title in {commit.subject, plain_title(commit.subject)}:
        return True
    # On a branch that has a copy alone, people name the original.
    absent = question.merge is not None and question.merge not in history.seen
    if absent and question.merge and _named(question.merge, said.undoes):
        return True
    return question.number in said.undoes_numbers


def _named(oid: str, names: Iterable[str]) -> bool:
    return any(oid.startswith(name) or name.startswith(oid) for name in names)


def _kind(question: Question, landing: _Landing) -> Lineage:
    """Where upstream told no merge commit, the commit that names the pull request is the merge."""
    own = landing.how is How.MERGE_BASE or question.merge is None
    return Lineage.ANCESTOR if own else Lineage.CHERRY_PICKED


def _told(question: Question, landing: _Landing) -> str:
    name, original = _name(landing.commit), (question.merge or "")[:10]
    match landing.how:
        case How.TRAILER:
            return f"{name} says that it is a copy of {original}"
        case How.PATCH_ID:
            return f"{name} changes the same lines as {original}"
        case How.SUBJECT:
            return f"{name} names it"
        case _:
            return f"{name} is in the history"


def _name(commit: Seen) -> str:
    return f'{commit.oid[:10]} "{commit.subject[:100]}"'


def patch_fingerprint(diff: bytes) -> bytes | None:
    """What two diffs have in common when they change the same lines, wherever those stand; None for an empty one.

    git's own patch id leaves blanks out, by which a Python line in another block would be the same.
    """
    kept: list[bytes] = []
    index = b""
    for line in diff.split(b"\n"):
        if line.startswith(b"index "):
            index = line
        elif line.startswith(b"Binary files "):  # nothing else tells two contents apart
            kept += [index, line]
        else:
            kept.append(_HUNK.sub(b"@@", line))
    return b"\n".join(kept) if diff.strip() else None
