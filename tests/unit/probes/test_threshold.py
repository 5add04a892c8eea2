import pytest

from genesisd.probes.model import Stage, Verdict
from genesisd.probes.threshold import Threshold

VERDICTS = {"s": Verdict.SUCCESS, "f": Verdict.FAILURE, "u": Verdict.UNKNOWN}


def after(stage: Stage, answers: str, failures: int = 3, successes: int = 2) -> bool | None:
    standing = Threshold.fresh(stage)
    for one in answers:
        standing = standing.after(VERDICTS[one], failures, successes)
    return standing.good


@pytest.mark.parametrize(
    ("stage", "answers", "good"),
    [
        (Stage.LIVENESS, "", True),
        (Stage.READINESS, "", None),
        (Stage.STARTUP, "", None),
        (Stage.LIVENESS, "ff", True),
        (Stage.LIVENESS, "fff", False),
        (Stage.LIVENESS, "ffsff", True),
        (Stage.LIVENESS, "ffuf", False),
        (Stage.LIVENESS, "uuuuuuuu", True),
        (Stage.LIVENESS, "fffs", False),
        (Stage.LIVENESS, "fffss", True),
        (Stage.READINESS, "s", None),
        (Stage.READINESS, "ss", True),
        (Stage.READINESS, "sus", True),
        (Stage.READINESS, "sfs", None),
        (Stage.READINESS, "fff", False),
        (Stage.READINESS, "ssff", True),
        (Stage.READINESS, "ssfff", False),
    ],
)
def test_counts_consecutive_answers(stage: Stage, answers: str, good: bool | None) -> None:
    """Only runs of equal answers change the mind; unknown neither counts nor resets."""
    assert after(stage, answers) is good


def test_one_is_enough_where_one_is_asked_for() -> None:
    """Thresholds of 1 turn at once, both ways."""
    assert after(Stage.READINESS, "s", 1, 1) is True
    assert after(Stage.LIVENESS, "sf", 1, 1) is False
