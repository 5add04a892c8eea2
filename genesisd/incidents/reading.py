"""What an event of the daemon means for incidents: nothing, a line in one, a fault that opens one, or its end. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from genesisd.incidents import causes
from genesisd.incidents.model import Happening

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """An event, understood.

    Attributes:
        happening: the line for the incident.
        fault: opens an incident where none is open.
        lasting: a fault only if it is still so after a while (a port that is free again at once is none).
        cause: what it says of the cause, or None.
        probes: kinds that it calls bad.
        evidence: folder of a bundle that it tells of.
        ends: the incident is over.
        settles: it is over if nothing bad happens for a while.
        judged: the judge said so: it will say when it is over, too.
    """

    happening: Happening
    fault: bool = False
    lasting: bool = False
    cause: str | None = None
    probes: tuple[str, ...] = ()
    evidence: str | None = None
    ends: bool = False
    settles: bool = False
    judged: bool = False


GATES = {
    "vram-held": ("orphaned-vram", True),
    "port-taken": ("port-taken", True),
    "listen-taken": ("port-taken", True),
    "tree": ("unkillable", True),
    "port-unusable": ("bad-config", False),
    "card-missing": ("bad-config", False),
    "card-quarantined": ("unknown", False),
    "patches-refused": ("bad-build", False),
    "build-failed": ("bad-build", False),
    "pin-failed": ("bad-environment", False),
}
"""Shut gates that are faults: the cause, and whether only if it lasts. The others are waits (a build, a dependency)."""
SPAWNS = {"spawn-exec-failed": "bad-config", "spawn-config": "bad-config", "spawn-not_found": "bad-config"}
"""Starts of which no process came to be and that are not tried again: what stood against them."""
STUCK = "spawn-unkillable"
"""One that is tried again, like those that a disk, a want of memory or a fault of the daemon's cost: no setting is at fault."""
STARTS = frozenset({"start-timeout", "startup-wedged"})
ASKED = "stopped"
"""Cause of an exit that was asked for."""
OVER_AT = "operator"
"""Reason of a stop that somebody wanted: nothing is wrong with a worker that is not to run."""
NOTE = "note"
RECONFIGURE = "reconfigure"
"""Verb of what is no command: somebody changed the worker's configuration."""
ANEW = frozenset({"start", "restart", "reset", RECONFIGURE})
"""Orders with which a person begins anew: the judge forgets, so it will not say that anything is cured."""
JUDGED = "judged"
"""Field of a happening that the judge told of: the probes that it named."""


def from_event(kind: str, fields: Fields, at: float) -> Reading | None:
    """What the event means; None: nothing for incidents. Missing fields read as empty."""
    reader = _READERS.get(kind)
    return None if reader is None else reader(fields, at)


def _exited(fields: Fields, at: float) -> Reading:
    cause = str(fields.get("cause", "unknown"))
    kept = {name: fields.get(name) for name in ("code", "signal", "cause")}
    happening = Happening(at, "exit", str(fields.get("text", "")), kept)
    if cause == ASKED:
        return Reading(happening)
    return Reading(happening, fault=True, cause=causes.known(cause))


def _liveness(fields: Fields, at: float) -> Reading:
    happening = Happening(at, "liveness", str(fields.get("summary", "")), {"evidence": fields.get("evidence", "")})
    return Reading(happening, fault=True, cause="hung")


def _gate(fields: Fields, at: float) -> Reading:
    code = str(fields.get("code", ""))
    happening = Happening(at, "gate", str(fields.get("text", "")), {"code": code})
    cause, lasting = GATES.get(code, (None, False))
    return Reading(happening, fault=cause is not None, lasting=lasting, cause=cause)


def _phase(fields: Fields, at: float) -> Reading | None:
    phase, code, text = (str(fields.get(name, "")) for name in ("phase", "reason_code", "reason"))
    what = {"phase": phase, "code": code}
    if phase == "stopped" and code == OVER_AT:
        return Reading(Happening(at, "order", text, what), ends=True)
    if phase == "failed":
        if code == "was-unkillable":
            return Reading(Happening(at, "hold", text, what))
        cause = "unkillable" if code == "unkillable" else SPAWNS.get(code)
        return Reading(Happening(at, "hold", text, what), fault=True, cause=cause)
    if phase == "stopping" and code in STARTS:
        return Reading(Happening(at, "liveness", text, what), fault=True, cause=code)
    return None


def _restart(fields: Fields, at: float) -> Reading:
    cause = str(fields.get("cause", ""))
    happening = Happening(
        at, "restart", f"restarted by the daemon, at a cost to its budget ({cause})", {"cause": cause}
    )
    return Reading(happening, fault=cause not in {ASKED, "shim-lost"}, cause="unkillable" if cause == STUCK else None)


def _ready(fields: Fields, at: float) -> Reading:
    seconds = fields.get("seconds")
    text = "ready again" if seconds is None else f"ready again {seconds:.0f} s after its start"
    return Reading(Happening(at, "ready", text), settles=True)


def _adopted(fields: Fields, at: float) -> Reading:
    return Reading(Happening(at, "ready", "a new daemon found it alive", {"pid": fields.get("pid")}), settles=True)


def _refused(fields: Fields, at: float) -> Reading:
    text = str(fields.get("text", ""))
    return Reading(Happening(at, "probe", f"its code is not what was built: {text}"), fault=True, cause="bad-build")


def _evidence(fields: Fields, at: float) -> Reading:
    path = str(fields.get("path", ""))
    return Reading(Happening(at, "evidence", "what shows it was kept", {"path": path}), evidence=path or None)


def _order(fields: Fields, at: float) -> Reading:
    verb, peer = str(fields.get("verb", "")), str(fields.get("peer", ""))
    text = "somebody changed its configuration" if verb == RECONFIGURE else f"somebody ordered {verb}"
    happening = Happening(at, "order", text, {"verb": verb, "peer": peer})
    return Reading(happening, settles=verb in ANEW)


def _lost(fields: Fields, at: float) -> Reading:
    names = [str(name) for name in fields.get("lost", ())]
    return Reading(Happening(at, "alert", f"patches that the last good start had are gone: {', '.join(names)}"))


def _shim(_fields: Fields, at: float) -> Reading:
    return Reading(Happening(at, "alert", "its shim died, so its log is lost; it is being replaced"))


def _told(fields: Fields, at: float) -> Reading:
    quiet = str(fields.get("step", "")) == NOTE
    return _judged("alert", fields, at, fault=not quiet)


def _judge(what: str) -> Callable[[Fields, float], Reading]:
    return lambda fields, at: _judged(what, fields, at, fault=True)


def _judged(what: str, fields: Fields, at: float, *, fault: bool) -> Reading:
    kinds = tuple(str(kind) for kind in fields.get("kinds", ()))
    happening = Happening(at, what, str(fields.get("text", "")), {JUDGED: list(kinds)} if fault else {})
    cause = causes.of_probes(kinds)
    return Reading(happening, fault=fault, cause=cause, probes=kinds if fault else (), judged=fault)


def _cured(fields: Fields, at: float) -> Reading:
    return Reading(Happening(at, "cured", str(fields.get("text", ""))), ends=True)


def _quarantined(fields: Fields, at: float) -> Reading:
    kept = {name: fields[name] for name in ("patch", "card", "pin") if name in fields}
    return Reading(Happening(at, "quarantine", str(fields.get("text", "")), kept))


def _bisection(fields: Fields, at: float) -> Reading:
    kept = {name: value for name, value in fields.items() if name != "text"}
    return Reading(Happening(at, "bisection", str(fields.get("text", "")), kept))


_READERS: dict[str, Callable[[Fields, float], Reading | None]] = {
    "worker_exited": _exited,
    "liveness_failed": _liveness,
    "gate_shut": _gate,
    "worker_phase": _phase,
    "worker_restart": _restart,
    "worker_ready": _ready,
    "worker_adopted": _adopted,
    "attestation_refused": _refused,
    "evidence_saved": _evidence,
    "order": _order,
    "patches_lost": _lost,
    "shim_lost": _shim,
    "judge_told": _told,
    "judge_restart": _judge("restart"),
    "judge_rollback": _judge("rollback"),
    "judge_bisect": _judge("bisection"),
    "judge_hold": _judge("hold"),
    "judge_cured": _cured,
    "patch_quarantined": _quarantined,
    "card_quarantined": _quarantined,
    "bisection_step": _bisection,
    "bisection_ended": _bisection,
}
