"""Stand-ins of what the wiring connects: fronts, engines, the daemon's own operations, and an engine that answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aiohttp import ClientSession, TCPConnector, web

from genesisd.control.views import BuildView, DaemonView, PatchesView, ReloadView
from genesisd.errors import ConflictError, UnavailableError
from genesisd.front.channel import RefusedError
from genesisd.units import Address
from genesisd.wiring.launcher import Engine


class FakeFronts:
    """As ``front.link.Fronts`` looks from the wiring; ``taken`` addresses are refused."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.taken: set[str] = set()
        self.counts: dict[str, Any] = {}
        self.by_incarnation: dict[str, int] = {}
        self.left_over: set[str] = set()

    async def ensure(self, worker: str, listen: Address, hold: float, max_held: int) -> None:
        if str(listen) in self.taken:
            error = {"code": "listen", "message": f"{listen} is taken by pid 7", "hint": "end it"}
            raise RefusedError(error)
        self.told.append(("ensure", worker, str(listen), hold, max_held))

    async def open(self, worker: str, host: str, port: int, incarnation: int) -> None:
        self.told.append(("open", worker, host, port, incarnation))

    async def hold(self, worker: str) -> None:
        self.told.append(("hold", worker))

    async def close(self, worker: str, text: str) -> None:
        self.told.append(("close", worker, text))

    async def take(self, worker: str) -> bool:
        return worker in self.left_over

    async def release(self, worker: str) -> None:
        self.told.append(("release", worker))

    async def stats(self, worker: str) -> Any:
        return self.counts.get(worker)

    async def in_flight(self, worker: str, incarnation: int) -> int | None:
        return self.by_incarnation.get(worker)


def counts(**values: Any) -> SimpleNamespace:
    """What a front of a newer release may answer: more than the daemon knows."""
    return SimpleNamespace(**values)


class FakeEngines:
    """Implements ``Engines``: one pin of each kind."""

    def engine(self, pin: str) -> Engine:
        if pin == "unbuilt":
            raise UnavailableError("pin unbuilt is not built", hint="genesisctl pins build unbuilt")
        return Engine(Path(f"/pins/{pin}/bin/vllm"), drains=pin != "old")


class FakeOperations:
    """Implements ``Operations``."""

    def __init__(self) -> None:
        self.stopping = False
        self.told: list[tuple[Any, ...]] = []
        self.config_path = Path("/etc/genesisd/genesisd.yaml")

    def daemon(self) -> DaemonView:
        return DaemonView("0.1.0", 1, 0.0, str(self.config_path))

    def refresh_soon(self) -> None:
        self.told.append(("refresh",))

    def try_builds_again(self) -> None:
        self.told.append(("builds",))

    def refuse_when_stopping(self) -> None:
        if self.stopping:
            raise ConflictError("the daemon is shutting down")

    async def patches(self, worker: str) -> PatchesView:
        return PatchesView(worker, BuildView(None))

    async def pins(self) -> tuple[()]:
        return ()

    async def reload(self) -> ReloadView:
        self.told.append(("reload",))
        return ReloadView()

    def stop(self, *, drain: bool) -> None:
        self.told.append(("stop", drain))


Handler = Callable[[web.Request], Any]


@asynccontextmanager
async def engine(routes: dict[str, Handler], host: str = "127.0.0.1"):
    """A server with these paths, and a session to ask it with: yields (port, session)."""
    app = web.Application()
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, host, 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    try:
        async with ClientSession(connector=TCPConnector(force_close=True)) as session:
            yield port, session
    finally:
        await runner.cleanup()
