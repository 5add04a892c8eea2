"""The lines that show why a decision was made. Pure.

Times are dates and not ages: what a line says must not change from night to night while nothing happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from genesisd.watch.case import Case, active
from genesisd.watch.evidence import day, happened
from genesisd.watch.held import counted
from genesisd.watch.model import AnchorFact, Content, Known, Lineage, PinFacts, Rung
from genesisd.watch.rows import Row, SweepRow, WatchRow

_PAGE = re.compile(r"https?://\S+?(?=[\s),;]|\.\s|\.?$)|\b[\w./-]{1,200}\.md\b(?:\s?§\s?[\w.]+)?")


def upstream(known: Known) -> Iterator[str]:
    """What upstream said, and when; and if it could not be asked since, why."""
    pull = known.pull
    if pull is None:
        yield f"{known.ref}: no answer yet"
    else:
        sort = "issue, " if pull.is_issue else ""
        yield f"{known.ref}: {sort}{happened(pull)}, told on {day(pull.checked_at)}"
        if pull.now_at is not None:
            yield f"{known.ref} moved to {pull.now_at}: write that in the row"
    if known.unknown is not None:
        text = f": {known.unknown.text}" if known.unknown.text else ""
        yield f"{known.ref}: could not be asked on {day(known.unknown.at)} ({known.unknown.why}){text}"


def content(pins: Iterable[PinFacts], of: object) -> Iterator[str]:
    """What each pin that counts has of ``of``; pins where nothing was found out share a line."""
    blind = []
    for pin in counted(pins):
        if pin.content.content is Content.UNKNOWN and pin.lineage.lineage is Lineage.UNKNOWN:
            blind.append(pin_name(pin))
            continue
        rung = f" by {pin.content.rung}" if pin.content.rung is not Rung.NONE else ""
        shown = f" ({pin.content.evidence})" if pin.content.evidence else ""
        yield f"{of} in {pin_name(pin)}: content {pin.content.content}{rung}{shown}{_lineage(pin)}"
    if blind:
        yield f"{of} in {', '.join(blind)}: neither files nor history could be looked at"


def pin_name(pin: PinFacts) -> str:
    """Such as ``0.24.0 (current)``."""
    return f"{pin.pin} ({', '.join(pin.slots)})" if pin.slots else pin.pin


def listed(pins: Sequence[PinFacts]) -> str:
    """Such as ``0.23.0 (rollback), 0.24.0 (current) and 0.25.1``."""
    *first, last = [pin_name(pin) for pin in pins] or ["no pin"]
    return f"{', '.join(first)} and {last}" if first else last


def has(pins: Sequence[PinFacts]) -> str:
    """The verb for ``listed``."""
    return "have" if len(pins) > 1 else "has"


def _lineage(pin: PinFacts) -> str:
    found = pin.lineage
    if found.lineage is Lineage.UNKNOWN:
        return ""
    how = f" by {found.how}" if found.how else ""
    shown = f" ({found.evidence})" if found.evidence else ""
    return f", lineage {found.lineage}{how}{shown}"


def anchors(case: Case) -> Iterator[str]:
    """How the row's active patches stand on every pin, a line a pin and verdict."""
    wanted = {patch.id for patch in active(case)}
    found: dict[tuple[str, str], list[AnchorFact]] = {}
    for fact in case.anchors:
        if fact.patch in wanted:
            found.setdefault((fact.pin, fact.verdict), []).append(fact)
    for (pin, verdict), facts in found.items():
        yield f"anchors on {pin}: {verdict} ({', '.join(fact.patch for fact in facts)})"
    unseen = wanted - {fact.patch for facts in found.values() for fact in facts}
    if unseen:
        yield f"anchors not looked at: {', '.join(sorted(unseen))}"


def names(case: Case) -> Iterator[str]:
    """What is to be said of the ids that the row names."""
    if isinstance(case.row, SweepRow) and case.row.planned is not None:
        yield f"planned: {case.row.planned}"
    for patch in case.patches:
        if patch.superseded_by is not None:
            yield f"{patch.id} gave way to {patch.superseded_by}"
        elif patch.retired:
            yield f"{patch.id} has ended"
        elif not patch.implemented:
            yield f"{patch.id} is not implemented here"
        elif not patch.active:
            yield f"{patch.id} is in no build"
    if case.strangers:
        yield f"not in the register: {', '.join(case.strangers)}"


def rivals(case: Case) -> Iterator[str]:
    """Who else runs for the same patch."""
    for race in case.races:
        running = [str(ref) for ref in race.running if ref != case.ref]
        if race.winner is None and running:
            yield f"still in the race for {race.cluster.name}: {', '.join(running)}"
        elif race.winner is not None and race.winner != case.ref:
            yield f"{race.winner} of the cluster for {race.cluster.name} is in {', '.join(race.pins)}"


def pages(row: Row) -> tuple[str, ...]:
    """Pages that the row's prose names."""
    text = row.notes if isinstance(row, WatchRow) else row.note
    return tuple(dict.fromkeys(found[0].rstrip(" .") for found in _PAGE.finditer(text)))


def everything(case: Case) -> tuple[str, ...]:
    """All lines about a case, strongest first."""
    lines = [*content(case.pins, case.ref), *upstream(case.known)]
    if case.fix is not None:
        lines += [*content(case.fix_pins, f"the fix {case.fix.ref}"), *upstream(case.fix)]
    return (*lines, *anchors(case), *names(case), *rivals(case))
