"""The judgement on a life, cause by cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from genesisd.attest.expected import Blind, Expectation, Item
from genesisd.attest.judge import judge
from genesisd.attest.model import Attestation, Cause, Process, Standing, State
from genesisd.attest.report import Report, Sighting
from genesisd.attest.roles import Role, Wanted

ROOT = "/cache/builds/env+k"
FILE = f"{ROOT}/vllm/core.py"
RUN = Item("vllm.core", "Core.run", "function", ("P1",), frozenset({"a", "b"}))
LIMIT = Item("vllm.core", "LIMIT", "module_constant", ("P2",), frozenset({"c"}))
WHOLE = Item("vllm.core", "", "module", ("P2",), frozenset({"d"}))
EXPECTED = Expectation(
    "env+k", ROOT, {one.key: one for one in (RUN, LIMIT, WHOLE)}, (Blind(("P3",), "vllm/c.json", "", "no Python", False), Blind(("P2",), FILE, "X", "computed", True))
)  # fmt: skip
LIVE = {
    RUN.key: Sighting("live", "b", FILE),
    LIMIT.key: Sighting("live", "c", FILE),
    WHOLE.key: Sighting("live", "d", FILE),
}
ABSENT = {key: Sighting("not_loaded", "", FILE) for key in LIVE}
API = Process(10, 1, "/bin/vllm serve m")
ENGINE = Process(17, 2, "genesis:w:1::EngineCore")
WORKER = Process(18, 3, "genesis:w:1::Worker_TP0")
TRACKER = Process(19, 4, "python -c from multiprocessing.resource_tracker import main")
TREE = (API, ENGINE, WORKER, TRACKER)


def report(process: Process, role: Role, items: Mapping[Any, Sighting] = LIVE, **more: Any) -> Report:
    known = {"build": "env+k", "vllm": f"{ROOT}/vllm/__init__.py", "seq": 1}
    return Report(process.pid, process.start_ticks, role, process.title, items=items, **(known | more))


def reports(**changed: Any) -> list[Report]:
    """The three reports of a good life; the engine's as the test has it."""
    engine = {"items": LIVE} | changed
    return [report(API, Role.API, ABSENT), report(ENGINE, Role.ENGINE, **engine), report(WORKER, Role.WORKER)]


def judged(
    found: list[Report], tree: tuple[Process, ...] = TREE, *, overdue: bool = False, **wanted: int
) -> Attestation:
    return judge(EXPECTED, found, tree, Wanted(**wanted), API.pid, overdue=overdue)


def test_a_life_that_runs_the_build_is_attested():
    """Every role is shown with what is alive in it; a patch is where its things are."""
    verdict = judged(reports(), worker=1)
    assert verdict.state is State.ATTESTED
    assert verdict.summary == "every process runs the build (api 1, engine 1, worker 1)"
    assert {one.role: (one.live, one.not_loaded) for one in verdict.roles if one.processes} == {
        Role.API: (0, 3), Role.ENGINE: (3, 0), Role.WORKER: (3, 0),
    }  # fmt: skip
    standing = {one.id: one.standing for one in verdict.patches}
    assert standing == {"P1": Standing.ATTESTED, "P2": Standing.ATTESTED, "P3": Standing.UNATTESTABLE}
    assert {one.id: dict(one.live) for one in verdict.patches}["P2"] == {Role.ENGINE: 2, Role.WORKER: 2}
    assert verdict.patches[2].blind == ("vllm/c.json: no Python",)
    assert verdict.patches[1].blind == ("X: computed, the code that makes it is attested",)


@pytest.mark.parametrize(
    ("key", "seen", "cause", "text"),
    [
        (RUN.key, Sighting("live", "x", FILE), Cause.DIGEST, "vllm.core.Core.run is not the code of the build"),
        (RUN.key, Sighting("live", "x", FILE, "the code stands in /s.py"), Cause.DIGEST,
         "vllm.core.Core.run is not the code of the build: the code stands in /s.py"),
        (RUN.key, Sighting("live", "", FILE, "OSError: no"), Cause.DIGEST, "vllm.core.Core.run is not the code of the build: OSError: no"),
        (LIMIT.key, Sighting("live", "x", FILE), Cause.DIGEST, "vllm.core.LIMIT has another value than in the build"),
        (WHOLE.key, Sighting("live", "x", FILE), Cause.DIGEST, "module vllm.core was not loaded from the code of the build"),
        (RUN.key, Sighting("missing", "", FILE), Cause.MISSING, "vllm.core.Core.run is not there, or is no function"),
        (LIMIT.key, Sighting("missing", "", FILE), Cause.MISSING, "vllm.core.LIMIT is not there, or is no module constant"),
        (RUN.key, Sighting("live", "a", "/env/vllm/core.py"), Cause.ORIGIN,
         "vllm.core.Core.run comes from /env/vllm/core.py, which is not in the build"),
        (RUN.key, Sighting("live", "a", f"{ROOT}-other/vllm/core.py"), Cause.ORIGIN,
         f"vllm.core.Core.run comes from {ROOT}-other/vllm/core.py, which is not in the build"),
        (RUN.key, Sighting("not_loaded", "", "/env/vllm/core.py"), Cause.ORIGIN,
         "vllm.core.Core.run would come from /env/vllm/core.py, which is not in the build"),
        (RUN.key, None, Cause.UNSEEN, "vllm.core.Core.run was not looked at"),
    ],
)  # fmt: skip
def test_each_thing_that_may_be_wrong_is_told(key: Any, seen: Sighting | None, cause: Cause, text: str):
    """The sentence names the process, the thing, and what is the matter."""
    items = {name: one for name, one in {**LIVE, key: seen}.items() if one is not None}
    verdict = judged(reports(items=items))
    assert verdict.state is State.REFUSED
    assert [one.cause for one in verdict.findings] == [cause]
    assert verdict.summary == f"EngineCore (pid 17): {text}"
    blamed = "P1" if key == RUN.key else "P2"
    assert {one.id for one in verdict.patches if one.standing is Standing.REFUSED} == {blamed}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"vllm": "/env/vllm/__init__.py"},
            f"runs the vLLM of /env/vllm/__init__.py, which is not in the build {ROOT}",
        ),
        ({"build": "env+old"}, "reports for the build env+old, not for env+k"),
        (
            {"optimize": 1},
            "runs Python with -O (or PYTHONOPTIMIZE): what it compiles is not the code of the build; start it without",
        ),
    ],
)
def test_an_unpatched_process_is_one_finding(changed: dict[str, Any], text: str):
    """Where all differs, one sentence says it, and every patch is blamed."""
    verdict = judged(reports(**changed, items={}))
    assert [one.text for one in verdict.findings] == [f"EngineCore (pid 17) {text}"]
    assert {one.standing for one in verdict.patches} == {Standing.REFUSED}


def test_a_module_that_nobody_loaded_is_no_fault():
    """A patch of a feature that is not in use is loaded nowhere, and that is said."""
    verdict = judged(
        [report(one, role, ABSENT) for one, role in ((API, Role.API), (ENGINE, Role.ENGINE), (WORKER, Role.WORKER))]
    )
    assert verdict.state is State.ATTESTED
    assert [one.standing for one in verdict.patches[:2]] == [Standing.NOT_LOADED] * 2


@pytest.mark.parametrize(
    ("silent", "text"),
    [
        (0, "API server (pid 10) has not reported: nothing shows that it runs the build"),
        (1, "EngineCore (pid 17) has not reported: nothing shows that it runs the build"),
        (2, "Worker_TP0 (pid 18) has not reported: nothing shows that it runs the build"),
    ],
)
def test_silence_is_waited_for_and_then_refused(silent: int, text: str):
    """Of a process with a name of the engine a report must come; others (a tracker, a compiler) may be silent."""
    found = [one for index, one in enumerate(reports()) if index != silent]
    pending = judged(found)
    assert pending.state is State.PENDING
    assert text in pending.summary
    refused = judged(found, overdue=True)
    assert refused.state is State.REFUSED
    assert refused.findings[0].text == text
    assert refused.findings[0].cause is Cause.SILENT


def test_each_role_must_be_there_as_often_as_the_flags_say():
    """A worker that has not even begun is missed by the count."""
    verdict = judged(reports(), worker=2)
    assert verdict.state is State.PENDING
    assert verdict.summary == "1 of 2 Worker processes have reported"


def test_a_worker_inside_the_engine_is_not_missed():
    """On one card the engine may run its worker itself."""
    assert judged(reports()[:2], (API, ENGINE)).state is State.ATTESTED


def test_a_report_of_an_earlier_process_with_the_same_pid_is_nobodys():
    """The kernel gives pids out again; the start time tells."""
    found = reports()
    again = Process(ENGINE.pid, 99, ENGINE.title)
    assert judged(found, (API, again, WORKER)).state is State.PENDING


def test_a_report_of_a_dead_process_is_nobodys():
    """What a helper that came and went had loaded is of no account."""
    stray = report(Process(50, 1, "x"), Role.OTHER, {})
    assert judged([*reports(), stray]).state is State.ATTESTED
    assert judged([*reports(), stray], (*TREE, Process(50, 1, "x"))).state is State.REFUSED


def test_the_later_of_two_reports_counts():
    """A folder may hold both for the moment in which one replaces the other."""
    bad = report(ENGINE, Role.ENGINE, {**LIVE, RUN.key: Sighting("live", "x", FILE)}, seq=2)
    assert judged([bad, *reports()]).state is State.REFUSED
    assert judged([*reports(), bad]).state is State.REFUSED


def test_what_is_wrong_counts_before_what_is_awaited():
    """A refusal does not wait for the others to report."""
    found = reports(items={**LIVE, RUN.key: Sighting("live", "x", FILE)})[1:]
    verdict = judged(found)
    assert verdict.state is State.REFUSED
    assert verdict.waiting


def test_many_findings_are_summed_up():
    """One is told, the others are counted."""
    items = {
        RUN.key: Sighting("missing", "", FILE),
        LIMIT.key: Sighting("missing", "", FILE),
        WHOLE.key: LIVE[WHOLE.key],
    }
    assert judged(reports(items=items)).summary.endswith("is no function (and 1 more)")


def test_a_fault_of_the_plugin_is_told_without_harm():
    """All was found; that a log line could not be counted is no reason to refuse."""
    verdict = judged(reports(faults=("OSError: full",)))
    assert verdict.state is State.ATTESTED
    assert verdict.faults == ("EngineCore (pid 17): OSError: full",)
