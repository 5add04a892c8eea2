"""What it costs to be there: processor time when nothing happens, and memory."""

from __future__ import annotations

import time
import urllib.request

from benchmarks import scrape
from benchmarks.contestants import Genesisd, side_by_side
from benchmarks.figures import Figure, Figures, Target
from benchmarks.peers import Circus, Supervisord
from benchmarks.rig import cpu, pss

SCRAPES = 20


def idle(rounds: int) -> Figures:
    """Share of a core with 100 children, probes off, over windows of 10 s in which all contestants idle."""
    daemon = Figure("idle CPU with 100 children, the daemon", "% of a core", Target(0.1), digits=3)
    shims = Figure("idle CPU of its 100 shims together", "% of a core", digits=3)
    with side_by_side((Genesisd, Supervisord, Circus), 100) as running:
        time.sleep(3)
        below = running["genesisd"].shims()
        for _ in range(max(2, rounds // 2)):
            before = {label: cpu(one.pid) for label, one in running.items()}
            before_shims = sum(map(cpu, below))
            begin = time.monotonic()
            time.sleep(10)
            span = time.monotonic() - begin
            for label, one in running.items():
                daemon.add(label, 100 * (cpu(one.pid) - before[label]) / span)
            shims.add("genesisd", 100 * (sum(map(cpu, below)) - before_shims) / span)
    return [daemon, shims]


def memory(_: int) -> Figures:
    """PSS of the daemon after 20 scrapes, and of its shims."""
    found: Figures = []
    for count, limit in ((2, 64), (100, 96)):
        daemon = Figure(f"memory of the daemon, {count} children, after {SCRAPES} scrapes", "MiB PSS", Target(limit))
        shim = Figure(f"memory of one shim of {count}", "MiB PSS", Target(8, "max"))
        with side_by_side((Genesisd, Supervisord, Circus), count) as running:
            ours = running["genesisd"]
            for _ in range(SCRAPES):
                with urllib.request.urlopen(f"http://{ours.metrics}/metrics", timeout=10) as page:
                    page.read()
                time.sleep(0.05)
            for label, one in running.items():
                one.ask()
                daemon.add(label, pss(one.pid))
            shim.add("genesisd", *map(pss, ours.shims()))
        found += [daemon, shim]
    return found


def loop_hold(rounds: int) -> Figures:
    """How long a scrape keeps the daemon's loop from everything else, beside the peer's renderer."""
    import asyncio  # noqa: PLC0415

    rows = asyncio.run(scrape.measure(100, rounds * 10))
    held = Figure("loop held by a scrape of 100 workers, every gauge changed", "ms", Target(5, "max"), digits=2)
    spent = Figure("the same in CPU time of the loop's thread", "ms", Target(5, "max"), digits=2)
    for row in rows:
        if row["change"] == "dirty":
            held.add(str(row["renderer"]), *row["held_ms"])
            spent.add(str(row["renderer"]), *row["cpu_ms"])
    return [held, spent]
