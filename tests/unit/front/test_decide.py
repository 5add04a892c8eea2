import pytest

from genesisd.front.decide import Closed, Held, Limits, Loss, Open, Refuse, Send, Wait, decide, loss

ENGINE = Open("127.0.0.1", 9000, 3)
LIMITS = Limits(hold=30, max_held=2)


def ask(target, *, now=100.0, since=None, unreachable=False, held=0, limits=LIMITS):
    return decide(target, now=now, since=since, unreachable=unreachable, held=held, limits=limits)


def test_open_sends():
    """A request goes to the engine that the front points at, however long it has waited."""
    assert ask(ENGINE) == Send(ENGINE)
    assert ask(ENGINE, since=1.0, held=99) == Send(ENGINE)


@pytest.mark.parametrize("since", [None, 99.0])
@pytest.mark.parametrize("unreachable", [False, True])
def test_closed_refuses_at_once(since, unreachable):
    """A closed front gives its reason and tells clients not to retry."""
    assert ask(Closed("stopped"), since=since, unreachable=unreachable) == Refuse("worker_closed", "stopped", None)


def test_held_waits_from_its_own_beginning():
    """The wait is bounded from the moment it began, not from the last look."""
    assert ask(Held(), now=100.0) == Wait(130.0)
    assert ask(Held(), now=120.0, since=100.0) == Wait(130.0)


def test_held_too_long_is_refused():
    """At the end of the bounded time the answer is a refusal with Retry-After."""
    step = ask(Held(), now=130.0, since=100.0)
    assert step == Refuse("worker_unavailable", "no worker became ready within 30 s; try again later", 30)


def test_too_many_are_refused_but_those_who_wait_stay():
    """The bound on held requests meets newcomers only."""
    assert ask(Held(), held=1) == Wait(130.0)
    full = Refuse("too_many_waiting", "2 requests already wait for the worker; try again later", 30)
    assert ask(Held(), held=2) == full
    assert ask(Held(), held=2, since=100.0) == Wait(130.0)


def test_none_may_be_held():
    """With max_held 0 nothing waits, not even for an engine that died a moment ago."""
    none = Limits(hold=30, max_held=0)
    assert isinstance(ask(Held(), limits=none), Refuse)
    assert isinstance(ask(ENGINE, unreachable=True, limits=none), Refuse)


def test_unreachable_engine_is_tried_again_until_the_hold_passes():
    """An engine that refuses connections while the front is open counts as held, with short pauses."""
    step = ask(ENGINE, unreachable=True)
    assert isinstance(step, Wait)
    assert 100.0 < step.until < 101.0
    assert isinstance(ask(ENGINE, unreachable=True, now=130.0, since=100.0), Refuse)


@pytest.mark.parametrize(("hold", "seconds"), [(0.0, 1), (0.2, 1), (1.5, 2), (600.0, 60)])
def test_retry_after_is_whole_and_bounded(hold, seconds):
    """Retry-After follows the hold, at least 1 s and at most a minute."""
    step = ask(Held(), now=1e6, since=0.0, limits=Limits(hold, 1))
    assert isinstance(step, Refuse)
    assert step.retry_after == seconds


@pytest.mark.parametrize(
    ("answering", "until_eof", "clean", "expected"),
    [
        (False, False, True, Loss.APOLOGISE),
        (False, False, False, Loss.APOLOGISE),
        (True, False, True, Loss.CUT),
        (True, False, False, Loss.CUT),
        (True, True, True, Loss.COMPLETE),
        (True, True, False, Loss.RESET),
    ],
)
def test_loss(answering, until_eof, clean, expected):
    """A part of an answer never ends in a way that looks complete."""
    assert loss(answering=answering, until_eof=until_eof, clean=clean) is expected
