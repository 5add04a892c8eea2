"""What the engines of the benchmark ``turboquant`` said, read: attestation, graphs, how far their answers are apart."""

from __future__ import annotations

import os
import time
from pathlib import Path

from genesisd.attest.expected import read_expectation
from genesisd.attest.folder import read_folder
from genesisd.attest.judge import judge
from genesisd.attest.model import Process
from genesisd.attest.roles import Wanted
from genesisd.pins.build_manifest import Build

WORDS = ("P67", "PN530", "Graph capturing", "FULL", "cudagraph_mode", "KV cache size", "peculative")
REPORTED = 2.5
"""Seconds in which a process has looked at itself once more."""


def attested(leader: int, folder: Path, build: Build) -> dict:
    """What the daemon's judge makes of an engine's reports."""
    time.sleep(REPORTED)
    tree = [Process(pid, _ticks(pid), _title(pid)) for pid in _group(leader)]
    tree = [one for one in tree if one.pid == leader or "::" in one.title]
    expected = read_expectation(build.name, os.path.realpath(build.path), build.attest)
    reports = read_folder(folder).reports
    seen = judge(expected, reports, tree, Wanted(0, 1, 0), leader, overdue=True)
    return {
        "state": seen.state,
        "summary": seen.summary,
        "patches": {
            one.id: {"standing": one.standing, "items": one.items, "live": dict(one.live), "blind": one.blind}
            for one in seen.patches
        },
        "hits": [dict(one.hits) for one in reports],
        "skips": [dict(one.skips) for one in reports],
    }


def remarkable(log: Path) -> list[str]:
    """Lines about graphs and the patch, each once, without the steps of progress bars."""
    parts = log.read_text(errors="replace").replace("\r", "\n").splitlines()
    found = dict.fromkeys(part[-240:] for part in parts if any(word in part for word in WORDS))
    return [line for line in found if "%|" not in line or "100%" in line][-16:]


def compared(notes: dict, ways: list[str], asked: list[str]) -> dict:
    """Each engine's greedy tokens against those of the first one."""
    found = {}
    for what in asked:
        theirs = notes.get(f"{ways[0]}_{what}", {})
        for name in ways[1:]:
            ours = notes.get(f"{name}_{what}", {})
            if "tokens" in theirs and "tokens" in ours:
                found[f"{name}_{what}"] = difference(theirs, ours)
    return found


def difference(theirs: dict, ours: dict) -> dict:
    """How many tokens agree, how far log-probabilities after the same text are apart, and how near a tie they part."""
    pairs = list(zip(theirs["tokens"], ours["tokens"], strict=False))
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), len(pairs))
    apart = []
    for one, other in list(zip(theirs["logprobs"], ours["logprobs"], strict=False))[: same + 1]:
        apart += [abs(one[token] - other[token]) for token in one.keys() & other.keys()]
    told = {"same_tokens": same, "of": len(pairs), "largest_difference": round(max(apart, default=0.0), 4)}
    if same < len(pairs):
        step = theirs["logprobs"][same]
        chosen = step.get(str(pairs[same][1]))
        told["tie_of"] = None if chosen is None else round(max(step.values()) - chosen, 4)
    return told


def _group(leader: int) -> list[int]:
    pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
    return [pid for pid in pids if _group_of(pid) == leader]


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


def _ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def _title(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
