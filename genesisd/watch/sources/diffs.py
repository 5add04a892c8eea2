"""A pull request's diff at one commit: from the cache, as one answer, or put together from the list of its files."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from genesisd.watch.model import Pull, State
from genesisd.watch.ports import Diff
from genesisd.watch.refs import Ref
from genesisd.watch.sources import difftext
from genesisd.watch.sources.cache import DiffCache
from genesisd.watch.sources.calls import DIFF, Calls
from genesisd.watch.sources.reading import possible
from genesisd.watch.sources.replies import Failure
from genesisd.watch.sources.rest import path

TOO_LARGE = frozenset({406, 422})
"""Over 300 files or 20,000 lines; both were seen."""
MOST_PAGES = 5
"""Of a hundred files each."""
_HEAD = re.compile(r"[0-9a-f]{7,64}")


class Diffs:
    """Diffs that are surely of ``pull.head``.

    The diff of a pull request is told as it is now, without its commit. So what may still be pushed to is asked for
    as a comparison with that very commit, and anything else that came is held against the head that upstream names.
    """

    def __init__(self, calls: Calls, cache: DiffCache, *, anew: bool = False) -> None:
        """With ``anew`` each is asked for once, also where it is kept; what is kept serves where that fails."""
        self._calls = calls
        self._cache = cache
        self._anew = anew
        self._asked: set[tuple[Ref, str]] = set()

    async def get(self, pull: Pull) -> Diff | None:
        """The diff, or None where it cannot be had now. A cached one that is not whole is asked for again."""
        head = pull.head
        if pull.is_issue or head is None or not _HEAD.fullmatch(head) or not possible(pull.ref):
            return None
        kept = await asyncio.to_thread(self._cache.find, pull.ref, head)
        if kept is not None and kept.complete and not (self._anew and (pull.ref, head) not in self._asked):
            return kept
        self._asked.add((pull.ref, head))
        found = await self._ask(pull, head)
        if found is None or (kept is not None and not found[1]):
            return kept
        content, complete = found
        try:
            return await asyncio.to_thread(self._cache.keep, pull.ref, head, content, complete=complete)
        except OSError:
            return kept

    async def _ask(self, pull: Pull, head: str) -> tuple[bytes, bool] | None:
        if pull.state is State.MERGED:
            found = await self._text(path(pull.ref))
        else:
            found = (
                await self._text(f"/repos/{pull.ref.repo}/compare/{_quoted(pull.base)}...{head}") if pull.base else 0
            )
            if found in {0, 404}:  # some other branch than we think, or nothing in common with it
                found = await self._text(path(pull.ref))
                if isinstance(found, bytes) and await self._head_now(pull) != head:
                    return None
        if isinstance(found, bytes):
            return found, True
        return await self._pieces(pull, head) if found in TOO_LARGE else None

    async def _text(self, place: str) -> bytes | int:
        """A diff, or the status of the answer without one."""
        reply = await self._calls.get("diff", place, accept=DIFF)
        if isinstance(reply, Failure):
            return reply.status
        # Something in between may answer with a page of its own.
        is_diff = not reply.body or reply.body.startswith(b"diff --git ")
        return reply.body if is_diff and difftext.whole(reply.body) else -1

    async def _head_now(self, pull: Pull) -> str | None:
        reply = await self._calls.get("diff", path(pull.ref))
        try:
            return None if isinstance(reply, Failure) else str(reply.json()["head"]["sha"])
        except (ValueError, KeyError, TypeError):
            return None

    async def _pieces(self, pull: Pull, head: str) -> tuple[bytes, bool] | None:
        """By the list of its files; not complete where that ends early, or holds a change without its lines."""
        files: list[Any] = []
        ended = False
        for page in range(1, MOST_PAGES + 1):
            reply = await self._calls.get("diff", f"{path(pull.ref)}/files?per_page=100&page={page}")
            if isinstance(reply, Failure):
                break
            try:
                told = list(reply.json())
            except (ValueError, TypeError):
                break
            files += told
            if ended := len(told) < 100:
                break
        try:
            content, complete = difftext.joined(files)
            same = difftext.heads(files) == {head}
        except (KeyError, TypeError, AttributeError):
            return None
        return (content, complete and ended) if files and same and difftext.whole(content) else None


def _quoted(branch: str) -> str:
    """A branch's name in a path: slashes stay, and dots cannot climb since git forbids two in a row."""
    return re.sub(r"[^A-Za-z0-9._/-]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), branch)
