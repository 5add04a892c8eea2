"""From a fault to the decision about it, for each class of faults, through a real daemon."""

from __future__ import annotations

import json
import queue
import random
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import detection_faults as known
from benchmarks import detection_real
from benchmarks.detection_faults import Fault, Row, Sample
from benchmarks.lanes import ANSWER_KINDS, KILLED, STOPPED, Lane, lanes, scaled, using

ANSWER_LANES = 4
"""Workers among which the wrong answers are shared out."""
PATIENCE = 4
"""Longest periods of a worker for which somebody is waited for."""
WINDOWS = 400.0
"""Seconds for which it is waited where a window has to fill."""
SPECULATIVE = ("--speculative-config", json.dumps({"method": "ngram", "num_speculative_tokens": 4}))
AT_ONCE, HUNG = 0.1, 15.0
"""Targets in seconds: a dead process, and a hung engine whose /health says 200."""
Job = Callable[[], None]


def measure(rounds: int, real: bool = True) -> list[Row]:
    """All rows, in the order of the table. ``rounds`` is how often each wrong answer is planted.

    One stage after the other: what kills and hangs is timed on a machine that does nothing else.
    """
    found: list[Row] = []
    for stage in (_lives, _answers, _numbers):
        with tempfile.TemporaryDirectory(prefix="gd-", dir="/tmp") as folder:
            found += stage(Path(folder), rounds)
    return found + (detection_real.rows(min(rounds, 3)) if real else [])


def _lives(folder: Path, rounds: int) -> list[Row]:
    """Dead and hung, at default settings. One worker for each, so that nothing waits for another's start."""
    dead, gone, stopped, hang = (Lane(folder, name) for name in ("dead", "gone", "stopped", "hang"))
    killed = Row("killed", "the API server is killed", "fake", limit=AT_ONCE)
    engine = Row("engine-killed", "EngineCore is killed; the API server takes a moment to leave", "fake")
    frozen = Row("engine-stopped", "EngineCore is stopped, `/health` says 200", "fake", limit=HUNG)
    hung = _row(known.HANG, hang, HUNG)
    with lanes(folder, dead, gone, stopped, hang):
        for _ in range(4 * rounds):
            killed.samples.append(dead.injured(None, KILLED, "worker_exited"))
        _together(
            lambda: _times(rounds, engine, lambda: gone.injured("EngineCore", KILLED, "worker_exited")),
            lambda: _times(rounds, frozen, lambda: stopped.injured("EngineCore", STOPPED, "liveness_failed")),
            lambda: _times(rounds, hung, lambda: hang.hung(known.HANG.planted)),
        )
    return [killed, engine, frozen, hung]


def _answers(folder: Path, rounds: int) -> list[Row]:
    """Each planted at random moments, in random order, in whichever worker is free."""
    every = [Lane(folder, f"answers{n}", [scaled(one) for one in ANSWER_KINDS]) for n in range(ANSWER_LANES)]
    rows = {fault.name: _row(fault, every[0], 1.0) for fault in known.ANSWERS}
    todo: queue.Queue[Fault] = queue.Queue()
    for fault in random.sample(known.ANSWERS * rounds, len(known.ANSWERS) * rounds):
        todo.put(fault)
    with lanes(folder, *every):
        _together(*(lambda lane=lane: _take(lane, todo, rows) for lane in every))
    return list(rows.values())


def _numbers(folder: Path, rounds: int) -> list[Row]:
    """What is asked seldom or judged over a window, and the tokenizer, which is asked when a life begins."""
    needle = Lane(folder, "needle", [scaled("needle", steps=[200, 400, 800])])
    speculation = Lane(folder, "speculation", [scaled("acceptance")], *SPECULATIVE)
    served = Lane(folder, "users", [scaled("latency", first_token=0.5, per_token=0.1)])
    leaks = [_leaking(folder, fault.lane) for fault in known.LEAKS]
    tokenizer = Lane(folder, "tokenizer", [{"kind": "tokenizer"}])
    every = {lane.name: lane for lane in (speculation, served, *leaks)}
    rows = {fault.name: _row(fault, every[fault.lane], None) for fault in known.NUMBERS}
    lost, tokens = _row(known.NEEDLE, needle, 1.0), _row(known.TOKENIZER, tokenizer, None)

    def of(lane: Lane, times: int, *, fresh: bool = False) -> None:
        for fault in known.NUMBERS * min(rounds, times):
            if fault.lane == lane.name:
                rows[fault.name].samples.append(_run(lane, fault, patience=WINDOWS))
                lane.anew() if fresh else None

    with lanes(folder, needle, *every.values(), tokenizer), using(speculation, 1), using(served, 6):
        _together(
            lambda: _times(min(rounds, 3), lost, lambda: _run(needle, known.NEEDLE)),
            lambda: of(speculation, 3),
            lambda: of(served, 3),
            *(lambda lane=lane: of(lane, 2, fresh=True) for lane in leaks),
            lambda: _times(min(rounds, 3), tokens, lambda: _tokenizer(tokenizer)),
        )
    return [lost, *rows.values(), tokens]


def _leaking(folder: Path, name: str) -> Lane:
    """One of them on a card, of which it holds a little."""
    if name != "leak-vram":
        return Lane(folder, name, [scaled("creep")])
    held = ("--vram-ledger", str(folder / "vram"), "--vram-bytes", str(64 * known.MIB))
    lane = Lane(folder, name, [scaled("creep")], *held)
    lane.spec["gpus"] = [0]
    return lane


def _run(lane: Lane, fault: Fault, patience: float | None = None) -> Sample:
    lane.sound()
    return lane.run(fault.planted, patience=patience or PATIENCE * max(lane.periods.values()))


def _times(count: int, row: Row, once: Callable[[], Sample]) -> None:
    for _ in range(count):
        row.samples.append(once())


def _row(fault: Fault, lane: Lane, limit: float | None) -> Row:
    scaled_by = {} if fault.lane in {"tokenizer", "hang"} else lane.periods
    return Row(fault.name, fault.what, "fake", scaled_by, limit=limit)


def _take(lane: Lane, todo: queue.Queue[Fault], rows: dict[str, Row]) -> None:
    """Plant what nobody has planted yet, until nothing is left."""
    while True:
        try:
            fault = todo.get_nowait()
        except queue.Empty:
            return
        rows[fault.name].samples.append(_run(lane, fault))


def _tokenizer(lane: Lane) -> Sample:
    """From the readiness of a life whose tokenizer is another one."""
    lane.sound()
    at = lane.plant(known.TOKENIZER.planted)
    lane.anew()
    told, ready = lane.first(at, "judge_told", 60), lane.first(at, "worker_ready", 60)
    lane.plant({})
    lane.anew()
    return Sample(None, 60.0) if told is None or ready is None else Sample("tokenizer", told["at"] - ready["at"])


def _together(*jobs: Job) -> None:
    """All at once; the first that fails is raised when all have ended."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()
