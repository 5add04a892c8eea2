"""How long an answer takes at 100 children: over the kept connection, while Prometheus scrapes, by the command line;
and how long a changed configuration takes to come true."""

from __future__ import annotations

import contextlib
import gc
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.contestants import Contestant, Genesisd, side_by_side
from benchmarks.figures import Figure, Figures, Target
from benchmarks.peers import Circus, Supervisord
from benchmarks.rig import cpu, there_and_back

QUIET: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SCRAPER = """
import sys, time, urllib.request
while True:
    urllib.request.urlopen(sys.argv[1], timeout=10).read()
    time.sleep(float(sys.argv[2]))
"""
PERIOD = 1.0
"""Seconds between scrapes: fifteen times as often as Prometheus does by default."""


def control(rounds: int) -> Figures:
    """The state of 100 children, asked for on a kept connection: alone, and while somebody scrapes."""
    targets = (Target(0.5), Target(5, "p99"))
    alone = Figure("control round trip, whole status of 100", "ms", *targets, digits=3)
    paced = Figure("the same, asked every 10 ms", "ms", *targets, digits=3)
    scraped = Figure("the same, asked every 10 ms while scraped each second", "ms", *targets, digits=3)
    with side_by_side((Genesisd, Supervisord, Circus), 100) as running:
        for label in there_and_back(rounds, list(running)):
            one = running[label]
            alone.add(label, *_asked(one.ask, 200 if label != "supervisord" else 20, 0))
            paced.add(label, *_asked(one.ask, 200 if label != "supervisord" else 20, 0.01))
        ours = running["genesisd"]
        with scraper(ours.metrics):
            for _ in range(rounds):
                scraped.add("genesisd", *_asked(ours.ask, 300, 0.01))
    return [alone, paced, scraped]


def _asked(ask: Callable[[], object], times: int, pause: float) -> list[float]:
    """Milliseconds of each answer."""
    for _ in range(3):
        ask()
    gc.collect()
    samples = []
    for _ in range(times):
        time.sleep(pause)
        begin = time.perf_counter()
        ask()
        samples.append((time.perf_counter() - begin) * 1000)
    return samples


@contextlib.contextmanager
def scraper(address: str) -> Iterator[None]:
    """A real Prometheus where there is one, else a loop in another process."""
    with tempfile.TemporaryDirectory(prefix="gb-") as folder:
        if prometheus := shutil.which("prometheus"):
            config = Path(folder) / "prometheus.yml"
            config.write_text(
                f"global: {{scrape_interval: {PERIOD:g}s}}\n"
                f"scrape_configs: [{{job_name: genesisd, static_configs: [{{targets: ['{address}']}}]}}]\n"
            )
            argv = [prometheus, f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                    "--web.listen-address=127.0.0.1:0"]  # fmt: skip
        else:
            argv = [sys.executable, "-c", SCRAPER, f"http://{address}/metrics", str(PERIOD)]
        process = subprocess.Popen(argv, **QUIET)
        try:
            time.sleep(3)
            assert process.poll() is None, f"{argv[0]} ended"
            yield
        finally:
            process.terminate()
            process.wait(30)


def command(rounds: int) -> Figures:
    """The command that people type, with 100 children, beside the start of the interpreter."""
    wall = Figure("the status command, 100 children", "ms", Target(150))
    with side_by_side((Genesisd, Supervisord, Circus), 100) as running:
        commands = {label: one.command() for label, one in running.items()}
        commands["python -c pass"] = [sys.executable, "-c", "pass"]
        for label in there_and_back(rounds * 2, list(commands)):
            begin = time.perf_counter()
            subprocess.run(commands[label], check=False, **QUIET)
            wall.add(label, (time.perf_counter() - begin) * 1000)
    return [wall]


def reload(rounds: int) -> Figures:
    """One more program in the configuration, until it runs; and a configuration in which nothing changed."""
    found: Figures = []
    for count, limit in ((10, 50), (100, 150)):
        added = Figure(f"reload with one more child until it runs, {count} children", "ms", Target(limit))
        same = Figure(f"reload without a change, {count} children", "ms", Target(limit))
        spent = Figure(f"CPU of the daemon for that, {count} children", "ms")
        with side_by_side((Genesisd, Supervisord, Circus), count) as running:
            for label in there_and_back(rounds, list(running)):
                one = running[label]
                added.add(label, _added(one))
                if isinstance(one, Genesisd):
                    used = cpu(one.pid)
                    begin = time.perf_counter()
                    one.reload()
                    same.add(label, (time.perf_counter() - begin) * 1000)
                    spent.add(label, (cpu(one.pid) - used) * 1000)
        found += [added, same, spent]
    return found


def _added(one: Contestant) -> float:
    """Milliseconds from the order to read the new file until the new child runs. Writing the file is not counted."""
    before = one.reports.count
    one.write(extra=True)
    begin = time.monotonic()
    one.reload()
    at = one.reports.until(before + 1, 60)[before][1]
    time.sleep(1.2)  # supervisord stops nothing that it does not call running yet
    one.drop()
    one.reports.dead.add(one.reports.alive()[-1])
    return (at - begin) * 1000
