"""Log lines: the last ones, then new ones, across everything that happens to a log file."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from genesisd.wiring import lines as module
from genesisd.wiring.lines import LogLines
from tests.fakes.supervision import SECONDS, FakeClock, FakeRunner, Log


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.005)


class Reader:
    """A worker's log, and a stream of it."""

    def __init__(self, folder):
        self.runner = FakeRunner(Log(), FakeClock(), folder)
        self.path = folder / "w.log"

    def write(self, text, path=None):
        with (path or self.path).open("a") as file:
            file.write(text)

    @contextlib.asynccontextmanager
    async def follow(self, lines=0):
        stream = LogLines(self.runner).read("w", lines, follow=True)
        async with asyncio.timeout(SECONDS), contextlib.aclosing(stream):
            yield Stream(stream)


class Stream:
    def __init__(self, stream):
        self._stream = stream
        self._next = None

    async def take(self, count):
        return [await self.one() for _ in range(count)]

    async def one(self):
        self._next = self._next or asyncio.ensure_future(anext(self._stream))
        line, self._next = await self._next, None
        return line

    async def begin(self):
        """Let the reader open the file: one turn of the loop, since it waits for nothing before that."""
        self._next = asyncio.ensure_future(anext(self._stream))
        await asyncio.sleep(0)
        assert not self._next.done()


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path)


async def read(reader, lines):
    return [line async for line in LogLines(reader.runner).read("w", lines, follow=False)]


@pytest.mark.parametrize(("asked", "got"), [(0, []), (2, ["b", "c"]), (9, ["a", "b", "c"])])
async def test_the_last_lines_without_following(reader, asked, got):
    """As many as asked for, and the end."""
    reader.runner.lines = ["a", "b", "c"]
    assert await read(reader, asked) == got


async def test_a_log_that_does_not_exist_is_empty(reader):
    """A worker that never started has said nothing."""
    assert await read(reader, 10) == []


async def test_a_log_that_comes_later_is_followed_from_its_first_line(reader):
    """Whoever follows before the first start sees that start."""
    async with reader.follow() as stream:
        await stream.begin()
        reader.write("one\ntwo\n")
        assert await stream.take(2) == ["one", "two"]


async def test_following_begins_at_the_end(reader):
    """What was there before is only told when it is asked for."""
    reader.write("old\n")
    async with reader.follow() as stream:
        await stream.begin()
        reader.write("new\n")
        assert await stream.one() == "new"


async def test_lines_that_come_while_the_last_ones_are_asked_for_are_told_once(reader):
    """Neither a gap nor a repetition between the past and the present."""
    reader.write("1\n2\n")

    async def tail(worker, lines):
        reader.write("3\n4\n")
        return ["1", "2", "3", "4"]

    reader.runner.tail = tail
    async with reader.follow(10) as stream:
        assert await stream.take(4) == ["1", "2", "3", "4"]
        reader.write("5\n")
        assert await stream.one() == "5"


async def test_half_a_line_waits_for_its_other_half(reader):
    """A writer flushes where it likes."""
    async with reader.follow() as stream:
        await stream.begin()
        reader.write("ha")
        await asyncio.sleep(0.03)
        reader.write("lf\nnext\n")
        assert await stream.take(2) == ["half", "next"]


async def test_rotation_loses_nothing(reader, tmp_path):
    """Also what was written to the old file after the last look, and a line that the rotation cut."""
    reader.write("0\n")
    async with reader.follow() as stream:
        await stream.begin()
        for n in range(1, 5):
            reader.write(f"old {n}\ncu")
            reader.path.rename(tmp_path / f"w.log.{n}")
            reader.write(f"t {n}\nnew {n}\n")
            assert await stream.take(3) == [f"old {n}", f"cut {n}", f"new {n}"]


async def test_a_burst_before_a_rotation_is_read_to_its_end(reader, tmp_path, monkeypatch):
    """More than one look can take in: the old file is finished before the new one is opened."""
    monkeypatch.setattr(module, "AT_ONCE", 64)
    reader.write("")
    async with reader.follow() as stream:
        await stream.begin()
        reader.write("".join(f"line {n}\n" for n in range(200)))
        reader.path.rename(tmp_path / "w.log.1")
        reader.write("after\n")
        assert await stream.take(201) == [f"line {n}" for n in range(200)] + ["after"]


async def test_a_truncated_log_is_read_from_its_start(reader):
    """``> worker.log`` by a person."""
    reader.write("long line that was there\n")
    async with reader.follow() as stream:
        await stream.begin()
        reader.path.write_text("fresh\n")
        assert await stream.one() == "fresh"


async def test_a_deleted_log_is_followed_when_it_comes_back(reader):
    """The shim makes a new one."""
    reader.write("old\n")
    async with reader.follow() as stream:
        await stream.begin()
        reader.path.unlink()
        await asyncio.sleep(0.03)
        reader.write("back\n")
        assert await stream.one() == "back"


async def test_a_line_without_an_end_comes_in_pieces(reader):
    """A progress bar of megabytes does not fill the daemon's memory."""
    async with reader.follow() as stream:
        await stream.begin()
        reader.write("x" * (module.LONGEST_LINE + 10))
        assert await stream.one() == "x" * (module.LONGEST_LINE + 10)
        reader.write("y\n")
        assert await stream.one() == "y"


async def test_bytes_that_are_no_text_are_shown_as_such(reader):
    """A worker may write anything."""
    async with reader.follow() as stream:
        await stream.begin()
        with reader.path.open("ab") as file:
            file.write(b"\xff\xfe caf\xc3\xa9\n")
        assert await stream.one() == "\ufffd\ufffd café"


async def test_a_reader_that_goes_leaves_no_file_open(reader):
    """Ten followers that came and went cost no descriptor."""
    reader.write("x\n")
    before = open_files(reader.path)
    for _ in range(10):
        async with reader.follow() as stream:
            await stream.begin()
            reader.write("y\n")
            await stream.one()
    assert open_files(reader.path) == before


def open_files(path):
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(entry.readlink())
    return links.count(path)


async def test_lines_that_repeat_are_matched_only_at_the_seam(reader):
    """Only lines that end what was told and begin what is new are the same."""
    assert module._known(["a", "b"], ["b", "c"]) == 1
    assert module._known(["a", "b"], ["c", "b"]) == 0
    assert module._known([], ["a"]) == 0
    assert module._known(["a", "b"], ["a", "b"]) == 2


async def test_an_idle_log_is_looked_at_once_a_pause(reader, monkeypatch):
    """A follower that never sleeps would eat a core."""
    monkeypatch.setattr(module, "LOOK_SECONDS", 600.0)
    looks = []
    more = module._Follower.more
    monkeypatch.setattr(module._Follower, "more", lambda self: (looks.append(1), more(self))[1])
    reader.write("x\n")
    async with reader.follow() as stream:
        await stream.begin()
        while not looks:
            await asyncio.sleep(0.001)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert len(looks) == 1
        stream._next.cancel()
        await asyncio.gather(stream._next, return_exceptions=True)
