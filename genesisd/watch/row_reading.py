"""Rows from their parts: which fields each section has, and what a row must not say about itself. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from genesisd.watch.model import State
from genesisd.watch.parts import Mapping
from genesisd.watch.refs import Ref
from genesisd.watch.row_fields import RowFields
from genesisd.watch.rows import Action, Detection, SweepRow, Trigger, WatchRow
from genesisd.watch.source import Fault

WATCH_ONLY = "watch-only"
WATCH_FIELDS = (
    "upstream",
    "status",
    "fix_upstream",
    "fix_status",
    "severity",
    "local_patches",
    "affects_models",
    "action",
    "since",
    "duplicate_of",
    "notes",
)
SWEEP_FIELDS = ("pr", "genesis_patch", "trigger", "detection", "duplicate_of", "note")
_PLANNED = re.compile(r"planned:\s*(?P<text>\S.*)", re.DOTALL)
_ID_IN_TEXT = re.compile(
    r"(?<![\w-])(?:PN?\d+(?:[A-Za-z]|_[A-Z0-9_]+|-[a-z]+)?|PN(?:-[A-Z0-9]+)+|(?:G4|Q3)_T?\d+[A-Z]?"
    r"|SNDR(?:_[A-Z0-9]+)+)(?!\w)"
)


def watch_row(at: int, part: Mapping, faults: list[Fault]) -> WatchRow | None:
    """The row ``at`` of ``watch``; None where something was noted in ``faults``."""
    before = len(faults)
    fields = RowFields(part, f"watch[{at}]", faults)
    fields.only(WATCH_FIELDS)
    fields.needs("upstream", "status", "action", "since")
    upstream, status = fields.ref("upstream"), fields.word("status", State)
    action, since = fields.word("action", Action), fields.date("since")
    patches, affects = fields.ids("local_patches"), fields.names("affects_models")
    severity, notes = fields.severity("severity"), fields.text("notes", empty=True)
    fix, fix_status = _fix(fields, part, upstream)
    duplicate = _another(fields, "duplicate_of", upstream)
    if upstream is None or status is None or action is None or since is None or len(faults) > before:
        return None
    return WatchRow(
        index=at,
        line=part.place.line,
        upstream=upstream,
        status=status,
        action=action,
        since=since,
        patches=patches,
        notes=notes or "",
        severity=severity,
        affects=affects,
        fix_upstream=fix,
        fix_status=fix_status,
        duplicate_of=duplicate,
    )


def sweep_row(at: int, part: Mapping, faults: list[Fault]) -> SweepRow | None:
    """The row ``at`` of ``sweep``; None where something was noted in ``faults``."""
    before = len(faults)
    fields = RowFields(part, f"sweep[{at}]", faults)
    fields.only(SWEEP_FIELDS)
    fields.needs("pr", "genesis_patch", "trigger", "note")
    upstream, trigger = fields.ref("pr", number=True), fields.word("trigger", Trigger)
    detection = fields.word("detection", Detection) or Detection.ANCHOR
    note, bound = fields.text("note"), _bound(fields, part)
    duplicate = _another(fields, "duplicate_of", upstream)
    if upstream is None or trigger is None or note is None or len(faults) > before:
        return None
    return SweepRow(
        index=at,
        line=part.place.line,
        upstream=upstream,
        patches=bound.patches,
        planned=bound.planned,
        planned_ids=tuple(dict.fromkeys(_ID_IN_TEXT.findall(bound.planned or ""))),
        watch_only=bound.watch_only,
        trigger=trigger,
        detection=detection,
        note=note,
        duplicate_of=duplicate,
    )


def _fix(fields: RowFields, part: Mapping, upstream: Ref | None) -> tuple[Ref | None, str | None]:
    fix = _another(fields, "fix_upstream", upstream)
    status = fields.line("fix_status", "how fix_upstream stands")
    if status is not None and part.key("fix_upstream") is None:
        fields.wrong("fix_status", "there is no fix that it could speak of", hint="name it as fix_upstream")
    return fix, status


def _another(fields: RowFields, name: str, upstream: Ref | None) -> Ref | None:
    ref = fields.ref(name)
    if ref is not None and upstream is not None and ref.folded == upstream.folded:
        fields.wrong(name, f"{ref} is what the row itself is about", "another pull request")
    return ref


@dataclass(frozen=True)
class _Bound:
    """What a sweep row is bound to: ids, work that is only planned, or nothing on purpose."""

    patches: tuple[str, ...] = ()
    planned: str | None = None
    watch_only: bool = False


def _bound(fields: RowFields, part: Mapping) -> _Bound:
    expected = f"ids with commas between, 'planned: what' or {WATCH_ONLY}"
    written = (fields.text("genesis_patch") or "").strip()
    if written == WATCH_ONLY or not written:
        return _Bound(watch_only=bool(written))
    if planned := _PLANNED.fullmatch(written):
        return _Bound(planned=planned["text"])
    names = tuple(name.strip() for name in written.split(","))
    if not all(names) or written.startswith("planned"):
        fields.wrong("genesis_patch", "a name is missing", expected)
    elif value := part.get("genesis_patch"):
        for name in names:
            fields.is_id("genesis_patch", value, name)
    return _Bound(patches=names)
