"""Releases of a package, from the index that pip is configured with; unchanged pages are not sent again."""

from __future__ import annotations

import asyncio
import ssl
import urllib.parse
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
from packaging.utils import canonicalize_name
from packaging.version import Version

from genesisd.watch.cost import Release
from genesisd.watch.ports import Facts
from genesisd.watch.sources.pip_settings import PipSettings, pip_settings
from genesisd.watch.sources.simple_api import ACCEPT, File, file_of, read_links, read_page, releases

_KIND = "etag"
_MOST_BYTES = 32 << 20
_TIMEOUT = aiohttp.ClientTimeout(total=120, sock_connect=20, sock_read=60)


class Silent(Exception):  # noqa: N818 - never leaves this module
    """A place gave no answer; the text says why, without credentials."""


class PackageIndex:
    """Implements ``ports.Index``.

    The releases of all places that pip would look at, together. The main index must have answered: without it the
    newest are missing, which would look as if there were none. Of the others, what did not answer is left out.

    Args:
        facts: keeps what a page said beside its ETag.
        settings: where to look; pip's own word by default, asked for each time, since people change it.

    Attributes:
        troubles: what did not answer the last time, each a sentence.
    """

    def __init__(self, facts: Facts, settings: Callable[[], Awaitable[PipSettings]] = pip_settings) -> None:
        self._facts = facts
        self._settings = settings
        self.troubles: tuple[str, ...] = ()
        self.unchanged = 0
        """Pages that had not changed, since the object was made."""
        self.asked = 0
        """Requests over the network, since the object was made."""

    async def releases(self, package: str) -> tuple[Release, ...] | None:
        """Newest first by version, prereleases among them; None where the main index did not answer."""
        self.troubles = ()
        try:
            settings = await self._settings()
        except OSError as error:
            self.troubles = (str(error),)
            return None
        places = [_project(url, package) for url in settings.indexes]
        found: list[File] = []
        answered = []
        async with _session(settings) as session:
            for n, url in enumerate((*places, *settings.find_links)):
                files = await self._ask(session, settings, url, package, project=n < len(places))
                answered.append(files is not None)
                found.extend(files or ())
        known = answered[0] if places else any(answered)
        return releases(package, found) if known else None

    async def _ask(
        self, session: aiohttp.ClientSession, settings: PipSettings, url: str, package: str, *, project: bool
    ) -> tuple[File, ...] | None:
        try:
            if url.startswith(("http://", "https://")):
                return await self._over_http(session, settings, url, package, project=project)
            return await asyncio.to_thread(_from_disk, url, package, project=project)
        except Silent as silent:
            self.troubles += (f"{_shown(url)} did not answer: {silent}",)
            return None

    async def _over_http(
        self, session: aiohttp.ClientSession, settings: PipSettings, url: str, package: str, *, project: bool
    ) -> tuple[File, ...]:
        key = f"{_shown(url)} {canonicalize_name(package)}"
        kept = _Kept.read((await self._facts.recall(_KIND, [key])).get(key))
        headers = {"Accept": ACCEPT} | (kept.conditions if kept else {})
        self.asked += 1
        try:
            async with session.get(url, headers=headers, ssl=_ssl(settings, url), proxy=settings.proxy) as answer:
                if answer.status == 304 and kept:
                    self.unchanged += 1
                    return kept.files
                if answer.status == 404 and project:
                    return ()  # it has no such package
                if answer.status != 200:
                    raise Silent(f"status {answer.status}")
                body = await _body(answer)
                kind = answer.headers.get("Content-Type", "")
                files = read_page(body, kind, package) if project else read_links(body, package)
                conditions = _Kept.conditions_of(answer.headers)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Silent(_why(error, url)) from None
        await self._facts.note(_KIND, {key: _Kept(conditions, files).written() if conditions else None})
        return files


class _Kept:
    """What a page said, and what to ask with whether that still holds."""

    def __init__(self, conditions: dict[str, str], files: tuple[File, ...]) -> None:
        self.conditions = conditions
        self.files = files

    @staticmethod
    def conditions_of(headers: Any) -> dict[str, str]:
        pairs = (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified"))
        return {ask: headers[told] for ask, told in pairs if told in headers}

    @classmethod
    def read(cls, value: Any) -> _Kept | None:
        """None for what another version wrote: then the page is asked for as if for the first time."""
        try:
            files = tuple(File(Version(v), bool(w), bool(y), at) for v, w, y, at in value["files"])
            return cls({str(ask): str(told) for ask, told in value["conditions"].items()}, files)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def written(self) -> dict[str, Any]:
        files = [[str(one.version), one.wheel, one.yanked, one.uploaded_at] for one in self.files]
        return {"conditions": self.conditions, "files": files}


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body.extend(chunk)
        if len(body) > _MOST_BYTES:
            raise Silent(f"the page is longer than {_MOST_BYTES >> 20} MiB")
    return bytes(body)


def _from_disk(place: str, package: str, *, project: bool) -> tuple[File, ...]:
    path = Path(urllib.parse.unquote(urllib.parse.urlsplit(place).path)) if place.startswith("file:") else Path(place)
    try:
        if project:
            page = path / "index.html"
            return read_links(page.read_bytes(), package) if page.exists() or not path.parent.is_dir() else ()
        if path.is_dir():
            found = (file_of(entry.name, package) for entry in path.iterdir())
            return tuple(file for file in found if file is not None)
        return read_links(path.read_bytes(), package)
    except OSError as error:
        raise Silent(error.strerror or str(error)) from None


def _project(index: str, package: str) -> str:
    return f"{index.rstrip('/')}/{canonicalize_name(package)}/"


def _session(settings: PipSettings) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        timeout=_TIMEOUT, cookie_jar=aiohttp.DummyCookieJar(), trust_env=settings.proxy is None
    )


def _ssl(settings: PipSettings, url: str) -> ssl.SSLContext | bool:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https":
        return True
    if {parts.hostname, parts.netloc.rpartition("@")[2]} & settings.trusted:
        return False
    if settings.cert is None and settings.client_cert is None:
        return True
    context = ssl.create_default_context(cafile=settings.cert)
    if settings.client_cert is not None:
        context.load_cert_chain(settings.client_cert)
    return context


def _shown(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def _why(error: Exception, url: str) -> str:
    """Some errors of the client quote the address as it was asked for."""
    text = str(error) or type(error).__name__
    login = urllib.parse.urlsplit(url).netloc.rpartition("@")[0]
    return (text.replace(login + "@", "") if login else text)[:300]
