"""The workers' own metrics on our page, each with a ``worker`` label. Off by default: they are many.

Everything that comes from a worker is bounded and may be wrong: it is patched software, and it may be dying.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field

import aiohttp

from genesisd.telemetry.exposition import Slicer
from genesisd.telemetry.families import label_text

DEADLINE = 2.0
"""Seconds that all workers together may take; whoever is late is left out of this page."""
LIMIT = 4 << 20
"""Largest page of one worker, in bytes."""

LINE_LIMIT = 16 << 10
"""Longest line, in characters: matching one of a megabyte would hold the loop."""

Targets = Callable[[], Mapping[str, tuple[str, int]]]
"""Host and port of each live worker's engine."""

_HEADER = re.compile(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) ?(.*)")
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? +(\S+)(?: +-?\d+)?")
_OURS = re.compile(r"(genesisd|process|python)_")
"""Families that are ours on this page, or say nothing about an engine."""
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)=("(?:[^"\\]|\\[\\"n])*")'
_LABELS = re.compile(rf"(?:{_LABEL}(?:, *|$))*")
"""Checked in full: one unbalanced quote of one worker would make the whole page unreadable."""
_ONE_LABEL = re.compile(_LABEL)
_TYPES = frozenset({"counter", "gauge", "histogram", "summary"})
_SUFFIX = re.compile(r"_(?:bucket|sum|count|created|total)$")


@dataclass(slots=True)
class _Merged:
    help: str
    type: str
    lines: list[str] = field(default_factory=list)


class Passthrough:
    """Fetches all workers at once and merges what they say, family by family."""

    def __init__(self, targets: Targets, *, deadline: float = DEADLINE, limit: int = LIMIT) -> None:
        self._targets = targets
        self._deadline = deadline
        self._limit = limit

    async def chunks(self) -> AsyncIterator[bytes]:
        """Text to stand after our own families; give it to ``Exposition`` as ``more``."""
        families: dict[str, _Merged] = {}
        slicer = Slicer()
        for worker, text in (await self._fetch_all()).items():
            await _merge(families, worker, text, slicer)
        for name, family in families.items():
            if family.lines:
                yield f"# HELP {name} {family.help}\n# TYPE {name} {family.type}\n{''.join(family.lines)}".encode()
                await slicer.pause()

    async def _fetch_all(self) -> dict[str, str]:
        targets = self._targets()
        if not targets:
            return {}
        # No pool: an idle connection to a worker that restarts would fail the next fetch.
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        timeout = aiohttp.ClientTimeout(total=self._deadline)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as session:
            pages = await asyncio.gather(*(self._fetch(session, *target) for target in targets.values()))
        return {worker: page for worker, page in zip(targets, pages, strict=True) if page is not None}

    async def _fetch(self, session: aiohttp.ClientSession, host: str, port: int) -> str | None:
        """The page, or None: late, too large, not 200, not there."""
        authority = f"[{host}]" if ":" in host else host
        url = f"http://{authority}:{port}/metrics"
        try:
            async with session.get(url, headers={"Accept-Encoding": "identity"}, allow_redirects=False) as response:
                if response.status != 200:
                    return None
                page = bytearray()
                async for piece in response.content.iter_chunked(1 << 16):
                    page += piece
                    if len(page) > self._limit:
                        return None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return None
        return page.decode("utf-8", "replace")


async def _merge(families: dict[str, _Merged], worker: str, text: str, slicer: Slicer) -> None:
    """Add one worker's page. A family whose type differs from an earlier worker's is left out."""
    label = label_text(("worker",), (worker,))[1:-1]
    seen: dict[str, str] = {}
    current = ""
    for n, line in enumerate(_lines(text)):
        if n % 64 == 0:
            await slicer.pause()
        if (header := _HEADER.fullmatch(line)) is not None:
            current = header[2]
            _declare(families, seen, header)
        elif (sample := _SAMPLE.fullmatch(line)) is not None:
            _add(families, seen, current, label, sample)


def _lines(text: str) -> Iterator[str]:
    """One at a time: splitting a page of some megabytes at once would hold the loop by itself."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end - start <= LINE_LIMIT:
            yield text[start:end]
        start = end + 1


def _declare(families: dict[str, _Merged], seen: dict[str, str], header: re.Match[str]) -> None:
    what, name, rest = header.groups()
    if _OURS.match(name):
        return
    if what == "HELP":
        families.setdefault(name, _Merged(rest, "untyped"))
        return
    kind = rest if rest in _TYPES else "untyped"
    family = families.setdefault(name, _Merged("", kind))
    if not family.lines:
        family.type = kind
    seen[name] = kind


def _add(families: dict[str, _Merged], seen: dict[str, str], current: str, label: str, sample: re.Match[str]) -> None:
    name, labels, value = sample.groups()
    owner = name if name in families else current if _SUFFIX.sub("", name) == current else name
    if _OURS.match(name) or not _is_number(value) or _LABELS.fullmatch(labels or "") is None:
        return
    family = families.setdefault(owner, _Merged("", "untyped"))
    if seen.get(owner, "untyped") != family.type:
        return
    inside = "".join(f",{_renamed(one[1])}={one[2]}" for one in _ONE_LABEL.finditer(labels or ""))
    family.lines.append(f"{name}{{{label}{inside}}} {value}\n")


def _renamed(label: str) -> str:
    """Prometheus' own custom for a label that is taken."""
    return "exported_worker" if label == "worker" else label


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
