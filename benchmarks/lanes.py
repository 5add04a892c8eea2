"""Workers that are planted with faults, one run at a time each, all under one real daemon."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from benchmarks.detection_faults import OFTEN, SCALE, Sample
from genesisd.demo.locate import CASEBOOK
from genesisd.probes.spec import CORRECTNESS
from tests.helpers.box import FAKE, ROOT, Box, free_port, until

DEFAULTS = {one.kind: one for one in CORRECTNESS}
ANSWER_KINDS = ("golden", "logprob-drift", "tool-calls", "structured-output", "reasoning", "prefix-cache", "keep-alive", "degeneration")  # fmt: skip
PARSERS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
DURATIONS = ("period", "recheck", "window", "min_span")
"""What is divided; deadlines stay, since how long an answer takes does not shrink."""
NEEDLE = {
    "filler": ["The baker brings bread to the mill.", "The miner brings coal to the harbour."],
    "fact": "The key word is amber.", "question": "What is the key word?", "answer": "amber",
}  # fmt: skip


def scaled(kind: str, **more: Any) -> dict[str, Any]:
    """A probe with its durations divided. Its action ends at telling: a restart would end the run's life."""
    found = {name: getattr(DEFAULTS[kind], name) for name in DURATIONS if hasattr(DEFAULTS[kind], name)}
    by = OFTEN.get(kind, SCALE)
    return {"kind": kind, "action": "alert"} | {name: value / by for name, value in found.items()} | more


def periods(probes: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds by kind."""
    return {one["kind"]: one.get("period", DEFAULTS[one["kind"]].period) for one in probes}


class Lane:
    """One worker, its faults, and what is told of it."""

    def __init__(self, folder: Path, name: str, probes: Sequence[Mapping[str, Any]] = (), *flags: str) -> None:
        self.name, self.asked = name, tuple(probes)
        self.control = folder / f"{name}.faults"
        self.spec: dict[str, Any] = {
            "command": [*FAKE, "--demo", "--served-model-name", "tiny", "--control", str(self.control), *PARSERS, *flags],
            "served_model_name": "tiny",
            "listen": f"127.0.0.1:{free_port()}",
            "restart": {"budget": 1000, "backoff": {"initial": "0s", "max": "0s"}},
            "stop": {"drain": "1s", "grace": "1s"},
        }  # fmt: skip
        if probes:
            book = folder / "casebook.yaml"
            self.spec["probes"] = {
                "correctness": list(probes), "casebook": str(book), "cost": {"floor": 10**9, "share": 1.0},
            }  # fmt: skip
        self.box: Box

    @property
    def periods(self) -> dict[str, float]:
        """Seconds by kind, as this worker has them."""
        return periods(self.asked)

    def plant(self, faults: Mapping[str, Any]) -> float:
        """These faults and no others from now on; the wall time of it."""
        fresh = self.control.with_suffix(".new")
        fresh.write_text(json.dumps(dict(faults)))
        at = time.time()
        fresh.rename(self.control)
        return at

    def first(self, since: float, kind: str, patience: float) -> dict[str, Any] | None:
        """The first event of this kind; the time of it is the daemon's own, so how often one looks is not in it."""
        end = time.monotonic() + patience
        while True:
            found = self.box.ask("events", since, follow=False, worker=self.name)
            if (one := next((event for event in found if event["kind"] == kind), None)) or time.monotonic() > end:
                return one
            time.sleep(0.1)

    def sound(self, seconds: float = 120) -> None:
        """Until every kind of the stage was asked, and none is bad."""

        def good() -> bool:
            found = self.box.ask("probes", self.name)
            stand = {one["standing"] for one in found if one["stage"] == "correctness"}
            return not stand & {"bad", "undecided"}

        self.box.wait(self.name, "ready", seconds=seconds)
        until(good, seconds, f"{self.name} is sound")

    def ask_the_bad(self) -> None:
        """At once: what is bad and stays so would be asked again after a whole period."""
        for one in self.box.ask("probes", self.name):
            if one["stage"] == "correctness" and one["standing"] == "bad":
                self.box.ask("run_probe", self.name, one["kind"], 60)

    def run(self, planted: Mapping[str, Any], *, patience: float) -> Sample:
        """Plant it at a random moment of the longest period, wait until it is told, and take it away."""
        time.sleep(random.uniform(0, max(self.periods.values())))
        at = self.plant(planted)
        event = self.first(at, "judge_told", patience)
        self.plant({})
        self.ask_the_bad()
        self.sound()
        return Sample(None, patience) if event is None else Sample(event["fields"]["kinds"][0], event["at"] - at)

    def anew(self) -> None:
        """Another life, sound."""
        before = self.box.worker(self.name)["incarnation"]
        self.box.ask("order", "restart", self.name)
        until(lambda: self.box.worker(self.name)["incarnation"] > before, 60)
        self.box.wait(self.name, "ready", seconds=60)

    def hurt(self, role: str | None, number: int) -> float:
        """A signal for the leader (None) or an engine process; the wall time just before."""
        pid = self.box.worker(self.name)["pid"] if role is None else self.box.member(self.name, role)
        at = time.time()
        os.kill(pid, number)
        return at

    def injured(self, role: str | None, number: int, event: str, patience: float = 60) -> Sample:
        """What is told after a signal, and by whom; afterwards it serves again."""
        before = self.box.wait(self.name, "ready", seconds=60)["incarnation"]
        time.sleep(random.uniform(0.5, 2))
        at = self.hurt(role, number)
        found = self.first(at, event, patience)
        self._served_again(before)
        return self._sample(found, at, patience)

    def hung(self, planted: Mapping[str, Any], patience: float = 60) -> Sample:
        """The same for an engine that hangs by itself."""
        before = self.box.wait(self.name, "ready", seconds=60)["incarnation"]
        time.sleep(random.uniform(3, 5))
        at = self.plant(planted)
        found = self.first(at, "liveness_failed", patience)
        self.plant({})
        self._served_again(before)
        return self._sample(found, at, patience)

    def _served_again(self, before: int) -> None:
        with suppress(AssertionError):
            until(lambda: self.box.worker(self.name)["incarnation"] > before, 60)
        self.box.wait(self.name, "ready", seconds=60)

    def _sample(self, found: Mapping[str, Any] | None, at: float, patience: float) -> Sample:
        if found is None:
            return Sample(None, patience)
        summary = str(found["fields"].get("summary", "its end (pidfd):"))
        return Sample(summary.partition(":")[0], found["at"] - at)


class Users(threading.Thread):
    """So many users of a lane, each of whom asks again as soon as it was answered."""

    def __init__(self, lane: Lane, count: int) -> None:
        super().__init__(daemon=True)
        self.url = f"http://{lane.spec['listen']}/v1/completions"
        self.over = threading.Event()
        self.others = [threading.Thread(target=self._ask, daemon=True) for _ in range(count)]

    def run(self) -> None:
        for one in self.others:
            one.start()
        for one in self.others:
            one.join()

    def _ask(self) -> None:
        body = json.dumps({"model": "tiny", "prompt": "Hello", "max_tokens": 8}).encode()
        while not self.over.is_set():
            request = urllib.request.Request(self.url, body, {"content-type": "application/json"})
            with suppress(OSError), urllib.request.urlopen(request, timeout=60) as answer:
                answer.read()
            self.over.wait(0.8)


@contextmanager
def using(lane: Lane, count: int) -> Iterator[None]:
    """Users for the length of a block."""
    users = Users(lane, count)
    users.start()
    try:
        yield
    finally:
        users.over.set()
        users.join()


@contextmanager
def lanes(folder: Path, *every: Lane) -> Iterator[Box]:
    """A daemon that has them all, with pretended cards; right answers are recorded where any are compared."""
    book = yaml.safe_load(CASEBOOK.read_text()) | {"needle": NEEDLE}
    (folder / "casebook.yaml").write_text(yaml.safe_dump(book))
    box = Box(folder, {lane.name: lane.spec for lane in every})
    env = {"GENESISD_TEST_LEDGER": str(folder / "vram"), "PYTHONPATH": str(ROOT / "tests/helpers/nvml")}
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        box.start()
        for lane in every:
            lane.box = box
            lane.plant({})
        for lane in every:
            box.wait(lane.name, "ready", seconds=60)
            if {"golden", "tokenizer"} & set(lane.periods):
                box.ask("record_golden", lane.name, {}, dry_run=False, timeout=300)
        yield box
    except BaseException:
        box.clear()
        raise
    else:
        box.finish()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


STOPPED, KILLED = signal.SIGSTOP, signal.SIGKILL
