"""The table of what is noticed, and when."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from benchmarks.detection_faults import LEAK, OFTEN, SCALE, Row, Sample
from genesisd.probes.spec import CORRECTNESS

PERIODS = {one.kind: one.period for one in CORRECTNESS}
ACTIONS = {one.kind: str(one.action) for one in CORRECTNESS}
MINUTELY = " and ".join(f"`{kind}`" for kind in OFTEN)
HEAD = ("fault", "what is wrong", "found by", "its period", "fault to decision: median / max", "target", "met", "n", "action at most")  # fmt: skip
INTRODUCTION = f"""\
From the moment in which a fault begins to the decision about it: the event `worker_exited` of a process that died,
`liveness_failed` of an engine that hangs, `judge_told` of one that answers wrong. Times are those of the events, so how
often anybody looked is not in them. Everything runs under a real daemon.

- **fake**: a stand-in for vLLM whose answers are those of the demonstration's model, and whose faults are switched on
  while it serves, at a random moment. It has no other users than the rows of speculation and latency say.
- **real**: vLLM on the CPU with the demonstration's model.
- Dead and hung workers, the tokenizer and all of *real* are at **default settings**, in seconds.
- Other rows have every duration of their probes (period, recheck, window) **divided by {SCALE}** ({MINUTELY}
  by {min(OFTEN.values())}), and are told in **periods of the kind that found it**. What an ask takes by itself is not
  divided, so it weighs so many times as much as at default settings. A fault is found when a probe was bad so often
  as its threshold says (twice in a row), whichever it was.
- The action is the default limit; here all were set to tell, so that a run did not end the life of the next one.
"""
NOTES = f"""\
What is judged over a window cannot be told within a period, and says so by its window: `acceptance` and `latency` when
enough of the last 10 minutes was bad, `creep` when growth is sure (from 10 minutes on; here {LEAK} times the limit).
`tokenizer` is asked when a life begins, since a tokenizer is loaded but once. `engagement` needs patches that tell of
their use; its scenarios are in the tests. `reasoning`, `degeneration`, `tool-calls` and `structured-output` see much of
what `golden` sees; whoever asks first tells it. Faults that only one case of many shows are found when its turn comes: `golden`
asks two or three of ten cases at a time, `tool-calls` a third of its cases or so. While users are served, an ask waits
for a quiet moment for up to half a period more, and takes no more than its share of tokens. At default settings the
longest way from a fault to its decision is a period, the recheck (2 s) and two asks.
"""


def met(row: Row) -> bool | None:
    """Whether the slowest run kept to the target; None where there is none."""
    return None if row.limit is None else bool(row.samples) and all(
        one.kind is not None and spent(row, one) <= row.limit for one in row.samples
    )  # fmt: skip


def spent(row: Row, one: Sample) -> float:
    """In periods where the row has them, else seconds."""
    return one.seconds / row.periods[one.kind or next(iter(row.periods))] if row.periods else one.seconds


def text(rows: list[Row]) -> str:
    """Markdown."""
    lines = [HEAD, ("---",) * len(HEAD), *(_cells(row) for row in rows)]
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return f"{INTRODUCTION}\n{table}\n\n{NOTES}"


def _cells(row: Row) -> tuple[str, ...]:
    kinds = [kind for kind, _ in Counter(one.kind for one in row.samples if one.kind).most_common()]
    lost = sum(one.kind is None for one in row.samples)
    by = ", ".join([f"`{kind}`" if kind in PERIODS or " " not in kind else kind for kind in kinds])
    if lost:
        by += f"; nobody in {lost}"
    values = [spent(row, one) for one in row.samples if one.kind]
    unit = " periods" if row.periods else " s"
    digits = 3 if row.limit == 0.1 else 2 if row.periods else 1
    took = f"{median(values):.{digits}f} / {max(values):.{digits}f}{unit}" if values else "-"
    target = "" if row.limit is None else f"≤ {row.limit:g}{' period' if row.periods else ' s'}"
    kept = {None: "", True: "yes", False: "**no**"}[met(row)]
    every = ", ".join(_duration(PERIODS[kind]) for kind in kinds if kind in PERIODS)
    action = ", ".join(dict.fromkeys(ACTIONS.get(kind, "restart") for kind in kinds))
    return f"`{row.name}` ({row.on})", row.what, by, every, took, target, kept, str(len(row.samples)), action


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def told(rows: list[Row]) -> list[dict[str, Any]]:
    """For programs: every run."""
    return [
        {"fault": row.name, "on": row.on, "limit": row.limit, "periods": dict(row.periods), "met": met(row),
         "runs": [{"by": one.kind, "seconds": one.seconds} for one in row.samples]}
        for row in rows
    ]  # fmt: skip
