"""A session that answers GETs from memory: pages by path, each made when it is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Self

import aiohttp


class Wire:
    """Stands in for ``aiohttp.ClientSession`` where only ``get`` is used. A path without a page refuses."""

    def __init__(self, pages: Mapping[str, Callable[[], bytes]] | None = None) -> None:
        self.pages = dict(pages or {})
        self.asked: list[str] = []

    def get(self, url: str, **_: Any) -> _Reply:
        path = "/" + url.split("://", 1)[1].split("/", 1)[1]
        self.asked.append(path)
        return _Reply(self.pages.get(path))


class _Reply:
    status = 200

    def __init__(self, page: Callable[[], bytes] | None) -> None:
        self._page = page
        self.content = self

    async def __aenter__(self) -> Self:
        if self._page is None:
            raise aiohttp.ClientConnectionError("refused")
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def iter_any(self) -> AsyncIterator[bytes]:
        assert self._page is not None
        yield self._page()
