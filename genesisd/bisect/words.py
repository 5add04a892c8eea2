"""A finding in one sentence for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from genesisd.bisect.model import Culprit, Finding, Guilty, Inconclusive, NotReproduced, PinFails


def sentence(finding: Finding, runs: int) -> str:
    """What came of a search that took ``runs`` runs."""
    took = f"{runs} run{'' if runs == 1 else 's'}"
    match finding:
        case Guilty(culprits):
            return f"{'; '.join(_blamed(one) for one in culprits)}; the rest passes ({took})"
        case PinFails():
            return f"the plain pin fails without any patch that could be left out ({took})"
        case NotReproduced():
            return f"all patches together pass on a scratch worker: it comes and goes, or is of this worker ({took})"
        case Inconclusive(text):
            return f"{text} ({took})"
        case _:
            assert_never(finding)


def _blamed(one: Culprit) -> str:
    others = one.failing - {one.patch} - one.falls
    beside = f" with {_listed(others)}" if others else ""
    falls = f"; left out with it, since they need it: {_listed(one.falls)}" if one.falls else ""
    return f"{one.patch}{beside} makes the pin fail{falls}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
