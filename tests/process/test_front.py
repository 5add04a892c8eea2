"""The front as a real process, and the daemon's side of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from genesisd.front.channel import Channel, RefusedError
from genesisd.front.decide import Held, Open
from genesisd.front.link import Fronts
from genesisd.identity import process_ref
from genesisd.units import Address
from tests.helpers.ports import free_port
from tests.helpers.raw_engine import RawEngine, answer

pytestmark = pytest.mark.process
GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"


async def until(condition, seconds=60.0):
    async with asyncio.timeout(seconds):
        while True:
            met = condition()
            if asyncio.iscoroutine(met):
                met = await met
            if met:
                return
            await asyncio.sleep(0.01)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextlib.asynccontextmanager
async def fronts(folder, **limits):
    """A daemon's fronts with one front for worker ``w``."""
    address = Address(host="127.0.0.1", port=free_port())
    told = []
    mine = Fronts(folder, lambda kind, worker, **fields: told.append((kind, fields)))
    await mine.ensure("w", address, limits.get("hold", 20.0), limits.get("max_held", 512))
    mine.address, mine.told = address, told
    try:
        yield mine
    finally:
        await mine.shutdown()


@contextlib.asynccontextmanager
async def connect(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def one_answer(reader):
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
    size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head, await asyncio.wait_for(reader.readexactly(size), 30)


async def ask(port, path=b""):
    async with connect(port) as (reader, writer):
        writer.write(GET % path)
        return await one_answer(reader)


async def test_own_session_and_lock(tmp_path):
    """The front leads its own session, and a second one for the same worker is refused."""
    async with fronts(tmp_path) as mine:
        pid = mine.pid("w")
        assert os.getsid(pid) == pid
        again = await asyncio.create_subprocess_exec(
            *[sys.executable, "-P", "-m", "genesisd.front.main", "--worker", "w"],
            *["--listen", f"127.0.0.1:{free_port()}", "--socket", str(tmp_path / "front-w.sock"), "--ready-fd", "1"],
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await again.communicate()
        assert again.returncode == 1
        assert b'"code":"locked"' in out
    assert not alive(pid)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
async def test_terminal_signals_are_ignored(tmp_path, number):
    """Ctrl-C and a closed terminal do not end a front."""
    async with fronts(tmp_path) as mine:
        pid = mine.pid("w")
        os.kill(pid, number)
        assert await mine.stats("w") is not None
        assert mine.pid("w") == pid


async def test_stream_survives_kill_of_the_daemon(tmp_path):
    """A stream that runs while the daemon is killed completes, and the next daemon adopts the front."""

    async def behave(engine, request, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await engine.release.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")

    address = Address(host="127.0.0.1", port=free_port())
    async with RawEngine(behave) as engine:
        daemon = textwrap.dedent(f"""
            import asyncio
            from pathlib import Path
            from genesisd.front.link import Fronts
            from genesisd.units import Address
            async def main():
                fronts = Fronts(Path({str(tmp_path)!r}))
                await fronts.ensure("w", Address(host="127.0.0.1", port={address.port}), 20.0, 512)
                await fronts.open("w", "127.0.0.1", {engine.port}, 4)
                print(fronts.pid("w"), flush=True)
                await asyncio.sleep(600)
            asyncio.run(main())
        """)
        child = subprocess.Popen([sys.executable, "-c", daemon], stdout=subprocess.PIPE)
        with child:
            pid = int(await asyncio.to_thread(child.stdout.readline))
            async with connect(address.port) as (reader, writer):
                writer.write(GET % b"")
                await asyncio.wait_for(reader.readuntil(b"one\r\n"), 30)
                child.kill()
                child.wait()
                engine.release.set()
                assert await asyncio.wait_for(reader.readexactly(13), 30) == b"3\r\ntwo\r\n0\r\n\r\n"
        mine = Fronts(tmp_path)
        await mine.ensure("w", address, 20.0, 512)
        assert mine.pid("w") == pid
        assert mine.target("w") == Open("127.0.0.1", engine.port, 4)
        assert (await mine.stats("w")).answered == 1
        await mine.shutdown()
        await until(lambda: not alive(pid))


async def test_killed_front_is_replaced_and_points_where_it_did(tmp_path):
    """A front that is killed is replaced at once; clients connect again and reach the same engine."""
    async with RawEngine() as engine, fronts(tmp_path) as mine:
        await mine.open("w", "127.0.0.1", engine.port, 1)
        for _ in range(2):
            old = mine.pid("w")
            os.kill(old, signal.SIGKILL)
            await until(lambda old=old: mine.pid("w") not in (None, old))
            assert (await ask(mine.address.port, b"x"))[1] == b"a /x 0"
            assert process_ref(old) is None
        assert [kind for kind, _ in mine.told].count("front-lost") == 2


async def test_order_given_while_the_front_is_dead_is_not_lost(tmp_path):
    """An order that meets a dying front is carried out by its successor."""
    async with RawEngine() as engine, fronts(tmp_path) as mine:
        os.kill(mine.pid("w"), signal.SIGKILL)
        await mine.open("w", "127.0.0.1", engine.port, 1)
        await until(lambda: mine.pid("w") is not None)
        assert (await ask(mine.address.port, b"x"))[1] == b"a /x 0"


async def test_wedged_front_is_replaced(tmp_path, monkeypatch):
    """A stopped front that answers no question is killed and replaced."""
    monkeypatch.setattr("genesisd.front.channel.ANSWER_WITHIN", 0.3)
    monkeypatch.setattr("genesisd.front.silence.SILENT", 0.5)
    async with fronts(tmp_path) as mine:
        old = mine.pid("w")
        os.kill(old, signal.SIGSTOP)
        assert await mine.stats("w") is None
        assert await mine.stats("w") is None
        monkeypatch.setattr("genesisd.front.channel.ANSWER_WITHIN", 20)
        await until(lambda: mine.pid("w") not in (None, old))
        lost = [fields for kind, fields in mine.told if kind == "front-lost"]
        assert lost == [{"pid": old, "text": "it answered nothing for 0 s and was ended"}]


async def test_front_that_stood_still_for_a_moment_is_kept(tmp_path, monkeypatch):
    """Many questions that were given up in one short stop end nobody: streams run through it."""
    monkeypatch.setattr("genesisd.front.channel.ANSWER_WITHIN", 0.3)
    async with fronts(tmp_path) as mine:
        old = mine.pid("w")
        os.kill(old, signal.SIGSTOP)
        assert await asyncio.gather(*(mine.stats("w") for _ in range(5))) == [None] * 5
        os.kill(old, signal.SIGCONT)
        monkeypatch.setattr("genesisd.front.channel.ANSWER_WITHIN", 20)
        assert await mine.stats("w") is not None
        assert mine.pid("w") == old
        assert "front-lost" not in [kind for kind, _ in mine.told]


async def test_wedged_front_of_a_former_daemon_is_replaced(tmp_path, monkeypatch):
    """A new daemon ends a front that holds the lock without answering, and starts another."""
    async with fronts(tmp_path) as mine:
        old = mine.pid("w")
        await mine.detach()
        os.kill(old, signal.SIGSTOP)
        monkeypatch.setattr("genesisd.front.channel.ANSWER_WITHIN", 0.5)
        starting = asyncio.create_task(mine.ensure("w", mine.address, 20.0, 512))
        await until(lambda: not alive(old))
        monkeypatch.setattr("genesisd.front.channel.ANSWER_WITHIN", 20)
        await starting
        assert mine.pid("w") != old


async def test_taken_port_names_its_holder(tmp_path):
    """The error says who holds the port, and nothing is left running."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        mine = Fronts(tmp_path)
        with pytest.raises(RefusedError, match=f"process {os.getpid()} ") as caught:
            await mine.ensure("w", Address(host="127.0.0.1", port=taken.getsockname()[1]), 20.0, 512)
        assert (caught.value.code, caught.value.fields["pid"]) == ("listen", os.getpid())
        assert mine.pid("w") is None
        await mine.shutdown()


async def test_move_keeps_what_flows(tmp_path):
    """A changed listen address moves the listener; a connection that was accepted goes on."""
    async with RawEngine() as engine, fronts(tmp_path) as mine:
        await mine.open("w", "127.0.0.1", engine.port, 1)
        pid = mine.pid("w")
        async with connect(mine.address.port) as (reader, writer):
            writer.write(GET % b"1")
            assert (await one_answer(reader))[1] == b"a /1 0"
            moved = Address(host="127.0.0.1", port=free_port())
            await mine.ensure("w", moved, 1.0, 7)
            writer.write(GET % b"2")
            assert (await one_answer(reader))[1] == b"a /2 0"
        assert (await ask(moved.port, b"3"))[1] == b"a /3 0"
        with pytest.raises(OSError):
            await ask(mine.address.port)
        assert mine.pid("w") == pid
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            with pytest.raises(RefusedError):
                await mine.ensure("w", Address(host="127.0.0.1", port=taken.getsockname()[1]), 1.0, 7)
        assert (await ask(moved.port, b"4"))[1] == b"a /4 0"


async def test_switch_under_load_fails_no_request(tmp_path):
    """Switching to and fro under load, with holds between, loses and refuses nothing."""
    async with RawEngine() as one, RawEngine(name=b"b") as two, fronts(tmp_path) as mine:
        stop = asyncio.Event()
        answers = []

        async def client():
            async with connect(mine.address.port) as (reader, writer):
                while not stop.is_set():
                    writer.write(b"POST /l HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
                    head, body = await one_answer(reader)
                    answers.append((head.split(b" ")[1], body))

        await mine.open("w", "127.0.0.1", one.port, 1)
        clients = [asyncio.create_task(client()) for _ in range(16)]
        for turn in range(30):
            seen = len(answers)
            await mine.hold("w")
            await mine.open("w", "127.0.0.1", (two if turn % 2 else one).port, turn + 2)
            await until(lambda seen=seen: len(answers) > seen + 20)
        stop.set()
        await asyncio.gather(*clients)
        assert {status for status, _ in answers} == {b"200"}
        assert {body for _, body in answers} == {b"a /l 3", b"b /l 3"}
        stats = await mine.stats("w")
        assert (stats.in_flight, stats.unanswered, stats.held, stats.refused) == (0, 0, 0, 0)
        assert stats.answered == len(answers)


async def test_hold_then_open_and_hold_then_refuse(tmp_path):
    """Held requests are answered by the worker that comes, or refused with Retry-After when none does."""
    async with RawEngine() as engine, fronts(tmp_path, hold=30.0) as mine:
        assert mine.target("w") == Held()
        waiting = [asyncio.create_task(ask(mine.address.port, b"%d" % n)) for n in range(10)]

        async def all_held():
            return (await mine.stats("w")).held == 10

        await until(all_held)
        await mine.open("w", "127.0.0.1", engine.port, 1)
        assert [(await task)[1] for task in waiting] == [b"a /%d 0" % n for n in range(10)]
        await mine.ensure("w", mine.address, 0.1, 512)
        await mine.hold("w")
        head, _ = await ask(mine.address.port)
        assert b" 503 " in head
        assert b"Retry-After: 1\r\n" in head


async def test_sigterm_finishes_what_flows(tmp_path):
    """SIGTERM ends the listening at once and the process after its last answer; the port is free for a successor."""

    async def behave(engine, request, reader, writer):
        await engine.release.wait()
        writer.write(answer())

    async with RawEngine(behave) as engine, fronts(tmp_path) as mine:
        await mine.open("w", "127.0.0.1", engine.port, 1)
        old = mine.pid("w")
        async with connect(mine.address.port) as (reader, writer):
            writer.write(GET % b"")
            await until(lambda: engine.requests)
            os.kill(old, signal.SIGTERM)
            await until(lambda: mine.pid("w") not in (None, old))
            assert alive(old)
            engine.release.set()
            assert (await one_answer(reader))[1] == b"ok"
            await until(lambda: not alive(old))
        assert (await ask(mine.address.port))[1] == b"ok"


async def test_unknown_order_is_refused_and_the_connection_goes_on(tmp_path):
    """A front answers what it does not know with an error, garbage included, and serves on."""
    async with fronts(tmp_path) as mine:
        channel = await Channel.connect(tmp_path / "front-w.sock")
        with pytest.raises(RefusedError, match="unknown op"):
            await channel.ask({"op": "novelty"})
        with pytest.raises(RefusedError, match="lacks"):
            await channel.ask({"op": "open"})
        assert (await channel.ask({"op": "hello", "min": 5, "max": 9}))["version"] is None
        await channel.close()
        reader, writer = await asyncio.open_unix_connection(tmp_path / "front-w.sock")
        writer.write(b"{garbage\n" + b"x" * 100_000 + b"\n")
        assert b'"ok":false' in await asyncio.wait_for(reader.readline(), 30)
        await asyncio.wait_for(reader.read(), 30)
        writer.close()
        assert await mine.stats("w") is not None


async def test_no_descriptor_leaks(tmp_path):
    """A thousand connections, answered, aborted or refused, leave no descriptor behind."""
    async with RawEngine() as engine, fronts(tmp_path, hold=0.0) as mine:

        def descriptors():
            return len(list(Path(f"/proc/{mine.pid('w')}/fd").iterdir()))

        await mine.open("w", "127.0.0.1", engine.port, 1)
        await ask(mine.address.port)

        async def nobody():
            return (await mine.stats("w")).open == 0

        await until(nobody)
        before = descriptors()

        async def visit(n):
            async with connect(mine.address.port) as (reader, writer):
                writer.write(GET % b"" if n % 3 else b"GET / HT")
                if n % 2:
                    with contextlib.suppress(OSError):
                        await one_answer(reader) if n % 3 else None

        for batch in range(20):
            if batch == 10:
                await mine.hold("w")
            await asyncio.gather(*(visit(n) for n in range(50)))
        await until(nobody)
        await until(lambda: descriptors() <= before)  # one of the first visit may still be closing


async def test_release_in_the_middle_of_a_replacement(tmp_path):
    """A front that is released while its successor starts leaves neither behind."""
    for pause in (0.0, 0.02, 0.1, 0.3):
        async with fronts(tmp_path) as mine:
            os.kill(mine.pid("w"), signal.SIGKILL)
            await asyncio.sleep(pause)
            await mine.release("w")
            with pytest.raises(OSError):
                await ask(mine.address.port)
            assert list(tmp_path.iterdir()) == []


async def test_front_whose_port_was_taken_meanwhile_comes_back(tmp_path):
    """A dead front whose port a stranger took is tried again, with the reason told, until the port is free."""
    async with fronts(tmp_path) as mine:
        async with asyncio.timeout(120):
            while True:  # the front's successor and the stranger race for the port
                old = mine.pid("w")
                os.kill(old, signal.SIGKILL)
                with socket.socket() as taken:
                    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    with contextlib.suppress(OSError):
                        await until(lambda old=old: not alive(old))
                        taken.bind(("127.0.0.1", mine.address.port))
                        taken.listen()
                        await until(lambda: "front-failed" in [kind for kind, _ in mine.told])
                        break
                await until(lambda old=old: mine.pid("w") not in (None, old))
        texts = [fields["text"] for kind, fields in mine.told if kind == "front-failed"]
        assert f"process {os.getpid()} " in texts[0]
        await until(lambda: mine.pid("w") is not None)
        assert (await mine.stats("w")) is not None
