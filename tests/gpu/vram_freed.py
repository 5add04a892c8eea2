"""On a machine with an NVIDIA card: kill -9 of a vLLM's API server, and the card is free before the next spawn.

    python -m tests.gpu.vram_freed --vllm "python3 -m vllm.entrypoints.cli.main" --model genesisd/demo/tiny --kills 3

Not part of the gate, which runs where no card is. Prints one JSON object and exits with 1 when a promise is broken.
docs/gpu.md keeps what it printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pynvml

from tests.helpers.box import Box, alive, command, descendants, until

SAMPLE_SECONDS = 0.01


class Sampler(threading.Thread):
    """Used bytes of card 0, over and over."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.samples: list[tuple[float, int]] = []
        self.total = 0
        self._ended = threading.Event()

    def run(self) -> None:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        while not self._ended.is_set():
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
            self.total = memory.total
            self.samples.append((time.time(), memory.used))
            time.sleep(SAMPLE_SECONDS)

    def end(self) -> None:
        self._ended.set()
        self.join()

    def at(self, moment: float) -> int:
        """The newest sample before ``moment``."""
        return max((sample for sample in self.samples if sample[0] <= moment), default=self.samples[0])[1]

    def first_below(self, begin: float, size: float) -> float | None:
        """When, after ``begin``, less than ``size`` bytes were used."""
        return next((at for at, used in self.samples if at >= begin and used < size), None)


def one_kill(box: Box, sampler: Sampler, incarnation: int) -> dict[str, Any]:
    """Kill the ready incarnation's leader; what happened, in seconds since the kill."""
    found = box.worker("gpu")
    tree = {pid: command(pid) for pid in descendants(found["pid"])}
    held = sampler.samples[-1][1]
    killed = time.time()
    os.kill(found["pid"], signal.SIGKILL)
    until(lambda: box.worker("gpu")["incarnation"] == incarnation + 1, 120)
    events = [
        event for event in box.ask("events", killed - 1, follow=False, worker="gpu") if event["at"] >= killed - 0.5
    ]
    spawned = next(
        e["at"] for e in events if e["kind"] == "worker_spawned" and e["fields"]["incarnation"] > incarnation
    )
    freed = sampler.first_below(killed, 0.1 * sampler.total)
    result = {
        "tree": sorted(tree.values()),
        "held_gib": round(held / 2**30, 1),
        "used_at_spawn_gib": round(sampler.at(spawned) / 2**30, 2),
        "freed_after_s": None if freed is None else round(freed - killed, 3),
        "spawned_after_s": round(spawned - killed, 3),
        "survivors": [pid for pid in tree if alive(pid)],
        "gates": [e["fields"]["text"] for e in events if e["kind"] == "gate_shut"],
    }
    box.wait("gpu", "ready", seconds=600)
    result["ready_after_s"] = round(time.time() - killed, 1)
    result["ok"] = not result["survivors"] and freed is not None and freed <= spawned
    return result


def main() -> int:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--vllm", required=True, help="the command that is 'vllm'")
    options.add_argument("--model", required=True)
    options.add_argument("--kills", type=int, default=3)
    options.add_argument("--utilization", default="0.5", help="share of the card that the engine takes")
    said = options.parse_args()
    argv = [*shlex.split(said.vllm), "serve", str(Path(said.model).absolute()), "--host", "127.0.0.1", "--port", "{port}",
            "--served-model-name", "gpu", "--enforce-eager", "--max-model-len", "1024", "--max-num-seqs", "4",
            "--gpu-memory-utilization", said.utilization, "--enable-server-load-tracking"]  # fmt: skip
    env = {name: os.environ[name] for name in ("PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    worker = {"command": argv, "env": {**env, "HF_HUB_OFFLINE": "1"}, "gpus": [0], "vram_free": 0.9,
              "served_model_name": "gpu", "restart": {"budget": 20, "backoff": {"initial": "100ms"}}}  # fmt: skip
    sampler = Sampler()
    sampler.start()
    with tempfile.TemporaryDirectory(prefix="gbox-") as folder:
        box = Box(Path(folder), {"gpu": worker}).start()
        try:
            began = time.monotonic()
            box.wait("gpu", "ready", seconds=600)
            first = round(time.monotonic() - began, 1)
            kills = [one_kill(box, sampler, number) for number in range(1, said.kills + 1)]
            box.finish()
        except BaseException:
            print(box.log.read_text()[-4000:], file=sys.stderr)
            print("\n".join((box.state / "workers/gpu/log/worker.log").read_text().splitlines()[-60:]), file=sys.stderr)
            box.clear()
            raise
        finally:
            sampler.end()
    used = round(sampler.samples[-1][1] / 2**30, 2)
    card = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0))
    print(json.dumps({"card": card, "first_ready_s": first, "kills": kills, "used_at_end_gib": used}, indent=1))
    return 0 if all(kill["ok"] for kill in kills) else 1


if __name__ == "__main__":
    sys.exit(main())
