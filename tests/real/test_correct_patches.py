"""A real vLLM whose patches are wrong: the guilty one is found and left out, or the worker goes back to what was right.

One worker serves both tests, in this order. Its right answers are recorded first, with four patches that are right.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.real.correctness import Judged, judged, judged_rig, now, switch, told
from tests.real.serving import RealVllm
from tests.real.supervised import gone, until

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]
RIGHT = ("P61c", "PN389", "PN527", "PN529")


@pytest.fixture(autouse=True)
def _no_child_left() -> None:
    """Not asked here: tests replace the module's daemon, and the box looks at its end that nothing is left."""


@pytest.fixture(scope="module")
def rig(real_vllm_env: RealVllm) -> Iterator[Judged]:
    """Ready with four patches, attested, and recorded."""
    with judged_rig(judged(RIGHT)) as rig:
        rig.ready()
        rig.ctl("probes", "record-golden", "tiny")
        rig.sound()
        yield rig


def reloaded(rig: Judged, *patches: str) -> float:
    """Ready with these patches, by a new configuration; when it became so."""
    before = rig.look()["incarnation"]
    switch(rig.box.settings["workers"]["tiny"], patches)
    rig.reload()
    rig.reaches("ready", incarnation=before + 1)
    return now()


def runs(rig: Judged) -> set[str]:
    """Ids of the patches that the worker's processes run, attested."""
    found = rig.box.ask("patches", "tiny")
    assert found["build"]["state"] == "attested", found["build"]
    assert (found["findings"], found["faults"]) == ([], [])
    return {one["id"] for one in found["patches"] if one["verdict"] == "applied" and one["standing"] == "attested"}


def steps(rig: Judged, since: float) -> list[dict[str, Any]]:
    """What the search has tried."""
    return [one["fields"] for one in rig.events(since, "bisection_step")]


def test_t15_a_bad_patch_among_five_is_found_and_left_out(rig: Judged) -> None:
    """A restart does not help; scratch workers show which patch it is, though the daemon is killed in the middle."""
    asked = now()
    began = reloaded(rig, *RIGHT, "PT1")
    assert runs(rig) == {*RIGHT, "PT1"}
    told("a bad patch, from ready to restart", began, rig.first(asked, "judge_restart"))
    told("a bad patch, from ready to the search", began, rig.first(asked, "judge_bisect"))
    until(lambda: len(steps(rig, asked)) >= 3)
    rig.first(asked, "scratch_started")
    known = steps(rig, asked)
    until(lambda: any("shim" in text and "scratch-" in text for text in rig.box.processes().values()))
    before = rig.box.processes()
    rig.box.kill()
    rig.box.start()
    ended = rig.first(asked, "bisection_ended")
    told("a bad patch, from ready to its name", began, ended)
    assert ended["fields"]["guilty"] == ["PT1"]
    tried = steps(rig, asked)
    assert tried[: len(known)] == known
    assert len({tuple(one["patches"]) for one in tried}) == len(tried) <= 8
    rig.reaches("ready")
    print(f"ready without it after {now() - began:.1f} s, {len(tried)} runs")
    assert runs(rig) == set(RIGHT)
    rig.sound()
    until(lambda: rig.scratches() == [] and gone(before.keys() - rig.box.processes().keys()))
    assert "PT1" in rig.ctl("quarantine", "list")
    why = rig.why()
    print(why)
    assert "PT1" in why
    (incident, *_) = rig.box.ask("incidents", "tiny", 20, open_only=False)
    shown = rig.ctl("incidents", "show", str(incident["id"]))
    print(shown)
    assert "quarantine" in shown
    assert "golden" in incident["probes"]


def test_a_patch_that_loses_streamed_calls_is_taken_back_to_what_was_proven(rig: Judged) -> None:
    """Caught as a stream and not in one piece, and said so; the proven build serves until somebody says otherwise."""
    settings = rig.box.settings["workers"]["tiny"]
    proven = rig.ready()["build"]["build"]
    settings["probes"]["judge"]["good_for"] = "1s"
    rig.reload()
    until(lambda: kept(rig) == proven)
    asked = now()
    began = reloaded(rig, *RIGHT, "PT2")
    bad = rig.look()["build"]["build"]
    said = rig.first(asked, "judge_told")
    told("streams without calls, from ready to told", began, said)
    assert said["fields"]["kinds"] == ["tool-calls"]
    assert "streamed" in said["fields"]["text"]
    assert "asked whole, the same case is right" in said["fields"]["text"]
    told("streams without calls, from ready to restart", began, rig.first(asked, "judge_restart"))
    back = rig.first(asked, "judge_rollback")
    told("streams without calls, from ready to rollback", began, back)
    assert back["fields"]["build"] == proven
    until(lambda: (rig.look()["build"] or {}).get("build") == proven)
    rig.reaches("ready")
    print(f"ready on the proven build after {now() - began:.1f} s")
    assert runs(rig) == set(RIGHT)
    rig.sound()
    why = rig.why()
    print(why, rig.ctl("status"), sep="\n")
    assert "instead of what is configured" in why
    before = rig.look()["incarnation"]
    rig.order("reset")
    rig.order("restart")
    rig.reaches("starting", incarnation=before + 1)
    until(lambda: (rig.look()["build"] or {}).get("build") == bad)
    rig.order("stop")
    rig.reaches("stopped")


def kept(rig: Judged) -> str | None:
    """The build that would be gone back to: only the store tells, so that it outlives the daemon."""
    with closing(sqlite3.connect(f"file:{rig.box.state / 'genesisd.db'}?mode=ro", uri=True)) as store:
        row = store.execute("SELECT value FROM meta WHERE key = 'patches/proven/tiny'").fetchone()
    return None if row is None else json.loads(row[0])["build"]
