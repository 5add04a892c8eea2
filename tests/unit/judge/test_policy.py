"""The judge by example; ``test_ladder.py`` has the table of steps."""

from __future__ import annotations

import pytest

from genesisd.judge.model import Bisect, Cured, Hold, JudgePolicy, Means, Restart, RollBack, Step, Tell
from tests.unit.judge.case import ALL, POLICY, Case

NOTHING = Means()


def restarted(means: Means = ALL, policy: JudgePolicy = POLICY, limit: Step = Step.BISECT) -> Case:
    """Bad at 100, restarted, ready again at 200 as life 2."""
    return Case(means, policy).ready(0).bad(100, limit=limit).ready(200, 2)


def rolled_back() -> Case:
    """Bad in life 2 as well, and so back to the build before: ready at 400 as life 3."""
    return restarted().bad(300, 2).ready(400, 3)


def bisecting() -> Case:
    """Bad in life 3 as well."""
    return rolled_back().bad(500, 3)


@pytest.mark.parametrize(
    ("limit", "does"),
    [
        (Step.NOTE, ["tell note"]),
        (Step.ALERT, ["tell alert"]),
        (Step.RESTART, ["tell alert", "restart"]),
        (Step.ROLLBACK, ["tell alert", "restart"]),
        (Step.BISECT, ["tell alert", "restart"]),
    ],
)
def test_a_probe_that_turned_bad_is_told_and_the_worker_restarted_if_its_limit_allows(limit, does):
    """The first step is the same for all that may go as far."""
    case = Case().ready(0).bad(100, limit=limit)
    assert case.does == does
    told = Step.NOTE if limit is Step.NOTE else Step.ALERT
    assert case.orders[0] == Tell(told, ("golden",), "golden is bad: golden says no")


@pytest.mark.parametrize(("limit", "step"), [(Step.NOTE, Step.NOTE), (Step.ALERT, Step.ALERT)])
def test_what_was_only_told_is_an_episode_too(limit, step):
    """It has an end, and the end says how far it went."""
    case = Case().ready(0).bad(100, limit=limit).good(200).tick(800)
    assert case.orders == (Cured(step, "every probe is good since 10 minutes"),)


@pytest.mark.parametrize("limit", [Step.NOTE, Step.ALERT])
def test_what_may_only_be_told_is_told_once(limit):
    """Being bad for longer is no news, and no ground for more."""
    case = Case().ready(0).bad(100, limit=limit)
    assert case.bad(200, limit=limit).does == case.bad(9000, limit=limit).does == case.tick(9001).does == []


def test_a_whole_climb():
    """Restart, rollback, bisection, and in the end a person."""
    assert Case().ready(0).bad(100).orders[1] == Restart(1, "restarting it, since golden is bad: golden says no")
    case = restarted().bad(300, 2)
    assert case.orders[1] == RollBack(
        2, "going back to the last build that was good, since golden is bad after a restart: golden says no"
    )
    case.ready(400, 3).bad(410, 3, kind="tool-calls").bad(500, 3)
    assert case.orders[1] == Bisect(
        3,
        ("tool-calls", "golden"),
        "looking for the patch that is to blame, since tool-calls and golden are bad with the last build that was good: "
        "tool-calls says no; golden says no",
    )
    assert case.bisected(600, "p1").orders == (Tell(Step.BISECT, ("golden", "tool-calls"), "forty runs were made"),)
    assert case.ready(700, 4).does == []
    assert case.bad(800, 4).does == ["tell alert", "hold"]
    assert case.orders[1] == Hold(4, "nothing is left to try: golden is bad without p1: golden says no")


@pytest.mark.parametrize(
    ("means", "does"),
    [
        (Means(rollback=True, bisect=True), "rollback"),
        (Means(rollback=True), "rollback"),
        (Means(bisect=True), "bisect"),
        (NOTHING, "hold"),
    ],
)
def test_what_cannot_be_done_is_left_out(means, does):
    """The step after a restart depends on what there is."""
    assert restarted(means).bad(300, 2).does == ["tell alert", does]


def test_a_rollback_without_means_to_bisect_ends_in_a_hold():
    """There is nothing between."""
    case = rolled_back()
    case.means = Means(rollback=True)
    assert case.bad(500, 3).does == ["tell alert", "hold"]
    assert "nothing is left to try (no patch can be left out to try)" in case.says


def test_the_first_fault_does_not_wait():
    """Settling is for lives that began after a step."""
    assert Case().ready(0).bad(1).does == ["tell alert", "restart"]


def test_after_a_step_a_complaint_waits_until_the_life_has_settled():
    """It is told at once, and acted upon if it still stands then."""
    case = restarted()
    assert case.bad(201, 2).does == ["tell alert"]
    assert case.due == 260
    assert case.tick(259.9).does == []
    assert case.tick(260).does == ["rollback"]


def test_a_complaint_that_went_away_while_settling_leads_to_nothing():
    """A cold start may answer late or odd once."""
    case = restarted().bad(201, 2).good(210, 2)
    assert case.tick(260).does == []


def test_a_complaint_is_as_old_as_its_life_allows():
    """Being bad still makes it no younger, a new life does."""
    case = restarted().bad(201, 2).bad(210, 2, kind="tool-calls").bad(220, 2).tick(260)
    assert "since golden and tool-calls are bad" in case.says
    case = restarted().bad(201, 2, kind="tool-calls").bad(210, 2).tick(260)
    assert "since tool-calls and golden are bad" in case.says


def test_a_step_that_is_due_is_taken_at_whatever_happens_next():
    """The timer may be late."""
    assert restarted().bad(201, 2).ready(300, 2).does == ["rollback"]
    assert restarted().bad(201, 2).bad(202, 2, kind="tool-calls").good(300, 2).does == ["rollback"]


def test_stale_complaints_are_dropped():
    """A probe may answer after its life ended."""
    assert restarted().bad(300, 1).does == []
    assert restarted().good(300, 1).does == []
    assert restarted().ready(300, 1).state.incarnation == 2


def test_a_life_that_was_ordered_to_end_is_not_judged():
    """It still answers while it drains."""
    case = Case().ready(0).bad(100)
    assert case.bad(101).does == case.bad(102, kind="needle", limit=Step.ALERT).does == []
    assert case.due is None


def test_an_order_that_got_lost_leaves_its_step_taken():
    """The same life is announced again by a daemon that adopted it, and is judged from there on."""
    case = Case().ready(0).bad(100).ready(500, 1)
    assert case.bad(559).does == []
    assert case.bad(560).does == ["rollback"]


def test_a_life_that_nobody_announced_is_judged_as_one_that_just_became_ready():
    """Otherwise it would never be."""
    assert Case().bad(100, 7).does == ["tell alert", "restart"]
    assert restarted().bad(300, 9).due == 360


@pytest.mark.parametrize("limit", [Step.RESTART, Step.ROLLBACK])
def test_where_the_limit_forbids_the_next_step_it_is_told_once_and_left(limit):
    """No hold either: to be out of rotation is more than a restart."""
    case = restarted(Means(bisect=True), limit=limit).bad(300, 2, limit=limit)
    assert case.does == ["tell alert", "tell alert"]
    assert case.orders[1] == Tell(
        Step.ALERT,
        ("golden",),
        "its action allows nothing further, so it is left as it is: golden is bad after a restart: golden says no",
    )
    assert case.bad(400, 2, limit=limit).does == []
    assert case.due is None
    assert case.ready(500, 3).bad(600, 3, limit=limit).does == ["tell alert"]


def test_of_several_complaints_the_highest_limit_rules():
    """Also when it comes later, after it was told that nothing further is allowed."""
    case = restarted(limit=Step.RESTART).bad(300, 2, limit=Step.RESTART)
    assert case.bad(310, 2, kind="tool-calls").does == ["tell alert", "rollback"]
    assert case.says.endswith("golden and tool-calls are bad after a restart: golden says no; tool-calls says no")


def test_a_higher_limit_that_comes_while_settling_is_not_forgotten():
    """The end was told for a lower limit, in an earlier life."""
    case = restarted(limit=Step.RESTART).bad(300, 2, limit=Step.RESTART).ready(400, 3)
    assert case.bad(410, 3).due == 460
    assert case.tick(460).does == ["rollback"]


def test_an_alert_beside_does_not_raise_the_limit():
    """A complaint counts for as far as it goes itself."""
    case = Case().ready(0).bad(100, kind="needle", limit=Step.ALERT)
    assert case.bad(110, kind="keep-alive", limit=Step.RESTART).does == ["tell alert", "restart"]
    assert case.says == "restarting it, since keep-alive is bad: keep-alive says no"


def test_an_episode_ends_when_all_is_good_for_long_enough():
    """Good counts from the answer of the probe that complained."""
    case = restarted().good(230, 2)
    assert case.due == 830
    assert case.tick(829).does == []
    assert case.tick(830).orders == (Cured(Step.RESTART, "every probe is good after a restart since 10 minutes"),)
    assert case.due is None


def test_after_a_cure_the_ladder_begins_at_the_bottom():
    """The next fault is another one."""
    case = restarted().good(230, 2).tick(830)
    assert case.bad(900, 2).does == ["tell alert", "restart"]


def test_a_step_is_not_a_cure_before_the_probe_said_so():
    """A probe of an hour's period is not good because it was not asked."""
    case = restarted()
    assert case.tick(900).does == []
    assert case.due == 200 + 3600


def test_a_probe_that_falls_silent_is_waited_for_no_longer_than_the_window():
    """The build it went back to may have nothing to compare with."""
    assert restarted().tick(3800).does == ["cured"]


def test_a_life_that_ended_does_not_count_towards_the_cure_of_the_next():
    """Good has to last for one life."""
    case = restarted().good(230, 2).ready(500, 3)
    assert case.due == 1100


def test_flapping_goes_on_where_it_was():
    """Good for a while is not good for long enough, and counts anew."""
    case = restarted().good(230, 2)
    assert case.bad(700, 2).does == ["tell alert", "rollback"]
    case.ready(800, 3).good(900, 3)
    assert case.due == 1500


def test_good_again_counts_from_the_last_fault():
    """Also for what is only told."""
    case = Case().ready(0).bad(100, limit=Step.ALERT).good(200).bad(500, limit=Step.ALERT)
    assert case.due is None
    assert case.good(600).due == 1200
    assert case.tick(1200).does == ["cured"]


def test_what_may_only_be_told_keeps_no_episode_of_steps_open():
    """Latency that is bad for days must not make each fault climb on from the last; it stays told."""
    case = restarted().good(230, 2).bad(300, 2, kind="latency", limit=Step.ALERT)
    assert case.tick(830).does == ["cured"]
    assert case.state.step is Step.ALERT
    assert case.bad(900, 2, kind="latency", limit=Step.ALERT).does == []
    assert case.good(1000, 2, kind="latency").due == 1600
    assert case.tick(1600).does == ["cured"]


def test_what_was_told_in_an_earlier_life_is_over_when_its_time_is():
    """It did not come again after the restart."""
    case = Case().ready(0).bad(50, kind="latency", limit=Step.NOTE).bad(100).ready(200, 2).good(210, 2)
    assert case.tick(810).does == ["cured"]
    assert (case.state.step, case.due) == (Step.NOTE, 810 + 3600)
    assert case.good(900, 2, kind="latency").due == 1500


def test_the_budget_ends_in_a_hold():
    """A worker that is cured by each restart, and falls ill again, is no worker to rely on."""
    case = Case(policy=JudgePolicy(settle=1, good_for=10, budget=2, window=1000))
    for life, at in ((1, 100), (2, 200)):
        assert case.ready(at, life).bad(at + 1, life).does == ["tell alert", "restart"]
        case.ready(at + 50, life + 1).good(at + 51, life + 1).tick(at + 61)
    assert case.bad(300, 3).does == ["tell alert", "hold"]
    assert "the budget of 2 steps within 17 minutes is spent (restart and restart)" in case.says


def test_steps_before_the_window_do_not_count():
    """A restart a day is no spent budget."""
    case = Case(policy=JudgePolicy(settle=1, good_for=10, budget=1, window=1000))
    case.ready(0).bad(100).ready(200, 2).good(201, 2).tick(211)
    assert Case(policy=case.policy, state=case.state).bad(1099, 2).does == ["tell alert", "hold"]
    assert case.bad(1100, 2).does == ["tell alert", "restart"]


def test_during_a_bisection_nothing_else_is_done():
    """Not even told: the worker has no life of its own."""
    case = bisecting()
    assert case.bad(501, 3).does == case.ready(502, 3).does == case.bad(700, 3).does == case.tick(9000).does == []
    assert case.due is None
    assert case.ready(9001, 4).does == case.bad(9900, 4).does == []


def test_a_guilty_patch_is_told_and_the_next_life_judged():
    """It is cured like after any step."""
    case = bisecting().bisected(600, "p1", "p2")
    assert case.says == "forty runs were made"
    case.policy = JudgePolicy(good_for=119)
    assert case.ready(700, 4).good(710, 4).tick(829).says == "every probe is good without p1 and p2 since 119 s"


def test_where_the_plain_pin_fails_too_the_worker_is_held():
    """No patch is to blame."""
    case = bisecting().bisected(600, pin_fails=True)
    assert case.does == ["hold"]
    assert case.says == "the plain pin answers wrong too, so no patch is to blame: forty runs were made"
    assert case.ready(700, 4).does == ["hold"]


def test_where_nothing_is_guilty_the_worker_is_held():
    """The search came to nothing."""
    case = bisecting().bisected(600)
    assert case.does == ["hold"]
    assert case.says == "no patch could be blamed: forty runs were made"


def test_a_bisection_that_nobody_waits_for_is_dropped():
    """It was forgiven meanwhile."""
    case = bisecting().forgiven(550)
    before = case.state
    assert case.bisected(600, "p1").does == []
    assert case.state == before


def test_a_held_worker_stays_held():
    """A life that begins without an operator is ended again, once."""
    case = restarted(NOTHING).bad(300, 2)
    assert case.bad(301, 2).does == case.tick(99999).does == []
    assert case.ready(400, 3).orders == (
        Hold(3, "life 3 began although the worker is held; start or reset it to let it run"),
    )
    assert case.bad(401, 3).does == []
    assert case.bad(500, 4).does == ["hold"]
    assert case.due is None


def test_forgiven_begins_again_with_the_whole_budget():
    """An operator knows better."""
    case = restarted(NOTHING, JudgePolicy(budget=1)).bad(300, 2).forgiven(310)
    assert case.ready(400, 3).bad(410, 3).does == ["tell alert", "restart"]


def test_a_life_goes_on_being_judged_when_it_is_forgiven():
    """A reset ends no life; what is bad still is told anew."""
    case = Case().ready(0).bad(100, limit=Step.ALERT).forgiven(110)
    assert case.bad(120, limit=Step.ALERT).does == ["tell alert"]


def test_what_may_not_go_so_far_has_no_part_in_the_search():
    """It may fail without any patch, and then nobody would be blamed for what the others say."""
    case = Case(Means(bisect=True)).ready(0).bad(1)
    case.ready(100, 2).bad(110, 2, "keep-alive", Step.RESTART).bad(111, 2).tick(161)
    (order,) = case.orders
    assert isinstance(order, Bisect)
    assert order.kinds == ("golden",)
    assert "keep-alive" in order.text
