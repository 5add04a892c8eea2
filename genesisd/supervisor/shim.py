"""The shim: one small process a worker, which outlives the daemon and the worker's incarnations.

Run as ``python -I -S shim.py WORKER STATE SOCKET LOCK``, or from its compiled form (``runners/shims.py``). It
spawns on the daemon's word, owns the log pipe, is the subreaper of everything that the worker starts, writes the
exit record, and sweeps the whole tree when the leader dies. It speaks JSON lines over a Unix socket to any number
of daemons, also to none.

Everything is imported here, at the top: it lives through upgrades that remove the files it came from, so a lazy
import would fail in a process that must not. errno, sys and time are compiled into the interpreter. It must stay
below 8 MiB, which is why there is no logging, subprocess, selectors, pathlib, typing or dataclasses.
"""

import ctypes
import errno
import json
import os
import select
import signal
import socket
import sys
import time

PROTOCOL = (1, 1)
"""Oldest and newest protocol version spoken."""
EXIT_USAGE = 64
EXIT_LOCKED = 75
"""Exit status of a shim that found another one holding the worker's lock."""
EXIT_UNWANTED = 69
"""Exit status of a shim whose starter died before it could hear that the shim is ready."""
SPARE = 1.0
"""Seconds that resource_tracker is spared: it unlinks psm_* and sem.mp-* once everybody else is dead."""
SWEEP_BOUND = 10.0
"""Seconds of SIGKILL after which what is left is reported as survivors."""
RING = 64 << 10
"""Bytes of output kept in memory."""
RECORD_TAIL = 48 << 10
"""Bytes of output that go into an exit record: vLLM's root cause stands far above its last line."""
REQUEST_LIMIT = 4 << 20
BACKLOG_LIMIT = 1 << 20
"""Bytes that a daemon may leave unread before its connection is dropped."""
KEEP_EXITS = 32
CHUNK = 64 << 10
TRACKER = b"multiprocessing.resource_tracker"

_PR_SET_CHILD_SUBREAPER = 36
_LOCK_EX_NB = 2 | 4
_STRAY_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")
"""A worker that inherits these would speak to systemd in the daemon's name."""

_CLONE3 = 435
"""The system call's number, the same on every architecture."""
_CLONE_INTO_CGROUP = 1 << 33

_libc = ctypes.CDLL(None, use_errno=True)
_libc_with_gil = ctypes.PyDLL(None)


class Refused(Exception):  # noqa: N818 - an answer on the wire, not a fault of the shim
    """A request that gets an error answer: ``code`` for programs, the message for people."""

    def __init__(self, code: str, text: str, number: int | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.number = number


# --- files and /proc ------------------------------------------------------------------------------------------


def read_bytes(path: str) -> bytes:
    """The whole file, or nothing when it cannot be read (in /proc: the process is gone)."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    parts: list[bytes] = []
    try:
        while part := os.read(fd, CHUNK):
            parts.append(part)
    except OSError:
        pass
    finally:
        os.close(fd)
    return b"".join(parts)


def read_json(path: str) -> dict[str, object]:
    """A JSON object, or an empty one when the file is absent, torn or something else."""
    try:
        value = json.loads(read_bytes(path))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: str, value: object, *, sync: bool) -> str | None:
    """Replace a file in one step; the error's text if that failed (a full disk must not stop a sweep)."""
    try:
        fd = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            rest = json.dumps(value).encode()
            while rest:
                rest = rest[os.write(fd, rest) :]
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(path + ".tmp", path)
    except OSError as error:
        return str(error)
    return None


def stat_fields(pid: int) -> list[bytes]:
    """Fields of /proc/PID/stat from the state (index 0) on; the name before it may hold spaces and brackets."""
    return read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def is_corpse(fields: list[bytes]) -> bool:
    """Whether a process is dead but for its entry. A main thread that ended before its siblings looks like one."""
    return len(fields) < 20 or (fields[0] in (b"Z", b"X") and int(fields[17]) <= 1)


def start_ticks(pid: int) -> int:
    """When the process started, in ticks since boot; 0 if it is gone."""
    fields = stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def children_of(pid: int) -> list[int]:
    """Children of all threads of a process."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        found += map(int, read_bytes(f"/proc/{pid}/task/{thread}/children").split())
    return found


def descendants() -> list[int]:
    """Everything below this process, parents first."""
    listed = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    table = {} if listed else children_by_parent()
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += children_of(pid) if listed else table.get(pid, [])
    return found[1:]


def children_by_parent() -> dict[int, list[int]]:
    """The same from the whole process table, for kernels without CONFIG_PROC_CHILDREN."""
    table: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        fields = stat_fields(int(name)) if name.isdigit() else []
        if len(fields) > 1:
            table.setdefault(int(fields[1]), []).append(int(name))
    return table


def marked(leader: int, start: int, token: bytes) -> list[int]:
    """Processes of our user in the leader's session, or with the life's token in their environment."""
    found: list[int] = []
    # The kernel gives a pid out again only when no session has that number: then a session of it is a stranger's.
    reused = start_ticks(leader) not in (0, start)
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        fields = stat_fields(int(name))
        # Nothing that is older than the leader can be the leader's: this is what makes a reused pid harmless.
        if len(fields) < 20 or int(fields[19]) < start or not ours(name):
            continue
        in_session = int(fields[3]) == leader and not reused
        if in_session or (token and token in read_bytes(f"/proc/{name}/environ").split(b"\0")):
            found.append(int(name))
    return found


def ours(name: str) -> bool:
    """Whether the process belongs to our user."""
    try:
        return os.stat(f"/proc/{name}").st_uid == os.geteuid()
    except OSError:
        return False


def cgroup_members(cgroup: str | None) -> list[int]:
    """Pids in a cgroup and in the groups below it."""
    if cgroup is None:
        return []
    found = [int(pid) for pid in read_bytes(cgroup + "/cgroup.procs").split()]
    try:
        below = [entry.path for entry in os.scandir(cgroup) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return found
    for path in below:
        found += cgroup_members(path)
    return found


def kill_group(cgroup: str) -> None:
    """SIGKILL to a whole cgroup in one step: this also ends what forks faster than we look."""
    try:
        fd = os.open(cgroup + "/cgroup.kill", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return  # before Linux 5.14
    try:
        os.write(fd, b"1")
    except OSError:
        pass
    finally:
        os.close(fd)


def kill(pid: int) -> bool:
    """SIGKILL unless it is dead or spared; whether it counts as alive. A pid that changes hands is not hit."""
    before = stat_fields(pid)
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        after = stat_fields(pid)
        if is_corpse(before) or is_corpse(after) or before[19] != after[19]:
            return False
        signal.pidfd_send_signal(fd, signal.SIGKILL)
    except OSError as error:
        return error.errno != errno.ESRCH
    finally:
        os.close(fd)
    return True


# --- the worker's output --------------------------------------------------------------------------------------


class Log:
    """A rotated file and a ring in memory, fed from one pipe. No fault of the disk stops the draining."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.max_bytes = 16 << 20
        self.keep = 4
        self.ring = bytearray()
        self.lost = 0
        """Bytes that could not be written since the start of the incarnation."""
        self._gap = 0
        self._fd = -1
        self._inode = (0, 0)

    def feed(self, chunk: bytes) -> None:
        """Take output: into memory always, into the file if the disk lets us."""
        self.ring += chunk
        if len(self.ring) > 2 * RING:
            del self.ring[:-RING]
        try:
            self._write(chunk)
        except OSError:
            self._close()
            self.lost += len(chunk)
            self._gap += len(chunk)

    def tail(self, limit: int) -> list[str]:
        """The last whole lines within so many bytes."""
        text = bytes(self.ring[-limit:])
        if len(self.ring) > limit:
            text = text.partition(b"\n")[2] or text
        return text.decode("utf-8", "replace").splitlines()

    def _write(self, chunk: bytes) -> None:
        size = self._ready()
        if size and size + len(chunk) > self.max_bytes:
            self._rotate()
            self._ready()
        if self._gap:
            note = f"[genesisd: {self._gap} bytes of output were lost here: the log could not be written]\n"
            os.write(self._fd, note.encode())
            self._gap = 0
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def _ready(self) -> int:
        """Size of the open file. Opens it anew when somebody renamed or removed it: else output goes nowhere."""
        try:
            found = os.stat(self.path)
            if self._fd >= 0 and (found.st_dev, found.st_ino) == self._inode:
                return found.st_size
        except FileNotFoundError:
            pass
        self._close()
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self._fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o640)
        found = os.fstat(self._fd)
        self._inode = (found.st_dev, found.st_ino)
        return found.st_size

    def _rotate(self) -> None:
        self._close()
        for n in range(self.keep - 1, 0, -1):
            try:
                os.rename(f"{self.path}.{n}", f"{self.path}.{n + 1}")
            except FileNotFoundError:
                pass
        if self.keep:
            os.rename(self.path, self.path + ".1")
        else:
            os.unlink(self.path)

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


# --- one incarnation ------------------------------------------------------------------------------------------


class Life:
    """The incarnation that runs now, or the last one until its tree is gone."""

    def __init__(self, request: dict[str, object], pid: int, boot_id: str) -> None:
        self.incarnation = whole(request, "incarnation")
        self.pid = pid
        self.start = start_ticks(pid)
        self.boot_id = boot_id
        self.token = str(request.get("token") or "")
        self.note = request.get("note")
        self.cgroup = optional_text(request, "cgroup")
        self.began = time.monotonic()
        self.asked: str | None = None
        """What the daemon last ordered against it: an exit that was asked for is no crash."""
        self.alive = True

    def to_json(self) -> dict[str, object]:
        """What adoption needs when this shim is dead."""
        return {
            "v": 1,
            "incarnation": self.incarnation,
            "pid": self.pid,
            "start_ticks": self.start,
            "boot_id": self.boot_id,
            "token": self.token,
            "cgroup": self.cgroup,
            "began": self.began,
            "note": self.note,
        }


class Sweep:
    """The killing of a tree until it is empty."""

    def __init__(self) -> None:
        now = time.monotonic()
        self.spare_until = now + SPARE
        self.bound = now + SWEEP_BOUND
        self.due = now
        self.pause = 0.005
        self.killed_any = False
        self.reported: int | None = None


def join_cgroup(path: str | None, pid: int) -> bool:
    """Move a child that has not executed anything yet; the session still marks the tree if this fails."""
    if path is None:
        return False
    try:
        fd = os.open(path + "/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, str(pid).encode())
        finally:
            os.close(fd)
    except OSError:
        return False
    return True


def fork_into(cgroup: str | None) -> tuple[int, bool]:
    """Fork; the pid, and whether the child was born in the cgroup.

    The kernel moves a living process only after all CPUs have passed through the scheduler, which takes about 10 ms
    and queues up when many workers die at once; a birth in the group (Linux 5.7) waits for nobody.
    """
    try:
        fd = -1 if cgroup is None else os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        fd = -1
    if fd < 0:
        return os.fork(), False
    # struct clone_args; what is 0 means "as fork does".
    arguments = (ctypes.c_uint64 * 11)(_CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, fd)
    size = ctypes.c_size_t(ctypes.sizeof(arguments))
    ctypes.pythonapi.PyOS_BeforeFork()
    pid: int = _libc_with_gil.syscall(ctypes.c_long(_CLONE3), ctypes.byref(arguments), size)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0, True
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    os.close(fd)
    return (pid, True) if pid > 0 else (os.fork(), False)


def whole(request: dict[str, object], name: str, default: int | None = None) -> int:
    """An integer field of a request."""
    value = request.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused("bad-request", f"'{name}' must be an integer, not {value!r}")
    return value


def optional_text(request: dict[str, object], name: str) -> str | None:
    """A string of a request, or None."""
    value = request.get(name)
    return value if isinstance(value, str) else None


def program_of(argv: list[str], env: dict[str, str]) -> str:
    """Path of the program: os.execvpe would import a module at this late hour."""
    if "/" in argv[0]:
        return argv[0]
    for folder in env.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":"):
        path = os.path.join(folder or ".", argv[0])
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise Refused("exec-failed", f"'{argv[0]}' was not found on the worker's PATH", errno.ENOENT)


def ignored_signals() -> list[int]:
    """What an exec would hand on: caught signals fall back to their default by themselves, ignored ones do not."""
    usable = [number for number in range(1, 65) if number not in (32, 33)]
    return [number for number in usable if signal.getsignal(number) == signal.SIG_IGN]


def become(
    program: str, argv: list[str], env: dict[str, str], cwd: str | None, fds: tuple[int, int], ignored: list[int]
) -> str:
    """In the child: wait for the word, then turn into the worker. Returns only on failure: the stage it failed in."""
    out, gate = fds
    os.setsid()
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    # The shim died before it had written down who we are: nobody would ever find this tree.
    if os.read(gate, 1) != b"g":
        os._exit(127)
    try:
        if cwd is not None:
            os.chdir(cwd)
    except OSError as error:
        return f"{error.errno} chdir to {cwd}"
    try:
        os.execve(program, argv, env)  # noqa: S606 - no shell is meant
    except OSError as error:
        return f"{error.errno} exec of {program}"


class Peer:
    """One attached daemon."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.received = bytearray()
        self.backlog = bytearray()
        self.attached = False
        """It said hello, so it wants events."""


# --- the shim -------------------------------------------------------------------------------------------------


class Shim:
    """The loop: child deaths, output, daemons, and a sweep when one is on."""

    def __init__(self, worker: str, state: str, path: str) -> None:
        self.worker = worker
        self.state = state
        self.path = path
        self.boot_id = read_bytes("/proc/sys/kernel/random/boot_id").decode().strip()
        self.began = time.monotonic()
        self.log = Log(state + "/log/worker.log")
        self.pipe = -1
        self.life: Life | None = None
        self.sweep: Sweep | None = None
        self.last_exit: dict[str, object] | None = None
        self.newest = self._newest_on_disk()
        self.peers: dict[int, Peer] = {}
        self.quitting = False
        self.ignored = ignored_signals()
        self.wake, self._wake_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.poll = select.poll()
        self.poll.register(self.wake, select.POLLIN)
        self.listener = self._listen()

    def run(self) -> None:
        """Serve until a daemon says quit."""
        signal.set_wakeup_fd(self._wake_in, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while not self.quitting:
            self._round(dict(self.poll.poll(self._timeout())))
        for peer in list(self.peers.values()):
            self._flush(peer)
        if self._is_reachable():
            os.unlink(self.path)

    def _round(self, ready: dict[int, int]) -> None:
        if self.wake in ready:
            os.read(self.wake, 4096)
        if self.pipe in ready:
            self._drain(1)
        self._reap()
        if self.sweep and time.monotonic() >= self.sweep.due:
            self._sweep_step()
        # Old connections first, and to their end: an order of a daemon that has since died comes before the
        # question of the next one, so that its answer is the whole truth.
        for fd in [fd for fd in self.peers if fd in ready]:
            self._serve(self.peers[fd], ready[fd])
        if self.listener.fileno() in ready:
            self._accept()

    def _timeout(self) -> float | None:
        return max(0.0, self.sweep.due - time.monotonic()) * 1000 + 1 if self.sweep else None

    def _newest_on_disk(self) -> int:
        """A shim that replaces a dead one must still refuse an incarnation that was already spawned."""
        os.makedirs(self.state + "/exits", exist_ok=True)
        known = [int(name[:-5]) for name in os.listdir(self.state + "/exits") if name[:-5].isdigit()]
        life = read_json(self.state + "/life.json").get("incarnation")
        return max([*known, life if isinstance(life, int) else 0])

    # -- daemons

    def _listen(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            os.unlink(self.path)  # ours to remove: we hold the lock, so whoever bound it is dead
        except FileNotFoundError:
            pass
        before = os.umask(0o177)
        try:
            listener.bind(self.path)
        finally:
            os.umask(before)
        listener.listen(16)
        self._inode = os.stat(self.path).st_ino
        self.poll.register(listener, select.POLLIN)
        return listener

    def _accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:
            return
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        uid = int.from_bytes(credentials[4:8], sys.byteorder)
        if uid not in (0, os.geteuid()):
            sock.close()
            return
        sock.setblocking(False)
        self.peers[sock.fileno()] = Peer(sock)
        self.poll.register(sock, select.POLLIN)

    def _drop(self, peer: Peer) -> None:
        fd = peer.sock.fileno()
        if self.peers.pop(fd, None):
            self.poll.unregister(fd)
            peer.sock.close()

    def _serve(self, peer: Peer, ready: int) -> None:
        if ready & select.POLLOUT:
            self._flush(peer)
        if not ready & ~select.POLLOUT:
            return
        ended = self._receive(peer)
        while b"\n" in peer.received:
            line, _, rest = bytes(peer.received).partition(b"\n")
            peer.received[:] = rest
            self._send(peer, self._answer(peer, line))
        if ended or len(peer.received) > REQUEST_LIMIT:
            self._drop(peer)

    def _receive(self, peer: Peer) -> bool:
        """Read all that is there; whether the other side is gone or sends without end."""
        try:
            while len(peer.received) <= REQUEST_LIMIT:
                chunk = peer.sock.recv(CHUNK)
                if not chunk:
                    return True
                peer.received += chunk
        except BlockingIOError:
            return False
        except OSError:
            return True
        return b"\n" not in peer.received

    def _send(self, peer: Peer, message: dict[str, object]) -> None:
        if peer.sock.fileno() < 0:
            return
        peer.backlog += json.dumps({"v": PROTOCOL[1], **message}).encode() + b"\n"
        self._flush(peer)
        if len(peer.backlog) > BACKLOG_LIMIT:
            self._drop(peer)

    def _flush(self, peer: Peer) -> None:
        try:
            while peer.backlog:
                del peer.backlog[: peer.sock.send(peer.backlog)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(peer)
            return
        self.poll.modify(peer.sock, select.POLLIN | (select.POLLOUT if peer.backlog else 0))

    def _tell(self, message: dict[str, object]) -> None:
        for peer in [peer for peer in self.peers.values() if peer.attached]:
            self._send(peer, message)

    def _answer(self, peer: Peer, line: bytes) -> dict[str, object]:
        request: object = None
        try:
            request = json.loads(line)
            answer = self._act(peer, request if isinstance(request, dict) else {})
        except Refused as refusal:
            answer = {"ok": False, "error": refusal.code, "text": str(refusal), "errno": refusal.number}
        except (ValueError, RecursionError) as error:
            answer = {"ok": False, "error": "bad-request", "text": f"this is no request: {error}"}
        except Exception as error:  # noqa: BLE001 - the keeper of a worker must not die of one request
            answer = {"ok": False, "error": "internal", "text": f"{type(error).__name__}: {error}"}
        return {"id": request.get("id") if isinstance(request, dict) else None, "ok": True, **answer}

    def _act(self, peer: Peer, request: dict[str, object]) -> dict[str, object]:
        operation = request.get("op")
        version = request.get("v")
        if operation == "hello":  # answered in every version: it is how the two find a common one
            peer.attached = True
            return self._hello()
        if not isinstance(version, int) or not PROTOCOL[0] <= version <= PROTOCOL[1]:
            raise Refused("unsupported-version", f"this shim speaks versions {PROTOCOL[0]} to {PROTOCOL[1]}")
        match operation:
            case "spawn":
                return self._spawn(request)
            case "signal":
                return self._signal(request)
            case "sweep":
                return self._order_sweep(request)
            case "tail":
                lines = whole(request, "lines", 100)
                return {"lines": self.log.tail(RING)[-lines:] if lines > 0 else [], "lost": self.log.lost}
            case "quit":
                return self._quit()
        raise Refused("unknown-op", f"this shim does not know the operation {operation!r}")

    def _hello(self) -> dict[str, object]:
        life = self.life
        return {
            "worker": self.worker,
            "pid": os.getpid(),
            "protocol": list(PROTOCOL),
            "child": life.to_json() if life and life.alive else None,
            "sweeping": self.sweep is not None,
            "newest": self.newest,
            "exit": self.last_exit,
            "uptime": time.monotonic() - self.began,
            "lost": self.log.lost,
        }

    def _quit(self) -> dict[str, object]:
        if (self.life and self.life.alive) or self.sweep:
            raise Refused("child-lives", f"worker {self.worker} still has processes: stop it first")
        self.quitting = True
        return {}

    # -- the child

    def _spawn(self, request: dict[str, object]) -> dict[str, object]:
        incarnation = whole(request, "incarnation")
        argv, env = request.get("argv"), request.get("env")
        if not isinstance(argv, list) or not argv or not isinstance(env, dict):
            raise Refused("bad-request", "'argv' must be a list that is not empty, and 'env' an object")
        if self.life and self.life.alive:
            raise Refused("child-lives", f"incarnation {self.life.incarnation} of {self.worker} is alive")
        if incarnation <= self.newest:
            raise Refused("stale-incarnation", f"incarnation {self.newest} of {self.worker} was already spawned")
        if self.sweep:
            raise Refused("sweeping", f"the tree of incarnation {self.newest} of {self.worker} is not gone yet")
        self._set_log(request.get("log"))
        clean = {str(name): str(value) for name, value in env.items() if name not in _STRAY_VARIABLES}
        if request.get("token"):
            clean["GENESIS_LIFE"] = str(request["token"])
        cwd = request.get("cwd")
        life = self._fork(request, [str(a) for a in argv], clean, cwd if isinstance(cwd, str) else None)
        self.life, self.newest, self.last_exit = life, life.incarnation, None
        return {"child": life.to_json()}

    def _set_log(self, limits: object) -> None:
        limits = limits if isinstance(limits, dict) else {}
        self.log.max_bytes = max(4096, whole(limits, "max_bytes", self.log.max_bytes))
        self.log.keep = max(0, whole(limits, "keep", self.log.keep))
        self.log.lost = 0
        self.log.ring.clear()

    def _fork(self, request: dict[str, object], argv: list[str], env: dict[str, str], cwd: str | None) -> Life:
        program = program_of(argv, env)
        try:
            fds = [*os.pipe2(os.O_CLOEXEC), *os.pipe2(os.O_CLOEXEC), *os.pipe2(os.O_CLOEXEC)]
            pid, born_in = fork_into(optional_text(request, "cgroup"))
        except OSError as error:
            raise Refused("fork-failed", f"cannot fork: {error.strerror}", error.errno) from None
        log_out, log_in, gate_out, gate_in, status_out, status_in = fds
        if pid == 0:
            try:
                os.close(gate_in)
                os.write(status_in, become(program, argv, env, cwd, (log_in, gate_out), self.ignored).encode())
            except BaseException as error:  # noqa: BLE001 - a forked Python must never return into the loop
                os.write(status_in, f"{getattr(error, 'errno', None) or 0} start: {error}".encode())
            finally:
                os._exit(127)
        for fd in (log_in, gate_out, status_in):
            os.close(fd)
        life = self._introduce(request, pid, born_in)
        os.write(gate_in, b"g")
        os.close(gate_in)
        failure = os.read(status_out, 4096).decode("utf-8", "replace")
        os.close(status_out)
        if failure:
            self._bury(life, log_out)
            number, _, stage = failure.partition(" ")
            raise Refused("exec-failed", f"{stage} failed: {os.strerror(int(number))}", int(number))
        self._open_pipe(log_out)
        return life

    def _introduce(self, request: dict[str, object], pid: int, born_in: bool) -> Life:
        """Write down who the child is before it executes anything: a tree that exists can always be found."""
        life = Life(request, pid, self.boot_id)
        if not born_in and not join_cgroup(life.cgroup, pid):
            life.cgroup = None
        # No fsync: after a crash of the machine the boot id differs and the record means nothing.
        write_json(self.state + "/life.json", life.to_json(), sync=False)
        return life

    def _bury(self, life: Life, log_out: int) -> None:
        os.waitpid(life.pid, 0)
        os.close(log_out)
        self._remove_cgroup(life)
        try:
            os.unlink(self.state + "/life.json")
        except OSError:
            pass

    def _open_pipe(self, fd: int) -> None:
        self._close_pipe()
        os.set_blocking(fd, False)
        self.pipe = fd
        self.poll.register(fd, select.POLLIN)

    def _close_pipe(self) -> None:
        if self.pipe >= 0:
            self.poll.unregister(self.pipe)
            os.close(self.pipe)
            self.pipe = -1

    def _drain(self, chunks: int) -> None:
        """Take output. Bounded: a flood must not keep us from the daemon's orders."""
        for _ in range(chunks):
            if self.pipe < 0:
                return
            try:
                chunk = os.read(self.pipe, CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                self._close_pipe()
                return
            self.log.feed(chunk)

    def _signal(self, request: dict[str, object]) -> dict[str, object]:
        number = whole(request, "signal")
        life = self._living(request)
        # The leader is our child and not reaped yet, so its pid cannot belong to anybody else.
        try:
            os.kill(life.pid, number)
        except (OSError, ValueError) as error:
            raise Refused("bad-request", f"cannot send signal {number}: {error}") from None
        life.asked = f"signal {number}"
        return {}

    def _order_sweep(self, request: dict[str, object]) -> dict[str, object]:
        life = self.life
        if life is None or life.incarnation != whole(request, "incarnation") or (not life.alive and not self.sweep):
            raise Refused("no-such-incarnation", f"incarnation {request['incarnation']} of {self.worker} is not alive")
        life.asked = life.asked or "sweep"
        if self.sweep is None:
            self.sweep = Sweep()
        return {}

    def _living(self, request: dict[str, object]) -> Life:
        incarnation = whole(request, "incarnation")
        if self.life is None or not self.life.alive or self.life.incarnation != incarnation:
            raise Refused("no-such-incarnation", f"incarnation {incarnation} of {self.worker} is not alive")
        return self.life

    # -- death

    def _reap(self) -> bool:
        """Collect the dead; whether any child is left. A subreaper without children has no descendants."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if self.life and self.life.alive and pid == self.life.pid:
                    self._leader_died(self.life, status)
        except ChildProcessError:
            return False

    def _leader_died(self, life: Life, status: int) -> None:
        life.alive = False
        self._drain(32)
        self.last_exit = {
            "v": 1,
            "worker": self.worker,
            "incarnation": life.incarnation,
            "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "asked": life.asked,
            "seconds": time.monotonic() - life.began,
            "ended": time.time(),
            "boot_id": life.boot_id,
            "pid": life.pid,
            "note": life.note,
            "lost": self.log.lost,
            "survivors": None,
            "tail": self.log.tail(RECORD_TAIL),
        }
        self._save_exit(sync=True)
        self._tell({"event": "exited", "incarnation": life.incarnation, "exit": self.last_exit})
        if self.sweep is None:
            self.sweep = Sweep()

    def _save_exit(self, *, sync: bool) -> None:
        folder = self.state + "/exits/"
        write_json(f"{folder}{self.newest}.json", self.last_exit, sync=sync)
        try:
            os.unlink(f"{folder}{self.newest - KEEP_EXITS}.json")
        except OSError:
            pass

    def _sweep_step(self) -> None:
        sweep, life = self.sweep, self.life
        if sweep is None or life is None:
            return
        now = time.monotonic()
        # Children that are neither dead nor found are just being born: look again.
        children = self._reap()
        alive = self._kill_tree(sweep, life, now) if children or life.cgroup or sweep.killed_any else 0
        if not children and not alive and not life.alive:
            self.sweep = None
            self._swept(life, 0)
            return
        if now >= sweep.bound and alive != sweep.reported:
            sweep.reported = alive
            self._swept(life, max(alive, 1))
        sweep.due = now + sweep.pause
        sweep.pause = min(sweep.pause * 1.5, 0.05 if now < sweep.bound else 1.0)

    def _kill_tree(self, sweep: Sweep, life: Life, now: float) -> int:
        """One pass over everything that is the incarnation's; how many were alive."""
        below = descendants()
        # What a subreaper's child starts stays below the subreaper, so the look at every process of the machine
        # is a second net, spread only once the first has run empty after a real sweep: 50 workers may die at once.
        tree = set(below) | set(cgroup_members(life.cgroup))
        if not tree and sweep.killed_any:
            tree |= set(marked(life.pid, life.start, b"GENESIS_LIFE=" + life.token.encode() if life.token else b""))
        alive = 0
        for pid in tree:
            spared = now < sweep.spare_until and TRACKER in read_bytes(f"/proc/{pid}/cmdline")
            alive += 1 if spared else kill(pid)
        if alive:
            sweep.killed_any = True
        if alive and life.cgroup and now >= sweep.spare_until:
            kill_group(life.cgroup)
        return alive

    def _swept(self, life: Life, survivors: int) -> None:
        self._drain(32)
        if survivors == 0:
            self._close_pipe()
            self._remove_cgroup(life)
        if self.last_exit is not None:
            self.last_exit["survivors"] = survivors
            self._save_exit(sync=False)
        self._tell({"event": "swept", "incarnation": life.incarnation, "survivors": survivors})
        if survivors == 0 and not self._is_reachable():
            self.quitting = True

    def _is_reachable(self) -> bool:
        """Whether a daemon can find us. If somebody cleared the runtime folder we would idle here for ever."""
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def _remove_cgroup(self, life: Life) -> None:
        try:
            if life.cgroup:
                os.rmdir(life.cgroup)
        except OSError:
            pass  # a group below it is left: the daemon clears empty groups when it looks next


def take_lock(path: str) -> bool:
    """Hold the worker's lock for as long as this process lives; False when another shim has it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    if _libc.flock(fd, _LOCK_EX_NB) != 0:
        return False
    os.ftruncate(fd, 0)
    os.write(fd, f"{os.getpid()}\n".encode())
    return True


def is_unheard() -> bool:
    """Whether the starter is gone: a shim that no daemon knows of would keep an empty house for ever."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def main(arguments: list[str]) -> int:
    """Become the shim; the exit status."""
    if len(arguments) != 4:
        sys.stderr.write("usage: shim.py WORKER STATE SOCKET LOCK\n")
        return EXIT_USAGE
    worker, state, path, lock = arguments
    os.closerange(3, 1 << 16)  # whatever the daemon had open would otherwise stay open for the life of the worker
    # Ctrl-C and a closed terminal reach every process of the terminal; the workers' keepers must not go by them.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if is_unheard():
        return EXIT_UNWANTED
    if not take_lock(lock):
        return EXIT_LOCKED
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.chdir("/")  # the daemon's folder may have to be unmounted while the worker serves
    shim = Shim(worker, state, path)
    # The starter waits for this line, then nobody reads the pipe any more.
    try:
        os.write(1, b"ready\n")
    except BrokenPipeError:
        os.unlink(path)
        return EXIT_UNWANTED
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    shim.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
