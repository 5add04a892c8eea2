"""What the front adds to the time to the first byte, beside HAProxy in the same place, and its memory."""

from __future__ import annotations

import asyncio

from benchmarks import front
from benchmarks.figures import Figure, Figures, Target

LABELS = {"front": "genesisd", "haproxy": "haproxy"}


def first_byte(rounds: int) -> Figures:
    """Milliseconds over the same request sent directly."""
    results, memory, idle = asyncio.run(front.run(rounds, 1000))
    found: Figures = []
    for measure, limit in (("first byte, kept alive (ms)", 0.3), ("first byte, new connection (ms)", 0.3)):
        added = Figure(f"front: added to the {measure.removesuffix(' (ms)')}", "ms", Target(limit), digits=3)
        by_path = results[measure]
        for path, label in LABELS.items():
            if path in by_path:
                pairs = zip(by_path[path], by_path["direct"], strict=True)
                added.add(label, *(through - direct for through, direct in pairs))
        found.append(added)
    for measure, unit in (("bulk stream (MB/s)", "MB/s"), ("events (1000/s)", "1000/s")):
        through = Figure(f"front: {measure.partition(' (')[0]}", unit, digits=0)
        for path, samples in results[measure].items():
            through.add(LABELS.get(path, path), *samples)
        found.append(through)
    kept = Figure("memory of the front, idle", "MiB PSS")
    used = Figure("memory of the front, after the streams", "MiB PSS")
    for path, label in LABELS.items():
        if path in idle:
            kept.add(label, idle[path])
            used.add(label, memory[path])
    return [*found, kept, used]
