"""Twenty real kills: nothing piles up."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress

import pytest

from genesisd.supervisor import shared_memory
from tests.real.serving import RealVllm
from tests.real.supervised import START_SECONDS, Rig, example, gone, real_box, residue, scratch, until

KILLS = 20
SEED = int(os.environ.get("GENESISD_SEED", "1"))
ENGINE = ("::EngineCore", "::Worker")


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
        served = _counts(rig, before)
        for n in range(KILLS):
            _kill_once(rig, n, chance)
        rig.ready()
        assert _counts(rig, before) == served
        assert rig.look()["incarnation"] == KILLS + 1
        box.ask("order", "stop", "tiny")
        rig.reaches("stopped")
        assert scratch(box, "tiny") == []
        assert residue() - before == set()


def _counts(rig: Rig, before: set[str]) -> tuple[int, int]:
    """Entries that one serving life has, in /dev/shm and in its own folders."""
    until((rig.box.state / "run" / "tmp" / "tiny" / shared_memory.NOTE).exists)
    return len(residue() - before), len(scratch(rig.box, "tiny"))


def _kill_once(rig: Rig, n: int, chance: random.Random) -> None:
    """In service, and every other time at a random moment of the start."""
    incarnation, wait = n + 1, chance.uniform(0, 45) if n % 2 else START_SECONDS
    rig.reaches("starting", "warming", "ready", incarnation=incarnation)
    began = time.monotonic()
    until(lambda: time.monotonic() - began > wait or rig.look()["phase"] == "ready", every=0.2)
    tree = until(lambda: _tree(rig), every=0.2)
    leader, *others = tree
    victims = {leader: "API server"} | {pid: tree[pid] for pid in others if tree[pid].endswith(ENGINE)}
    victim = chance.choice(list(victims))
    phase = rig.look()["phase"]
    os.kill(victim, signal.SIGKILL)
    until(lambda: rig.look()["incarnation"] > incarnation)
    assert gone(tree)
    print(f"\nkill {n + 1}: {victims[victim]} in phase {phase} after {time.monotonic() - began:.1f} s", flush=True)


def _tree(rig: Rig) -> dict[int, str]:
    """Leader first; nothing in the moment before it is born."""
    with suppress(OSError, TypeError):
        return rig.tree()
    return {}
