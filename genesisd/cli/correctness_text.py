"""Probes, incidents and quarantine as text for people. Pure but for the local time zone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from genesisd.cli.text import Cell, clean, duration

Paint = Callable[[str, str | None], str]

STANDINGS = {"good": "green", "bad": "red", "undecided": "yellow", "skipped": "dim"}
VERDICTS = {"success": "green", "failure": "red", "unknown": "yellow", "skipped": "dim"}

PROBES_HEAD = ("WORKER", "STAGE", "PROBE", "STANDING", "ASKED", "NEXT", "TOKENS", "FOUND")
RUNS_HEAD = ("WHEN", "PROBE", "VERDICT", "TOOK", "TOKENS", "FOUND")
INCIDENTS_HEAD = ("ID", "OPENED", "FOR", "WORKER", "CAUSE", "WHAT")
QUARANTINE_HEAD = ("WHAT", "NAME", "WORKER", "SINCE", "INCIDENT", "WHY")


def moment(at: float) -> str:
    """Wall time, in the zone of whoever reads it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def probe_row(one: Mapping[str, Any]) -> list[Cell]:
    """A row under ``PROBES_HEAD``."""
    asked = "never" if one["age"] is None else f"{duration(one['age'])} ago"
    return [
        Cell(one["worker"], "bold"),
        Cell(one["stage"]),
        Cell(one["kind"]),
        Cell(one["standing"], STANDINGS.get(one["standing"])),
        Cell(asked),
        Cell("-" if one["due"] is None else f"in {duration(max(0.0, one['due']))}"),
        Cell(str(one["tokens"]) if one["tokens"] else ""),
        Cell(one["summary"]),
    ]


def run_row(one: Mapping[str, Any]) -> list[Cell]:
    """A row under ``RUNS_HEAD``."""
    return [
        Cell(moment(one["at"])),
        Cell(one["kind"], "bold"),
        Cell(one["verdict"], VERDICTS.get(one["verdict"])),
        Cell(f"{one['seconds']:.1f}s"),
        Cell(str(one["tokens"]) if one["tokens"] else ""),
        Cell(one["summary"]),
    ]


def incident_row(one: Mapping[str, Any], now: float) -> list[Cell]:
    """A row under ``INCIDENTS_HEAD``; one that goes on is red."""
    open_ = one["closed"] is None
    lasted = max(0.0, (now if open_ else one["closed"]) - one["opened"])
    return [
        Cell(str(one["id"]), "bold"),
        Cell(moment(one["opened"])),
        Cell(duration(lasted) + (", open" if open_ else ""), "red" if open_ else None),
        Cell(one["worker"]),
        Cell(one["cause"]),
        Cell(one["title"]),
    ]


def quarantine_row(one: Mapping[str, Any]) -> list[Cell]:
    """A row under ``QUARANTINE_HEAD``."""
    return [
        Cell(one["what"]),
        Cell(one["name"], "bold"),
        Cell(one["worker"] or "all"),
        Cell(moment(one["at"])),
        Cell("-" if one["incident"] is None else str(one["incident"])),
        Cell(one["text"]),
    ]


def describe_run(one: Mapping[str, Any], paint: Paint = lambda text, _colour: text) -> str:
    """One ask: the verdict, the facts behind it, and what was asked and answered."""
    verdict = paint(one["verdict"], VERDICTS.get(one["verdict"]))
    lines = [f"{paint(clean(one['kind']), 'bold')} of {clean(one['worker'])}: {verdict}: {clean(one['summary'])}"]
    lines.append(f"  took {one['seconds']:.1f}s, {one['tokens']} tokens, incarnation {one['incarnation']}")
    lines += [f"  {clean(str(name))}: {_short(value)}" for name, value in one["evidence"].items()]
    led = () if one["verdict"] == "success" else one["exchanges"][:1]  # the ask that led to the verdict stands first
    lines += [line for exchange in led for line in _exchange(exchange)]
    if rest := len(one["exchanges"]) - len(led):
        lines.append(f"  {rest} {'more ' if led else ''}exchange{'' if rest == 1 else 's'}: --json shows all")
    return "\n".join(lines) + "\n"


def _exchange(one: Mapping[str, Any]) -> Iterator[str]:
    yield f"  asked {clean(str(one.get('path', '')))}: {_short(one.get('request', ''))}"
    yield f"  got {one.get('status', 0)}: {_short(one.get('text', ''))}"


def _short(value: object) -> str:
    """On one line, and no longer than a few of a terminal's."""
    text = clean(" ".join(str(value).split()))
    return text if len(text) <= 400 else f"{text[:400]}…"


def describe_incident(one: Mapping[str, Any], now: float, paint: Paint = lambda text, _colour: text) -> str:
    """One incident: what, when, then everything that happened, oldest first."""
    until = "open" if one["closed"] is None else f"closed {moment(one['closed'])}"
    lasted = duration(max(0.0, (now if one["closed"] is None else one["closed"]) - one["opened"]))
    head = f"incident {one['id']} of {clean(one['worker'])}: {clean(one['title'])} ({clean(one['cause'])})"
    lines = [paint(head, "bold"), f"  {clean(one['text'])}"]
    facts = [
        ("opened", f"{moment(one['opened'])}, in incarnation {one['incarnation']}"),
        ("state", f"{until}, after {lasted}" if one["closed"] is not None else f"open for {lasted}"),
        ("build", one["build"] or "the plain pin, or not known"),
        ("probes", ", ".join(one["probes"]) or "-"),
        ("evidence", one["evidence"] or "-"),
    ]
    lines += [f"  {name:<9} {clean(text)}" for name, text in facts]
    lines += [f"  {moment(each['at'])}  {clean(each['what']):<10} {clean(each['text'])}" for each in one["happenings"]]
    return "\n".join([*lines, *_recorded(one)]) + "\n"


def _recorded(one: Mapping[str, Any]) -> Sequence[str]:
    if not one["recorded"]:
        return ()
    said = [
        f"    {clean(str(each.get('kind', '')))}: {clean(str(each.get('summary', '')))}" for each in one["recorded"]
    ]
    return ["  asks that failed", *said, f"  ask again: genesisctl replay {one['id']} --worker {clean(one['worker'])}"]


def describe_replay(one: Mapping[str, Any], paint: Paint = lambda text, _colour: text) -> str:
    """Then and now, a line each."""
    then, now = (paint(one[word], VERDICTS.get(one[word])) for word in ("then", "now"))
    head = (
        f"{paint(clean(one['kind']), 'bold')}: {'the same' if one['same'] else 'otherwise'} on {clean(one['worker'])}"
    )
    return f"{head}\n  then {then}: {clean(one['then_text'])}\n  now  {now}: {clean(one['now_text'])}\n"
