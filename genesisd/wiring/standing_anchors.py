"""How our patches stand on a pin's untouched files, in the words of the watch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from genesisd.patches.model import Patch
from genesisd.patches.outcome import AlreadyApplied, Applied, Superseded
from genesisd.patches.resolve import Gate
from genesisd.patches.stack import plan_all
from genesisd.patches.survey import Texts
from genesisd.patches.verdicts import sentence, verdict
from genesisd.watch.model import AnchorFact, Pin
from genesisd.wiring.anchors import chain, in_range


def standing(patches: Sequence[Patch], every: Mapping[str, Patch], texts: Texts, pin: Pin) -> Iterator[AnchorFact]:
    """A fact a patch that has edits, planned with those that it stands on or requires and with no others."""
    return (_fact(patch, every, texts, pin) for patch in patches if patch.edits)


def _fact(patch: Patch, every: Mapping[str, Patch], texts: Texts, pin: Pin) -> AnchorFact:
    if not in_range(patch, pin.version):
        # Somebody decided that this version does not need it: nothing to be mended.
        text = f"it is for {patch.versions}"
        return AnchorFact(patch=patch.id, pin=pin.id, verdict=str(Gate.VERSION), lands=True, text=text)
    outcome = plan_all(texts, [one for one in chain(patch, every) if in_range(one, pin.version)]).outcomes[patch.id]
    return AnchorFact(
        patch=patch.id,
        pin=pin.id,
        verdict=str(verdict(outcome)),
        lands=isinstance(outcome, (Applied, AlreadyApplied, Superseded)),
        superseded=isinstance(outcome, Superseded),
        text=sentence(outcome),
    )
