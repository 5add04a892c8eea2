"""What ``genesisctl patches attest`` shows. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from genesisd.attest.model import Attestation
from genesisd.control.views import BuildView, PatchesView, PatchView, RoleView
from genesisd.patches.spec import Attribution, Role
from genesisd.wiring.attester import Look
from genesisd.wiring.starts import QUIET, PatchNote


def patches_view(worker: str, build: BuildView, look: Look, declared: Mapping[str, Attribution]) -> PatchesView:
    """All that one look and the start before it say; patches that nobody asked for are left out."""
    if look.start is None:
        return PatchesView(worker, build)
    found = look.attestation
    return PatchesView(
        worker,
        build,
        roles=() if found is None else _roles(found),
        findings=() if found is None else tuple(one.text for one in found.findings),
        patches=tuple(
            _patch(name, note, look, declared) for name, note in look.start.patches.items() if note.verdict not in QUIET
        ),
        warnings=look.start.warnings,
        faults=look.faults if found is None else (*found.faults, *look.faults),
    )


def unseen(pin: str | None) -> BuildView:
    """For a life of whose start nothing is known: that is no proof, unless there can be no build."""
    if pin is None:
        return BuildView(None, "none", "a command of its own, which has no build")
    return BuildView(None, "pending", "nothing is known of its start: restart it to know what it runs")


def _roles(found: Attestation) -> tuple[RoleView, ...]:
    return tuple(
        RoleView(str(one.role), one.processes, one.wanted, one.live, one.not_loaded)
        for one in found.roles
        if one.processes or one.wanted
    )


def _patch(name: str, note: PatchNote, look: Look, declared: Mapping[str, Attribution]) -> PatchView:
    standing = next((one for one in (look.attestation.patches if look.attestation else ()) if one.id == name), None)
    use = next((one for one in look.uses if one.patch == name), None)
    role = declared[name].role if name in declared else Role.UNKNOWN
    return PatchView(
        name,
        note.verdict,
        note.text,
        str(role),
        "" if standing is None else str(standing.standing),
        "" if use is None else str(use.use),
        0 if use is None else use.hits,
        {} if use is None else use.skips,
        () if standing is None else standing.blind,
    )
