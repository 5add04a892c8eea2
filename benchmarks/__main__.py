"""Measure genesisd beside its peers and write it down.

    python -m benchmarks [--only respawn idle] [--rounds 8] [--json] [--write docs/benchmarks.md]
    python -m benchmarks detection [--rounds 5] [--write docs/detection.md]
    python -m benchmarks probe_cost [--rounds 8] [--write docs/probe-cost.md]

Without --write the figures go to the terminal; with it they go between this command's marks in the page, whose other
sections stay. Those that take long are measured only where they are named. Exits with 10 when a target is missed, with
1 when a benchmark could not be run to its end.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shlex
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import genesisd
from benchmarks import (
    attest_cost,
    builds,
    conversation,
    detection,
    detection_page,
    figures,
    footprint,
    front_cost,
    lineage,
    night,
    pages,
    preflight,
    probe_cost,
    rows,
    supervision,
)  # fmt: skip
from benchmarks.figures import Figures

BENCHMARKS: dict[str, Callable[[int], Figures]] = {
    "respawn": supervision.respawn,
    "stops": supervision.stops,
    "control": conversation.control,
    "command": conversation.command,
    "reload": conversation.reload,
    "idle": footprint.idle,
    "memory": footprint.memory,
    "loop-hold": footprint.loop_hold,
    "front": front_cost.first_byte,
    "patched": builds.patched,
    "preflight": preflight.preflight,
    "lineage": lineage.lineage,
    "attested": attest_cost.attested,
    "night": night.night,
    "probe_cost": probe_cost.probe_cost,
    "rows": rows.rows,
}
LONG = ("probe_cost",)
"""Ten minutes and more, on a machine that does nothing else."""
DETECTION = "detection"
"""Not a comparison, so a table of its own."""
MISSED = 10


def machine() -> str:
    """What it ran on."""
    with Path("/proc/meminfo").open() as lines:
        total = int(next(lines).split()[1]) / 2**20
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )  # fmt: skip
    return f"{len(os.sched_getaffinity(0))} cores of {model}, {total:.0f} GiB, Linux {platform.release()}"


def versions() -> str:
    """Of everything that was measured."""
    found = [f"genesisd {genesisd.__version__}", f"Python {platform.python_version()}"]
    for package in ("supervisor", "circus", "aiohttp", "uvloop"):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{package} absent")
    return ", ".join(found)


def head(title: str, again: str, began: float) -> list[str]:
    """How a page came about."""
    return [
        f"# {title}\n",
        "Written by the command below, but for sections that name another; do not edit by hand.\n",
        f"- command: `{again}`",
        f"- date: {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(began))}, took {time.time() - began:.0f} s",
        f"- machine: {machine()}",
        f"- versions: {versions()}\n",
    ]


def page(found: dict[str, Figures], again: str, began: float) -> str:
    """The whole document."""
    told = [
        *head("Benchmarks", again, began),
        "Contestants run at the same time and take turns in ABBA order; those that one can only do once (a stop) follow",
        "each other. A cell gives the statistics that its row names, then how many times genesisd's median it is; n is",
        "genesisd's number of samples. Children are C programs that tell the monotonic time of their own start, so no",
        "polling is in the figures. Workers have no front and no probes unless the row says so. The load is the",
        "machine's load average (1 minute) when the row began and when it ended: above the number of cores, others",
        "were at work. supervisord and circus run with their default settings.\n",
    ]
    for name, measured in found.items():
        told += [f"## {name}\n", (BENCHMARKS[name].__doc__ or "").strip() + "\n", figures.table(measured)]
    return "\n".join(told)


def command() -> str:
    """How to do it again."""
    return shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])


def noticed(asked: argparse.Namespace, began: float) -> int:
    """The table of detection."""
    rows = detection.measure(asked.rounds, real=not asked.no_real)
    text = "\n".join([*head("What is noticed, and when", command(), began), detection_page.text(rows)])
    print(json.dumps({"schema": 1, "at": began, "rows": detection_page.told(rows)}) if asked.json else text)
    if asked.write:
        pages.write(asked.write, text)
    return MISSED if any(detection_page.met(row) is False for row in rows) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", choices=[*BENCHMARKS, DETECTION], help="measure this one alone")
    usual = [name for name in BENCHMARKS if name not in LONG]
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=usual, metavar="NAME")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and end")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--no-real", action="store_true", help="leave the real engine out of the table of detection")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", type=Path, help="a Markdown page; its other sections stay")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(f"{name:<12} {(one.__doc__ or '').strip()}" for name, one in BENCHMARKS.items()))
        print(f"{DETECTION:<12} {(detection.__doc__ or '').strip()}")
        return 0
    if asked.write:
        try:
            pages.ready(asked.write)
        except pages.MarksLostError as error:
            parser.error(f"{asked.write}: {error}")
    began = time.time()
    if asked.name == DETECTION:
        return noticed(asked, began)
    asked.only = [asked.name] if asked.name else asked.only
    failed = False
    found: dict[str, Figures] = {}
    for name in asked.only:
        try:
            found[name] = BENCHMARKS[name](asked.rounds)
        except Exception:
            failed = True
            traceback.print_exc()
            continue
        print(f"== {name}\n{figures.lines(found[name])}", file=sys.stderr if asked.json else sys.stdout, flush=True)
    every = [figure for rows in found.values() for figure in rows]
    if asked.json:
        told = {"schema": 1, "machine": machine(), "versions": versions(), "at": began}
        print(json.dumps(told | {"figures": [figure.to_json() for figure in every]}))
    if asked.write:
        pages.write(asked.write, page(found, command(), began))
    if failed:
        return 1
    return MISSED if any("**no**" in figure.verdict() for figure in every) else 0


if __name__ == "__main__":
    sys.exit(main())
