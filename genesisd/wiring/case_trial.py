"""A patch's behaviour case on a pin's own files and on the same with the patch, for the dossier that retires it.

Nothing here is a verdict unless the engine's own code was run: where it cannot be (no environment, no case, a case that
came to nothing) the trial says why, and speaks for neither side.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from genesisd.patches.model import Patch
from genesisd.patches.outcome import Applied, Outcome
from genesisd.patches.reading import read_texts
from genesisd.patches.stack import plan_all
from genesisd.patches.verdicts import sentence
from genesisd.watch.dossier import Trial
from genesisd.watch.model import Pin
from genesisd.wiring.anchors import chain, in_range
from genesisd.wiring.case_host import CaseError, CaseHost, Observed
from genesisd.wiring.overlay import overlay


def tried(patch: Patch, every: Mapping[str, Patch], case: str, checkout: Path, pins: Sequence[Pin]) -> Trial:
    """What the case of ``patch`` says of the first of ``pins``, and of the patch on the first of them that takes it.

    Where the first has the patch's work by itself, the patch has nothing to do there: then another pin shows whether
    the case can still tell the two apart.
    """
    if not (checkout / case).is_file():
        return Trial(name=case, why="the project is installed without its tests")
    with ExitStack() as stack:
        found = _Trial(patch, every, checkout / case, checkout, stack)
        without, why = found.without(pins[0])
        with_ours, on, also = found.with_ours(pins)
    return Trial(
        name=case,
        without=without,
        with_ours=with_ours,
        on="" if on == pins[0].id else on,
        why="; ".join(dict.fromkeys(text for text in (why, also) if text)),
        no_environment=tuple(found.no_environment),
    )


class _Trial:
    def __init__(self, patch: Patch, every: Mapping[str, Patch], case: Path, checkout: Path, stack: ExitStack) -> None:
        self._patch = patch
        self._every = every
        self._case = case
        self._checkout = checkout
        self._stack = stack
        self._hosts: dict[str, CaseHost] = {}
        self.no_environment: dict[str, None] = {}
        """Pins on which the case would have been run."""

    def without(self, pin: Pin) -> tuple[bool | None, str]:
        """Whether the pin does by itself what the case asks for; else why that was not seen."""
        try:
            observed = self._observed(pin, {})
            expected = [_expected(one, observed, pin.version) for one in (observed.upstream, observed.green)]
        except CaseError as error:
            return None, f"on {pin.id}: {error}"
        return observed.seen in expected, ""

    def with_ours(self, pins: Sequence[Pin]) -> tuple[bool | None, str, str]:
        """The same of the first pin that takes the patch; which that was, and else why there was none."""
        told = []
        for pin in pins:
            outcome, texts = self._planned(pin)
            if not isinstance(outcome, Applied):
                told.append(f"ours has no place on {pin.id}: {sentence(outcome) if outcome else 'not its version'}")
                continue
            try:
                observed = self._observed(pin, texts)
                return observed.seen == _expected(observed.green, observed, pin.version), pin.id, ""
            except CaseError as error:
                told.append(f"on {pin.id}: {error}")
                if pin.python:  # it may have taken minutes; on another pin it would do so again
                    break
        return None, "", "; ".join(told)

    def _planned(self, pin: Pin) -> tuple[Outcome | None, Mapping[str, str]]:
        if not pin.tree or not in_range(self._patch, pin.version):
            return None, {}
        patches = [one for one in chain(self._patch, self._every) if in_range(one, pin.version)]
        plan = plan_all(read_texts(Path(pin.tree), patches), patches)
        return plan.outcomes[self._patch.id], plan.texts

    def _observed(self, pin: Pin, changed: Mapping[str, str]) -> Observed:
        if not pin.python:
            self.no_environment[pin.id] = None
            raise CaseError("it has no environment here to run the case in")
        tree = overlay(Path(pin.tree), self._folder(), changed) if changed else Path(pin.tree)
        return self._host(pin.python).observe(tree, pin.version, self._case)

    def _host(self, python: str) -> CaseHost:
        if python not in self._hosts:
            host = CaseHost(Path(python), self._checkout, self._folder())
            self._hosts[python] = self._stack.enter_context(host)
        return self._hosts[python]

    def _folder(self) -> Path:
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="genesisd-case-")))


def _expected(told: Any, observed: Observed, version: str) -> Any:
    """What the case says of ``version``; one that speaks of each release by itself says nothing of another. CaseError."""
    if not isinstance(told, dict) or not told.keys() & observed.verdicts.keys():
        return told
    if version not in told:
        raise CaseError(f"the case says nothing of {version}")
    return told[version]
