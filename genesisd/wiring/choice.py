"""What a worker would be started with: the patches that were selected, and the build of them."""

from __future__ import annotations

from dataclasses import dataclass

from genesisd.patches.facts import Known
from genesisd.patches.resolve import Gate as PatchGate
from genesisd.pins.build_manifest import Build
from genesisd.wiring.selection import Selection
from genesisd.wiring.starts import PatchNote, Start


@dataclass(frozen=True, slots=True)
class Choice:
    """What a worker would be started with now.

    Attributes:
        selection: the patches that were selected, and why.
        key: the build's address; None for the plain pin.
        build: the build, or None while it is not made, or not needed.
        known: what was known of the worker when they were selected.
        pin: id of the pin.
        back: the start that it was rolled back to, whatever is selected; None for what is configured.
    """

    selection: Selection
    key: str | None
    build: Build | None
    known: Known
    pin: str
    back: Start | None = None


def verdicts(choice: Choice) -> dict[str, PatchNote]:
    """What became of each implemented patch: the gate that shut it out, or what the build's plan came to."""
    if choice.back is not None:
        return dict(choice.back.patches)
    planned = choice.build.manifest.notes["patches"] if choice.build is not None else {}
    found = {}
    for name, ruling in choice.selection.resolution.rulings.items():
        if ruling.gate is PatchGate.NOT_ENABLED and name in choice.selection.plan.excluded:
            # The policy took its switch away: somebody's word, unlike a switch that went missing.
            found[name] = PatchNote(str(PatchGate.DISABLED), choice.selection.plan.excluded[name])
        elif ruling.gate is not None:
            found[name] = PatchNote(str(ruling.gate), ruling.reason)
        else:
            note = planned.get(name, {"verdict": "unknown", "text": "its build is not made"})
            found[name] = PatchNote(note["verdict"], note["text"])
    return found
