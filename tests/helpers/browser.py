"""A real browser without a window, spoken to by its debugging protocol: what a page becomes in it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from tests.helpers.keeper import eventually

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROGRAM = next((found for name in NAMES if (found := shutil.which(name))), None)
WHY_NO_BROWSER = f"there is no browser here: one of {', '.join(NAMES)}"
_SECONDS = 120.0


class Page:
    """One page of the browser. ``said`` has every message of it that answers no call."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self.said: list[dict[str, Any]] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Carry out a method of the protocol."""
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while (told := await self._next()).get("id") != number:
            self.said.append(told)
        assert "error" not in told, told
        result: dict[str, Any] = told["result"]
        return result

    async def show(self, file: Path, width: int) -> None:
        """Open a file in a window that wide, and wait until it is drawn."""
        await self.call("Page.enable")
        await self.call("Network.enable")
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        self.said.clear()
        await self.call("Page.navigate", url=file.as_uri())
        while not any(one.get("method") == "Page.loadEventFired" for one in self.said):
            self.said.append(await self._next())

    async def value(self, expression: str) -> Any:
        """What an expression comes to in the page."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def asked(self) -> list[str]:
        """The addresses that the page asked for, itself left out."""
        sent = [one["params"] for one in self.said if one.get("method") == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent if one["type"] != "Document"]

    async def _next(self) -> dict[str, Any]:
        async with asyncio.timeout(_SECONDS):
            told: dict[str, Any] = await self._socket.receive_json()
        return told


@contextlib.asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Page]:
    """The browser with ``folder`` for its profile, and one page in it."""
    assert PROGRAM is not None
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    own = (f"--user-data-dir={folder}", "--remote-debugging-port=0", "--remote-allow-origins=*", "about:blank")
    null = asyncio.subprocess.DEVNULL
    child = await asyncio.create_subprocess_exec(
        PROGRAM, *flags, *own, stdin=null, stdout=null, stderr=null, start_new_session=True
    )
    told = folder / "DevToolsActivePort"
    try:
        await eventually(lambda: told.exists() and "/devtools/" in told.read_text(), _SECONDS)
        port = told.read_text().split()[0]
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            async with session.get("/json/list") as answer:
                pages = [one for one in await answer.json(content_type=None) if one["type"] == "page"]
            async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
