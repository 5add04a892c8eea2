from collections.abc import Iterable
from dataclasses import replace

import pytest

from genesisd.probes.metrics import Values
from genesisd.probes.model import Verdict
from genesisd.probes.progress import Canary, History, Look, Window, decide, wants_canary

WINDOW = Window(base=10, factor=3, warmup=120)
CAP = 7.0
VALUES = Values(5, 100, 50, 0.5, 1, 0)


def told(looks: Iterable[Look], window: Window = WINDOW) -> list[Verdict]:
    """The verdict after each look."""
    history, verdicts = History(), []
    for look in looks:
        history = history.seen(look, CAP)
        verdicts.append(decide(history, look.at, window).verdict)
    return verdicts


def after(looks: Iterable[Look]) -> History:
    history = History()
    for look in looks:
        history = history.seen(look, CAP)
    return history


def starving(
    count: int, *, values: Values | None = VALUES, start: float = 0.0, sent: float = 1.0, **more
) -> list[Look]:
    """Looks a second apart in which nothing moves and a canary waits since ``sent``."""
    looks = []
    for i in range(count):
        at = start + i
        canary = {"canary": Canary.WAITING, "canary_age": at - sent} if at >= sent else {}
        looks.append(Look(at, values, **(canary | more)))
    return looks


def test_a_starving_canary_and_nothing_that_moves_is_a_hang() -> None:
    """Failure comes exactly when the window is over, counted from the canary's sending."""
    verdicts = told(starving(12))
    assert verdicts.index(Verdict.FAILURE) == 11
    assert set(verdicts[:11]) == {Verdict.SUCCESS}


def test_users_count_from_their_own_arrival() -> None:
    """Requests that waited before the first look do not shorten the window: it must have been watched."""
    looks = [
        Look(float(i), VALUES, unanswered=1, owed_for=60.0 + i, canary=Canary.WAITING, canary_age=i) for i in range(12)
    ]
    assert told(looks).index(Verdict.FAILURE) == 10


@pytest.mark.parametrize("field", ["iterations", "prompt", "generation", "kv", "running"])
def test_any_movement_starts_the_window_again(field: str) -> None:
    """One change of one series, be it a gauge going down, and the engine is alive."""
    looks = starving(10) + starving(9, start=10, values=replace(VALUES, **{field: 0.25}))
    assert Verdict.FAILURE not in told(looks)


def test_a_gauge_that_only_stands_is_no_fault() -> None:
    """106 running for ever on an idle engine, with canaries answered, is success."""
    looks = [Look(float(i), replace(VALUES, running=106), canary=Canary.ANSWERED, canary_age=1) for i in range(500)]
    assert set(told(looks)) == {Verdict.SUCCESS}


def test_a_request_in_flight_alone_convicts_nobody() -> None:
    """/load may say 1 for a client that does not read: without a starving canary that is no hang."""
    looks = [Look(float(i), VALUES, unanswered=1, canary=Canary.ANSWERED, canary_age=1) for i in range(100)]
    assert Verdict.FAILURE not in told(looks)


def test_arrivals_at_a_hung_engine_are_no_movement() -> None:
    """New requests raise waiting for ever; the hang is found all the same."""
    looks = [replace(look, values=replace(VALUES, waiting=look.at)) for look in starving(13)]
    assert Verdict.FAILURE in told(looks)


def test_the_canarys_own_arrival_delays_once() -> None:
    """Gauges that the probe itself may have moved begin the window again one time, never for each new canary."""
    looks = [replace(look, values=replace(VALUES, running=look.at // 4), own=look.at % 4 == 0) for look in starving(40)]
    verdicts = told(looks)
    assert verdicts.index(Verdict.FAILURE) == 14


def test_answered_users_are_movement() -> None:
    """The front's count of answers proves life even where the counters are stuck."""
    looks = [replace(look, answered=int(look.at) // 8) for look in starving(60)]
    assert Verdict.FAILURE not in told(looks)
    assert Verdict.FAILURE in told([replace(look, answered=3) for look in starving(60)])


@pytest.mark.parametrize(
    ("counts", "still"),
    [((3, 3), 1), ((3, 4), 0), ((None, 3), 1), ((3, None), 1), ((3, None, 3), 2), ((3, None, 4), 0)],
)
def test_the_fronts_count_moves_only_between_two_numbers(counts, still) -> None:
    """A front that comes, goes and comes back has answered nobody by that."""
    assert after(Look(float(i), VALUES, unanswered=1, answered=n) for i, n in enumerate(counts)).still == still


def test_an_answered_canary_is_movement() -> None:
    """Also where /metrics cannot be read; and once, not for as long as it stays the newest."""
    looks = [Look(0.0, None, canary=Canary.WAITING), Look(1.0, None, canary=Canary.ANSWERED)]
    assert (after(looks[:1]).moved_at, after(looks).moved_at) == (0, 1)
    assert after([*looks, Look(2.0, None, canary=Canary.ANSWERED, canary_age=1)]).moved_at == 1


def test_the_first_look_counts_as_movement() -> None:
    """What was before nobody knows."""
    assert after([Look(50.0, VALUES, unanswered=1, owed_for=40)]) == History(
        last=Look(50.0, VALUES, unanswered=1, owed_for=40), values=VALUES, moved_at=50.0, proven=True
    )


def test_a_gap_up_to_the_cap_counts_whole_and_a_longer_one_not_at_all() -> None:
    """Time in which nobody looked is no proof."""
    assert after([Look(0.0, VALUES, unanswered=1), Look(CAP, VALUES, unanswered=1)]).still == CAP
    assert after([Look(0.0, VALUES, unanswered=1), Look(CAP + 0.1, VALUES, unanswered=1)]).still == 0


def test_stillness_ends_with_movement_and_with_the_last_request() -> None:
    """And is counted from nothing again."""
    owed = [Look(float(i), VALUES, unanswered=1) for i in range(4)]
    assert (after(owed).still, after(owed).slowest) == (3, 0)
    moved = after([*owed, Look(4.0, replace(VALUES, kv=0.1), unanswered=1)])
    assert (moved.still, moved.slowest, moved.moved_at) == (0, 4, 4)
    idle = after([*owed, Look(4.0, VALUES)])
    assert (idle.still, idle.slowest, idle.moved_at) == (0, 0, 0)


def test_idleness_before_a_movement_is_no_slow_step() -> None:
    """Nothing was owed at the look before: how long the step took is not known."""
    assert after([Look(0.0, VALUES), Look(5.0, replace(VALUES, kv=0.1), unanswered=1, owed_for=4)]).slowest == 0


def test_real_movement_clears_the_doubt() -> None:
    """After it, the next canary's own arrival may begin the window again, one time."""
    seen = [Look(0.0, VALUES, unanswered=1), Look(1.0, replace(VALUES, running=2), unanswered=1, own=True)]
    assert after(seen).doubtful is True
    seen.append(Look(2.0, replace(VALUES, running=2, kv=0.1), unanswered=1))
    assert after(seen).doubtful is False
    seen += [Look(3.0, seen[-1].values, unanswered=1), Look(4.0, replace(VALUES, running=3), unanswered=1, own=True)]
    assert (after(seen).still, after(seen).doubtful, after(seen).moved_at) == (0, True, 2)


@pytest.mark.parametrize(
    ("canary", "waits"),
    [(Canary.NONE, 2), (Canary.WAITING, 4), (Canary.UNREACHABLE, 4), (Canary.ANSWERED, 2), (Canary.REFUSED, 2)],
)
def test_what_began_to_wait_between_two_looks_counts_from_its_own_beginning(canary: Canary, waits: float) -> None:
    """Users wait, and so does a canary that has no answer; one that has one waits no more."""
    assert Look(9.0, VALUES, unanswered=1, owed_for=2.0, canary=canary, canary_age=4.0).waits == waits
    assert after([Look(0.0, VALUES), Look(3.0, VALUES, unanswered=1, owed_for=2.0)]).still == 2


def test_one_token_ends_the_warm_up() -> None:
    """First use is behind an engine that has made one."""
    assert after([Look(0.0, replace(VALUES, generation=1))]).proven
    assert not after([Look(0.0, replace(VALUES, generation=0))]).proven
    assert after([Look(0.0, None, canary=Canary.ANSWERED)]).proven


def test_slow_steps_stretch_the_window() -> None:
    """After a step of 8 seconds, 23 seconds of stillness are no hang and 24 are."""
    slow = starving(10, sent=1.0)
    moved = [replace(look, values=replace(VALUES, kv=0.6)) for look in starving(30, start=10, sent=10.0)]
    verdicts = told(slow[:9] + moved)
    assert Verdict.FAILURE not in verdicts[: 9 + 24]
    assert Verdict.FAILURE in verdicts


def test_before_the_first_token_patience_is_longer() -> None:
    """First use may compile: without any generated token the warm-up window holds."""
    fresh = replace(VALUES, generation=0, iterations=0, prompt=0)
    verdicts = told(starving(140, values=fresh))
    assert verdicts.index(Verdict.FAILURE) == 121


def test_time_in_which_nobody_looked_is_no_proof() -> None:
    """A daemon or a machine that stood still for an hour convicts nobody on waking."""
    looks = [*starving(4), *starving(3, start=3600)]
    assert Verdict.FAILURE not in told(looks)


def test_blind_and_idle_is_unknown() -> None:
    """/metrics that cannot be read is another probe's business."""
    assert set(told([Look(float(i), None, canary=Canary.ANSWERED) for i in range(60)])) == {Verdict.UNKNOWN}


def test_blind_and_starving_is_a_failure() -> None:
    """Unanswered requests and unreadable metrics for a whole window are a hang."""
    looks = [Look(0.0, VALUES), *[replace(look, values=None) for look in starving(13)[1:]]]
    verdicts = told(looks)
    assert verdicts.index(Verdict.FAILURE) == 11
    assert set(verdicts[1:11]) == {Verdict.UNKNOWN}


@pytest.mark.parametrize(("sent", "verdict"), [(5.0, Verdict.FAILURE), (5.5, Verdict.UNKNOWN)])
def test_a_canary_convicts_after_half_a_window(sent: float, verdict: Verdict) -> None:
    """Users have waited for the whole of it; the canary confirms that new work is not done either."""
    looks = [replace(look, unanswered=1) for look in starving(11, sent=sent)]
    assert told(looks)[-1] is verdict


def test_a_server_that_takes_no_connection_is_a_failure() -> None:
    """A canary that finds nobody counts as unanswered."""
    looks = [Look(0.0, VALUES)]
    looks += [Look(float(i), None, canary=Canary.UNREACHABLE, canary_age=1) for i in range(1, 14)]
    assert told(looks)[-1] is Verdict.FAILURE


@pytest.mark.parametrize(("unanswered", "verdict"), [(0, Verdict.SUCCESS), (1, Verdict.FAILURE), (2, Verdict.FAILURE)])
def test_a_refused_canary_leaves_the_word_to_users(unanswered: int, verdict: Verdict) -> None:
    """Where the canary is not let in, only waiting users convict."""
    looks = [
        Look(float(i), VALUES, unanswered=unanswered, certain=True, owed_for=i, canary=Canary.REFUSED, canary_age=1)
        for i in range(14)
    ]
    assert told(looks)[-1] is verdict


def test_a_refused_canary_and_load_alone_prove_nothing() -> None:
    """/load also counts answers that nobody reads: it convicts only together with a starving canary."""
    looks = [Look(float(i), VALUES, unanswered=1, canary=Canary.REFUSED, canary_age=1) for i in range(60)]
    assert told(looks)[-1] is Verdict.UNKNOWN


def test_a_lost_canary_is_replaced_before_it_convicts() -> None:
    """A canary that waited while others moved may be lost: it convicts nobody, and a fresh one is wanted."""
    history = History()
    for look in [Look(0.0, VALUES), Look(1.0, VALUES, canary=Canary.WAITING), Look(2.0, replace(VALUES, kv=0.1))]:
        history = history.seen(look, CAP)
    for at in range(3, 40):
        lost = Look(float(at), replace(VALUES, kv=0.1), canary=Canary.WAITING, canary_age=at - 1.0)
        history = history.seen(lost, CAP)
        assert decide(history, at, WINDOW).verdict is not Verdict.FAILURE
    assert wants_canary(history, 40, 2.0, WINDOW)


def test_a_lost_canary_is_replaced_after_half_a_window() -> None:
    """Which leaves the fresh one the other half to convict in."""
    lost = Look(20.0, VALUES, unanswered=1, canary=Canary.WAITING, canary_age=19.0)
    history = History(last=lost, values=VALUES, moved_at=10.0, still=5.0, proven=True)
    assert wants_canary(history, 20.0, 2.0, WINDOW)
    assert not wants_canary(replace(history, still=4.9), 20.0, 2.0, WINDOW)


def test_canaries_fly_only_when_nothing_moves() -> None:
    """None while anything moves, one after the period, none while it waits, the next a period after its answer."""
    history = History().seen(Look(0.0, VALUES), CAP)
    assert not wants_canary(history, 1.0, 2.0, WINDOW)
    assert wants_canary(history, 2.0, 2.0, WINDOW)
    waiting = history.seen(Look(2.0, VALUES, canary=Canary.WAITING, canary_age=0), CAP)
    assert not wants_canary(waiting, 4.0, 2.0, WINDOW)
    answered = waiting.seen(Look(3.0, VALUES, canary=Canary.ANSWERED, canary_age=1), CAP)
    assert not wants_canary(answered, 4.0, 2.0, WINDOW)
    rested = answered.seen(Look(5.0, VALUES, canary=Canary.ANSWERED, canary_age=2), CAP)
    assert wants_canary(rested, 5.0, 2.0, WINDOW)
    assert not wants_canary(rested, 4.9, 2.0, WINDOW)
    fresh = answered.seen(Look(5.0, VALUES, canary=Canary.ANSWERED, canary_age=1.9), CAP)
    assert not wants_canary(fresh, 5.0, 2.0, WINDOW)


def test_nothing_seen_is_unknown() -> None:
    """Before the first look there is nothing to say."""
    assert decide(History(), 0.0, WINDOW).verdict is Verdict.UNKNOWN
    assert not wants_canary(History(), 100.0, 2.0, WINDOW)


USERS, ALONE = {"unanswered": 2}, {"canary": Canary.WAITING, "canary_age": 10.0}


@pytest.mark.parametrize(
    ("history", "now", "summary"),
    [
        (History(), 1.0, "not looked yet"),
        (History(last=Look(3.0, None)), 3.0, "/metrics could not be read"),
        (History(last=Look(3.0, VALUES), moved_at=1.5), 3.0, "moved 1.5 s ago"),
        (
            History(last=Look(3.0, VALUES), still=0.5, proven=True), 3.0,
            "nothing moved for 0.5 s of the 10.0 s that it may take",
        ),
        (
            History(last=Look(20.0, VALUES, **ALONE), moved_at=8.0, still=12.0, proven=True), 20.0,
            "nothing moved for 12.0 s (limit 10.0 s) while a canary waited",
        ),
        (
            History(last=Look(20.0, None, **USERS, **ALONE), moved_at=8.0, still=12.0, proven=True), 20.0,
            "nothing moved for 12.0 s (limit 10.0 s) while 2 requests waited; /metrics does not answer either",
        ),
        (
            History(last=Look(20.0, VALUES, **USERS), moved_at=8.0, still=12.0, proven=True), 20.0,
            "nothing moved for 12.0 s (limit 10.0 s) while 2 requests waited; no fresh canary has confirmed it",
        ),
    ],
)  # fmt: skip
def test_the_sentence_says_what_was_seen(history: History, now: float, summary: str) -> None:
    """It is what an operator reads in the status of a worker that is about to be restarted."""
    assert decide(history, now, WINDOW).summary == summary
