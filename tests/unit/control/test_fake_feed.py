"""The ring of recent events."""

from __future__ import annotations

import asyncio

from tests.fakes.event_feed import GAP, EventFeed


async def read_all(feed: EventFeed, since=None, worker=None):
    return [event async for event in feed.read(since, follow=False, worker=worker)]


def fill(feed: EventFeed, count: int) -> None:
    for n in range(1, count + 1):
        feed.publish("tick", "ab"[n % 2], {"n": n}, float(n))


async def test_keeps_the_newest() -> None:
    """Old events make room."""
    feed = EventFeed(capacity=3)
    fill(feed, 5)
    assert [event.seq for event in await read_all(feed)] == [3, 4, 5]


async def test_filters() -> None:
    """By time and by worker."""
    feed = EventFeed()
    fill(feed, 6)
    assert [event.seq for event in await read_all(feed, since=3.0, worker="a")] == [4, 6]


async def test_follower_without_since_gets_new_events_only() -> None:
    """What was before is not repeated."""
    feed = EventFeed()
    fill(feed, 2)
    reader = feed.read(None, follow=True, worker=None)
    first = asyncio.ensure_future(anext(reader))
    await asyncio.sleep(0)
    assert not first.done()
    feed.publish("tick", None, {}, 9.0)
    assert (await first).seq == 3
    await reader.aclose()


async def test_follower_with_since_gets_both() -> None:
    """First what is kept, then what comes, with none lost in between."""
    feed = EventFeed()
    fill(feed, 2)
    reader = feed.read(0.0, follow=True, worker=None)
    seen = [(await anext(reader)).seq, (await anext(reader)).seq]
    feed.publish("tick", None, {}, 9.0)
    feed.publish("tick", None, {}, 9.0)
    seen += [(await anext(reader)).seq, (await anext(reader)).seq]
    assert seen == [1, 2, 3, 4]
    await reader.aclose()


async def test_a_slow_reader_is_told_what_it_missed() -> None:
    """A reader that falls behind the ring gets one gap with the count, then goes on without repeats."""
    feed = EventFeed(capacity=3)
    fill(feed, 1)
    reader = feed.read(0.0, follow=True, worker="nobody-but-gaps-pass")
    waiting = asyncio.ensure_future(anext(reader))
    await asyncio.sleep(0)
    for n in range(2, 9):
        feed.publish("tick", None, {"n": n}, float(n))
    gap = await waiting
    assert (gap.kind, gap.fields) == (GAP, {"missed": 4})
    await reader.aclose()


async def test_an_event_during_the_read_is_not_lost() -> None:
    """What is published while a reader works through a batch comes right after it."""
    feed = EventFeed()
    fill(feed, 2)
    seen = []
    async for event in feed.read(None, follow=False, worker=None):
        seen.append(event.seq)
        if event.seq == 1:
            feed.publish("tick", None, {}, 3.0)
    assert seen == [1, 2, 3]
