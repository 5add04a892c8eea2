"""A judge's memory survives the disk and a reboot."""

from __future__ import annotations

import pytest

from genesisd.judge.codec import from_json, rebase, to_json
from genesisd.judge.model import Complaint, JudgeState, Step

FULL = JudgeState(
    incarnation=3,
    ready_at=10.0,
    complaints={"golden": Complaint("golden", 11.0, Step.BISECT, "cäme 'x'", 3)},
    step=Step.RESTART,
    taken=((11.0, "restart"),),
    cured_at=12.0,
    bisecting=True,
    blamed=("p1", "p2"),
    capped=Step.ALERT,
)


@pytest.mark.parametrize("state", [JudgeState(), FULL])
def test_a_state_comes_back_equal(state):
    """What was kept is what is loaded."""
    assert from_json(to_json(state)) == state


def test_it_is_one_line_that_sqlite_takes():
    """Readable for people; half a character that a probe quoted becomes a question mark."""
    one = Complaint("golden", 1.0, Step.NOTE, "ä \udcff\n", 1)
    text = to_json(JudgeState(complaints={"golden": one}))
    assert "ä ?\\n" in text
    assert "\n" not in text
    assert ": " not in text


@pytest.mark.parametrize("text", ["", "[]", "{", '{"step": "sideways"}', '{"complaints": {"a": 1}}'])
def test_what_was_never_written_is_refused(text):
    """A broken row is told, not guessed at."""
    with pytest.raises(ValueError, match="valid"):
        from_json(text)


def test_an_older_row_has_defaults():
    """A field that is added later needs no migration."""
    assert from_json("{}") == JudgeState()


def test_a_state_is_carried_over_a_reboot():
    """Its times move onto the new clock; the life that it spoke of is over."""
    moved = rebase(FULL, lambda at: at - 1000)
    assert moved.ready_at is None
    assert moved.cured_at is None
    assert moved.taken == ((-989.0, "restart"),)
    assert moved.complaints["golden"].at == -989
    assert (moved.incarnation, moved.step, moved.blamed) == (3, Step.RESTART, ("p1", "p2"))
