"""The HTTP endpoint for machines that watch: /metrics and /healthz."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from genesisd.errors import UnavailableError
from genesisd.telemetry.exposition import CONTENT_TYPE, Exposition
from genesisd.units import Address

Health = Callable[[], tuple[bool, Mapping[str, Any]]]
"""Whether the daemon (not its workers) is well, and facts for people. Answers from memory."""


def make_app(exposition: Exposition, health: Health) -> web.Application:
    """The application, to be served anywhere."""
    app = web.Application()
    app.router.add_get("/metrics", _metrics(exposition))
    app.router.add_get("/healthz", _healthz(health))
    return app


def _metrics(exposition: Exposition) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def metrics(request: web.Request) -> web.StreamResponse:
        chunks = await exposition.page()
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
        response.content_length = sum(map(len, chunks))
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
        return response

    return metrics


def _healthz(health: Health) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def healthz(_: web.Request) -> web.Response:
        well, facts = health()
        return web.json_response({"ok": well, **facts}, status=200 if well else 503)

    return healthz


class MetricsServer:
    """Serves ``app`` on ``address`` between ``start`` and ``stop``."""

    def __init__(self, app: web.Application, address: Address) -> None:
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        self._address = address

    async def start(self) -> None:
        """Raises UnavailableError when the address cannot be had."""
        await self._runner.setup()
        try:
            # reuse_address: else a restarted daemon waits for the TIME_WAIT of the old one's scrapes.
            site = web.TCPSite(self._runner, self._address.host, self._address.port, reuse_address=True)
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise UnavailableError(
                f"cannot serve metrics on {self._address}: {error.strerror or error}",
                hint="choose another daemon.metrics.listen, or end what listens there",
                address=str(self._address),
            ) from error

    @property
    def port(self) -> int:
        """The port that was bound; differs from the address's when that is 0."""
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close it; scrapes under way get a second."""
        await self._runner.cleanup()
