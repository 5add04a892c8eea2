"""The upstream watch as tables and paragraphs for people. Pure but for the local time zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from genesisd.cli.correctness_text import Paint, moment
from genesisd.cli.text import Cell, clean, duration

ROWS_HEAD = ("PR", "STATE", "CHECKED", "FOR", "SEV", "PATCHES", "OPEN", "TITLE")
DECISIONS_HEAD = ("ID", "URGENCY", "DECISION", "PR", "PATCHES", "SINCE", "WHY")
SWEEPS_HEAD = ("SWEEP", "KIND", "BEGAN", "TOOK", "OUTCOME", "WHAT")

_STATES = {"open": "blue", "merged": "green", "closed": "dim", "unknown": "yellow"}
_URGENCIES = {"now": "red", "soon": "yellow", "later": None, "none": "dim"}
_CONTENTS = {"present": "green", "absent": None, "changed": "yellow", "unknown": "yellow"}
_FORGOTTEN = {"pins": "verdict", "dossiers": "dossier", "diffs": "diff"}
_OUTCOMES = {"done": "green", "partial": "yellow", "failed": "red"}


def plain(text: str, _colour: str | None) -> str:
    """No colour."""
    return text


def ago(at: float | None, now: float) -> str:
    """``3h02m ago``, or ``never``."""
    return "never" if at is None else f"{duration(max(0.0, now - at))} ago"


def row_row(one: Mapping[str, Any], now: float) -> list[Cell]:
    """A row under ``ROWS_HEAD``; what the file claims stands beside the state where it is another.

    What each pin has of it is left to ``describe_watched``: a terminal has no room for it beside the rest.
    """
    told, checked = one["state"], "never" if one["checked_at"] is None else duration(max(0.0, now - one["checked_at"]))
    if one["claimed"] and told not in ("unknown", one["claimed"]):
        told = f"{told} (file: {one['claimed']})"
    return [
        Cell(one["ref"], "bold"),
        Cell(told, _STATES.get(one["state"])),
        Cell(checked + ("!" if one["unknown"] else ""), "yellow" if one["unknown"] else None),
        Cell(one["action"]),
        Cell(f"{'~' if one['derived'] else ''}{one['severity']}"),
        Cell(few(one["patches"])),
        Cell(", ".join(map(str, one["decisions"])), _URGENCIES.get(one["urgency"])),
        Cell(one["title"]),
    ]


def few(names: Sequence[str]) -> str:
    """Three names, and how many more there are: some rows bind a dozen."""
    return ", ".join(names[:3]) + (f" +{len(names) - 3}" if len(names) > 3 else "")


def severity(one: Mapping[str, Any]) -> str:
    """``P1``; one that nobody wrote says that it is derived."""
    return f"{one['severity']} derived" if one["severity"] and one["derived"] else str(one["severity"])


def decision_row(one: Mapping[str, Any], now: float) -> list[Cell]:
    """A row under ``DECISIONS_HEAD``."""
    standing = "" if one["standing"] == "open" else f", {one['standing']}"
    return [
        Cell(str(one["id"]), "bold"),
        Cell(one["urgency"], _URGENCIES.get(one["urgency"])),
        Cell(one["kind"]),
        Cell(one["ref"]),
        Cell(few(one["patches"])),
        Cell(duration(max(0.0, now - one["opened"])) + standing),
        Cell(one["reason"]),
    ]


def sweep_row(one: Mapping[str, Any]) -> list[Cell]:
    """A row under ``SWEEPS_HEAD``."""
    took = None if one["finished"] is None else max(0.0, one["finished"] - one["started"])
    return [
        Cell(str(one["id"]), "bold"),
        Cell(one["kind"]),
        Cell(moment(one["started"])),
        Cell("goes on" if took is None else duration(took)),
        Cell(one["outcome"], _OUTCOMES.get(one["outcome"])),
        Cell(one["step"]),
    ]


def sweep_line(one: Mapping[str, Any]) -> str:
    """One sweep in a sentence: where it is, or how it ended."""
    head = f"sweep {one['id']} ({one['kind']})" if one["id"] else f"{one['kind']} sweep"
    if one["finished"] is None:
        steps = f" [{one['at']}/{one['of']}]" if one["of"] else ""
        return clean(f"{head}{steps}: {one['step'] or 'begun'}")
    took = duration(max(0.0, one["finished"] - one["started"]))
    return clean(f"{head}: {one['outcome']} after {took}" + (f": {one['step']}" if one["step"] else ""))


def describe_status(one: Mapping[str, Any], now: float, paint: Paint = plain) -> str:
    """The watch in short."""
    rows = ", ".join(f"{count} {paint(state, _STATES.get(state))}" for state, count in one["rows"].items() if count)
    age = "some never" if one["oldest"] is None else f"the oldest {duration(one['oldest'])} ago"
    urgent = ", ".join(f"{count} {paint(word, _URGENCIES.get(word))}" for word, count in one["urgent"].items() if count)
    kinds = ", ".join(f"{count} {kind}" for kind, count in one["decisions"].items() if count)
    facts = [
        ("rows", rows or "none"),
        ("checked", f"{age}; {one['stale']} longer ago than allowed, or never" if one["rows"] else "-"),
        ("decisions", f"{urgent} ({kinds})" if urgent else "none open"),
        ("requests", _budget(one, now)),
    ]
    facts += [(f"{each['kind']} sweep", _scheduled(each, now)) for each in one["schedule"]]
    facts += [("now", sweep_line(one["sweep"]))] if one["sweep"] else []
    lines = [paint(clean(one["watchlist"]), "bold"), *(f"  {name:<13} {text}" for name, text in facts)]
    return (
        "\n".join([*lines, *(f"  {paint('trouble'.ljust(13), 'yellow')} {clean(text)}" for text in one["troubles"])])
        + "\n"
    )


def _budget(one: Mapping[str, Any], now: float) -> str:
    if one["remaining"] is None:
        return "upstream did not say how many are left"
    of = "" if one["limit"] is None else f" of {one['limit']}"
    again = "" if one["resets_at"] is None else f", all of them again in {duration(max(0.0, one['resets_at'] - now))}"
    return f"{one['remaining']}{of} left{again}"


def _scheduled(one: Mapping[str, Any], now: float) -> str:
    due = "not scheduled" if one["due"] is None else f"next in {duration(max(0.0, one['due'] - now))}"
    return f"{due}, last {ago(one['last'], now)}"


def describe_watched(one: Mapping[str, Any], now: float, paint: Paint = plain) -> str:
    """One pull request: state, rows, each pin, what follows."""
    return "\n".join([*_head(one, now, paint), *_rows(one), *_pins(one, paint), *_decisions(one, now, paint)]) + "\n"


def _head(one: Mapping[str, Any], now: float, paint: Paint) -> Iterator[str]:
    pull = one["pull"]
    if pull is None:
        yield f"{paint(clean(one['ref']), 'bold')}: {paint('unknown', 'yellow')}"
    else:
        what = "issue" if pull["is_issue"] else "draft" if pull["draft"] else "pull request"
        state = paint(pull["state"], _STATES.get(pull["state"]))
        yield f"{paint(clean(one['ref']), 'bold')}: {state} ({what}): {clean(pull['title']) or '-'}"
        yield f"  checked    {ago(pull['checked_at'], now)}"
        yield from (f"  {name:<10} {text}" for name, text in _pull_facts(pull) if text)
    if one["unknown"]:
        since = "" if one["unknown_at"] is None else f", {ago(one['unknown_at'], now)}"
        text = f": {clean(one['unknown_text'])}" if one["unknown_text"] else ""
        yield f"  {paint('unanswered', 'yellow')} {one['unknown']}{text}{since}; nothing was changed for it"


def _pull_facts(pull: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    commit = f" as {pull['merge_commit'][:12]}" if pull["merge_commit"] else ""
    merged = "" if pull["merged_at"] is None else f"{moment(pull['merged_at'])}{commit} into {clean(pull['base'])}"
    closed = "" if pull["closed_at"] is None or merged else moment(pull["closed_at"])
    files = "" if pull["files"] is None else f"{len(pull['files'])}: {clean(', '.join(pull['files'][:4]))}"
    more = ", ..." if pull["files"] is not None and len(pull["files"]) > 4 else ""
    moved = "" if pull["now_at"] is None else clean(pull["now_at"])
    labels = clean(", ".join(pull["labels"]))
    return (("merged", merged), ("closed", closed), ("moved to", moved), ("labels", labels), ("files", files + more))


def _rows(one: Mapping[str, Any]) -> Iterator[str]:
    for row in one["rows"]:
        claim = f", says {row['claimed']}" if row["claimed"] else ""
        patches = f" for {clean(', '.join(row['patches']))}" if row["patches"] else ""
        yield f"  row        line {row['line']} of {row['section']}{claim}: {row['action']}{patches}, {severity(row) or '-'}"


def _pins(one: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    for pin in one["pins"]:
        slots = f" ({', '.join(pin['slots'])})" if pin["slots"] else ""
        content = paint(pin["content"], _CONTENTS.get(pin["content"]))
        rung = "" if pin["rung"] == "none" else f" by {pin['rung']}"
        yield f"  in {clean(pin['pin'])}{slots}: {content}{rung}{_because(pin['content_evidence'])}"
        how = f" by {clean(pin['how'])}" if pin["how"] else ""
        yield f"    history    {pin['lineage']}{how}{_because(pin['lineage_evidence'])}"
        if pin["collisions"] is None:
            yield "    collisions not looked for"
        yield from (_collision(each, paint) for each in pin["collisions"] or ())


def _collision(one: Mapping[str, Any], paint: Paint) -> str:
    breaks = (
        paint("breaks", "red")
        if one["breaks"] and one["required"]
        else "breaks (optional)"
        if one["breaks"]
        else "keeps"
    )
    counts = f"its anchor is found {one['before']} time{'' if one['before'] == 1 else 's'} before, {one['after']} after"
    where = f"{clean(one['patch'])} {clean(one['edit'])} ({clean(one['path'])})"
    return f"    {breaks} {where}: {one['place']}; {counts}{_because(one['text'])}"


def _decisions(one: Mapping[str, Any], now: float, paint: Paint) -> Iterator[str]:
    for each in one["decisions"]:
        yield from describe_decision(each, now, paint, indent="  ")
    for each in one["dossiers"]:
        where = f"{clean(each['patch'])} on {clean(each['pin'])}"
        yield f"  dossier    {where}: {each['outcome']}, {ago(each['made_at'], now)}{_because(each['reason'])}"


def describe_decision(one: Mapping[str, Any], now: float, paint: Paint = plain, *, indent: str = "") -> Iterator[str]:
    """A decision with its evidence and what was said to it, as lines."""
    urgency = paint(one["urgency"], _URGENCIES.get(one["urgency"]))
    kind = paint(one["kind"], "bold")
    yield f"{indent}decision {one['id']}: {kind}, {urgency}, {severity(one)}: {clean(one['reason'])}"
    yield from (f"{indent}  {clean(text)}" for text in one["evidence"])
    yield f"{indent}  {_answered(one, now)}"


def _answered(one: Mapping[str, Any], now: float) -> str:
    by = f" by {clean(one['by'])}" if one["by"] else ""
    until = f" until {moment(one['until'])}" if one["until"] is not None else ""
    again = f"; again when {clean(' or '.join(one['revisit_when']))}" if one["revisit_when"] else ""
    return f"{one['standing']}{by}{until}{_because(one['why'])}, first made {ago(one['opened'], now)}{again}"


def _because(text: str) -> str:
    return f": {clean(' '.join(text.split()))}" if text else ""


def describe_dossier(one: Mapping[str, Any], now: float, paint: Paint = plain) -> str:
    """Ours beside upstream's, edit by edit."""
    head = f"{one['patch']} against {one['ref']} on {one['pin']}: {one['outcome']}"
    lines = [paint(clean(head), "bold"), f"  {clean(one['reason'])} (made {ago(one['made_at'], now)})"]
    lines += [f"  test {clean(name)}: {clean(said)}" for name, said in one["tests"].items()]
    for edit in one["edits"]:
        covered = {True: "upstream has it", False: "upstream has it not", None: "cannot be told"}[edit["covered"]]
        lines.append(
            f"  {paint(clean(edit['edit']), 'bold')} ({clean(edit['path'])}): {covered}{_because(edit['text'])}"
        )
        lines += [f"    {line}" for name in ("ours", "upstreams") for line in _side(name, edit[name], paint)]
    return "\n".join(lines) + "\n"


def describe_forgotten(one: Mapping[str, Any]) -> str:
    """What is gone, in a sentence."""
    counts = [f"{one[name]} {word}{'' if one[name] == 1 else 's'}" for name, word in _FORGOTTEN.items() if one[name]]
    gone = ["upstream's answer"] * one["answer"] + counts
    return f"{clean(one['ref'])}: {', '.join(gone) if gone else 'there was nothing to forget'}"


def _side(name: str, diff: str, paint: Paint) -> Iterator[str]:
    yield {"ours": "ours:", "upstreams": "upstream's:"}[name] + ("" if diff.strip() else " nothing")
    for line in diff.splitlines() if diff.strip() else ():
        yield "  " + paint(clean(line), {"+": "green", "-": "red", "@": "dim"}.get(line[:1]))
