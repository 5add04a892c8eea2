"""A sweep for people: what changed, what is asked of them by urgency, what shows it, and what is not known. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from genesisd.watch.decisions import QUIET, Decision, KeptDecision, Standing, Urgency
from genesisd.watch.evidence import answered, day, happened
from genesisd.watch.model import Content, Known, PinFacts
from genesisd.watch.page import Block, Cell, Heading, Items, Link, Paragraph, Table
from genesisd.watch.refs import Ref
from genesisd.watch.result import SweepOutcome, SweepResult
from genesisd.watch.rows import Row, WatchRow, row_id
from genesisd.watch.wanted import rows_of

URGENCIES = tuple(Urgency)
_CUT = 160
_FEW = 12
"""New decisions that are told one by one."""


def report(result: SweepResult) -> tuple[Block, ...]:
    """The page of a sweep."""
    return tuple(block for part in _PARTS for block in part(result))


def _top(result: SweepResult) -> Iterator[Block]:
    yield Heading(f"Upstream on {day(result.started)} ({result.kind} sweep)", 1)
    yield Paragraph(_summary(result))
    if result.troubles:
        yield Heading("What could not be done")
        yield Items(result.troubles)


def _summary(result: SweepResult) -> str:
    if result.outcome is SweepOutcome.FAILED:
        return "Nothing was learned; every row stands as it did before. The sweep is tried again."
    rows = _rows(result)
    asked = [_is_answered(row, result) for row in rows]
    standing = Counter(kept.decision.urgency for kept in _open(result))
    urgent = ", ".join(f"{standing[one]} {one}" for one in URGENCIES if standing[one]) or "none"
    new = [kept for kept in result.met.opened if kept.decision.kind not in QUIET]
    return (
        f"{len(rows)} rows were looked at in {result.seconds:.0f} s: upstream answered for {sum(asked)}, "
        f"{len(result.changes)} status lines changed, {len(new)} decisions are new. Open decisions: {urgent}."
    )


def _changed(result: SweepResult) -> Iterator[Block]:
    yield Heading("What changed")
    told: list[str] = [f"{one.ref} ({one.row}): {one.evidence}" for one in result.changes]
    told += _new(tuple(kept.decision for kept in result.met.opened if kept.decision.kind not in QUIET))
    told += [f"open again: {_line(kept.decision)}" for kept in result.met.reopened]
    told += [
        f"no longer asked: {_line(kept.decision)}" for kept in result.met.passed if kept.decision.kind not in QUIET
    ]
    yield Items(tuple(told)) if told else Paragraph("Nothing since the last sweep.")


def _new(opened: tuple[Decision, ...]) -> list[str]:
    """One each, and by kind where they are many: the table below has them all."""
    if len(opened) <= _FEW:
        return [f"new: {_line(made)}" for made in opened]
    kinds: dict[str, list[str]] = {}
    for made in opened:
        kinds.setdefault(str(made.kind), []).append(str(made.ref))
    return [f"new: {len(refs)} {kind} ({', '.join(dict.fromkeys(refs))})" for kind, refs in kinds.items()]


def _decisions(result: SweepResult) -> Iterator[Block]:
    yield Heading("Decisions")
    standing = _open(result)
    if not standing:
        yield Paragraph("None is open.")
    for urgency in URGENCIES:
        of_it = [kept for kept in standing if kept.decision.urgency is urgency]
        if not of_it:
            continue
        yield Heading(f"Urgency: {urgency}", 3)
        head = ("Id", "Asked", "Pull request", "Patches", "Severity", "Why", "Evidence")
        yield Table(head, tuple(_decision(kept) for kept in sorted(of_it, key=lambda kept: kept.id)))


def _decision(kept: KeptDecision) -> tuple[Cell, ...]:
    made = kept.decision
    severity = f"{made.severity} (derived)" if made.derived else made.severity
    shown = "; ".join(made.evidence)
    return (str(kept.id), made.kind, _link(made.ref), ", ".join(made.patches), severity, made.reason, shown)


def _table(result: SweepResult) -> Iterator[Block]:
    by_row = {made.row: made for made in reversed(result.decisions) if made.row}
    pins = tuple(pin.id for pin in result.pins)
    for section, name in ((True, "Watched"), (False, "Swept")):
        rows = [row for row in _rows(result) if isinstance(row, WatchRow) is section]
        if rows:
            yield Heading(name)
            head = ("Pull request", "Upstream", "What for", "Patches", *pins, "Decision")
            yield Table(head, tuple(_row(row, result, by_row.get(row_id(row)), pins) for row in rows))


def _row(row: Row, result: SweepResult, made: Decision | None, pins: tuple[str, ...]) -> tuple[Cell, ...]:
    known = result.known.get(row.upstream)
    facts = {one.pin: one for one in result.facts.get(row.upstream, ())}
    wanted = str(row.action if isinstance(row, WatchRow) else row.trigger)
    decided = "" if made is None else f"{made.kind}: {made.reason}"
    return (_link(row.upstream), _state(known), wanted, ", ".join(row.patches), *_in_pins(facts, pins), decided)


def _in_pins(facts: dict[str, PinFacts], pins: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_in_pin(facts.get(pin)) for pin in pins)


def _in_pin(facts: PinFacts | None) -> str:
    if facts is None:
        return str(Content.UNKNOWN)
    breaks = sum(one.breaks for one in facts.collisions or ())
    broken = f", breaks {breaks} of our edits" if breaks else ""
    return f"{facts.content.content} ({facts.content.rung}), {facts.lineage.lineage}{broken}"


def _state(known: Known | None) -> str:
    if known is None or known.pull is None:
        return "unknown: " + ("never asked" if known is None or known.unknown is None else str(known.unknown.why))
    stale = "" if known.unknown is None else f"; unknown since {day(known.unknown.at)} ({known.unknown.why})"
    return f"{happened(known.pull)}{stale}"


def _newcomers(result: SweepResult) -> Iterator[Block]:
    if result.new:
        yield Heading("New pull requests")
        head = ("Pull request", "Title", "Score", "Why", "Patches")
        rows = (
            (_link(one.pull.ref), one.pull.title, f"{one.score:.1f}", "; ".join(one.reasons), ", ".join(one.patches))
            for one in result.new
        )
        yield Table(head, tuple(rows))


def _releases(result: SweepResult) -> Iterator[Block]:
    if result.releases is None:
        return
    yield Heading("Releases")
    newest = [one for one in result.releases if not one.yanked][:3]
    told = ", ".join(
        f"{one.version}{'' if one.uploaded_at is None else f' ({day(one.uploaded_at)})'}" for one in newest
    )
    pins = ", ".join(f"{pin.id} ({', '.join(pin.slots)})" for pin in result.pins) or "none"
    yield Paragraph(f"Newest in the index: {told or 'none'}. Pins: {pins}.")


def _unknowns(result: SweepResult) -> Iterator[Block]:
    now = result.started + result.seconds
    unknown = [row for row in _rows(result) if not _is_answered(row, result)]
    if not unknown:
        return
    yield Heading("Not known")
    rows = tuple(
        (_link(row.upstream), _why(result.known.get(row.upstream)), _age(result.known.get(row.upstream), now))
        for row in unknown
    )
    yield Table(("Pull request", "Why", "Last answer"), rows)


def _why(known: Known | None) -> str:
    if known is None or known.unknown is None:
        return "not asked in this sweep"
    return f"{known.unknown.why}: {known.unknown.text}" if known.unknown.text else str(known.unknown.why)


def _age(known: Known | None, now: float) -> str:
    age = None if known is None else known.age(now)
    return "never" if age is None else f"{age / 3600:.0f} h ago"


def _cost(result: SweepResult) -> Iterator[Block]:
    asked = result.asked
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(asked.requests.items())) or "none"
    left = "" if asked.budget.remaining is None else f" {asked.budget.remaining} of {asked.budget.limit} are left."
    yield Heading("What it cost")
    yield Paragraph(f"Requests: {counted}; {asked.unchanged} were answered as unchanged.{left}")


def _rows(result: SweepResult) -> tuple[Row, ...]:
    return () if result.watchlist is None else rows_of(result.watchlist, result.kind)


def _is_answered(row: Row, result: SweepResult) -> bool:
    return answered(result.known.get(row.upstream), result.started) is not None


def _open(result: SweepResult) -> list[KeptDecision]:
    return [kept for kept in result.kept if kept.standing is Standing.OPEN and kept.decision.kind not in QUIET]


def _line(made: Decision) -> str:
    text = f"{made.kind}: {made.reason}" if str(made.ref) in made.reason else f"{made.kind} {made.ref}: {made.reason}"
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"


def _link(ref: Ref) -> Link:
    return Link(str(ref), f"https://github.com/{ref.repo}/pull/{ref.number}")


_PARTS = (_top, _changed, _decisions, _newcomers, _releases, _unknowns, _table, _cost)
"""What one wants to know first stands first."""
