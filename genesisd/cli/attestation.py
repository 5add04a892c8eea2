"""What the processes of a worker were found to run, as text. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from genesisd.cli import exits
from genesisd.cli.text import Cell, clean, table

Paint = Callable[[str, str | None], str]
_STATES = {"attested": "green", "pending": "yellow", "refused": "red", "none": "dim"}
_STANDINGS = {"attested": "green", "not_loaded": "yellow", "unattestable": "yellow", "refused": "red"}
_USES = {"engaged": "green", "skipped": "yellow", "never": "yellow"}
_VERDICTS = {"applied": "green", "already_applied": "green", "superseded": "blue"}


def status_of(view: dict[str, Any]) -> int:
    """The exit status: 10 for a process that does not run what it must, 3 while that is not known."""
    state = view["build"]["state"]
    return (
        exits.FOUND if state == "refused" or view["findings"] else exits.UNHEALTHY if state == "pending" else exits.OK
    )


def render_attestation(
    view: dict[str, Any],
    paint: Paint = lambda text, _colour: text,
    width: int | None = None,
    *,
    colour: bool = False,
) -> str:
    """The build, then a line a role and a line a patch, then all that is wrong."""
    build = view["build"]
    state = paint(build["state"], _STATES.get(build["state"]))
    name = clean(build["build"] or "the plain pin")
    lines = [
        f"{paint(clean(view['worker']), 'bold')}: {name}, {state}"
        + (f": {clean(build['text'])}" if build["text"] else "")
    ]
    text = "\n".join(lines) + "\n"
    if view["roles"]:
        rows = [_role(one) for one in view["roles"]]
        text += table(("ROLE", "PROCESSES", "ATTESTED", "NOT LOADED"), rows, width=width, colour=colour)
    if view["patches"]:
        rows = [_patch(one) for one in view["patches"]]
        head = ("PATCH", "VERDICT", "ATTESTED", "USE", "HITS", "ROLE", "FOUND")
        text += table(head, rows, width=width, colour=colour)
    return text + "".join(f"{clean(line)}\n" for line in _wrong(view))


def _role(one: dict[str, Any]) -> list[Cell]:
    lacking = "" if one["processes"] else f"none seen, of {one['wanted']}"
    return [
        Cell(one["role"], "bold"),
        Cell(", ".join(one["processes"]) or lacking),
        Cell(f"{one['live']}"),
        Cell(f"{one['not_loaded']}"),
    ]


def _patch(one: dict[str, Any]) -> list[Cell]:
    skips = ", ".join(f"{reason}: {count}" for reason, count in one["skips"].items())
    found = "; ".join(
        part
        for part in (
            one["text"],
            f"stood aside ({skips})" if skips else "",
            f"cannot be looked at: {', '.join(one['blind'])}" if one["blind"] else "",
        )
        if part
    )
    return [
        Cell(one["id"], "bold"),
        Cell(one["verdict"], _VERDICTS.get(one["verdict"], "yellow")),
        Cell(one["standing"], _STANDINGS.get(one["standing"])),
        Cell(one["use"], _USES.get(one["use"])),
        Cell(str(one["hits"]) if one["use"] else ""),
        Cell(one["role"]),
        Cell(found),
    ]


def _wrong(view: dict[str, Any]) -> Iterator[str]:
    yield from (f"not as built: {line}" for line in view["findings"])
    yield from (f"fault: {line}" for line in view["faults"])
    yield from (f"warning: {line}" for line in view["warnings"])
    if view["build"]["lost"]:
        yield f"lost since the last good start: {', '.join(view['build']['lost'])}"
