"""An hour in which nothing is wrong, however odd it looks: no probe says no, and the daemon does not grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from genesisd.demo.locate import CASEBOOK
from genesisd.probes.spec import CORRECTNESS
from tests.helpers.box import FAKE, free_port
from tests.helpers.soaking import Watched
from tests.helpers.users import Users, all_of, tides

PARSERS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
FASTER = 20
"""How many times as often as by default everything is asked."""
STALE = {"running": 106, "waiting": 3, "kv": 0.99, "freeze_counters": True}
LONG = "word " * 400
TOSSES_COINS = {"keep-alive"}
"""Compares words with words of a moment ago, so a server whose every answer has a near tie is beyond it."""


def spec(folder: Path, name: str, *flags: str, without: frozenset[str] | set[str] = frozenset()) -> dict[str, Any]:
    kinds = [one for one in CORRECTNESS if one.kind not in without | {"latency", "engagement", "needle"}]
    asked = [{"kind": one.kind, "period": min(one.period / FASTER, 60)} for one in kinds]
    control = folder / f"{name}.faults"
    control.write_text("{}")
    speculates = ("--speculative-config", json.dumps({"num_speculative_tokens": 4}))
    served = "coins" if name == "coins" else "tiny"  # what is recorded is kept by the model's name
    return {
        "command": [*FAKE, "--demo", "--served-model-name", served, "--control", str(control), *PARSERS, *speculates, *flags],
        "served_model_name": served,
        "listen": f"127.0.0.1:{free_port()}",
        "stop": {"drain": "1s", "grace": "1s"},
        "probes": {"correctness": asked, "casebook": str(CASEBOOK), "cost": {"share": 0.2}},
    }  # fmt: skip


def short(turn: int) -> dict[str, Any]:
    return {"prompt": f"Hello {turn}", "max_tokens": 16}


def mixed(turn: int) -> dict[str, Any]:
    return {"prompt": f"{turn} {LONG}" if turn % 5 == 0 else f"Hello {turn}", "max_tokens": 8}


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_nothing_is_told_of_workers_that_only_look_odd(box, tmp_path):
    """Stale gauges, a full engine, prefills of many seconds, answers that near ties decide; users all the while."""
    workers = {
        "stale": spec(tmp_path, "stale", without={"acceptance", "creep"}),
        "full": spec(tmp_path, "full", "--max-num-seqs", "2", "--token-delay", "0.02"),
        "prefill": spec(tmp_path, "prefill", "--prefill-blocks", "20", "--prefill-min-tokens", "200"),
        "ties": spec(tmp_path, "ties"),
        "coins": spec(tmp_path, "coins", without=TOSSES_COINS),
    }
    odd = {"stale": STALE, "ties": {"answer": "near-tie"}, "coins": {"answer": "near-tie-golden"}}
    one = box(workers)
    (tmp_path / "coins.faults").write_text(json.dumps(odd["coins"]))  # what is recorded knows of the ties
    for name in workers:
        one.wait(name, "ready")
        one.ask("record_golden", name, {}, dry_run=False, timeout=300)
    watched = Watched(one)
    for name, faults in odd.items():
        (tmp_path / f"{name}.faults").write_text(json.dumps(faults))
    at = {name: workers[name]["listen"] for name in workers}
    users = {
        "stale": Users(at["stale"], 1, short, tides(20, [0.5])),
        "full": Users(at["full"], 4, short, tides(30, [0.9, 0.6, 0.5, 0.4])),
        "prefill": Users(at["prefill"], 2, mixed, tides(120, [0.8, 0.5])),
        "ties": Users(at["ties"], 1, short, tides(10, [0.3])),
    }
    with all_of(*users.values()):
        watched.soak()
    print("\n" + watched.grew())
    for name in workers:
        found = watched.judged(name)
        assert {kind for kind, probe in found.items() if probe["standing"] == "undecided"} <= {"creep", "acceptance"}
    for name, some in users.items():
        print(f"{name}: {some.answered} answers to users")
        assert (some.answered > 0, some.faults) == (True, []), name
    watched.calm()
