"""What ``genesisctl patches attest`` is answered with."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from genesisd.attest.engagement import Engagement, Use
from genesisd.attest.model import Attestation, Cause, Finding, PatchView, RoleView, Standing, State
from genesisd.attest.roles import Role
from genesisd.cli import exits
from genesisd.cli.attestation import status_of
from genesisd.control import views
from genesisd.patches.spec import Attribution
from genesisd.wiring.attester import Look
from genesisd.wiring.patchviews import patches_view, unseen
from genesisd.wiring.starts import PatchNote, Start

BUILD = views.BuildView("env+k", "refused", "a sentence", 1, ("P9",))
START = Start(
    "env+k",
    {
        "P1": PatchNote("applied"),
        "P2": PatchNote("anchor_missing", "vllm/a.py: e finds no place"),
        "P3": PatchNote("not_enabled", "nothing switches it on"),
        "P4": PatchNote("superseded", "upstream has its own"),
    },
    ("P9",),
    ("PN1 duplicates what the engine has",),
    4,
)
FOUND = Attestation(
    State.REFUSED,
    (Finding(Cause.DIGEST, 17, "EngineCore (pid 17)", "vllm.a.f", "EngineCore (pid 17): vllm.a.f differs", ("P1",)),),
    ("0 of 1 Worker processes have reported",),
    (
        RoleView(Role.API, ("API server (pid 10)",), 1, 0, 2),
        RoleView(Role.ENGINE, ("EngineCore (pid 17)",), 1, 2, 0),
        RoleView(Role.WORKER, (), 1, 0, 0),
        RoleView(Role.OTHER, (), 0, 0, 0),
    ),
    (PatchView("P1", Standing.REFUSED, 2, {Role.ENGINE: 1}, ("vllm/c.json: no Python",)),),
    ("EngineCore (pid 17): no source",),
)
USES = (Engagement("P1", Use.ENGAGED, 3, {"short": 1}, 9),)
DECLARED = {"P1": Attribution(role="load_bearing", note="it breaks")}


def test_everything_that_a_look_and_the_start_say_is_there():
    """Roles, findings, patches with standing and use, warnings, and faults of either kind."""
    view = patches_view("w", BUILD, Look(START, FOUND, USES, ("77.json is not a report",)), DECLARED)
    assert view == views.PatchesView(
        "w",
        BUILD,
        (
            views.RoleView("api", ("API server (pid 10)",), 1, 0, 2),
            views.RoleView("engine", ("EngineCore (pid 17)",), 1, 2, 0),
            views.RoleView("worker", (), 1, 0, 0),
        ),
        ("EngineCore (pid 17): vllm.a.f differs",),
        (
            views.PatchView("P1", "applied", "", "load_bearing", "refused", "engaged", 3, {"short": 1}, ("vllm/c.json: no Python",)),
            views.PatchView("P2", "anchor_missing", "vllm/a.py: e finds no place"),
            views.PatchView("P4", "superseded", "upstream has its own"),
        ),
        ("PN1 duplicates what the engine has",),
        ("EngineCore (pid 17): no source", "77.json is not a report"),
    )  # fmt: skip


@pytest.mark.parametrize("word", ["applied", "disabled", "retired", "version", "apply_error", "unknown"])
def test_only_what_nobody_asked_for_is_left_out(word):
    """A patch that was switched off, or could not be applied, is shown with its reason."""
    start = Start(None, {"P1": PatchNote(word, "why"), "P2": PatchNote("not_enabled")})
    (patch,) = patches_view("w", BUILD, Look(start), {}).patches
    assert (patch.id, patch.verdict, patch.text, patch.role, patch.standing, patch.use) == (
        "P1", word, "why", "unknown", "", "",
    )  # fmt: skip


def test_the_plain_pin_has_neither_roles_nor_findings():
    """There is nothing to attest; the start's verdicts are shown all the same."""
    view = patches_view("w", BUILD, Look(START), DECLARED)
    assert (view.roles, view.findings, view.faults) == ((), (), ())
    assert [one.id for one in view.patches] == ["P1", "P2", "P4"]
    assert view.warnings == START.warnings


def test_a_life_of_which_nothing_is_known_is_shown_empty():
    """No guess."""
    assert patches_view("w", BUILD, Look(None), DECLARED) == views.PatchesView("w", BUILD)


def test_a_start_of_which_nothing_is_known_is_not_called_well():
    """'patches attest' must not end with 0 for it; a command of its own cannot have a build."""
    assert status_of(asdict(views.PatchesView("w", unseen("cpu")))) == exits.UNHEALTHY
    assert status_of(asdict(views.PatchesView("w", unseen(None)))) == exits.OK
