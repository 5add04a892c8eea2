"""kill -9 of the daemon in each phase, over a hundred seeds: nothing is doubled, lost, or left behind.

Each seed gives the worker something to do and kills the daemon after a moment of its choosing, so that the kills
fall into starting, warming, ready, draining, stopping, backoff and the gaps between persisting and acting.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter

import pytest

from genesisd.control.client import ControlError
from tests.helpers.box import FAKE, Box, alive

SEEDS = 100
QUICK = {"stop": {"drain": "500ms", "grace": "500ms"},
         "restart": {"budget": 1000, "backoff": {"initial": "200ms", "max": "200ms"}}}  # fmt: skip


def act(one: Box, dice: random.Random) -> str:
    """Give the worker something to be in the middle of."""
    choice = dice.choice(["restart", "stop", "start", "crash", "crash twice", "nothing", "drain", "shim"])
    found = one.worker("w")
    try:
        if choice in {"restart", "start", "stop", "drain"}:
            one.ask("order", choice, "w")
        elif choice.startswith("crash") and found["pid"]:
            os.kill(found["pid"], signal.SIGKILL)
        elif choice == "shim" and found["shim"]:
            os.kill(found["shim"]["pid"], signal.SIGKILL)
    except (ControlError, ProcessLookupError):
        pass
    return choice


@pytest.mark.timeout(900)
def test_a_hundred_deaths_of_the_daemon(box):
    """After each: at most one leader, the right one, and the worker where it was wanted."""
    bystander = "w2"
    spec = {"command": [*FAKE, "--bare", "--boot-seconds", "0.1", "--term-delay", "0.1"], **QUICK,
            "probes": {"readiness": [{"kind": "http"}], "liveness": [{"kind": "process"}],
                       "startup": [{"kind": "http", "period": "50ms"}]}}  # fmt: skip
    one = box({"w": spec, bystander: spec})
    one.wait("w", "ready")
    untouched = one.wait(bystander, "ready")["pid"]
    phases: Counter[str] = Counter()
    for seed in range(SEEDS):
        dice = random.Random(seed)
        did = act(one, dice)
        pause = dice.choice([0, 0.002, 0.01, 0.05, 0.1, 0.2, 0.4])
        time.sleep(pause)
        phases[one.worker("w")["phase"]] += 1
        wanted = one.worker("w")["wanted"]
        one.kill()
        one.start()
        found = one.wait("w", *(("ready",) if wanted else ("stopped",)), seconds=30)
        assert found["wanted"] == wanted, (seed, did)
        leaders = one.leaders("w")
        assert leaders == ([found["pid"]] if wanted else []), (seed, did, found)
        assert one.worker(bystander)["pid"] == untouched, (seed, did)
        assert alive(untouched)
        if not wanted:
            one.ask("order", "start", "w")
            one.wait("w", "ready")
    assert len(phases) >= 4, phases
    assert one.ask("events", 0.0, follow=False, worker=bystander)[-1]["fields"].get("phase") in {None, "ready"}
