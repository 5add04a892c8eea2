"""The endpoint over real sockets: scrapes, health, and the workers' own pages, well-behaved or not."""

from __future__ import annotations

import asyncio
import re
import socket

import aiohttp
import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from genesisd.errors import UnavailableError
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry import names
from genesisd.telemetry.exposition import Exposition
from genesisd.telemetry.lag import watch_loop_lag
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.passthrough import Passthrough
from genesisd.telemetry.server import MetricsServer, make_app
from genesisd.units import Address

pytestmark = pytest.mark.process
ANY = Address(host="127.0.0.1", port=0)


@pytest.fixture
def metrics():
    made = Metrics()
    made.configure(
        {f"w{n}": WorkerSpec(command=("x",), listen=Address(host="127.0.0.1", port=9000 + n)) for n in range(3)}
    )
    return made


class Served:
    def __init__(self, exposition, health=lambda: (True, {"workers": 3})):
        self.server = MetricsServer(make_app(exposition, health), ANY)

    async def __aenter__(self):
        await self.server.start()
        self.session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_):
        await self.session.close()
        await self.server.stop()

    async def get(self, path):
        async with self.session.get(f"http://127.0.0.1:{self.server.port}{path}") as response:
            return response.status, await response.text(), response.headers


async def test_a_scrape_and_a_health_check(metrics):
    """The content type is the one that Prometheus negotiates for text."""
    async with Served(Exposition(metrics)) as served:
        status, text, headers = await served.get("/metrics")
        assert status == 200
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert 'genesisd_worker_wanted{worker="w2"} 0' in text
        assert "process_resident_memory_bytes" in text
        status, text, _ = await served.get("/healthz")
        assert (status, text) == (200, '{"ok": true, "workers": 3}')
        assert (await served.get("/nothing"))[0] == 404


async def test_an_unwell_daemon_answers_503(metrics):
    """For probes that only look at the status."""
    async with Served(Exposition(metrics), lambda: (False, {})) as served:
        assert (await served.get("/healthz"))[0] == 503


async def test_scrapes_that_come_together_share_one_page(metrics):
    """Two Prometheis cost as much as one."""
    asked = []

    async def refresh():
        asked.append(1)
        await asyncio.sleep(0.05)

    async with Served(Exposition(metrics, refresh)) as served:
        pages = await asyncio.gather(*(served.get("/metrics") for _ in range(10)))
        assert {status for status, _, _ in pages} == {200}
        assert len(asked) < 10
        before = len(asked)
        await served.get("/metrics")
        assert len(asked) == before + 1


async def test_a_scraper_that_hangs_up_leaves_the_page_to_the_others(metrics):
    """Cancelling one waiter must not cancel the rendering."""
    go = asyncio.Event()
    exposition = Exposition(metrics, go.wait)
    first, second = asyncio.create_task(exposition.page()), asyncio.create_task(exposition.page())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    go.set()
    assert b"genesisd_up 1" in b"".join(await second)


@pytest.mark.parametrize("fault", ["hangs", "raises"])
async def test_a_refresh_that_fails_gives_the_old_values(metrics, fault, monkeypatch):
    """No page would look like no daemon."""
    monkeypatch.setattr("genesisd.telemetry.exposition.REFRESH_DEADLINE", 0.05)

    async def refresh():
        if fault == "raises":
            raise RuntimeError("no fronts")
        await asyncio.Event().wait()

    text = b"".join(await Exposition(metrics, refresh).page()).decode()
    assert "genesisd_up 1\n" in text
    assert "genesisd_sink_errors_total 1\n" in text


async def test_a_taken_address_is_a_clear_error(metrics):
    """The daemon says which setting to change."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = MetricsServer(
            make_app(Exposition(metrics), lambda: (True, {})), Address(host="127.0.0.1", port=taken.getsockname()[1])
        )
        with pytest.raises(UnavailableError, match=r"cannot serve metrics on 127\.0\.0\.1") as caught:
            await server.start()
        assert "daemon.metrics.listen" in caught.value.hint


async def test_loop_lag_is_measured(metrics):
    """It never goes below zero, and it is told."""
    task = asyncio.create_task(watch_loop_lag(metrics, 0.001))
    metrics.loop_lag(-1)
    while metrics.daemon[names.LOOP_LAG].values[()] < 0:
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.wait({task})


GOOD = """# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="tiny"} 2.0
# HELP vllm:ttft_seconds Time.
# TYPE vllm:ttft_seconds histogram
vllm:ttft_seconds_bucket{le="0.1"} 1
vllm:ttft_seconds_bucket{le="+Inf"} 2
vllm:ttft_seconds_sum 0.3
vllm:ttft_seconds_count 2
# HELP vllm:tokens_total Tokens.
# TYPE vllm:tokens_total counter
vllm:tokens_total{worker="mine",q="a,worker=\\"b\\" }{"} 5 1700000000000
vllm:bare 7
# HELP process_open_fds Fds.
# TYPE process_open_fds gauge
process_open_fds 3
"""
HOSTILE = """# TYPE genesisd_up gauge
genesisd_up 0
# TYPE vllm:num_requests_running counter
vllm:num_requests_running{engine="0"} 9
vllm:broken{a="x} 1
vllm:broken{a="x\\q"} 1
vllm:broken{a="x",b=y} 1
vllm:nan_text{a="x"} banana
# TYPE vllm:odd strange
vllm:odd 1
\x00\xff garbage } { "
# HELP
vllm:fine{a="\xc3\xa9"} NaN
"""


class Workers:
    """Loopback servers that stand for engines."""

    def __init__(self, **handlers):
        self.handlers, self.runners, self.targets = handlers, [], {}

    async def __aenter__(self):
        for name, handler in self.handlers.items():
            app = web.Application()
            app.router.add_get("/metrics", handler)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.runners.append(runner)
            self.targets[name] = runner.addresses[0][:2]
        return self

    async def __aexit__(self, *_):
        for runner in self.runners:
            await runner.cleanup()


def says(text):
    async def handler(_):
        return web.Response(text=text)

    return handler


async def merged(targets, **bounds):
    passthrough = Passthrough(lambda: targets, **bounds)
    return b"".join([chunk async for chunk in passthrough.chunks()]).decode()


async def test_the_workers_own_metrics_get_a_worker_label():
    """HELP and TYPE once, families together, a label that is taken renamed."""
    async with Workers(a=says(GOOD), b=says(GOOD)) as workers:
        text = await merged(workers.targets)
    assert 'vllm:num_requests_running{worker="a",engine="0",model_name="tiny"} 2.0\n' in text
    assert 'vllm:ttft_seconds_bucket{worker="b",le="+Inf"} 2\n' in text
    assert 'vllm:tokens_total{worker="a",exported_worker="mine",q="a,worker=\\"b\\" }{"} 5\n' in text
    assert 'vllm:bare{worker="a"} 7\n' in text
    assert "process_" not in text
    declared = re.findall(r"# TYPE (\S+)", text)
    assert len(declared) == len(set(declared))
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert len(families["vllm:ttft_seconds"].samples) == 8


async def test_a_hostile_page_cannot_spoil_ours():
    """What does not parse is left out; our names are ours; a family of another type is the first one's."""
    async with Workers(a=says(GOOD), b=says(HOSTILE)) as workers:
        text = await merged(workers.targets)
    assert "genesisd_up" not in text
    assert "broken" not in text
    assert "banana" not in text
    assert "9" not in [line.rsplit(" ", 1)[1] for line in text.splitlines() if "running" in line]
    assert "# TYPE vllm:odd untyped" in text
    assert 'vllm:fine{worker="b",a="' in text
    list(text_string_to_metric_families(text))


async def test_workers_that_are_late_large_failing_or_gone_are_left_out():
    """One bad worker costs its own lines, and at most the deadline."""

    release = asyncio.Event()

    async def hang(_):
        await release.wait()

    async def fail(_):
        return web.Response(status=500, text=GOOD)

    async def large(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    async def elsewhere(_):
        raise web.HTTPFound("http://127.0.0.1:1/")

    async with Workers(good=says(GOOD), hang=hang, fail=fail, large=large, elsewhere=elsewhere) as workers:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            targets = {**workers.targets, "gone": closed.getsockname()}
            text = await merged(targets, deadline=8.0, limit=1 << 20)  # the good one has to be served within it
            release.set()
    assert set(re.findall(r'worker="(\w+)"', text)) == {"good", "mine"}


async def test_no_worker_no_request():
    """An empty box has an empty page."""
    assert await merged({}) == ""


async def test_the_page_with_passthrough_is_one_valid_page(metrics):
    """Both parts together parse, and no family stands in two places."""
    async with Workers(w0=says(GOOD), w1=says(GOOD)) as workers:
        exposition = Exposition(metrics, more=Passthrough(lambda: workers.targets).chunks)
        text = b"".join(await exposition.page()).decode()
    found = [family.name for family in text_string_to_metric_families(text)]
    assert len(found) == len(set(found))
    assert "vllm:num_requests_running" in found
