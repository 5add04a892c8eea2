"""How long a scrape holds the event loop, beside prometheus_client's own renderer in the same run.

python -m benchmarks.scrape [--workers 2 100] [--scrapes 50]

A ticker asks for a turn of the loop all the time; the longest gap between two of its turns while a page is made is
what everything else in the daemon would have waited. ``dirty`` changes every gauge of every worker before each scrape,
which no real minute does; ``quiet`` changes those of one worker in ten. ``held`` is wall time, in which other
processes of a loaded machine also run; ``cpu`` is what the loop's thread itself spent between two turns.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import time

from prometheus_client import CollectorRegistry, generate_latest

from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.ports import FrontStats
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry.bridge import registry
from genesisd.telemetry.exposition import Exposition
from genesisd.telemetry.metrics import Metrics
from genesisd.units import Address


def make(workers: int) -> Metrics:
    metrics = Metrics()
    listen = Address(host="127.0.0.1", port=8000)
    metrics.configure({f"worker-{n}": WorkerSpec(command=("x",), listen=listen) for n in range(workers)})
    return metrics


def touch(metrics: Metrics, n: int, every: int) -> None:
    for name in list(metrics.workers)[n % every :: every]:
        metrics.worker_state(name, WorkerState(phase=list(Phase)[n % 10], incarnation=n, since=float(n)))
        metrics.front(name, FrontStats(open=n, in_flight=n, unanswered=n, answered=n, oldest_unanswered=n / 7))
        for stage, kind in (("readiness", "port-owner"), ("readiness", "generation"), ("liveness", "progress")):
            fields = {"stage": stage, "kind": kind, "verdict": "success", "seconds": n / 1000}
            metrics.event("probe_result", name, fields, journalled=False)


async def longest_gap(page) -> tuple[float, float, float, int]:
    """Seconds of the longest gap by wall and by CPU, seconds of the page, its size."""
    gap, cpu, running = 0.0, 0.0, True
    last, spent = time.perf_counter(), time.thread_time()

    async def tick() -> None:
        nonlocal gap, cpu, last, spent
        while running:
            await asyncio.sleep(0)
            now, used = time.perf_counter(), time.thread_time()
            gap, last = max(gap, now - last), now
            cpu, spent = max(cpu, used - spent), used

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0)
    last, spent = time.perf_counter(), time.thread_time()
    gap = cpu = 0.0
    began = last
    size = len(await page())
    took = time.perf_counter() - began
    running = False
    await ticker
    return gap, cpu, took, size


async def measure(workers: int, scrapes: int) -> list[dict[str, object]]:
    metrics = make(workers)
    exposition = Exposition(metrics)
    peer: CollectorRegistry = registry(metrics)

    async def ours() -> bytes:
        return b"".join(await exposition.page())

    async def theirs() -> bytes:
        return generate_latest(peer)

    rows = []
    for label, page, every in (("genesisd", ours, 10), ("genesisd", ours, 1), ("generate_latest", theirs, 1)):
        gaps, cpus, times, size = [], [], [], 0
        for n in range(scrapes):
            touch(metrics, n, every)
            gc.collect()
            gap, cpu, took, size = await longest_gap(page)
            gaps.append(gap * 1000)
            cpus.append(cpu * 1000)
            times.append(took * 1000)
        rows.append(
            {
                "workers": workers,
                "renderer": label,
                "change": "dirty" if every == 1 else "quiet",
                "loop_held_ms_p50": round(statistics.median(gaps), 2),
                "loop_held_ms_max": round(max(gaps), 2),
                "loop_cpu_ms_p50": round(statistics.median(cpus), 2),
                "loop_cpu_ms_max": round(max(cpus), 2),
                "page_ms_p50": round(statistics.median(times), 2),
                "bytes": size,
                "held_ms": gaps,
                "cpu_ms": cpus,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 100])
    parser.add_argument("--scrapes", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    rows = [row for workers in chosen.workers for row in asyncio.run(measure(workers, chosen.scrapes))]
    if chosen.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print("  ".join(f"{name}={value}" for name, value in row.items() if not isinstance(value, list)))


if __name__ == "__main__":
    main()
