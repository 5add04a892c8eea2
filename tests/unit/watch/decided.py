"""What triage makes of a case, and the rows that most cases are of."""

from __future__ import annotations

from genesisd.watch.case import Case
from genesisd.watch.decisions import Decision, DecisionKind
from genesisd.watch.rows import Action, Trigger
from genesisd.watch.triage import triage
from tests.unit.watch.cases import FIX, REF, patch, sweep_row, watch_row

K = DecisionKind
OURS = patch("P1", REF, required=True)
RETIRING = sweep_row(Trigger.RETIRE, patches=("P1",))
ANCHORED = sweep_row(Trigger.REANCHOR, patches=("P1",))
PLANNED = sweep_row(Trigger.RETIRE, planned="P9 (a guard)", planned_ids=("P9",))
BREAKER = watch_row(Action.WATCH, severity="P0-correctness", patches=("P1",), fix_upstream=FIX)


def kinds(case: Case) -> list[DecisionKind]:
    """Of all that triage makes."""
    return [made.kind for made in triage(case)]


def only(case: Case, kind: DecisionKind) -> Decision:
    """The one decision of a kind."""
    found = [made for made in triage(case) if made.kind is kind]
    assert len(found) == 1, kinds(case)
    return found[0]
