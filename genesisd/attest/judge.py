"""Whether each process of a life runs what the build says. Pure.

Absence is no proof: a process that must report and does not is waited for, and refused when its time is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from genesisd.attest.expected import Blind, Expectation, Item
from genesisd.attest.model import (
    Attestation,
    Cause,
    Finding,
    PatchView,
    Process,
    RoleView,
    Standing,
    State,
)
from genesisd.attest.report import Report, Sighting
from genesisd.attest.roles import WORDS, Role, Wanted, label_of, role_of

_REPORTING = (Role.API, Role.ENGINE, Role.WORKER)


def judge(
    expected: Expectation,
    reports: Sequence[Report],
    processes: Sequence[Process],
    wanted: Wanted,
    leader: int,
    *,
    overdue: bool,
) -> Attestation:
    """Compare.

    Args:
        expected: of the build.
        reports: all that lie in the life's folder, those of dead processes too.
        processes: the living tree.
        wanted: the least that must report.
        leader: pid of the tree's leader, which must report whatever it is called.
        overdue: the time to wait for reports is over.
    """
    mine = _living(reports, processes)
    findings = [finding for pid in sorted(mine) for finding in _examine(expected, mine[pid])]
    silent = [_silent(one, leader) for one in processes if one.pid not in mine and _must_report(one, leader)]
    silent += _lacking(mine, wanted)
    if overdue:
        findings += silent
    waiting = tuple(one.text for one in silent)
    state = State.REFUSED if findings else State.PENDING if silent else State.ATTESTED
    roles = tuple(_role_view(expected, role, mine, wanted) for role in Role)
    patches = tuple(_patch_view(expected, patch, mine, findings) for patch in expected.patches())
    faults = tuple(f"{_name(one)}: {fault}" for _, one in sorted(mine.items()) for fault in one.faults)
    return Attestation(state, tuple(findings), waiting, roles, patches, faults)


def _living(reports: Sequence[Report], processes: Sequence[Process]) -> dict[int, Report]:
    """By pid. A report of an earlier process of the same pid is nobody's; of two of one process the later counts."""
    born = {one.pid: one.start_ticks for one in processes}
    found: dict[int, Report] = {}
    for one in sorted(reports, key=lambda report: report.seq):
        if born.get(one.pid) == one.start_ticks:
            found[one.pid] = one
    return found


def _must_report(process: Process, leader: int) -> bool:
    return process.pid == leader or role_of(process.title) in _REPORTING


def _silent(process: Process, leader: int) -> Finding:
    label = label_of(process.title) or (WORDS[Role.API] if process.pid == leader else "a process")
    name = f"{label} (pid {process.pid})"
    text = f"{name} has not reported: nothing shows that it runs the build"
    return Finding(Cause.SILENT, process.pid, name, "", text)


def _lacking(mine: dict[int, Report], wanted: Wanted) -> list[Finding]:
    found = []
    for role in _REPORTING:
        have, need = sum(one.role is role for one in mine.values()), wanted.of(role)
        if have < need:
            text = f"{have} of {need} {WORDS[role]} processes have reported"
            found.append(Finding(Cause.SILENT, None, WORDS[role], "", text))
    return found


def _name(report: Report) -> str:
    return f"{label_of(report.title) or WORDS[report.role]} (pid {report.pid})"


def _examine(expected: Expectation, report: Report) -> Iterator[Finding]:
    foreign = _foreign(expected, report)
    if foreign is not None:
        yield foreign
        return  # everything in it differs; one sentence says it
    for key, item in sorted(expected.items.items()):
        found = _wrong(expected, item, report.items.get(key), report)
        if found is not None:
            cause, what = found
            name = _name(report)
            yield Finding(cause, report.pid, name, item.full_name, f"{name}: {item.full_name} {what}", item.patches)


def _foreign(expected: Expectation, report: Report) -> Finding | None:
    name = _name(report)
    if report.build != expected.build:
        what = f"reports for the build {report.build}, not for {expected.build}"
    elif report.vllm and not expected.holds(report.vllm):
        what = f"runs the vLLM of {report.vllm}, which is not in the build {expected.root}"
    elif report.optimize:
        what = (
            "runs Python with -O (or PYTHONOPTIMIZE): what it compiles is not the code of the build; start it without"
        )
    else:
        return None
    return Finding(Cause.UNPATCHED, report.pid, name, "", f"{name} {what}")


_OTHERWISE = {
    "class_constant": "has another value than in the build",
    "module_constant": "has another value than in the build",
    "module": "was not loaded from the code of the build",
}


def _wrong(expected: Expectation, item: Item, seen: Sighting | None, report: Report) -> tuple[Cause, str] | None:
    if seen is None:
        why = f": {report.faults[0]}" if report.faults else ""
        return Cause.UNSEEN, f"was not looked at{why}"
    note = f": {seen.note}" if seen.note else ""
    if seen.origin and not expected.holds(seen.origin):
        comes = "comes" if seen.state != "not_loaded" else "would come"
        return Cause.ORIGIN, f"{comes} from {seen.origin}, which is not in the build"
    if seen.state == "missing" and not item.optional:
        return Cause.MISSING, f"is not there, or is no {item.kind.replace('_', ' ')}{note}"
    if seen.state == "live" and seen.digest not in item.digests:
        return Cause.DIGEST, _OTHERWISE.get(item.kind, "is not the code of the build") + note
    return None


def _role_view(expected: Expectation, role: Role, mine: dict[int, Report], wanted: Wanted) -> RoleView:
    reports = [one for _, one in sorted(mine.items()) if one.role is role]
    most = max((_count(expected, one, "live") for one in reports), default=0)
    least = min((_count(expected, one, "not_loaded") for one in reports), default=0)
    return RoleView(role, tuple(_name(one) for one in reports), wanted.of(role), most, least)


def _count(expected: Expectation, report: Report, state: str) -> int:
    seen = [(item, report.items.get(key)) for key, item in expected.items.items()]
    return sum(
        one is not None and one.state == state and (state != "live" or one.digest in item.digests) for item, one in seen
    )


def _patch_view(expected: Expectation, patch: str, mine: dict[int, Report], findings: Sequence[Finding]) -> PatchView:
    items = [item for item in expected.items.values() if patch in item.patches]
    live = {role: sum(_alive(item, role, mine) for item in items) for role in _REPORTING}
    blind = tuple(_unseen(one) for one in expected.blind if patch in one.patches)
    blamed = any(patch in one.patches or one.cause is Cause.UNPATCHED for one in findings)
    if blamed:
        standing = Standing.REFUSED
    elif not items:
        standing = Standing.UNATTESTABLE
    elif not mine:
        standing = Standing.UNKNOWN
    else:
        standing = Standing.ATTESTED if any(live.values()) else Standing.NOT_LOADED
    return PatchView(patch, standing, len(items), {role: count for role, count in live.items() if count}, blind)


def _unseen(one: Blind) -> str:
    covered = ", the code that makes it is attested" if one.covered else ""
    return f"{one.name or one.path}: {one.why}{covered}"


def _alive(item: Item, role: Role, mine: dict[int, Report]) -> bool:
    """Whether a process of this role has it as the build does."""
    seen = [one.items.get(item.key) for one in mine.values() if one.role is role]
    return any(one is not None and one.state == "live" and one.digest in item.digests for one in seen)
