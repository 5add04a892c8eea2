"""One reading of pins' histories: the commits that matter to the questions, and what they say of others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from genesisd.watch.lineage import (
    WORTH_READING,
    History,
    Message,
    Question,
    Seen,
    number_at_end,
    plain_title,
    read_message,
)
from genesisd.watch.sources.git_child import Git

_LOG = ("log", "--no-show-signature", "--no-color", "--no-notes", "--encoding=UTF-8")
_LONGEST_BODY = 1 << 16
"""A squashed branch may carry a book; what it says of others stands in lines of its own, near an end."""


async def read_histories(
    git: Git, tips: Sequence[str], questions: Collection[Question], repository: str
) -> dict[str, History]:
    """By tip. The messages are read once for all; one pass a tip tells which commits are in it, and their order.

    Raises:
        GitFailed: a history could not be read whole; nothing may be concluded from a part of it.
    """
    if not tips:
        return {}
    messages = await _messages(git, tips, repository)
    return {tip: History(await _seen(git, tip, questions, messages), messages) for tip in tips}


async def _messages(git: Git, tips: Sequence[str], repository: str) -> dict[str, Message]:
    found: dict[str, Message] = {}

    def take(record: bytes) -> None:
        oid, _, rest = record.decode(errors="replace").strip("\n").partition("\n")
        subject, _, body = rest.partition("\n")
        if len(body) > _LONGEST_BODY:
            body = body[: _LONGEST_BODY // 2] + "\n" + body[-_LONGEST_BODY // 2 :]
        said = read_message(oid, subject, body, repository)
        if said.reverts or said.brings_back or said.copies:
            found[oid] = said

    greps = (f"--grep={word}" for word in WORTH_READING)
    await git.each(take, *_LOG, "-z", "-i", "-F", *greps, "--format=%H%n%s%n%b", *tips, "--", end=b"\0")
    return found


async def _seen(git: Git, tip: str, questions: Collection[Question], messages: dict[str, Message]) -> dict[str, Seen]:
    numbers = {one.number for one in questions} | {n for said in messages.values() for n in said.undoes_numbers}
    merges = {one.merge for one in questions}
    titles = {said.undoes_title for said in messages.values()} - {""}
    found: dict[str, Seen] = {}
    at = 0

    def take(line: bytes) -> None:
        nonlocal at
        at += 1
        oid, _, subject = line.decode(errors="replace").partition(" ")
        if oid in merges or oid in messages or number_at_end(subject) in numbers or plain_title(subject) in titles:
            found[oid] = Seen(oid, at, subject)

    await git.each(take, *_LOG, "--topo-order", "--format=%H %s", tip, "--")
    return found


async def with_commit(git: Git, history: History, tip: str, wanted: str) -> History:
    """The history with one commit more: its place in it tells what may have undone it."""
    found: dict[str, Seen] = {}
    at = 0

    def take(line: bytes) -> None:
        nonlocal at
        at += 1
        if line.startswith(wanted.encode()):
            oid, _, subject = line.decode(errors="replace").partition(" ")
            found[oid] = Seen(oid, at, subject)

    await git.each(take, *_LOG, "--topo-order", "--format=%H %s", tip, "--")
    return History({**history.seen, **found}, history.messages)
