"""What became of a patch, in one word for programs and one sentence for people. Pure.

The words of the gates (``resolve.Gate``) and these together are the verdicts of docs, metrics and answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from genesisd.patches.order import BrokenChain
from genesisd.patches.outcome import (
    AlreadyApplied,
    AnchorAmbiguous,
    AnchorMissing,
    Applied,
    Failed,
    NotApplicable,
    Outcome,
    Superseded,
    TargetMissing,
)


class Verdict(StrEnum):
    """What a plan on a tree came to."""

    APPLIED = "applied"
    ALREADY_APPLIED = "already_applied"
    SUPERSEDED = "superseded"
    """Upstream has a fix of its own."""
    NOT_APPLICABLE = "not_applicable"
    ANCHOR_MISSING = "anchor_missing"
    ANCHOR_AMBIGUOUS = "anchor_ambiguous"
    TARGET_MISSING = "target_missing"
    APPLY_ERROR = "apply_error"


def verdict(outcome: Outcome) -> Verdict:
    """The word for ``outcome``."""
    match outcome:
        case Applied():
            return Verdict.APPLIED
        case AlreadyApplied():
            return Verdict.ALREADY_APPLIED
        case Superseded():
            return Verdict.SUPERSEDED
        case NotApplicable():
            return Verdict.NOT_APPLICABLE
        case AnchorMissing():
            return Verdict.ANCHOR_MISSING
        case AnchorAmbiguous():
            return Verdict.ANCHOR_AMBIGUOUS
        case TargetMissing():
            return Verdict.TARGET_MISSING
        case Failed():
            return Verdict.APPLY_ERROR
    assert_never(outcome)


def sentence(outcome: Outcome) -> str:
    """What was found, in words; empty where the verdict says it all."""
    match outcome:
        case Applied():
            return f"without {_several(outcome.skipped)}, for which there is no place" if outcome.skipped else ""
        case AlreadyApplied():
            return "the file has the very text that the patch would write"
        case Superseded():
            return f"upstream has its own: {_short(outcome.marker.text)} in {outcome.marker.path}"
        case NotApplicable():
            return outcome.reason
        case AnchorMissing():
            found = f"; it stands in {_several(outcome.elsewhere)}" if outcome.elsewhere else ""
            return f"{outcome.path}: {outcome.edit} finds no place in {outcome.scope or 'the module'}{found}"
        case AnchorAmbiguous():
            where = outcome.scope or "the module"
            return f"{outcome.path}: {outcome.edit} finds {outcome.count} places in {where}, and may have one"
        case TargetMissing():
            return f"{outcome.path} has no {outcome.scope}" if outcome.scope else f"there is no {outcome.path}"
        case Failed():
            return f"{outcome.path}: {outcome.detail}"
    assert_never(outcome)


def broken(chain: BrokenChain) -> str:
    """Why a set of patches may not be applied at all."""
    return f"{', '.join(chain.dependants)} stand on {chain.base}, which is not applied: {chain.why}"


def _several(names: Sequence[str]) -> str:
    return ", ".join(names)


def _short(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else text
    return repr(line if len(line) <= 60 else f"{line[:57]}...")
