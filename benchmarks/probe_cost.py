"""What correctness probes take from users of a real vLLM that is busy all the time."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from benchmarks.detection_real import built
from benchmarks.figures import Figure, Figures, Target
from benchmarks.rig import there_and_back
from genesisd.demo.locate import CASEBOOK
from genesisd.probes.spec import CORRECTNESS
from tests.helpers.users import Users
from tests.real.supervised import Rig, example, real_box

USERS = 4
BLOCK = float(os.environ.get("GENESISD_BLOCK", "40"))
"""Seconds of one turn with probes, or without."""
SETTLE = 2.0
"""Seconds after a turn began that are not counted."""
QUESTIONS = ("Hello!", "Who are you?", "What is the capital of Peru?", "Write the lamp song.", "What colour is coal?")
WITH, WITHOUT = "with", "without"
FASTER = 20
"""How many times as often as by default everything is asked in a turn with probes."""
PERIODS = {one.kind: one.period for one in CORRECTNESS if one.kind not in {"latency", "engagement"}}
"""Seconds by default. The two have nothing to ask: no objective is promised, no patch is there."""
T95 = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81, 1.80, 1.78, 1.77, 1.76, 1.75)
"""Student's t that chance stays below in 95 of 100, by degrees of freedom from 1 on; 1.75 is close enough beyond."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One ask of a probe, and the tokens that it took."""

    kind: str
    tokens: int


def question(turn: int) -> dict[str, Any]:
    """What users ask in turn: 64 tokens long, whatever the model would say."""
    message = {"role": "user", "content": QUESTIONS[turn % len(QUESTIONS)]}
    return {"messages": [message], "max_tokens": 64, "ignore_eos": True, "temperature": 0.7}


def probe_cost(rounds: int) -> Figures:
    """A real vLLM on the CPU with the demonstration's model, and four users who never pause, in turns with the
    correctness stage and without it (ABBA). On shared cores two equal turns differ by more than probes take at their
    defaults. So every kind is asked 20 times as often here, and the loss is divided by how many times the tokens of
    its questions are those of the defaults: questions are asked one at a time, and each costs what it costs."""
    if not built():
        return []
    taken: dict[str, list[float]] = {WITH: [], WITHOUT: []}
    asked: list[Asked] = []
    spec = example()
    del spec["patches"]
    spec["env"] = {name: value for name, value in spec["env"].items() if "_ENABLE_" not in name}
    spec["probes"] = {"casebook": str(CASEBOOK)}
    with real_box({"tiny": spec}) as box:
        rig = Rig(box, "tiny")
        rig.ready()
        box.ask("record_golden", "tiny", {}, dry_run=False, timeout=300)
        with Users(spec["listen"], USERS, question) as users:
            _turn(rig, WITH, users)  # whatever is used for the first time is compiled
            for name in there_and_back(rounds, (WITH, WITHOUT)):
                rate, told = _turn(rig, name, users)
                taken[name].append(rate)
                asked += told
                print(
                    f"{name}: {rate:.1f} tokens/s, {sum(one.tokens for one in told)} of probes",
                    file=sys.stderr,
                    flush=True,
                )
        if users.faults:
            raise RuntimeError(f"{len(users.faults)} requests of users failed: {users.faults[:3]}")
        if wrong := box.ask("incidents", "tiny", 10, open_only=False):
            raise RuntimeError(f"a right worker has an incident: {wrong}")
    return _figures(taken, asked)


def _turn(rig: Rig, name: str, users: Users) -> tuple[float, list[Asked]]:
    """Tokens a second that users were served, and what probes asked meanwhile."""
    probes = rig.box.settings["workers"]["tiny"]["probes"]
    probes["correctness"] = [
        {"kind": kind, "period": period / FASTER} for kind, period in PERIODS.items() if name == WITH
    ]
    probes["cost"] = {"share": 0.5}  # what is asked so often may cost more
    rig.box.write()
    rig.box.ask("reload")
    time.sleep(SETTLE)
    began, wall = time.monotonic(), time.time()
    time.sleep(BLOCK)
    ended, told = time.monotonic(), rig.box.ask("probe_history", "tiny", None, 1000)
    time.sleep(SETTLE)  # answers that had begun are counted by their share
    rate = sum(one.within(began, ended) for one in list(users.served)) / (ended - began)
    return rate, [Asked(one["kind"], one["tokens"]) for one in told if one["at"] >= wall and one["tokens"]]


def by_default(asked: list[Asked]) -> float:
    """Tokens a second of probes at their default periods, from what one ask of each kind took."""
    costs: dict[str, list[int]] = {}
    for one in asked:
        costs.setdefault(one.kind, []).append(one.tokens)
    return sum(mean(tokens) / PERIODS[kind] for kind, tokens in costs.items())


def _figures(taken: dict[str, list[float]], asked: list[Asked]) -> Figures:
    default, turns = by_default(asked), len(taken[WITH])
    times = sum(one.tokens for one in asked) / (turns * BLOCK) / default
    share = Figure(
        "tokens of probes at their defaults, of those that users were served", "%", Target(1, "max"), digits=2
    )
    share.add("genesisd", 100 * default / mean(taken[WITH]))
    often = Figure(
        f"how many times those tokens were asked here, in {len({one.kind for one in asked})} kinds", "x", digits=1
    )
    often.add("genesisd", times)
    lost = [math.log(without / with_) for with_, without in zip(taken[WITH], taken[WITHOUT], strict=True)]
    each = Figure("throughput lost here, by pairs of turns", "%", shows=("p50", "min", "max"), digits=2)
    each.add("genesisd", *(100 * -math.expm1(-one) for one in lost))
    most = Figure(f"the same, upper 95 % bound of the mean of {len(lost)} pairs", "%", digits=2)
    most.add("genesisd", 100 * -math.expm1(-upper(lost)))
    bound = Figure("that bound at the default periods", "%", Target(3, "max"), digits=2)
    bound.add("genesisd", 100 * -math.expm1(-upper(lost) / times))
    rate = Figure("what users were served", "tokens/s", shows=("p50", "min", "max"), digits=0)
    rate.add("genesisd", *taken[WITH])
    rate.add("without the correctness stage", *taken[WITHOUT])
    return [share, often, each, most, bound, rate]


def upper(values: list[float]) -> float:
    """Upper 95 % bound of the mean (paired t, one-sided); infinite of fewer than two."""
    if len(values) < 2:
        return math.inf
    quantile = T95[min(len(values) - 1, len(T95)) - 1]
    return mean(values) + quantile * stdev(values) / math.sqrt(len(values))
