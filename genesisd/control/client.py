"""Asks the daemon, over HTTP on its Unix socket. Standard library only: a command must start within the blink of an eye.

Every way in which the daemon may be unreachable becomes an error that says what to do.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from genesisd.control.address import part
from genesisd.control.correctness_client import CorrectnessClient
from genesisd.control.protocol import HEARTBEAT, PROTOCOL_HEADER, PROTOCOL_MAX
from genesisd.control.watch_client import WatchClient
from genesisd.errors import GenesisError

SYSTEM_SOCKET = Path("/run/genesisd/control.sock")


class ControlError(GenesisError):
    """A refusal by the daemon, or a failure to reach it; ``code`` is the one from the wire."""

    def __init__(self, code: str, message: str, *, hint: str | None = None, **fields: object) -> None:
        super().__init__(message, hint=hint, **fields)
        self.code = code


def default_socket(environ: Mapping[str, str] = os.environ, *, root: bool | None = None) -> Path:
    """Where the daemon listens: as told by the environment, else one's own daemon, else the system's.

    Of several candidates the first that exists is taken; if none does, the first, so that an error names it.
    """
    if told := environ.get("GENESISD_SOCKET"):
        return Path(told)
    candidates = [SYSTEM_SOCKET]
    root = os.geteuid() == 0 if root is None else root
    if not root and (runtime := environ.get("XDG_RUNTIME_DIR")):
        candidates.insert(0, Path(runtime, "genesisd", "control.sock"))
    if state := environ.get("GENESISD_STATE"):
        candidates.insert(0, Path(state, "run", "control.sock"))
    return next((path for path in candidates if path.exists()), candidates[0])


class _UnixConnection(HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("genesisd", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(str(self._path))
        except BaseException:
            self.close()
            raise


class Client(CorrectnessClient, WatchClient):
    """One connection to the daemon, made when it is first needed and kept.

    Args:
        path: the control socket.
        timeout: seconds that an answer may take; waiting requests say their own.
    """

    def __init__(self, path: Path, timeout: float = 35.0) -> None:
        self.path = path
        self._timeout = timeout
        self._connection: _UnixConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- asking -----------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """The daemon and its workers."""
        return self.ask("GET", "/v1/status")

    def workers(self) -> list[dict[str, Any]]:
        """All workers."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/workers")["workers"]
        return found

    def worker(self, name: str) -> dict[str, Any]:
        """One worker."""
        found: dict[str, Any] = self.ask("GET", f"/v1/workers/{part(name)}")["worker"]
        return found

    def patches(self, name: str) -> dict[str, Any]:
        """What the worker's processes were found to run."""
        return self.ask("GET", f"/v1/workers/{part(name)}/patches")

    def pins(self) -> list[dict[str, Any]]:
        """The pins."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/pins")["pins"]
        return found

    def version(self) -> dict[str, Any]:
        """Version and protocol range of the daemon."""
        return self.ask("GET", "/v1/version")

    def check_config(self, path: str | None) -> dict[str, Any]:
        """Have the daemon look at a configuration file."""
        return self.ask("POST", "/v1/config/check", {"path": path})

    # --- ordering ---------------------------------------------------------------------------------------------

    def order(self, verb: str, name: str, *, drain: bool | None = None) -> dict[str, Any]:
        """Start, stop, restart, drain or reset a worker; the worker as it is once the order is accepted.

        ``drain`` is for stop and restart only; None leaves it to the daemon.
        """
        body = {} if drain is None else {"drain": drain}
        found: dict[str, Any] = self.ask("POST", f"/v1/workers/{part(name)}/{part(verb)}", body)["worker"]
        return found

    def wait(self, name: str, phases: Sequence[str], timeout: float) -> dict[str, Any]:
        """Wait for one of ``phases``, for ``timeout`` seconds; raises ControlError with code ``timeout``."""
        body = {"phases": list(phases), "timeout": timeout}
        answer = self.ask("POST", f"/v1/workers/{part(name)}/wait", body, timeout=timeout + 10)
        found: dict[str, Any] = answer["worker"]
        return found

    def reload(self) -> dict[str, Any]:
        """Have the daemon read its configuration again."""
        return self.ask("POST", "/v1/reload")

    def shutdown(self, *, drain: bool) -> dict[str, Any]:
        """End the daemon; with ``drain`` its workers too."""
        return self.ask("POST", "/v1/shutdown", {"drain": drain})

    # --- following --------------------------------------------------------------------------------------------

    def logs(self, name: str, lines: int, *, follow: bool) -> Iterator[dict[str, Any]]:
        """Log lines of a worker."""
        return self.lines(f"/v1/workers/{part(name)}/logs?{urlencode({'lines': lines, 'follow': int(follow)})}")

    def events(self, since: float | None, *, follow: bool, worker: str | None) -> Iterator[dict[str, Any]]:
        """Events from wall time ``since`` on."""
        query: dict[str, object] = {"follow": int(follow)}
        query |= {} if since is None else {"since": since}
        query |= {} if worker is None else {"worker": worker}
        return self.lines(f"/v1/events?{urlencode(query)}")

    # --- the wire ---------------------------------------------------------------------------------------------

    def ask(self, method: str, address: str, body: object = None, *, timeout: float | None = None) -> dict[str, Any]:
        """The JSON answer to one request.

        Raises:
            ControlError: code ``not_running``, ``permission``, ``protocol``, ``timeout``, or the daemon's own.
        """
        try:
            answer = self._send(method, address, body, self._timeout if timeout is None else timeout)
            return self._checked(answer, answer.read())
        except (OSError, HTTPException) as problem:
            self.close()
            raise self._unreachable(problem) from problem

    def _send(self, method: str, address: str, body: object, timeout: float) -> HTTPResponse:
        if self._connection is None:
            self._connection = _UnixConnection(self.path, timeout)
        connection = self._connection
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        content = None if body is None else json.dumps(body).encode()
        connection.request(method, address, content, {PROTOCOL_HEADER: str(PROTOCOL_MAX)})
        return connection.getresponse()

    def _checked(self, answer: HTTPResponse, content: bytes) -> dict[str, Any]:
        _check_protocol(answer.headers.get(PROTOCOL_HEADER))
        try:
            told = json.loads(content)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise ControlError("error", f"the daemon at {self.path} answered {answer.status} without JSON")
        if "error" in told:
            raise _refusal(told["error"])
        return told

    def lines(self, address: str) -> Iterator[dict[str, Any]]:
        """The documents of a stream, as they come.

        Raises:
            ControlError: as ``ask``, and with the daemon's own code where it ends the stream with an error.
        """
        try:
            answer = self._send("GET", address, None, HEARTBEAT * 3)
            if answer.status != 200:
                self._checked(answer, answer.read())
            _check_protocol(answer.headers.get(PROTOCOL_HEADER))
            for line in answer:
                if not line.isspace():
                    told = json.loads(line)
                    if "error" in told:
                        raise _refusal(told["error"])
                    yield told
        except (OSError, HTTPException, ValueError) as problem:
            raise self._unreachable(problem) from problem
        finally:
            self.close()  # a stream that was left in the middle cannot be followed by a request

    def _unreachable(self, problem: Exception) -> ControlError:
        path = str(self.path)
        match problem:
            case FileNotFoundError() | NotADirectoryError():
                found = f"no daemon is running: there is no socket {path}"
            case PermissionError():
                return ControlError("permission", f"no permission for {path}", hint=_join_hint(self.path), path=path)
            case TimeoutError():
                return ControlError(
                    "timeout",
                    f"the daemon at {path} did not answer in time",
                    hint="is it stuck? systemctl status genesisd; journalctl -u genesisd",
                    path=path,
                )
            case BlockingIOError():
                return ControlError("unavailable", f"the daemon at {path} is overwhelmed", hint="try again", path=path)
            case ConnectionRefusedError():
                found = f"no daemon is running: nobody listens on {path}"
            case _ if "too long" in str(problem):
                return ControlError("usage", f"{path} is too long for a Unix socket", hint="use a shorter --socket")
            case _:
                found = f"the daemon at {path} went away ({type(problem).__name__})"
        hint = "start it: systemctl start genesisd, or genesisd --config FILE; another socket: --socket PATH"
        return ControlError("not_running", found, hint=hint, path=path)


def _refusal(told: Mapping[str, Any]) -> ControlError:
    refusal = ControlError(str(told.get("code", "error")), str(told.get("message", "")), hint=told.get("hint"))
    refusal.fields = dict(told.get("fields") or {})
    return refusal


def _check_protocol(spoken: str | None) -> None:
    """Our version must be in the daemon's range, which it writes as ``1-3``."""
    low, _, high = (spoken or "").partition("-")
    if low.isdecimal() and high.isdecimal() and int(low) <= PROTOCOL_MAX <= int(high):
        return
    if spoken is None:
        raise ControlError("protocol", "whoever answers on the control socket is no genesisd", hint="check --socket")
    older = high.isdecimal() and int(high) < PROTOCOL_MAX
    raise ControlError(
        "protocol",
        f"the daemon speaks control protocol {spoken}, this genesisctl speaks {PROTOCOL_MAX}",
        hint="restart the daemon, which is older" if older else "use the genesisctl that came with the daemon",
    )


def _join_hint(path: Path) -> str:
    """How to get at a socket: the group that owns it has a name."""
    try:
        import grp  # noqa: PLC0415 - only an error needs it

        group = grp.getgrgid(path.stat().st_gid).gr_name
    except (OSError, KeyError):
        return "run as root, or join the group in daemon.control.group"
    if group == "root":
        return "run as root, or set daemon.control.group to a group of yours"
    return f"join the group {group}: usermod -aG {group} $USER, then log in again"
