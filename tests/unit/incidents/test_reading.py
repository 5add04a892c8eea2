"""What the daemon's events mean for incidents."""

from __future__ import annotations

import pytest

from genesisd.incidents import causes, record
from genesisd.incidents.model import CAUSES, Happening, Recorded
from genesisd.incidents.reading import GATES, Reading, from_event
from genesisd.telemetry.events import KINDS

AT = 1000.0


@pytest.mark.parametrize(
    ("kind", "fields", "what", "cause"),
    [
        ("worker_exited", {"cause": "host-oom", "text": "killed", "code": None, "signal": 9}, "exit", "host-oom"),
        ("worker_exited", {"cause": "never-heard-of", "text": "x"}, "exit", "unknown"),
        ("liveness_failed", {"summary": "no token for 15 s"}, "liveness", "hung"),
        ("gate_shut", {"code": "vram-held", "text": "pid 5 holds it"}, "gate", "orphaned-vram"),
        ("gate_shut", {"code": "patches-refused", "text": "x"}, "gate", "bad-build"),
        ("worker_phase", {"phase": "failed", "reason_code": "unkillable", "reason": "stuck"}, "hold", "unkillable"),
        ("worker_phase", {"phase": "failed", "reason_code": "budget-spent", "reason": "gave up"}, "hold", None),
        ("worker_phase", {"phase": "stopping", "reason_code": "start-timeout"}, "liveness", "start-timeout"),
        ("worker_restart", {"cause": "spawn-scratch"}, "restart", None),
        ("worker_restart", {"cause": "spawn-exec-failed"}, "restart", None),
        ("worker_restart", {"cause": "spawn-unkillable"}, "restart", "unkillable"),
        ("worker_phase", {"phase": "failed", "reason_code": "spawn-exec-failed"}, "hold", "bad-config"),
        ("attestation_refused", {"text": "a hash differs"}, "probe", "bad-build"),
        ("judge_told", {"step": "alert", "kinds": ["golden"], "text": "x"}, "alert", "garbage-output"),
        ("judge_restart", {"kinds": ["latency", "needle"], "text": "x"}, "restart", "garbage-output"),
        ("judge_rollback", {"kinds": ["engagement"], "text": "x"}, "rollback", "bad-build"),
        ("judge_bisect", {"kinds": ["creep"], "text": "x"}, "bisection", "unknown"),
        ("judge_hold", {"kinds": [], "text": "x"}, "hold", "unknown"),
    ],
)
def test_a_fault_opens_an_incident(kind, fields, what, cause):
    """With the cause that the event names."""
    reading = from_event(kind, fields, AT)
    assert (reading.fault, reading.happening.what, reading.cause, reading.happening.at) == (True, what, cause, AT)


@pytest.mark.parametrize(
    ("kind", "fields", "what"),
    [
        ("worker_exited", {"cause": "stopped", "text": "asked"}, "exit"),
        ("gate_shut", {"code": "build-making", "text": "40 %"}, "gate"),
        ("gate_shut", {"code": "dependency", "text": "waits for x"}, "gate"),
        ("worker_restart", {"cause": "shim-lost"}, "restart"),
        ("worker_phase", {"phase": "failed", "reason_code": "was-unkillable", "reason": "gone"}, "hold"),
        ("worker_ready", {"seconds": 31.2}, "ready"),
        ("worker_adopted", {"pid": 5}, "ready"),
        ("order", {"verb": "restart", "peer": "uid 0"}, "order"),
        ("patches_lost", {"lost": ["PN1"]}, "alert"),
        ("shim_lost", {}, "alert"),
        ("judge_told", {"step": "note", "kinds": ["golden"], "text": "x"}, "alert"),
        ("patch_quarantined", {"patch": "PN1", "text": "to blame"}, "quarantine"),
        ("card_quarantined", {"card": 1, "text": "unkillable"}, "quarantine"),
        ("bisection_step", {"text": "half of them"}, "bisection"),
        ("bisection_ended", {"text": "PN1 is to blame", "guilty": ["PN1"]}, "bisection"),
    ],
)
def test_what_is_no_fault_is_only_a_line(kind, fields, what):
    """It goes into an incident that is open, and opens none."""
    reading = from_event(kind, fields, AT)
    assert (reading.fault, reading.ends, reading.happening.what) == (False, False, what)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("worker_phase", {"phase": "stopped", "reason_code": "operator", "reason": "stopped by the operator"}),
        ("judge_cured", {"text": "all is good again"}),
    ],
)
def test_these_end_an_incident(kind, fields):
    """The judge says that it is cured, or nobody wants the worker up."""
    assert from_event(kind, fields, AT).ends


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_event_is_too_bare_to_be_read(kind):
    """Whatever fields are missing."""
    reading = from_event(kind, {}, AT)
    assert reading is None or isinstance(reading.happening.text, str)


@pytest.mark.parametrize("phase", ["ready", "draining", "stopping", "starting", "blocked", "backoff", "stopped"])
def test_a_change_of_phase_alone_says_nothing(phase):
    """Whatever it means is told by another event."""
    assert from_event("worker_phase", {"phase": phase, "reason_code": "requested"}, AT) is None


def test_every_cause_has_a_title_and_a_gate_only_known_causes():
    """One list of causes."""
    assert set(causes.TITLES) == set(CAUSES)
    assert {cause for cause, _ in GATES.values()} <= set(CAUSES)


def test_the_more_precise_cause_stands():
    """Whatever order they come in, and the first of two equals."""
    assert causes.more_precise("unknown", "crash")
    assert causes.more_precise("crash", "engine-dead")
    assert causes.more_precise("engine-dead", "cuda-oom")
    assert not causes.more_precise("cuda-oom", "engine-dead")
    assert not causes.more_precise("cuda-oom", "host-oom")
    assert not causes.more_precise("crash", "killed")


def reading(text: str, cause: str | None = None, *, fault: bool = True, probes=(), at: float = AT) -> Reading:
    return Reading(Happening(at, "exit", text), fault=fault, cause=cause, probes=probes)


def test_a_cause_that_says_more_brings_its_words():
    """A line that is no fault changes neither."""
    first = record.opened("llm", 3, reading("crashed", "crash"), "b1")
    assert (first.title, first.text, first.build, first.incarnation) == ("it crashed", "crashed", "b1", 3)
    same = record.followed(first, reading("cuda", "cuda-oom", fault=False))
    assert (same.cause, same.text) == ("crash", "crashed")
    better = record.followed(same, reading("no room", "cuda-oom"))
    assert (better.cause, better.title, better.text) == ("cuda-oom", "the card ran out of memory", "no room")
    assert record.followed(better, reading("dead", "engine-dead")).text == "no room"
    assert [one.text for one in better.happenings] == ["crashed", "cuda", "no room"]


def test_probes_and_asks_are_named_once():
    """However often they fail."""
    incident = record.opened("llm", 3, reading("x", "garbage-output", probes=("golden",)))
    incident = record.followed(incident, reading("x", probes=("golden", "needle")))
    assert incident.probes == ("golden", "needle")
    asks = [Recorded("golden", "failure", str(n)) for n in range(20)]
    incident = record.with_asks(record.with_asks(incident, asks[:3]), asks)
    assert incident.recorded == tuple(asks[: record.RECORDED])


def test_a_loop_of_restarts_keeps_its_beginning():
    """The middle goes."""
    incident = record.opened("llm", 3, reading("0"))
    for n in range(1, 500):
        incident = record.followed(incident, reading(str(n)))
    texts = [one.text for one in incident.happenings]
    assert len(texts) == record.FIRST + record.LAST
    assert (texts[0], texts[-1]) == ("0", "499")
    over = record.closed(incident, reading("done", fault=False, at=2000.0))
    assert (over.closed, over.happenings[-1].text) == (2000.0, "done")
