"""Which package index pip would ask here: its own word on files, environment and defaults."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

_SECTIONS = ("global", "install", "download", ":env:")
"""From the weakest to the strongest, as for the commands that build pins."""
_LINE = re.compile(r"(?P<section>\S+?)\.(?P<key>[\w-]+)=(?P<value>['\"].*)")
_DEFAULT = re.compile(r"--index-url.*?\(default:?\s+(?P<url>\S+?)\)", re.DOTALL)
_ON = frozenset({"1", "true", "yes", "on", "y", "t"})
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PipSettings:
    """Where packages come from. Addresses may hold credentials: they are for asking, not for telling.

    Attributes:
        indexes: the main one first; none where pip is told to use none.
        find_links: folders and pages that list archives.
        cert: file of certificates to trust, or None.
        client_cert: file with our own certificate and key, or None.
        proxy: address, or None.
        trusted: hosts whose certificates are not looked at.
    """

    indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    trusted: frozenset[str] = frozenset()


async def pip_settings(python: str = sys.executable) -> PipSettings:
    """Ask the pip of ``python``. Raises OSError that says what went wrong."""
    told = read_config(await _pip(python, "config", "list"))
    main = told.get("index-url")
    if main is None and not _is_on(told.get("no-index")):
        main = read_default(await _pip(python, "download", "--help"))
    return settings(told, main)


def read_config(listed: str) -> dict[str, str]:
    """What ``pip config list`` says, by the key of the option."""
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in listed.splitlines():
        told = _LINE.fullmatch(line.strip())
        if told and told["section"] in found:
            with contextlib.suppress(ValueError, SyntaxError):
                found[told["section"]][told["key"].replace("_", "-")] = str(ast.literal_eval(told["value"]))
    return {key: value for section in _SECTIONS for key, value in found[section].items()}


def read_default(helped: str) -> str:
    """The index that pip uses where nobody said another. Raises OSError where its help does not name one."""
    found = _DEFAULT.search(helped)
    if found is None:
        raise OSError("pip does not say which index it uses; set index-url in its configuration")
    return found["url"]


def settings(told: Mapping[str, str], main: str | None) -> PipSettings:
    """From options by key and the main index."""
    indexes = (main or "", *told.get("extra-index-url", "").split())
    return PipSettings(
        indexes=() if _is_on(told.get("no-index")) else tuple(dict.fromkeys(one for one in indexes if one)),
        find_links=tuple(told.get("find-links", "").split()),
        cert=told.get("cert") or None,
        client_cert=told.get("client-cert") or None,
        proxy=told.get("proxy") or None,
        trusted=frozenset(told.get("trusted-host", "").split()),
    )


def _is_on(value: str | None) -> bool:
    return value is not None and value.lower() in _ON


async def _pip(python: str, *arguments: str) -> str:
    # Wide, so that no address is broken over two lines.
    own = {
        "COLUMNS": "10000",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *(python, "-m", "pip", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        env=os.environ | own,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            said, complaint = await child.communicate()
    except TimeoutError:
        raise OSError(f"pip {arguments[0]} took longer than {_SECONDS:g} s") from None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.communicate()
    if child.returncode != 0:
        last = complaint.decode(errors="replace").strip().splitlines()[-1:]
        raise OSError(f"pip {arguments[0]} did not work: {''.join(last) or child.returncode}")
    return said.decode(errors="replace")
