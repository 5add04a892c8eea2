"""Why a worker is as it is, in one plain paragraph: what happened, what shows it, what was done, what you can do. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from genesisd.incidents import advice
from genesisd.incidents.facts import WorkerFacts
from genesisd.incidents.model import Happening, Incident

LIMIT = 880
QUOTED = 220
"""Characters of what is quoted, at most: the whole of it is in ``incidents show``."""
RECENT = 86400.0
"""Seconds in which an incident that is over is still worth telling."""
NEVER = "new"
"""Code of the reason of a worker that has no past: since when it is so is not known either."""
PHASES = {
    "ready": "has served for {span}",
    "degraded": "has run for {span} without taking traffic",
    "starting": "has been starting for {span}",
    "warming": "has been starting for {span}",
    "blocked": "has waited for {span} to be started",
    "backoff": "has been down for {span} and is started again soon",
    "draining": "has been finishing its last requests for {span}",
    "stopping": "has been stopping for {span}",
    "stopped": "has been stopped for {span}",
    "failed": "has been down for {span} and is not started again by itself",
}


def why(facts: WorkerFacts, incident: Incident | None, now: float) -> str:
    """The paragraph, of at most ``LIMIT`` characters.

    Args:
        facts: the worker now.
        incident: the one that is open, or else its newest, or None.
        now: wall time.
    """
    if incident is None or (incident.closed is not None and now - incident.closed > RECENT):
        return _joined([_now(facts, None, now), f"No incident is open; {advice.of_phase(facts)}"])
    if incident.closed is not None:
        over = f"Incident {incident.id} ({incident.title}) ended {_span(now - incident.closed)} ago"
        told = [f"{over}: {_quoted(incident.text)}", *_done(incident), _cure(incident)]
        return _joined([_now(facts, None, now), *told, _to_do(facts, incident)])
    return _joined([_now(facts, incident, now), *_began(incident, now), *_done(incident), _to_do(facts, incident)])


def _to_do(facts: WorkerFacts, incident: Incident) -> str:
    left = facts.patches or facts.cards or facts.instead_of
    if incident.closed is None or left:
        return f"What you can do: {advice.of_incident(facts, incident)}"
    return _capital(advice.of_phase(facts))


def _now(facts: WorkerFacts, incident: Incident | None, now: float) -> str:
    if facts.code == NEVER:
        return f"{facts.name} was never started"
    runs = PHASES.get(facts.phase, f"has been {facts.phase} for {{span}}").format(span=_span(now - facts.since))
    if facts.phase == "ready":
        what = f"with build {facts.build}" if facts.build else "without patches"
        instead = f" instead of {facts.instead_of}" if facts.instead_of else ""
        return f"{facts.name} {runs}, {what}{instead}"
    told = incident is not None and any(facts.reason == text for text in _texts(incident))
    return f"{facts.name} {runs}" if told else f"{facts.name} {runs}: {_quoted(facts.reason)}"


def _texts(incident: Incident) -> list[str]:
    return [incident.text, *(one.text for one in incident.happenings)]


def _began(incident: Incident, now: float) -> list[str]:
    at = datetime.fromtimestamp(incident.opened, UTC).strftime("%H:%M UTC")
    began = f"Incident {incident.id} ({incident.title}) began at {at}, {_span(now - incident.opened)} ago"
    kept = f"The evidence is in {incident.evidence}" if incident.evidence else ""
    return [f"{began}: {_quoted(incident.text)}", kept]


def _done(incident: Incident) -> list[str]:
    """What was done, in the order in which it mattered first."""
    found = []
    if restarts := [one for one in incident.happenings if one.what == "restart" and "cause" in one.fields]:
        found.append(f"It was restarted {_times(len(restarts))}")
    for what in ("rollback", "bisection", "quarantine", "hold"):
        texts = [one.text for one in incident.happenings if one.what == what and one.text != incident.text]
        told = _capital(_quoted(texts[-1])) if texts else ""
        if told and told not in found:  # the search and the quarantine that it ends in say the same
            found.append(told)
    return found


def _cure(incident: Incident) -> str:
    last: Happening = incident.happenings[-1]
    return _capital(_quoted(last.text)) if last.what in {"cured", "order"} else ""


def _joined(sentences: list[str]) -> str:
    """Whole sentences, until the paragraph is full; the first and the last always stand."""
    first, *middle, last = [_sentence(one) for one in sentences if one]
    left = LIMIT - len(first) - len(last) - 1
    kept = []
    for one in middle:
        if len(one) + 1 <= left:
            kept.append(one)
            left -= len(one) + 1
    return " ".join((first, *kept, last))


def _sentence(text: str) -> str:
    plain = " ".join(text.split())
    return plain if plain.endswith((".", "!", "?", '."')) else f"{plain}."


def _quoted(text: str) -> str:
    """Cut where it is long."""
    plain = " ".join(text.split())
    return plain if len(plain) <= QUOTED else plain[: QUOTED - 3].rstrip() + "..."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _span(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, round(seconds))} s"
