"""What is kept out of use: for whom, on which pin, for how long."""

from __future__ import annotations

import pytest

from genesisd.errors import NotFoundError
from genesisd.store.store import Store
from genesisd.wiring.quarantine import Quarantine
from tests.fakes.supervision import FakeClock, FakeSink


class Box:
    def __init__(self, folder):
        self.store = Store.open(folder / "genesisd.db")
        self.sink, self.clock = FakeSink(), FakeClock()
        self.quarantine = Quarantine(self.store.meta, self.sink, self.clock)

    async def next_daemon(self):
        await self.quarantine.close()
        self.sink = FakeSink()
        self.quarantine = Quarantine(self.store.meta, self.sink, self.clock)
        await self.quarantine.load()


@pytest.fixture
async def box(tmp_path):
    one = Box(tmp_path)
    yield one
    await one.quarantine.close()
    one.store.close()


async def test_a_patch_is_left_out_for_its_worker_on_its_pin_alone(box):
    """On another pin it may be right, and another worker may not be touched by it."""
    box.quarantine.put_patches("w", "cpu", ["P1"], "P1 makes the pin fail")
    assert box.quarantine.patches("w", "cpu") == {"P1": "P1 makes the pin fail"}
    assert box.quarantine.patches("w", "cpu-next") == {}
    assert box.quarantine.patches("other", "cpu") == {}
    assert box.sink.of("patch_quarantined") == [{"patch": "P1", "pin": "cpu", "text": "P1 makes the pin fail"}]


async def test_the_incident_in_which_it_was_found_is_kept(box):
    """Of a patch and of a card; of what an earlier version kept there is none."""
    box.quarantine.incident_of = {"w": 7}.get
    box.quarantine.put_patches("w", "cpu", ["P1"], "found")
    box.quarantine.put_card("other", 1, "found")
    await box.next_daemon()
    assert [one.incident for one in box.quarantine.all()] == [7, None]


async def test_the_next_daemon_knows(box):
    """Also of cards."""
    box.quarantine.put_patches("w", "cpu", ["P1", "P2"], "found")
    box.quarantine.put_card("w", 1, "processes of w on it cannot be killed")
    await box.next_daemon()
    assert set(box.quarantine.patches("w", "cpu")) == {"P1", "P2"}
    shut = box.quarantine.card(1)
    assert (shut.code, "processes of w on it cannot be killed" in shut.text) == ("card-quarantined", True)
    assert "genesisctl quarantine release card 1" in shut.text
    assert box.quarantine.card(0) is None


async def test_nothing_is_held_twice(box):
    """A second finding changes nothing."""
    for _ in range(2):
        box.quarantine.put_patches("w", "cpu", ["P1"], "found")
        box.quarantine.put_card("w", 1, "lost")
    assert len(box.quarantine.all()) == 2
    assert len(box.sink.of("card_quarantined")) == 1


async def test_a_person_lets_it_be_used_again(box):
    """That is kept, and told; what is not held cannot be released."""
    box.quarantine.put_patches("w", "cpu", ["P1"], "found")
    box.quarantine.release("patch", "P1", "w")
    assert box.sink.of("patch_released") == [{"patch": "P1", "text": "released by an operator"}]
    await box.next_daemon()
    assert box.quarantine.all() == ()
    with pytest.raises(NotFoundError, match="no patch P1 is in quarantine"):
        box.quarantine.release("patch", "P1", None)


async def test_a_release_names_the_worker_where_several_are_meant(box):
    """Without a name it is released for all of them."""
    for worker in ("a", "b", "c"):
        box.quarantine.put_patches(worker, "cpu", ["P1"], "found")
    box.quarantine.release("patch", "P1", "a")
    assert [one.worker for one in box.quarantine.all()] == ["b", "c"]
    box.quarantine.release("patch", "P1", None)
    assert box.quarantine.all() == ()


async def test_cards_are_free_once_the_stuck_processes_are_gone(box):
    """Those of that worker alone; its patches stay where they are."""
    box.quarantine.put_card("w", 0, "lost")
    box.quarantine.put_card("other", 1, "lost")
    box.quarantine.put_patches("w", "cpu", ["P1"], "found")
    box.quarantine.free_cards("w", "they are gone")
    assert [(one.what, one.name) for one in box.quarantine.all()] == [("card", "1"), ("patch", "P1")]
    assert box.sink.of("card_released") == [{"card": 0, "text": "they are gone"}]


async def test_a_worker_that_left_leaves_its_cards_shut(box):
    """What hangs on a card hangs on it whatever the configuration says."""
    box.quarantine.put_card("w", 0, "lost")
    box.quarantine.put_patches("w", "cpu", ["P1"], "found")
    box.quarantine.forget("w")
    assert [one.what for one in box.quarantine.all()] == ["card"]


@pytest.mark.parametrize("kept", [[{"what": "patch"}], "x", 7, None])
async def test_what_another_version_kept_is_nothing(box, kept):
    """A daemon must start all the same."""
    await box.store.meta.set("quarantine", kept)
    await box.quarantine.load()
    assert box.quarantine.all() == ()
