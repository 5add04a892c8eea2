"""Where the daemon is asked: the control socket, and the address of the metrics. Each is open while its ``with`` is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from genesisd.clock import Clock
from genesisd.config.root import Config
from genesisd.control.ports import Api
from genesisd.control.server import ControlServer
from genesisd.control.watch_ports import WatchApi
from genesisd.daemon.background import Background
from genesisd.daemon.looks import Looks
from genesisd.errors import GenesisError
from genesisd.telemetry import log
from genesisd.telemetry.exposition import Exposition
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.passthrough import Passthrough
from genesisd.telemetry.server import MetricsServer, make_app

REACH_SECONDS = 2.0

logger = log.get_logger(__package__)


@contextlib.asynccontextmanager
async def taking_orders(
    config: Config, api: Api, watch: WatchApi, clock: Clock, background: Background
) -> AsyncIterator[None]:
    """On the control socket. Raises ConflictError where another daemon does, ConfigError where it cannot be."""
    control = ControlServer(api, config.paths.socket, clock, watch=watch, group=config.daemon.control.group)
    async with contextlib.AsyncExitStack() as stack:
        await control.start()
        stack.push_async_callback(control.close)
        background.begin(stay_reachable(control))
        yield


@contextlib.asynccontextmanager
async def showing_metrics(config: Config, metrics: Metrics, looks: Looks) -> AsyncIterator[None]:
    """Where an address is configured. Raises UnavailableError when it cannot be had."""
    spec = config.daemon.metrics
    if spec.listen is None:
        yield
        return
    more = Passthrough(looks.engines).chunks if spec.passthrough else None
    exposition = Exposition(metrics, refresh=looks.scrape, more=more)
    server = MetricsServer(make_app(exposition, looks.health), spec.listen)
    async with contextlib.AsyncExitStack() as stack:
        await server.start()
        stack.push_async_callback(server.stop)
        stack.push_async_callback(exposition.close)
        yield


async def stay_reachable(control: ControlServer) -> None:
    """A runtime folder can vanish (a logout takes the user's, a cleaner old files): then nobody could order any more."""
    complained = False
    while True:
        await asyncio.sleep(REACH_SECONDS)
        if control.reachable:
            continue
        try:
            await control.reopen()
        except (GenesisError, OSError) as error:
            if not complained:
                logger.warning("the control socket is gone and cannot be made anew", error=str(error))
            complained = True
        else:
            logger.warning("the control socket was gone and is made anew")
            complained = False
