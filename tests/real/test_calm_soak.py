"""An hour of a real vLLM that is full, and reads long texts: no probe says no, and nothing grows."""

from __future__ import annotations

from typing import Any

import pytest

from genesisd.demo.locate import CASEBOOK
from genesisd.probes.spec import CORRECTNESS
from tests.helpers.soaking import Watched
from tests.helpers.users import Users, all_of, tides
from tests.real.serving import RealVllm
from tests.real.supervised import Rig, example, real_box

LENGTH = 2048
"""Tokens of context, as many as the model has positions for. Told to take more, the engine reads past its table, and
answers of all users that are served beside a longer text turn into ``!!!!``: golden says so, and is right."""
FASTER = 5
"""How many times as often as by default everything is asked."""
LONG = "The baker brings bread to the mill. " * 170
PIECE = 16
"""Tokens a step, users' own among them: a prefill takes hundreds of steps, and readers wait for each other."""
LEFT_OUT = frozenset({"needle", "latency", "engagement"})
"""The tiny model finds nothing in long texts, no objective is promised, and no patch is there."""


def spec() -> dict[str, Any]:
    """The demonstration's worker with a long context that is read in small pieces."""
    found = example()
    del found["patches"]
    args = [one for one in found["args"] if "max-model-len" not in one]
    found["args"] = [*args, f"--max-model-len={LENGTH}", f"--max-num-batched-tokens={PIECE}"]
    kept = {name: value for name, value in found["env"].items() if "_ENABLE_" not in name}
    found["env"] = kept
    asked = [{"kind": one.kind, "period": one.period / FASTER} for one in CORRECTNESS if one.kind not in LEFT_OUT]
    found["probes"] = {"correctness": asked, "casebook": str(CASEBOOK), "cost": {"share": 0.1}}
    return found


def short(turn: int) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": f"What is {turn} plus 3?"}],
        "max_tokens": 48,
        "ignore_eos": True,
    }


def long(turn: int) -> dict[str, Any]:
    return {"prompt": f"{turn}: {LONG}", "max_tokens": 2}


@pytest.mark.soak
@pytest.mark.real
@pytest.mark.timeout(7200)
def test_nothing_is_told_of_a_real_worker_that_is_full(real_vllm_env: RealVllm) -> None:
    """Six users for four places, then fewer, then none for a moment; and long texts that are read a few tokens a step."""
    with real_box({"tiny": spec()}) as box:
        Rig(box, "tiny").ready()
        box.ask("record_golden", "tiny", {}, dry_run=False, timeout=300)
        watched = Watched(box)
        at = box.settings["workers"]["tiny"]["listen"]
        crowd = Users(at, 6, short, tides(60, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]))
        readers = Users(at, 3, long, tides(90, [0.9, 0.5, 0.1]))
        with all_of(crowd, readers):
            watched.soak()
        print("\n" + watched.grew())
        found = watched.judged("tiny")
        print(f"{crowd.answered} answers, {readers.answered} of them to long texts")
        assert (crowd.faults, readers.faults) == ([], [])
        assert min(crowd.answered, readers.answered) > 0
        assert {kind for kind, one in found.items() if one["standing"] == "good"} >= {"golden", "degeneration"}
        assert box.worker("tiny")["incarnation"] == 1
        watched.calm()
