"""What a person reads of what processes run."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from genesisd.cli.attestation import render_attestation, status_of
from genesisd.control.views import BuildView, PatchesView, PatchView, RoleView

BUILD = BuildView("cpu-1+abc", "attested", "all 6 of 6 functions are those of the build", 2)
VIEW = PatchesView(
    "main",
    BUILD,
    roles=(RoleView("api", ("APIServer (pid 4)",), 1, 5, 0), RoleView("worker", (), 2, 0, 0)),
    patches=(
        PatchView("P61c", "applied", "", "load_bearing", "attested", "engaged", 3),
        PatchView("P67", "applied", "", "unknown", "unattestable", "skipped", 0, {"short": 2}, ("core.TABLE",)),
        PatchView("PN373", "superseded", "upstream has its own"),
    ),
)


def test_everything_is_told():
    """Build, roles, patches; columns are aligned and empty ones say so."""
    assert render_attestation(asdict(VIEW)) == (
        "main: cpu-1+abc, attested: all 6 of 6 functions are those of the build\n"
        "ROLE    PROCESSES          ATTESTED  NOT LOADED\n"
        "api     APIServer (pid 4)  5         0\n"
        "worker  none seen, of 2    0         0\n"
        "PATCH  VERDICT     ATTESTED      USE      HITS  ROLE          FOUND\n"
        "P61c   applied     attested      engaged  3     load_bearing  -\n"
        "P67    applied     unattestable  skipped  0     unknown       "
        "stood aside (short: 2); cannot be looked at: core.TABLE\n"
        "PN373  superseded  -             -        -     unknown       upstream has its own\n"
    )


def test_what_is_wrong_comes_last():
    """Findings, faults, warnings and losses, a line each, without what could steer a terminal."""
    ill = replace(VIEW, findings=("vllm.core:run in pid 4\x1b[2J",), faults=("no word of worker",), warnings=("twice",))
    said = render_attestation(asdict(replace(ill, build=replace(BUILD, lost=("P88",)))))
    assert said.splitlines()[-4:] == [
        "not as built: vllm.core:run in pid 4\N{REPLACEMENT CHARACTER}[2J",
        "fault: no word of worker",
        "warning: twice",
        "lost since the last good start: P88",
    ]


def test_the_plain_pin_needs_no_table():
    """There is nothing to attest."""
    assert render_attestation(asdict(PatchesView("main", BuildView(None)))) == "main: the plain pin, none\n"


@pytest.mark.parametrize(("state", "status"), [("attested", 0), ("none", 0), ("pending", 3), ("refused", 10)])
def test_the_exit_status_tells_the_state(state, status):
    """For scripts."""
    assert status_of(asdict(PatchesView("main", BuildView("b", state)))) == status


def test_a_finding_is_a_finding_whatever_the_state_says():
    """A process that runs something else is never fine."""
    assert status_of(asdict(replace(VIEW, findings=("x",)))) == 10
