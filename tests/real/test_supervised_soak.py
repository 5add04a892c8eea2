"""Twenty real kills: nothing piles up."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress

import pytest

from tests.real.serving import RealVllm
from tests.real.supervised import Rig, example, gone, real_box, residue, scratch, until

KILLS = 20
SEED = int(os.environ.get("GENESISD_SEED", "1"))
ROLES = ("leader", "EngineCore", "Worker")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_twenty_kills_leave_the_same_entries(real_vllm_env: RealVllm) -> None:
    """API server, EngineCore or Worker, in service or in the middle of a start: /dev/shm and TMPDIR stay as they were."""
    chance = random.Random(SEED)
    settings = example() | {"restart": {"budget": 1000, "backoff": {"initial": "100ms", "max": "100ms"}}}
    before = residue()
    with real_box({"tiny": settings}) as box:
        rig = Rig(box, "tiny")
        rig.ready()
        served = len(residue() - before), len(scratch(box, "tiny"))
        for n in range(KILLS):
            _kill_once(rig, n, chance)
        rig.ready()
        assert (len(residue() - before), len(scratch(box, "tiny"))) == served
        assert rig.look()["incarnation"] == KILLS + 1
        box.ask("order", "stop", "tiny")
        rig.reaches("stopped")
        assert scratch(box, "tiny") == []
        assert residue() - before == set()


def _kill_once(rig: Rig, n: int, chance: random.Random) -> None:
    """At a random moment of a life, most of them before it serves."""
    incarnation, role, wait = n + 1, chance.choice(ROLES), chance.uniform(0, 45)
    rig.reaches("starting", "warming", "ready", incarnation=incarnation)
    began = time.monotonic()
    until(lambda: time.monotonic() - began > wait or rig.look()["phase"] == "ready", every=0.2)
    tree = until(lambda: _tree(rig), every=0.2)
    victim = next((pid for pid, text in tree.items() if text.endswith(f"::{role}")), next(iter(tree)))
    title = tree[victim].rpartition("/")[2][:40]
    phase = rig.look()["phase"]
    os.kill(victim, signal.SIGKILL)
    until(lambda: rig.look()["incarnation"] > incarnation)
    assert gone(tree)
    print(f"\nkill {n + 1}: {title} in phase {phase} after {time.monotonic() - began:.1f} s", flush=True)


def _tree(rig: Rig) -> dict[int, str]:
    """Leader first; nothing in the moment before it is born."""
    with suppress(OSError, TypeError):
        return rig.tree()
    return {}
