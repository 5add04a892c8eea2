"""A real vLLM that is judged: short periods, a model folder of its own, planted patches, and genesisctl as people use it."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from genesisd.demo.locate import CASEBOOK, locate
from tests.real.supervised import ROOT, Rig, example, real_box, until

PLANTED = ROOT / "tests" / "helpers" / "planted"
SWITCHES = {
    "P61c": "P61C_QWEN3CODER_DEFERRED_COMMIT",
    "PN389": "PN389_COMPILE_IN_TIME",
    "PN527": "PN527_PHANTOM_CALL",
    "PN529": "PN529_LATENCY_SHARED",
    "PT1": "PT1_SHARP_ATTENTION",
    "PT2": "PT2_DROPPED_CALL",
}
KINDS = {"tokenizer": 5.0, "golden": 5.0, "logprob-drift": 5.0, "tool-calls": 15.0} | dict.fromkeys(
    ("structured-output", "reasoning", "prefix-cache", "keep-alive", "degeneration"), 60.0
)
"""Periods in seconds: short, so that a fault is found soon; those that find none here are asked less, since what is
asked takes the cores that the next life wants."""


def judged(patches: Iterable[str], casebook: Path = CASEBOOK, **judge: Any) -> dict[str, Any]:
    """The demonstration's worker with these patches, asked every few seconds, whatever that costs."""
    settings = example()
    del settings["patches"]
    settings["env"] = {name: value for name, value in settings["env"].items() if "_ENABLE_" not in name}
    each = {"recheck": 0.2, "jitter": 0.0, "max_tokens": 5000}
    asked = [{"kind": kind, "period": period, **each} for kind, period in KINDS.items()]
    settings["probes"] = {
        "readiness": [{"kind": "attestation", "grace": "5s"}, {"kind": "port-owner"}, {"kind": "generation"}],
        "liveness": [{"kind": "process"}, {"kind": "progress", "window": "60s"}],
        "correctness": asked,
        "casebook": str(casebook),
        "cost": {"floor": 100_000_000},
        "judge": {"settle": "1s", "good_for": "1h", **judge},
    }
    switch(settings, patches)
    return settings


def switch(settings: dict[str, Any], patches: Iterable[str]) -> None:
    """These patches are on, and no others."""
    env = {name: value for name, value in settings["env"].items() if "_ENABLE_" not in name}
    settings["env"] = env | {f"GENESIS_ENABLE_{SWITCHES[name]}": "1" for name in patches}


@contextmanager
def planted() -> Iterator[None]:
    """Daemons that are started within know the planted patches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(PLANTED), str(ROOT)]))
        yield


@contextmanager
def judged_rig(settings: Mapping[str, Any]) -> Iterator[Judged]:
    """A box with this one worker."""
    with planted(), real_box({"tiny": settings}) as box:
        yield Judged(box, "tiny")


class Judged(Rig):
    """A rig whose answers are judged."""

    def ctl(self, *words: str, status: int = 0) -> str:
        """What genesisctl says; ``status`` is how it has to end."""
        command = [sys.executable, "-m", "genesisd.cli.main", "--socket", str(self.box.socket), *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout if status == 0 else done.stdout + done.stderr

    def standing(self) -> dict[str, str]:
        """How each correctness probe stands."""
        return {one["kind"]: one["standing"] for one in self.probes()}

    def probes(self) -> list[dict[str, Any]]:
        """The correctness probes as they stand."""
        found = self.box.ask("probes", self.worker)
        return [one for one in found if one["stage"] == "correctness"]

    def sound(self, *but: str) -> None:
        """Until every kind that is asked is good; ``but`` are those of which nothing is expected."""

        def good() -> bool:
            stand = self.standing()
            wrong = {kind: one for kind, one in stand.items() if one == "bad" and kind not in but}
            assert not wrong, [one for one in self.probes() if one["kind"] in wrong]
            return {one for kind, one in stand.items() if kind not in but} == {"good"}

        until(good)

    def order(self, verb: str) -> None:
        """An operator's."""
        self.box.ask("order", verb, self.worker)

    def reload(self) -> None:
        """The settings as they are now."""
        self.box.write()
        self.box.ask("reload")

    def why(self) -> str:
        """The paragraph, in one line."""
        return " ".join(self.ctl("why", self.worker).split())

    def first(self, since: float, *kinds: str) -> dict[str, Any]:
        """The first event of one of these kinds; waits for it."""

        def there() -> dict[str, Any] | None:
            found = self.box.ask("events", since, follow=False, worker=self.worker)
            return next((one for one in found if one["kind"] in kinds), None)

        found: dict[str, Any] = until(there)
        return found

    def failed(self, since: float) -> set[str]:
        """Kinds that said no since then."""
        runs = self.box.ask("probe_history", self.worker, None, 1000)
        return {one["kind"] for one in runs if one["at"] >= since and one["verdict"] == "failure"}

    def scratches(self) -> list[str]:
        """What is left of scratch workers: processes, folders, workers."""
        names = [name for name in (one["name"] for one in self.box.status()["workers"]) if name.startswith("scratch-")]
        folders = [str(path) for path in self.box.state.rglob("scratch-*")]
        return [*names, *folders, *(text for text in self.box.processes().values() if "scratch-" in text)]


def model_copy(folder: Path) -> Path:
    """The demo model, to be damaged."""
    shutil.copytree(locate().path, folder)
    return folder


def rewritten(model: Path, tensor: str, change: Callable[[bytearray, int, int], None]) -> None:
    """Change one tensor on disk; ``change`` gets all bytes and where the tensor's begin and end."""
    path = model / "model.safetensors"
    raw = bytearray(path.read_bytes())
    (size,) = struct.unpack("<Q", raw[:8])
    start, end = json.loads(raw[8 : 8 + size])[tensor]["data_offsets"]
    change(raw, 8 + size + start, 8 + size + end)
    path.write_bytes(raw)


def with_case(folder: Path, case: Mapping[str, Any]) -> Path:
    """The demo's casebook with one more golden case."""
    book = yaml.safe_load(CASEBOOK.read_text())
    book["golden"].append(dict(case))
    path = folder / "casebook.yaml"
    path.write_text(yaml.safe_dump(book))
    return path


def told(what: str, began: float, event: Mapping[str, Any]) -> None:
    """How long it took, for whoever reads the output."""
    print(f"\n{what}: {event['at'] - began:.1f} s; {event['fields'].get('text') or event['fields']}")


def now() -> float:
    """Wall time, as events have it."""
    return time.time()
