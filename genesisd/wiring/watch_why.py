"""Why a pull request stands as it does, as one plain paragraph. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from genesisd.control.watch_views import PinFactsView, PullView, WatchedView
from genesisd.watch.evidence import day


def why(view: WatchedView, now: float) -> str:
    """State, rows, pins, what follows, and what one can do; what is not known is said to be."""
    return " ".join(part for part in (*_state(view, now), *_rows(view), *_pins(view), *_decisions(view)) if part)


def _state(view: WatchedView, now: float) -> Iterator[str]:
    pull = view.pull
    if pull is None:
        yield f"Upstream never answered about {view.ref}" + (f" ({_reason(view)})." if view.unknown else ".")
        return
    age = max(0.0, now - pull.checked_at) / 3600
    named = f" ({pull.title})" if pull.title else ""
    yield f"{view.ref}{named} is {_told(pull)}, as upstream said {age:.0f} hours ago."
    if view.unknown:
        yield f"The newest question about it got no answer ({_reason(view)}), so it may have changed since."
    if pull.now_at is not None:
        yield f"It is found at {pull.now_at} now."


def _told(pull: PullView) -> str:
    sort = "an issue, " if pull.is_issue else ""
    if pull.state == "merged":
        commit = "" if pull.merge_commit is None else f" as {pull.merge_commit[:10]}"
        return f"{sort}merged" + ("" if pull.merged_at is None else f" on {day(pull.merged_at)}") + commit
    if pull.state == "closed":
        how = "" if pull.is_issue else " without a merge"
        return f"{sort}closed" + ("" if pull.closed_at is None else f" on {day(pull.closed_at)}") + how
    return f"{sort}open" + (" as a draft" if pull.draft else "")


def _reason(view: WatchedView) -> str:
    return f"{view.unknown}: {view.unknown_text}" if view.unknown_text else view.unknown


def _rows(view: WatchedView) -> Iterator[str]:
    for row in view.rows:
        patches = f" for {', '.join(row.patches)}" if row.patches else ""
        claims = f", where the file says {row.claimed}" if row.claimed and row.claimed != row.state else ""
        yield f"Line {row.line} of the watchlist watches it{patches} ({row.action}{claims})."
    if not view.rows:
        yield "No row of the watchlist names it."


def _pins(view: WatchedView) -> Iterator[str]:
    for pin in view.pins:
        yield _pin(pin)


def _pin(pin: PinFactsView) -> str:
    shown = f" ({pin.rung}: {pin.content_evidence})" if pin.content_evidence else ""
    content = {
        "present": f"has its content{shown}",
        "absent": f"lacks its content{shown}",
        "changed": f"has the place rewritten, so that its content cannot be told{shown}",
        "not-applicable": f"ships nothing that it touches{shown}",
    }.get(pin.content, "could not be looked into")
    history = {
        "ancestor": " The merge is in its history.",
        "cherry-picked": " A copy of it is in its history.",
        "reverted": " It is in its history, and undone later.",
        "absent": " The merge is not in its history.",
    }.get(pin.lineage, "")
    broken = [one for one in pin.collisions or () if one.breaks]
    named = ", ".join(dict.fromkeys(one.patch for one in broken))
    breaks = f" Its diff breaks {len(broken)} of our edits there ({named})." if broken else ""
    return f"Pin {pin.pin} {content}.{history}{breaks}"


def _decisions(view: WatchedView) -> Iterator[str]:
    open_ = [one for one in view.decisions if one.standing == "open" and one.kind not in {"note", "cookbook"}]
    for one in open_:
        yield f"Decision {one.id} is open ({one.kind}, {one.urgency}): {one.reason}"
    for one in view.decisions:
        if one.standing in {"declined", "snoozed", "accepted"}:
            yield f"Decision {one.id} ({one.kind}) was {one.standing} by {one.by}{f': {one.why}' if one.why else ''}."
    if open_:
        yield f"Answer with genesisctl watch accept, decline or snooze {open_[0].id}."
    elif not view.decisions:
        yield "Nothing is asked of you."
