"""Which pull requests changed lately, within a budget of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from genesisd.clock import Clock
from genesisd.watch.model import Pull
from genesisd.watch.ports import Facts, Recent
from genesisd.watch.refs import Ref
from genesisd.watch.sources import batches, etags, queries
from genesisd.watch.sources.calls import Calls
from genesisd.watch.sources.graphql import NOTE, nonce
from genesisd.watch.sources.mark import Mark, Step, Walk, parsed, written
from genesisd.watch.sources.queries import Page
from genesisd.watch.sources.reading import MOST_FILES, Unreadable, rest_pull, text
from genesisd.watch.sources.replies import Failure

START = 50
"""Pull requests a page of GraphQL's, each with up to a hundred files."""
LISTED = 100
"""Pull requests a page of REST's, without files."""
SLACK = 20
"""Entries that may have been deleted since."""


_First = tuple[str | None, list[Any] | None]
_NO_CURSOR = "valid cursor"
"""Words of upstream's about a place in the list that it does not know."""


@dataclass(slots=True)
class _Purse:
    """Requests that one look may still cost."""

    left: int

    def take(self) -> bool:
        """One of them, if there is one."""
        self.left -= 1
        return self.left >= 0


class Changes:
    """Reads the list of changes from the newest on, up to where the last reading began.

    Args:
        calls: asks.
        facts: keep the tag of the list and the size of a page.
        clock: for times.
        pages: requests that one look may cost.
    """

    def __init__(self, calls: Calls, facts: Facts, clock: Clock, pages: int) -> None:
        self._calls = calls
        self._facts = facts
        self._clock = clock
        self._pages = pages

    async def since(self, repo: str, mark: str | None, most: int) -> Recent | None:
        """What changed; None where upstream did not answer, or nothing may be asked."""
        purse, old = _Purse(self._pages), parsed(mark)
        tokened = self._calls.has_token()
        if tokened and purse.left < 2:
            first: _First | None = (None, [])  # the tag would cost the one request that there is for the list itself
        else:
            first = await self._first(repo, mark if old else None, 1 if tokened else LISTED, purse)
        if first is None:
            return None
        tag, listed = first
        if listed is None:  # 304
            return Recent(pulls=(), mark=mark or "", complete=True)
        walk = Walk(old, most)
        pages = self._queried(repo, walk, purse) if tokened else self._listed(repo, listed, walk, purse)
        read = await _read(pages, walk, once=old is None)
        after = walk.mark()
        if not read or after is None:
            return None
        pulls = tuple(walk.pulls) if tokened else await self._with_files(walk.pulls, purse)
        return await self._told(repo, after, pulls, tag, complete=walk.ended or old is None)

    async def _told(
        self, repo: str, after: Mark, pulls: tuple[Pull, ...], tag: str | None, *, complete: bool
    ) -> Recent:
        mark = written(after)
        # The tag is good for this mark alone: whoever comes with an older one has not seen what this look told.
        usable = tag if complete and after.gap is None else None
        await self._facts.note(etags.NOTE, {_list(repo): {"etag": usable, "mark": mark} if usable else None})
        return Recent(pulls=pulls, mark=mark, complete=complete)

    async def _first(self, repo: str, mark: str | None, size: int, purse: _Purse) -> _First | None:
        """Tag and entries of the first page, None for the entries where nothing changed; None: no answer."""
        kept = (await self._facts.recall(etags.NOTE, (_list(repo),))).get(_list(repo)) or {}
        etag = kept.get("etag") if mark is not None and kept.get("mark") == mark else None
        if not purse.take():
            return None
        reply = await self._calls.get("recent", _page(repo, size, 1), etag=etag)
        if isinstance(reply, Failure):
            return None
        if reply.unchanged:
            return etag, None
        try:
            listed = reply.json()
        except ValueError:
            return None
        return (reply.headers.get("etag"), listed) if isinstance(listed, list) else None

    async def _queried(self, repo: str, walk: Walk, purse: _Purse) -> AsyncGenerator[Page | None, None]:
        """Pages of GraphQL's, smaller ones where a page was too much; None: no answer."""
        kept = (await self._facts.recall(NOTE, ("recent",))).get("recent")
        size = batches.recalled(kept, self._clock.wall(), START)
        after: str | None = None
        files = True
        while purse.take():
            if walk.can_jump:
                after = walk.jump()
            page = await self._query(repo, size.now, after, files=files)
            if isinstance(page, Page):
                yield page
                after, files = (page.items[-1][0] if page.items else after), True
            elif _NO_CURSOR in page.text:
                walk.lose_cursor()
                break
            elif not page.heavy or not files:
                break
            else:
                # One whose files are too much must not hold up all that changed before it.
                files = size.now > 1
                size = size.shrunk(size.now // 2, self._clock.wall())
            if size.note() != kept:
                kept = size.note()
                await self._facts.note(NOTE, {"recent": kept})
        yield None

    async def _query(self, repo: str, size: int, after: str | None, *, files: bool) -> Page | Failure:
        name = nonce()
        reply = await self._calls.query("recent", queries.newest(repo, size, after, name, files=files))
        if isinstance(reply, Failure):
            return reply
        try:
            page = queries.read_page(repo, name, reply.json(), self._clock.wall() - reply.age)
        except ValueError:
            page = "the answer broke off"
        return page if isinstance(page, Page) else self._calls.broke(page, reply.status)

    async def _listed(
        self, repo: str, listed: list[Any], walk: Walk, purse: _Purse
    ) -> AsyncGenerator[Page | None, None]:
        """Pages of the list, the first of which is there already. A place in it is a number of entries.

        What changes goes to the top, so that an entry's place only ever grows: a gap lies behind its old place.
        """
        number = 1
        while True:
            page = _entries(repo, listed, (number - 1) * LISTED, self._clock.wall())
            yield page
            if page is None:
                return
            number += 1
            if walk.can_jump and (place := walk.jump() or "").isdecimal():
                number = max(number, (int(place) - SLACK) // LISTED + 1)
            told = await self._list_page(repo, number) if purse.take() else None
            if told is None:
                yield None
                return
            listed = told

    async def _list_page(self, repo: str, number: int) -> list[Any] | None:
        reply = await self._calls.get("recent", _page(repo, LISTED, number))
        try:
            listed = None if isinstance(reply, Failure) else reply.json()
        except ValueError:
            return None
        return listed if isinstance(listed, list) else None

    async def _with_files(self, pulls: list[Pull], purse: _Purse) -> tuple[Pull, ...]:
        """With their files, the newest first, as long as requests are left."""
        found = []
        for pull in pulls:
            files = await self._files(pull) if purse.take() else None
            found.append(replace(pull, files=files))
        return tuple(found)

    async def _files(self, pull: Pull) -> tuple[str, ...] | None:
        reply = await self._calls.get("files", f"/repos/{pull.ref.repo}/pulls/{pull.ref.number}/files?per_page=100")
        if isinstance(reply, Failure):
            return None
        try:
            names = tuple(text(told["filename"]) for told in reply.json())
        except (ValueError, KeyError, TypeError):
            return None
        return names if len(names) < MOST_FILES else None


async def _read(pages: AsyncGenerator[Page | None, None], walk: Walk, *, once: bool) -> bool:
    """Walk through the pages; False where not even the first one came."""
    seen = False
    async with aclosing(pages):
        async for page in pages:
            if page is None:
                return seen
            seen = True
            if _through(page, walk) or once:
                return True
    return seen


def _through(page: Page, walk: Walk) -> bool:
    """Feed a page to the walk; True when nothing more is wanted."""
    for cursor, pull in page.items:
        if walk.step(pull, cursor) is Step.END:
            return True
    if not page.more:
        walk.finish()
    return not page.more


def _entries(repo: str, listed: list[Any], before: int, at: float) -> Page | None:
    """A page of REST's; None where one of its entries cannot be understood."""
    try:
        pulls = [rest_pull(Ref(repo, int(told["number"])), told, at) for told in listed]
    except (Unreadable, KeyError, TypeError, ValueError):
        return None
    items = tuple((str(before + index), pull) for index, pull in enumerate(pulls, 1))
    return Page(items, more=len(listed) == LISTED)


def _page(repo: str, size: int, number: int) -> str:
    return f"/repos/{repo}/pulls?state=all&sort=updated&direction=desc&per_page={size}&page={number}"


def _list(repo: str) -> str:
    return f"/repos/{repo}/pulls"
