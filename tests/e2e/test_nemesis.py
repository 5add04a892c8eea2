"""Orders from several people while everything is killed at random; a history says whether what holds always held.

Rounds of trouble are parted by quiet, in which all must be where it was last ordered to be. Everything that happens is
drawn from one seed; what the scheduler makes of it is not, so a failure prints the history.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from genesisd.control.client import Client, ControlError
from tests.helpers.box import FAKE, Box, alive, command, descendants, free_port, until

ROUND = 4.0
PEOPLE = 3
LEAST_ANSWERS, LEAST_KILLS = 8, 3
"""A round on a slow machine lasts until so much has happened in it."""
ANSWER_WITHIN = 60.0
BUDGET = 2
COMES_AND_GOES = "extra"
VERBS = ["stop", "start", "start", "restart", "restart now", "stop now", "reset", "drain"]
MAY_SAY = {"not_running", "conflict", "unavailable"}
"""Refusals that a daemon which is being killed may give; every other answer is a fault."""
QUICK = {
    "stop": {"drain": "300ms", "grace": "500ms"},
    "probes": {
        "startup": [{"kind": "http", "period": "50ms"}],
        "readiness": [{"kind": "http"}],
        "liveness": [{"kind": "process"}],
    },
}
FREE = {"restart": {"budget": 10_000, "backoff": {"initial": "50ms", "max": "200ms"}}}
TIGHT = {"restart": {"budget": BUDGET, "window": "1h", "backoff": {"initial": "50ms", "max": "50ms"}}}


def workers() -> dict[str, Any]:
    """A bare one, a tree, one with a front and a dependent, and one that may not be restarted often."""
    fake = {name: [*FAKE, "--boot-seconds", "0.1"] for name in ("bare", "tree", "front", "needs", "tight")}
    return {
        "bare": {"command": [*fake["bare"], "--bare"], **QUICK, **FREE},
        "tree": {"command": [*fake["tree"], "--workers", "2", "--setsid-workers"], **QUICK, **FREE},
        "front": {
            "command": [*fake["front"], "--bare"],
            "listen": f"127.0.0.1:{free_port()}",
            **QUICK,
            **FREE,
        },
        "needs": {"command": [*fake["needs"], "--bare"], "requires": ["front"], **QUICK, **FREE},
        "tight": {"command": [*fake["tight"], "--bare"], **QUICK, **TIGHT},
    }


class Nemesis:
    """Kills, orders and looks, each in threads of their own."""

    def __init__(self, one: Box, seed: int) -> None:
        self.one = one
        self.names = [*one.settings["workers"], COMES_AND_GOES]
        self.seed = seed
        self.history: deque[str] = deque(maxlen=400)
        self.faults: list[str] = []
        self.quiet = threading.Event()
        self.writing = threading.Lock()
        self.began = time.monotonic()
        self.answers = 0
        self.kills = 0

    def note(self, text: str) -> None:
        """Into the history."""
        self.history.append(f"{time.monotonic() - self.began:8.3f} {text}")

    def fault(self, text: str) -> None:
        """Something that must never be."""
        self.note(f"FAULT {text}")
        self.faults.append(text)

    # --- a round ----------------------------------------------------------------------------------------------

    def round(self, number: int, *, daemon_dies: bool) -> None:
        """Trouble for a while, then quiet."""
        self.quiet.clear()
        answers, kills = self.answers + LEAST_ANSWERS, self.kills + LEAST_KILLS
        dice = [random.Random(f"{self.seed}/{number}/{n}") for n in range(PEOPLE + 1)]
        works = [partial(self.order, one) for one in dice[1:]]
        works += [partial(self.kill, dice[0], daemon_dies=daemon_dies), self.look]
        threads = [threading.Thread(target=self._work, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(ROUND)
        with contextlib.suppress(AssertionError):
            until(lambda: self.faults or (self.answers >= answers and self.kills >= kills))
        self.quiet.set()
        for thread in threads:
            thread.join(ANSWER_WITHIN + 10)
            assert not thread.is_alive(), self.told("somebody waits for ever")
        self.settle()
        assert not self.faults, self.told("faults")

    def _work(self, work: Any) -> None:
        try:
            work()
        except BaseException as error:
            self.fault(f"{type(error).__name__}: {error}")

    def told(self, what: str) -> str:
        """What happened, for whoever reads the failure."""
        return "\n".join([f"{what} (seed {self.seed}): {self.faults}", *self.history, self.one.log.read_text()[-4000:]])

    # --- people -----------------------------------------------------------------------------------------------

    def order(self, dice: random.Random) -> None:
        """One person's orders; each is answered, in time and in words that can be expected."""
        while not self.quiet.is_set():
            name, verb = dice.choice(self.names), dice.choice(VERBS)
            word, _, now = verb.partition(" ")
            asked = time.monotonic()
            try:
                with Client(self.one.socket, ANSWER_WITHIN) as client:
                    if dice.random() < 0.1:
                        name = "all"
                        verb = self.rewrite(dice)
                        client.reload()
                    else:
                        client.order(word, name, drain=False if now else None)
                answer = "done"
            except ControlError as error:
                answer = error.code
                if error.code not in MAY_SAY and (name, error.code) != (COMES_AND_GOES, "not_found"):
                    self.fault(f"{verb} {name}: {error.code}, {error.message}")
            self.note(f"{verb} {name}: {answer} after {time.monotonic() - asked:.3f}")
            self.answers += 1
            time.sleep(dice.choice([0.0, 0.01, 0.1, 0.3]))

    def rewrite(self, dice: random.Random) -> str:
        """Another configuration, sometimes: a worker comes or goes, or a launch setting changes."""
        workers, choice = self.one.settings["workers"], dice.random()
        with self.writing:
            if choice < 0.3 and COMES_AND_GOES in workers:
                del workers[COMES_AND_GOES]
            elif choice < 0.6:
                workers[COMES_AND_GOES] = workers["bare"]
            elif choice < 0.8:
                workers["bare"] = {**workers["bare"], "env": {"CHANGED": str(choice)}}
            scratch = self.one.file.with_suffix(".new")
            scratch.write_text(yaml.safe_dump(self.one.settings))
            scratch.rename(self.one.file)  # as editors do: nobody reads half a file
        return f"reload ({choice:.2f})"

    # --- death ------------------------------------------------------------------------------------------------

    def kill(self, dice: random.Random, *, daemon_dies: bool) -> None:
        """One process after the other."""
        while not self.quiet.is_set():
            whom = dice.choice(["leader", "member", "shim", "front", "leader", "daemon" if daemon_dies else "member"])
            if whom == "daemon":
                self._kill_daemon(dice)
            elif candidates := self._candidates(whom):
                pid = dice.choice(candidates)
                self.note(f"kill {whom} {pid}")
                self.kills += 1
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(dice.choice([0.0, 0.02, 0.1, 0.3]))

    def _kill_daemon(self, dice: random.Random) -> None:
        self.note("kill daemon")
        self.kills += 1
        self.one.kill()
        time.sleep(dice.choice([0.0, 0.1]))
        self.one.start()
        self.note("daemon is back")

    def _candidates(self, whom: str) -> list[int]:
        found = self.one.processes()
        if whom in {"shim", "front"}:
            word = {"shim": "shim.py", "front": "genesisd.front"}[whom]
            return sorted(pid for pid, text in found.items() if word in text)
        leaders = [pid for name in self.names for pid in self.leaders(name)]
        if whom == "leader":
            return sorted(leaders)
        return sorted({member for pid in leaders for member in below(pid)})

    # --- truth ------------------------------------------------------------------------------------------------

    def leaders(self, worker: str) -> list[int]:
        """Living leaders of the worker, whoever their parent is: their environment names the worker."""
        mark = f"VLLM_PROCESS_NAME_PREFIX=genesis:{worker}:".encode()
        place = f"TMPDIR={self.one.state}/".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                pid = int(entry.name)
                with contextlib.suppress(OSError):
                    environment = (entry / "environ").read_bytes()
                    if mark in environment and place in environment and leads(pid) and alive(pid):
                        found.append(pid)
        return found

    def look(self) -> None:
        """All the while: never two leaders of one worker. Seen twice, since a look takes time and one may just die."""
        while not self.quiet.is_set():
            for name in self.names:
                if len(self.leaders(name)) > 1:
                    both = self.leaders(name)
                    if len(both) > 1:
                        self.fault(f"{name} has leaders {both}: {[command(pid) for pid in both]}")
            time.sleep(0.02)

    def settle(self) -> None:
        """In the quiet each worker is where it was ordered to be, and the processes are what status says."""
        until(lambda: all(self.is_settled(found) for found in self.one.ask("workers")), what="all are settled")
        self.one.ask("reload")
        # A death of the last moment may not have been noticed yet, by a shim that waits for a core.
        with contextlib.suppress(AssertionError):
            until(lambda: not self.disagreements())
        for text in self.disagreements():
            self.fault(text)
        for found in self.one.ask("workers"):
            if found["restarts"]["in_window"] > found["restarts"]["budget"]:
                self.fault(f"{found['name']} was restarted beyond its budget: {found['restarts']}")
        self.note("settled")

    def disagreements(self) -> list[str]:
        """Where status, the configuration and the processes do not say the same."""
        workers, configured = self.one.ask("workers"), set(self.one.settings["workers"])
        odd = [f"{one['name']} is {one['phase']}" for one in workers if not self.is_settled(one)]
        if (names := {one["name"] for one in workers}) != configured:
            odd.append(f"there are {sorted(names)}, configured are {sorted(configured)}")
        expected = {one["name"]: [one["pid"]] if one["phase"] == "ready" else [] for one in workers}
        leaders = {name: self.leaders(name) for name in self.names}
        return odd + [
            f"{name} has leaders {found}, expected {expected.get(name, [])}"
            for name, found in leaders.items()
            if found != expected.get(name, [])
        ]

    def is_settled(self, found: dict[str, Any]) -> bool:
        """Whether it rests. A worker whose dependency is down rests as blocked, and one without budget as failed."""
        if not found["wanted"]:
            return found["phase"] in {"stopped", "failed"}
        if found["phase"] == "failed":
            return found["reason"]["code"] == "budget-spent"
        return found["phase"] == "ready" or (found["name"] == "needs" and found["phase"] == "blocked")

    def all_ready(self) -> None:
        """Bring everything up, to compare like with like."""
        names = list(self.one.settings["workers"])
        for name in names:
            self.one.ask("order", "start", name)
        for name in names:
            self.one.wait(name, "ready", seconds=120)


def leads(pid: int) -> bool:
    """Whether it is the leader of its session, as a shim makes the processes that it starts, and runs the fake."""
    return os.getsid(pid) == pid and "fake_worker" in command(pid)


def below(pid: int) -> list[int]:
    """Descendants of a process that may be gone by now."""
    try:
        return descendants(pid)
    except OSError:
        return []


def size(pid: int) -> dict[str, int]:
    """Descriptors, threads and KiB of memory of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    fds = len([*Path(f"/proc/{pid}/fd").iterdir()])
    return {"fds": fds, "threads": int(status["Threads"]), "rss": int(status["VmRSS"].split()[0])}


def settled_sizes(nemesis: Nemesis) -> list[dict[str, int]]:
    """Sizes with all of the first workers and nothing else ready: probes come and go, so it looks often."""
    nemesis.one.settings["workers"].pop(COMES_AND_GOES, None)
    nemesis.one.write()
    nemesis.settle()
    nemesis.all_ready()
    pid = nemesis.one.status()["daemon"]["pid"]
    seen = []
    for _ in range(100):
        seen.append(size(pid))
        time.sleep(0.02)
    return seen


def run(one: Box, seed: int, rounds: int) -> Nemesis:
    """Rounds in which the daemon dies too, then as many in which it lives and must not grow."""
    nemesis = Nemesis(one, seed)
    nemesis.all_ready()
    for number in range(rounds):
        nemesis.round(number, daemon_dies=True)
    nemesis.round(rounds, daemon_dies=False)  # fills caches
    before = settled_sizes(nemesis)
    for number in range(rounds):
        nemesis.round(rounds + 1 + number, daemon_dies=False)
    after = settled_sizes(nemesis)
    grown = {name: min(one[name] for one in after) - max(one[name] for one in before) for name in after[0]}
    print(f"seed {seed}: {nemesis.answers} orders, {nemesis.kills} kills, {before[-1]}, growth {grown}")
    # A pidfd for each shim that this daemon started itself, and threads up to the size of the loop's pool.
    assert (grown["fds"] <= len(nemesis.names), grown["threads"] <= 4) == (True, True), nemesis.told(f"{grown}")
    assert grown["rss"] < 1024 * rounds, nemesis.told(f"grown by {grown}")
    return nemesis


def test_orders_and_deaths_at_random(box):
    """About a minute of it; the box itself checks that nothing is left at the end."""
    nemesis = run(box(workers()), seed=int(os.environ.get("GENESISD_NEMESIS_SEED", "1")), rounds=4)
    assert nemesis.answers > 50
    assert nemesis.kills > 20


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_orders_and_deaths_at_random_for_long(box):
    """Ten minutes and more."""
    run(box(workers()), seed=int(os.environ.get("GENESISD_NEMESIS_SEED", "2")), rounds=40)
