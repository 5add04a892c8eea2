"""How a decision's reason is put: where the pull request stands, and what is asked. Pure."""

from __future__ import annotations

from genesisd.watch.case import Case, Subject, subjects
from genesisd.watch.decisions import DecisionKind
from genesisd.watch.held import having, served
from genesisd.watch.model import Content, State
from genesisd.watch.proof import has, listed, pages
from genesisd.watch.rows import Action
from genesisd.watch.situation import Situation
from genesisd.watch.table import Want

_PLAIN = {
    Situation.UNTOLD: "{ref}: upstream never answered",
    Situation.ISSUE_OPEN: "{ref} is an issue, still open",
    Situation.ISSUE_CLOSED: "{ref} is an issue, and was closed",
    Situation.OPEN: "{ref} is open",
    Situation.CLOSED: "{ref} was closed without a merge",
    Situation.LANDED: "{ref} is {state}, and yet {present} {has} its content",
    Situation.MERGED: "{ref} is merged, and not in {served}",
    Situation.UNCLEAR: "{ref} is merged, and the files tell neither that a pin has it nor that it lacks it",
    Situation.AHEAD: "{ref} is merged, and {present} {has} it",
    Situation.IN_CURRENT: "{ref} is merged, and {present} {has} it",
    Situation.LOST: "{ref} was merged, and a pin has lost it",
}


def stands(case: Case, where: Situation) -> str:
    """The first half of a reason."""
    present = having(case.pins, Content.PRESENT)
    is_open = case.pull is not None and case.pull.state is State.OPEN
    return _PLAIN[where].format(
        ref=case.ref,
        state="open" if is_open else "closed without a merge",
        present=listed(present),
        has=has(present),
        served=listed(served(case.pins)),
    )


def ask(case: Case, kind: DecisionKind, where: Situation, want: Want, ids: tuple[str, ...]) -> str:
    """The second half: what a person is asked to do about ``ids``, or why there is nothing to do."""
    named = ", ".join(ids)
    match kind:
        case DecisionKind.STALE:
            return "nothing is known of it"
        case DecisionKind.RETIRE_CANDIDATE:
            still = f", while {listed(served(case.pins))} still needs it" if where is Situation.AHEAD else ""
            return f"{named} may be given up there{still}; look at the dossier first"
        case DecisionKind.REANCHOR:
            return f"re-anchor {named}, and see that it still means the same"
        case DecisionKind.REVIEW:
            return _review(where, want)
        case DecisionKind.BACKPORT_NOT_NEEDED:
            return f"{named or 'the planned work'} need not be done for it"
        case DecisionKind.BACKPORT_WANTED:
            return f"take it over{f' ({named})' if named else ''}, or move to a pin that has it"
        case DecisionKind.TRIGGER_DEAD:
            issue = "an issue is never merged, so " if where is Situation.ISSUE_OPEN else ""
            return f"{issue}what waits for its merge waits for ever; name another, or take the row out"
        case DecisionKind.TRIAL:
            port = case.purpose is Action.PORT
            return "nothing is left to port; enable it and verify" if port else "try it with and without ours"
        case DecisionKind.COOKBOOK:
            found = pages(case.row)
            return (
                f"operators find what to do in {found[0]}" if found else "advice for operators; the row names no page"
            )
        case _:
            return _nothing(case, where, want)


def _review(where: Situation, want: Want) -> str:
    if want is Want.REANCHOR and where is not Situation.LOST:
        return "the anchors hold; see that the patch still means the same"
    match where:
        case Situation.ISSUE_CLOSED:
            return "see what closed it, and which pull request"
        case Situation.UNCLEAR:
            return "look into the pins' files by hand"
        case Situation.MERGED:
            return "see what it means for the pin that will have it"
        case Situation.LOST:
            return "what would have broken there does not; see that it stays out"
        case _:
            return "see what it means there"


def _nothing(case: Case, where: Situation, want: Want) -> str:
    found = subjects(case)
    if want not in {Want.NOTE, Want.COOKBOOK} and set(found) == {Subject.ENDED}:
        return f"{', '.join(found[Subject.ENDED])} ended already"
    if want is Want.BACKPORT and Subject.CARRIER in found:
        return f"{', '.join(found[Subject.CARRIER])} carries it"
    if want is Want.WAIT:
        ours = [id_ for ids in found.values() for id_ in ids]
        return f"{', '.join(ours) or 'what is ours'} stays until it has it"
    if want is Want.REANCHOR:
        return "nothing that is in a build is anchored there"
    waits = {Situation.OPEN: "nothing to do yet", Situation.MERGED: "nothing to try yet"}
    return (
        waits.get(where, "nothing to do") if case.purpose not in {Action.WATCH, Action.DRIFT_CHECK} else _watched(case)
    )


def _watched(case: Case) -> str:
    return "watched" if case.purpose is Action.WATCH else "no anchor of its patches is known to be lost"
