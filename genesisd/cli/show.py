"""One worker in detail, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesisd.cli.text import clean, duration, phase_cell

Paint = Callable[[str, str | None], str]
_VERDICT_COLOUR = {"success": "green", "failure": "red", "unknown": "yellow", "skipped": "dim"}


def describe(worker: dict[str, Any], paint: Paint = lambda text, _colour: text) -> str:
    """Facts one a line, then the probes."""
    phase = phase_cell(worker["phase"], wanted=worker["wanted"])
    lines = [f"{paint(clean(worker['name']), 'bold')}: {paint(*phase)} for {duration(worker['for_seconds'])}"]
    lines += [f"  {name:<10} {clean(text)}" for name, text in _facts(worker)]
    if worker["probes"]:
        lines.append("  probes")
        stage, kind = (max(len(probe[part]) for probe in worker["probes"]) for part in ("stage", "kind"))
        lines += [_probe(probe, stage, kind, paint) for probe in worker["probes"]]
    return "\n".join(lines) + "\n"


def _facts(worker: dict[str, Any]) -> list[tuple[str, str]]:
    reason, restarts, shim = worker["reason"], worker["restarts"], worker["shim"]
    allowed = f"{restarts['budget']} allowed in {duration(restarts['window'])}"
    adopted = ", adopted from an earlier daemon" if worker["adopted"] else ""
    facts = [
        ("reason", f"{reason['text']} ({reason['code']})"),
        ("wanted", "up" if worker["wanted"] else "down"),
        ("url", worker["url"] or "-"),
        ("pin", worker["pin"] or "-"),
        *_build(worker["build"]),
        ("process", f"pid {worker['pid'] or '-'}, incarnation {worker['incarnation']}{adopted}"),
        ("shim", f"pid {shim['pid']}" if shim else "-"),
        ("ready for", duration(worker["ready_for"])),
        ("restarts", f"{restarts['in_window']}, {allowed}"),
        ("last exit", _last_exit(worker["last_exit"])),
    ]
    if front := worker["front"]:
        facts.append(("front", ", ".join(f"{front[key]} {key.replace('_', ' ')}" for key in _FRONT)))
    return facts


def _build(build: dict[str, Any] | None) -> list[tuple[str, str]]:
    """What it runs, where it does not run the plain pin."""
    if build is None or build["build"] is None:
        return []
    patches = f"{build['applied']} patch{'' if build['applied'] == 1 else 'es'}"
    facts = [("build", f"{build['build']}, {patches}"), (build["state"], build["text"])]
    return [*facts, ("lost", ", ".join(build["lost"]))] if build["lost"] else facts


_FRONT = ("open", "in_flight", "unanswered", "held", "answered", "refused")


def _last_exit(record: dict[str, Any] | None) -> str:
    if record is None:
        return "-"
    how = f"signal {record['signal']}" if record["signal"] is not None else f"status {record['code']}"
    again = ", trying again cannot help" if record["permanent"] else ""
    return f"{record['text'] or record['cause']} ({record['cause']}, {how}{again})"


def _probe(probe: dict[str, Any], stage: int, kind: int, paint: Paint) -> str:
    age = "never" if probe["age_seconds"] is None else f"{duration(probe['age_seconds'])} ago"
    verdict = paint(f"{probe['verdict']:<7}", _VERDICT_COLOUR.get(probe["verdict"]))
    named = f"{probe['stage']:<{stage}} {probe['kind']:<{kind}}"
    return f"    {named} {verdict} {age:<9} {clean(probe['summary'])}".rstrip()
