"""Cases take turns within a budget."""

from genesisd.probes.turns import Turns

ITEMS = ["a", "b", "c", "d"]


def turns(**costs: int) -> Turns[str]:
    made: Turns[str] = Turns(str, lambda _: 100)
    for item, cost in costs.items():
        made.asked(item, cost)
    return made


def test_all_of_them_where_there_is_room():
    """In their order."""
    assert turns().pick(ITEMS, 400) == ITEMS


def test_as_many_as_the_budget_reaches_and_at_least_one():
    """What was never asked costs the guess."""
    assert turns().pick(ITEMS, 399) == ["a", "b", "c"]
    assert turns().pick(ITEMS, 1) == ["a"]
    assert turns().pick([], 100) == []


def test_the_next_ask_goes_on_where_the_last_one_ended():
    """Around the end, too."""
    one = turns(a=10)
    assert one.pick(ITEMS, 300) == ["b", "c", "d", "a"][:3]
    one.asked("d", 10)
    assert one.pick(ITEMS, 20) == ["a"]


def test_what_an_item_cost_last_time_is_what_it_will_cost():
    """A cost of 0 is none that anybody knows."""
    one = turns(b=250, a=10, d=10)
    assert one.pick(ITEMS, 100) == ["a"]
    assert one.pick(ITEMS, 260) == ["a", "b"]
    one.asked("b", 0)
    assert one.pick(["b", "a"], 255) == ["a"]


def test_the_one_that_failed_comes_first_until_it_was_asked_again():
    """The others keep their order."""
    one = turns()
    one.asked("a", 10)
    one.failed("c")
    assert one.pick(ITEMS, 1000) == ["c", "b", "d", "a"]
    one.asked("c", 10)
    assert one.pick(ITEMS, 1000) == ["d", "a", "b", "c"]


def test_an_item_that_is_gone_is_forgotten():
    """A casebook may change under a probe."""
    one = turns(x=10)
    one.failed("x")
    assert one.pick(ITEMS, 1000) == ITEMS
