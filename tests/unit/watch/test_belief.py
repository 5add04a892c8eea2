"""What upstream says is not believed where it goes back behind what it said."""

from dataclasses import replace

import pytest

from genesisd.watch.belief import believe
from genesisd.watch.model import Known, Pull, State, Unanswered, WhyUnknown
from genesisd.watch.refs import Ref

REF = Ref("vllm-project/vllm", 7)
OLD = Pull(ref=REF, state=State.OPEN, checked_at=100.0, updated_at=50.0, head="a" * 40)
MERGED = replace(OLD, state=State.MERGED, merged_at=60.0, updated_at=60.0, checked_at=200.0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, OLD),
        (OLD, MERGED),
        (OLD, replace(OLD, state=State.CLOSED, updated_at=55.0, checked_at=200.0)),
        (replace(OLD, state=State.CLOSED), replace(OLD, updated_at=70.0, checked_at=200.0)),
        (OLD, replace(OLD, checked_at=200.0)),
        (OLD, replace(MERGED, updated_at=None)),
        (MERGED, replace(MERGED, head="b" * 40, updated_at=61.0)),
        (replace(OLD, created_at=9.0), replace(MERGED, created_at=9.0)),
        (OLD, replace(MERGED, created_at=9.0)),
    ],
    ids=[
        *("the first", "merged", "closed", "opened again", "nothing new", "no date told", "a comment after the merge"),
        *("as old as it was", "of no age before"),
    ],
)
def test_what_goes_on_is_believed(old, new):
    """An answer that goes on from the last one is taken as it is."""
    assert believe(None if old is None else Known(REF, old), new) is new


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (MERGED, replace(OLD, checked_at=300.0, updated_at=None), "a merge is never taken back"),
        (MERGED, replace(MERGED, state=State.CLOSED, updated_at=99.0), "a merge is never taken back"),
        (replace(OLD, updated_at=80.0), replace(OLD, state=State.CLOSED, checked_at=300.0), "30 s before"),
        (OLD, replace(OLD, is_issue=True, updated_at=99.0), "told as an issue"),
        (replace(OLD, created_at=9.0), replace(MERGED, created_at=55.0), "1970-01-01 00:00:55, and before as begun on"),
    ],
    ids=[
        *("merged, then open", "merged, then closed", "older than the newest change", "another thing altogether"),
        "another one of that number, in a repository that took the name",
    ],
)
def test_what_goes_back_is_unknown(old, new, told):
    """An answer that goes back is an unknown with the answer's time, and says what it contradicts."""
    found = believe(Known(REF, old), new)
    assert isinstance(found, Unanswered)
    assert (found.ref, found.why, found.at) == (REF, WhyUnknown.CONTRADICTED, new.checked_at)
    assert told in found.text


def test_a_failure_stays_one():
    """What was not answered is handed through, whatever was known."""
    failure = Unanswered(REF, WhyUnknown.OUTAGE, 300.0, "502")
    assert believe(Known(REF, MERGED), failure) is failure
