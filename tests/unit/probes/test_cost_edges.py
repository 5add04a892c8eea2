"""What a mutation run found that no other test of the budget and the turns held."""

from __future__ import annotations

from genesisd.probes.cost import Ledger, Mood, Room
from genesisd.probes.schedule import Ask, Scene, Turn, Wait, decide, paying
from genesisd.probes.spec import CostSpec

SPEC = CostSpec(share=0.5, window=1200, floor=0)


def turn(kind: str = "golden", cost: int = 10) -> Turn:
    return Turn(kind, 100.0, interval=60, period=60, patience=0.5, cost=cost, told=0)


def test_a_count_that_stands_still_serves_nobody():
    """It did not begin again."""
    ledger = Ledger(SPEC)
    ledger.serve(0, 500)
    assert ledger.serve(1, 500) == 0
    assert ledger.room(1, Mood.BUSY).most == 0


def test_all_asks_between_two_looks_are_taken_from_what_users_got():
    """Not the last one alone."""
    ledger = Ledger(SPEC)
    ledger.serve(0, 0)
    ledger.spend(1, 30, Mood.BUSY)
    ledger.spend(2, 40, Mood.BUSY)
    assert ledger.serve(3, 100) == 30


def test_a_single_token_counts_on_both_sides():
    """Served as well as spent."""
    ledger = Ledger(SPEC)
    ledger.serve(0, 0)
    ledger.serve(1, 1)
    ledger.spend(2, 1, Mood.BUSY)
    assert ledger.room(3, Mood.BUSY) == Room(left=-0.5, most=0.5)


def test_what_was_served_leaves_the_window_in_parts():
    """Each part at its own time, dated at the look before."""
    ledger = Ledger(SPEC)
    for look in range(4):
        ledger.serve(look * 100.0, look * 1000.0)
    assert [ledger.room(now, Mood.BUSY).most for now in (1200, 1250, 1350, 1450)] == [1500, 1000, 500, 0]


def test_many_looks_are_kept_as_few_parts():
    """An hour of looks every second is not kept one by one."""
    ledger = Ledger(SPEC)
    for look in range(2400):
        ledger.serve(float(look), float(look))
    assert len(ledger._served) <= 121
    assert 595 <= ledger.room(2399, Mood.BUSY).most <= 605


def test_who_pays_is_known_at_the_very_moment_it_is_due():
    """The scene is looked at for nobody else."""
    assert paying([turn()], 100)
    assert not paying([turn()], 99.9)
    assert not paying([turn("latency")], 200)


def test_room_is_saved_for_what_fits_exactly_and_lost_its_patience_just_now():
    """Its turn has come: a small one does not eat up what it waits for."""
    large, small = turn("needle", cost=100), Turn("golden", 129.9, interval=1, period=60, patience=0, cost=10, told=0)
    scene = Scene(Mood.BUSY, Room(left=50, most=100))
    assert decide([small], 130, scene) == Ask("golden")
    assert isinstance(decide([large, small], 130, scene), Wait)
