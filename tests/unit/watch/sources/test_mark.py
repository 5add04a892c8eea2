"""How the list of changes is read over the nights: nothing is passed over, whatever the budget and whatever changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.watch.model import Pull, State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources.mark import Gap, Mark, Step, Walk, parsed, written


def pull(number: int, at: float) -> Pull:
    return Pull(ref=Ref(UPSTREAM, number), state=State.OPEN, checked_at=0.0, updated_at=at)


class Upstream:
    """A list by the newest change; cursors are places in the order, or numbers of entries."""

    def __init__(self, *, by_place: bool) -> None:
        self.at: dict[int, float] = {}
        self.by_place = by_place

    def listed(self) -> list[tuple[float, int]]:
        return sorted(((at, number) for number, at in self.at.items()), reverse=True)

    def page(self, place: int | tuple[float, int], size: int) -> tuple[list[tuple[str, Pull]], int, bool]:
        entries = self.listed()
        start = place if isinstance(place, int) else sum(entry >= place for entry in entries)
        cut = entries[start : start + size]
        found = []
        for index, (at, number) in enumerate(cut, start + 1):
            found.append((str(index) if self.by_place else f"{at} {number}", pull(number, at)))
        return found, start + len(cut), start + len(cut) < len(entries)


def read(upstream: Upstream, mark: str | None, pages: int, size: int, most: int) -> tuple[Walk, str | None]:
    """As the client reads: page by page, over what was read before in one step."""
    walk = Walk(parsed(mark), most)
    place: int | tuple[float, int] = 0
    for _ in range(pages):
        if walk.can_jump:
            cursor = walk.jump()
            if upstream.by_place:
                place = max(place, int(cursor))
            else:
                at, number = cursor.split()
                place = (float(at), int(number))
        items, place, more = upstream.page(place, size)
        if any(walk.step(one, cursor) is Step.END for cursor, one in items):
            break
        if not more:
            walk.finish()
            break
        if mark is None:
            break
    after = walk.mark()
    return walk, after and written(after)


night = st.tuples(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 3)), max_size=40),  # who changed, and how much later
    st.integers(1, 4),  # pages
    st.integers(1, 9),  # entries a page
    st.integers(1, 30),  # told at most
)


@settings(max_examples=300, deadline=None)
@given(st.booleans(), st.lists(night, min_size=1, max_size=8))
def test_every_change_is_told_in_the_end(by_place, nights):
    """Over nights of any budget each pull request is told after its last change, once nothing changes any more."""
    upstream, clock = Upstream(by_place=by_place), 1000.0
    for number in range(1, 61):
        clock += 1
        upstream.at[number] = clock
    _, mark = read(upstream, None, 1, 10, 10)
    told: dict[int, float] = {}
    due: dict[int, float] = {}
    for changes, pages, size, most in [*nights, *[([], 40, 10, 100)] * 2]:
        clock += 10
        for number, later in changes:
            clock += later
            upstream.at[number] = due[number] = clock
        clock += 1
        walk, mark = read(upstream, mark, pages, size, most)
        assert len(walk.pulls) <= most
        assert len({one.ref for one in walk.pulls}) == len(walk.pulls)
        told |= {one.ref.number: one.updated_at for one in walk.pulls}
    assert walk.ended
    assert {number: told.get(number) for number in due} == due
    walk, again = read(upstream, mark, 40, 10, 100)
    assert (walk.pulls, again) == ([], mark)


def test_a_mark_is_what_was_written():
    """Written and read it is the same."""
    for mark in (
        Mark(5.0),
        Mark(5.5, (1, 2)),
        Mark(9.0, (3,), Gap(7.0, 5.0, (1,), "place")),
        Mark(9.0, (), Gap(7.0, 5.0)),
    ):
        assert parsed(written(mark)) == mark


@pytest.mark.parametrize(
    "text", [None, "", "x", "{}", "[]", "null", '{"since":1,"seen":[],"gap":{}}x', '{"since":"a"}']
)
def test_what_is_no_mark(text):
    """Anything else is none."""
    assert parsed(text) is None


def test_an_empty_list():
    """Where there is nothing there is no mark, and an old one stays."""
    walk = Walk(None, 5)
    walk.finish()
    assert walk.mark() is None
    walk = Walk(Mark(5.0, (1,)), 5)
    walk.finish()
    assert walk.mark() == Mark(5.0, (1,))


def test_a_cursor_that_is_no_longer_known():
    """The gap stays, and is paged up to the next time."""
    walk = Walk(Mark(9.0, (), Gap(7.0, 5.0, (), "place")), 5)
    walk.step(pull(1, 8.0), "a")
    assert walk.can_jump
    assert walk.jump() == "place"
    walk.lose_cursor()
    assert walk.mark() == Mark(9.0, (), Gap(7.0, 5.0, (), None))


def test_a_list_that_moves_while_it_is_read():
    """An entry that is met twice is told once."""
    walk = Walk(Mark(1.0), 5)
    for number, at in ((3, 9.0), (2, 8.0), (3, 7.9), (1, 7.0)):
        assert walk.step(pull(number, at), str(number)) is Step.TAKE
    assert [one.ref.number for one in walk.pulls] == [3, 2, 1]
