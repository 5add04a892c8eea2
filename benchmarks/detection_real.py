"""The same on a real vLLM on the CPU, at default settings: deaths, a stopped engine, and weights that were changed."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.detection_faults import Row, Sample
from genesisd.demo.locate import CASEBOOK
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import find_environment
from tests.real.correctness import model_copy, rewritten
from tests.real.supervised import CACHE, ROOT, Rig, example, real_box

PIN = "cpu-0.32.0"
SWAPPED = ((438, 447), (440, 457))
"""Tokens that change places: Lima and Tokyo, bread and coal."""
ROW_BYTES = 256
KINDS = ("golden", "logprob-drift")


def built() -> bool:
    """Whether there is an engine to measure."""
    found = find_environment(find_pin(load_pins(ROOT / "etc" / "pins.yaml"), PIN), CACHE)
    if found is None:
        print(f"{PIN} is not built in {CACHE} (make pin): the rows of the real engine are left out", file=sys.stderr)
    return found is not None


def rows(rounds: int) -> list[Row]:
    """Empty where there is no engine."""
    if not built():
        return []
    killed = Row("killed", "the API server is killed", "real", limit=0.1)
    frozen = Row("engine-stopped", "EngineCore is stopped, `/health` says 200", "real", limit=15.0)
    weights = Row("swapped-weights", "four tokens changed places on disk; from the readiness of the life on", "real")
    with tempfile.TemporaryDirectory(prefix="gw-", dir="/tmp") as folder:
        model = model_copy(Path(folder) / "tiny")
        with real_box({"tiny": _spec(model)}) as box:
            rig = Rig(box, "tiny")
            for _ in range(rounds):
                killed.samples.append(_hurt(rig, None, signal.SIGKILL, "worker_exited"))
                frozen.samples.append(_hurt(rig, "EngineCore", signal.SIGSTOP, "liveness_failed"))
            rig.ready()
            box.ask("record_golden", "tiny", {}, dry_run=False, timeout=300)
            right = (model / "model.safetensors").read_bytes()
            for _ in range(rounds):
                rewritten(model, "model.embed_tokens.weight", swapped)
                weights.samples.append(_loaded(rig))
                (model / "model.safetensors").write_bytes(right)
                _life(rig)
    return [killed, frozen, weights]


def _spec(model: Path) -> dict[str, object]:
    """The demonstration's worker on its plain pin; what is found is told and nothing else, so that lives are ours."""
    spec = example() | {"model": str(model), "restart": {"budget": 1000, "backoff": {"initial": "100ms", "max": "1s"}}}
    del spec["patches"]
    spec["env"] = {name: value for name, value in spec["env"].items() if "_ENABLE_" not in name}
    spec["probes"] = {"correctness": [{"kind": one, "action": "alert"} for one in KINDS], "casebook": str(CASEBOOK)}
    return spec


def _hurt(rig: Rig, role: str | None, number: int, kind: str) -> Sample:
    pid = rig.ready()["pid"] if role is None else (rig.ready(), rig.member(role))[1]
    time.sleep(2)
    at = time.time()
    os.kill(pid, number)
    found = _first(rig, at, kind)
    summary = str(found["fields"].get("summary", "its end (pidfd):"))
    return Sample(summary.partition(":")[0], found["at"] - at)


def _life(rig: Rig) -> float:
    before, at = rig.ready()["incarnation"], time.time()
    rig.box.ask("order", "restart", "tiny")
    rig.reaches("ready", incarnation=before + 1)
    return at


def _loaded(rig: Rig) -> Sample:
    at = _life(rig)
    told, ready = _first(rig, at, "judge_told"), _first(rig, at, "worker_ready")
    return Sample(told["fields"]["kinds"][0], told["at"] - ready["at"])


def _first(rig: Rig, since: float, kind: str, seconds: float = 300) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while not (found := rig.events(since, kind)):
        if time.monotonic() > end:
            raise TimeoutError(f"no {kind} within {seconds} s")
        time.sleep(0.2)
    return found[0]


def swapped(raw: bytearray, start: int, end: int) -> None:
    """Rows of the table of tokens change places."""
    for one, other in SWAPPED:
        first, second = (slice(start + row * ROW_BYTES, start + (row + 1) * ROW_BYTES) for row in (one, other))
        if second.stop >= end:
            raise ValueError("the table of tokens is smaller than it was")
        raw[first], raw[second] = raw[second], raw[first]
