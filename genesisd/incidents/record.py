"""How an incident grows: opened by a fault, followed by what happens, closed when it is right again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from genesisd.incidents import causes
from genesisd.incidents.model import Happening, Incident, Recorded
from genesisd.incidents.reading import ANEW, JUDGED, Reading

FIRST, LAST = 40, 160
"""Happenings that are kept of the beginning and of the end: a loop of restarts must not push out what began it."""
RECORDED = 12


def opened(worker: str, incarnation: int, reading: Reading, build: str | None = None) -> Incident:
    """A new incident, without an id yet."""
    cause = reading.cause or "unknown"
    return Incident(
        worker=worker,
        incarnation=incarnation,
        opened=reading.happening.at,
        cause=cause,
        title=causes.TITLES[cause],
        text=reading.happening.text,
        build=build,
        probes=reading.probes,
        happenings=(reading.happening,),
        evidence=reading.evidence,
    )


def followed(incident: Incident, reading: Reading) -> Incident:
    """The incident with one more happening; a cause that says more takes the place of the old one, with its words."""
    found = replace(
        incident,
        happenings=bounded((*incident.happenings, reading.happening)),
        probes=(*incident.probes, *(kind for kind in reading.probes if kind not in incident.probes)),
        evidence=reading.evidence or incident.evidence,
    )
    if reading.cause is not None and reading.fault and causes.more_precise(incident.cause, reading.cause):
        found = replace(
            found, cause=reading.cause, title=causes.TITLES[reading.cause], text=reading.happening.text or found.text
        )
    return found


def with_asks(incident: Incident, recorded: Sequence[Recorded]) -> Incident:
    """The asks that failed, each once, the first ones kept: they are what the judge acted on."""
    new = [one for one in recorded if one not in incident.recorded]
    return replace(incident, recorded=(*incident.recorded, *new)[:RECORDED])


def closed(incident: Incident, reading: Reading) -> Incident:
    """The incident, over."""
    return replace(followed(incident, reading), closed=reading.happening.at)


def judged(incident: Incident) -> bool:
    """Whether the judge has a hand in it, and no person began anew since: then readiness alone does not end it."""
    told = bool(incident.probes)
    for one in incident.happenings:
        if JUDGED in one.fields:
            told = True
        elif one.what == "order" and one.fields.get("verb") in ANEW:
            told = False
    return told


def bounded(happenings: Sequence[Happening]) -> tuple[Happening, ...]:
    """The first and the last ones."""
    if len(happenings) <= FIRST + LAST:
        return tuple(happenings)
    return (*happenings[:FIRST], *happenings[-LAST:])
