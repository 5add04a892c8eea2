"""A state survives the disk, and its times survive a reboot."""

from dataclasses import replace

import pytest

from genesisd.store.codec import SCHEMA, Moment, decode, encode, rebase
from genesisd.supervisor.model import ExitRecord, Next, Phase, Reason, WorkerState

FULL = WorkerState(
    phase=Phase.BACKOFF,
    wanted=True,
    incarnation=7,
    since=100.0,
    deadline=130.0,
    started=40.0,
    next=Next.RETRY,
    reason=Reason("crash", "it died: 'quoted'"),
    restarts=(10.0, 90.0),
    killed=True,
    shim_lost=True,
    last_exit=ExitRecord(1, None, "bad-config", "no", permanent=True),
)


@pytest.mark.parametrize("state", [WorkerState(), replace(FULL, reason=Reason("x", "ünï"))])
def test_a_state_comes_back_equal(state):
    """What was saved is what is loaded."""
    assert decode(encode(state), SCHEMA) == state


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_comes_back(phase):
    """No phase is unknown to the store."""
    assert decode(encode(WorkerState(phase=phase)), SCHEMA).phase is phase


def test_a_field_that_an_older_daemon_did_not_write_has_its_default():
    """An upgrade that adds a field reads old rows."""
    assert decode("{}", SCHEMA) == WorkerState()


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "[]", '{"phase": "dancing"}', '{"incarnation": "many"}', '{"restarts": 3}', '{"reason": null}'],
)
def test_what_encode_cannot_have_written_is_a_value_error(text):
    """Garbage is refused, not half read."""
    with pytest.raises(ValueError):
        decode(text, SCHEMA)


def test_another_version_is_refused():
    """A state of an unknown version is not guessed at."""
    with pytest.raises(ValueError, match="version 99"):
        decode(encode(WorkerState()), 99)


def test_within_one_boot_nothing_moves():
    """Monotonic times mean the same to the next daemon of this boot."""
    now = Moment("boot", 500.0, 5000.0)
    assert rebase(FULL, Moment("boot", 110.0, 4000.0), now) is FULL


def test_after_a_reboot_ages_are_kept():
    """A restart that happened 20 s before the save is 20 s plus the wall time between old."""
    moved = rebase(FULL, Moment("old", 110.0, 4000.0), Moment("new", 30.0, 4060.0))
    assert moved.since == 30.0 - 60.0 - 10.0
    assert moved.restarts == (30.0 - 60.0 - 100.0, 30.0 - 60.0 - 20.0)
    assert moved.started == 30.0 - 60.0 - 70.0


@pytest.mark.parametrize(("elapsed", "left"), [(5.0, 15.0), (20.0, 0.0), (3600.0, 0.0)])
def test_after_a_reboot_a_deadline_keeps_what_was_left_of_it(elapsed, left):
    """20 s were left at the save."""
    moved = rebase(FULL, Moment("old", 110.0, 4000.0), Moment("new", 30.0, 4000.0 + elapsed))
    assert moved.deadline == 30.0 + left


def test_a_wall_clock_that_went_backwards_puts_nothing_into_the_future():
    """A box without a battery clock may boot in 1970."""
    moved = rebase(FULL, Moment("old", 110.0, 4000.0), Moment("new", 30.0, 10.0))
    assert moved.since <= 30.0
    assert all(at <= 30.0 for at in moved.restarts)
    assert moved.deadline == 50.0


def test_no_deadline_stays_none():
    """None means none."""
    assert rebase(replace(FULL, deadline=None), Moment("a", 1, 1), Moment("b", 1, 1)).deadline is None
