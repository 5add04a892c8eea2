"""What a page of a package index says: the simple API in JSON or HTML, and names of files. Pure."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from genesisd.watch.cost import Release

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


@dataclass(frozen=True, slots=True)
class File:
    """One archive of a package; ``uploaded_at`` is None where the page does not tell."""

    version: Version
    wheel: bool
    yanked: bool = False
    uploaded_at: float | None = None


def read_page(body: bytes, content_type: str, package: str) -> tuple[File, ...]:
    """The files of ``package`` on a project's page.

    Raises:
        ValueError: it is no such page. A page in HTML that names no file of the package is none either: a portal that
            asks for a login looks the same.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind.endswith("json"):
        return _from_json(body, package)
    if not kind.endswith("html"):
        raise ValueError(f"expected the simple API's JSON or HTML, not {kind or 'an answer without a type'}")
    files = read_links(body, package)
    if not files:
        raise ValueError(f"the page names no file of {package}")
    return files


def read_links(body: bytes, package: str) -> tuple[File, ...]:
    """The files of ``package`` that a page in HTML links to."""
    page = _Links()
    page.feed(body.decode(errors="replace"))
    page.close()
    found = (file_of(name, package, yanked=yanked) for name, yanked in page.links)
    return tuple(file for file in found if file is not None)


def file_of(name: str, package: str, *, yanked: bool = False, uploaded_at: float | None = None) -> File | None:
    """What the name of an archive tells, or None where it is not one of ``package``."""
    try:
        if name.endswith(".whl"):
            of, version, *_ = parse_wheel_filename(name)
        else:
            of, version = parse_sdist_filename(name)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None  # names of an age before there were rules
    if of != canonicalize_name(package):
        return None
    return File(version, name.endswith(".whl"), yanked, uploaded_at)


def releases(package: str, files: Iterable[File]) -> tuple[Release, ...]:
    """Files by version, newest version first. Yanked is what has no file left that is not."""
    by_version: dict[Version, list[File]] = {}
    for file in files:
        by_version.setdefault(file.version, []).append(file)
    return tuple(_release(package, version, by_version[version]) for version in sorted(by_version, reverse=True))


def _release(package: str, version: Version, files: list[File]) -> Release:
    times = [file.uploaded_at for file in files if file.uploaded_at is not None]
    return Release(
        package=package,
        version=str(version),
        uploaded_at=min(times) if times else None,
        yanked=all(file.yanked for file in files),
        has_wheel=any(file.wheel for file in files),
    )


def _from_json(body: bytes, package: str) -> tuple[File, ...]:
    try:
        page: Any = json.loads(body)
        major = str(page["meta"]["api-version"]).partition(".")[0]
        entries = [(str(entry["filename"]), entry) for entry in page["files"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("expected the simple API's JSON, not what came") from None
    if major != "1":
        raise ValueError(f"expected version 1 of the simple API, not {major}")
    found = (
        file_of(name, package, yanked=entry.get("yanked", False) is not False, uploaded_at=_moment(entry))
        for name, entry in entries
    )
    return tuple(file for file in found if file is not None)


def _moment(entry: dict[str, Any]) -> float | None:
    try:
        return datetime.fromisoformat(entry["upload-time"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return None


class _Links(HTMLParser):
    """The file that each link leads to, as installers see it: the end of its address."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "a" and (href := told.get("href")):
            path = urllib.parse.urlsplit(href.strip()).path
            self.links.append((urllib.parse.unquote(path.rpartition("/")[2]), "data-yanked" in told))
