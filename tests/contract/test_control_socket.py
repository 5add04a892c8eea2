"""The control socket as a file: where it may be made, whose it is, and who may ask at it."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
from pathlib import Path

import aiohttp
import pytest

from genesisd.control import listen
from genesisd.control.server import ControlServer
from genesisd.errors import ConfigError, ConflictError
from tests.fakes.control_api import FakeApi, FixedClock, ready_worker
from tests.helpers.control_socket import server

__all__ = ["server"]

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # World-searchable, or another uid is stopped by the folder and never meets the socket's own mode.
    folder = tmp_path_factory.mktemp("ctl")
    for each in (folder, *folder.parents):
        if each.owner() == Path("/proc/self").owner() and not each.stat().st_mode & 0o001:
            each.chmod(0o755)
    return folder / "c.sock"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi(ready_worker())


# --- the socket file ------------------------------------------------------------------------------------------


async def test_mode_is_0660_and_the_file_goes_away(api, path) -> None:
    """Whatever the umask, the socket is for owner and group; closing removes it and nothing else is left."""
    before = os.umask(0)
    try:
        server = ControlServer(api, path, FixedClock())
        await server.start()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    assert list(path.parent.iterdir()) == [path]
    await server.close()
    assert list(path.parent.iterdir()) == []


async def test_replaces_a_stale_socket(api, path) -> None:
    """A file left by a killed daemon is no obstacle."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    server = ControlServer(api, path, FixedClock())
    await server.start()
    async with (
        aiohttp.ClientSession("http://g", connector=aiohttp.UnixConnector(str(path))) as http,
        http.get("/v1/version") as answer,
    ):
        assert answer.status == 200
    await server.close()


async def test_refuses_to_take_over_a_live_socket(server, api, path) -> None:
    """A second daemon is told so, and the first keeps its socket, also when the second is closed."""
    second = ControlServer(api, path, FixedClock())
    with pytest.raises(ConflictError, match="already listens"):
        await second.start()
    await second.close()
    assert path.exists()


def test_refuses_a_busy_live_socket(path) -> None:
    """A daemon whose backlog is full is live, not stale."""
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(path))
        busy.listen(0)
        waiting: list[socket.socket] = []
        try:
            for _ in range(50):
                client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                waiting.append(client)
                if client.connect_ex(str(path)) == errno.EAGAIN:
                    break
            with pytest.raises(ConflictError):
                listen.listen(path)
        finally:
            for client in waiting:
                client.close()


def test_refuses_what_is_no_socket(path) -> None:
    """A file of somebody's is not removed."""
    path.write_text("precious")
    with pytest.raises(ConflictError, match="is no socket"):
        listen.listen(path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("bad", ["x" * 100 + "/y.sock", "missing/c.sock"])
def test_a_path_that_cannot_be(path, bad) -> None:
    """A path too long, or in a missing folder, is a configuration error with a hint."""
    with pytest.raises(ConfigError) as caught:
        listen.listen(path.parent / bad)
    assert caught.value.hint


def test_an_unknown_group(api, path) -> None:
    """A group that does not exist is named."""
    with pytest.raises(ConfigError, match="no-such-group"):
        ControlServer(api, path, FixedClock(), group="no-such-group")


async def test_close_leaves_a_successors_socket(server, path) -> None:
    """A daemon that ends late does not remove the socket of the one that replaced it."""
    path.unlink()
    listener = listen.listen(path)
    await server.close()
    assert path.exists()
    listener.close()


# --- peers ----------------------------------------------------------------------------------------------------


async def ask_as(path: Path, uid: int, gid: int, groups: list[int]) -> bytes:
    """The first line of the answer to a child with these ids, or the name of the error that met it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setgid(gid)
            os.setuid(uid)
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(20)
                client.connect(str(path))
                client.sendall(b"GET /v1/version HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
                os.write(write, client.recv(4096))
        except OSError as problem:
            os.write(write, errno.errorcode[problem.errno or 0].encode())
        finally:
            os._exit(0)
    os.close(write)
    try:
        await asyncio.to_thread(os.waitpid, child, 0)
        return os.read(read, 4096).split(b"\r\n")[0]
    finally:
        os.close(read)


@root_only
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    ("uid", "gid", "groups", "expected"),
    [
        pytest.param(4001, 4001, [], b"HTTP/1.1 403 Forbidden", id="stranger"),
        pytest.param(4001, 4001, [4003], b"HTTP/1.1 403 Forbidden", id="other-group"),
        pytest.param(4001, 4002, [], b"HTTP/1.1 200 OK", id="primary-group"),
        pytest.param(4001, 4001, [4003, 4002], b"HTTP/1.1 200 OK", id="supplementary-group"),
        pytest.param(0, 0, [], b"HTTP/1.1 200 OK", id="root"),
    ],
)
async def test_who_may_ask(api, path, uid, gid, groups, expected) -> None:
    """Root, the daemon's user and members of the group may; the check holds even if the file mode is loosened."""
    server = ControlServer(api, path, FixedClock(), group="4002")
    await server.start()
    try:
        assert path.stat().st_gid == 4002
        path.chmod(0o666)
        assert await ask_as(path, uid, gid, groups) == expected
    finally:
        await server.close()


@root_only
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
async def test_the_file_mode_keeps_strangers_out(server, path) -> None:
    """Another user cannot even connect."""
    assert await ask_as(path, 4001, 4001, []) == b"EACCES"
