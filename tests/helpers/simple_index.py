"""A package index on the loopback that speaks the simple API in JSON or HTML, with validators, and with faults."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class SimpleIndex:
    """``files`` maps a project to its entries, as the JSON form has them (``filename``, ``upload-time``, ``yanked``).

    ``json``: off for an index that has HTML only. ``etags``: off for one without validators. ``fault`` names one of:
    ``status:N``, ``cut`` (a body that breaks off), ``login`` (a page that asks who you are), ``type`` (an image).
    """

    url: str = ""
    files: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    json: bool = True
    etags: bool = True
    fault: str = ""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def release(self, project: str, version: str, **entry: Any) -> None:
        name = f"{project.replace('-', '_')}-{version}-py3-none-any.whl"
        self.files.setdefault(project, []).append({"filename": name, "url": f"/files/{name}", "hashes": {}, **entry})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, dict(request.headers)))
        if self.fault:
            return await self._faulty(request)
        entries = self.files.get(request.match_info["project"])
        if entries is None:
            raise web.HTTPNotFound
        body, kind = self._page(request, entries)
        headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()[:16]}"', "Cache-Control": "max-age=600"}
        headers = headers if self.etags else {}
        if self.etags and request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, headers=headers | {"Content-Type": kind})

    def _page(self, request: web.Request, entries: list[dict[str, Any]]) -> tuple[bytes, str]:
        if self.json and JSON in request.headers.get("Accept", ""):
            page = {"meta": {"api-version": "1.1"}, "name": request.match_info["project"], "files": entries}
            return json.dumps(page).encode(), JSON
        links = [
            f'<a href="..{entry["url"]}#sha256=0"{_yanked(entry)}>{html.escape(entry["filename"])}</a><br/>'
            for entry in entries
        ]
        return (
            "<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>"
        ).encode(), "text/html; charset=utf-8"

    async def _faulty(self, request: web.Request) -> web.StreamResponse:
        if self.fault.startswith("status:"):
            return web.Response(status=int(self.fault.partition(":")[2]))
        if self.fault == "login":
            return web.Response(text='<html><a href="/login">Who are you?</a></html>', content_type="text/html")
        if self.fault == "type":
            return web.Response(body=b"\x89PNG", content_type="image/png")
        answer = web.StreamResponse(headers={"Content-Type": JSON, "Content-Length": "1000"})
        await answer.prepare(request)
        await answer.write(b'{"meta": {"api-version": "1.1"}, "files": [')
        assert request.transport is not None
        request.transport.close()
        return answer


def _yanked(entry: dict[str, Any]) -> str:
    return f' data-yanked="{html.escape(str(entry["yanked"]))}"' if entry.get("yanked", False) is not False else ""


@asynccontextmanager
async def serve() -> AsyncIterator[SimpleIndex]:
    """One without projects."""
    index = SimpleIndex()
    application = web.Application()
    application.router.add_get("/simple/{project}/", index.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        index.url = f"http://127.0.0.1:{runner.addresses[0][1]}/simple"
        yield index
    finally:
        await runner.cleanup()
