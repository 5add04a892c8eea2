"""A real systemd in a container, on a copy-on-write image of this machine: the guest changes nothing here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# The guest has this machine's enabled units too. Only what the tests need may run: ports are shared with the host.
_WANTED_TARGET = """\
[Unit]
Description=genesisd tests
Requires=basic.target dbus.socket systemd-journald.service
After=basic.target dbus.socket
AllowIsolate=yes
"""
_MASKED = (
    "systemd-firstboot.service",
    "systemd-networkd.service",
    "systemd-resolved.service",
    "systemd-timesyncd.service",
    "systemd-udevd.service",
    "systemd-udev-trigger.service",
    "systemd-logind.service",
    "systemd-pstore.service",
    "timers.target",
)


def missing() -> str | None:
    """Why no guest can be booted here, or None."""
    if os.geteuid() != 0:
        return "needs root, to boot a systemd in a container"
    lacking = [tool for tool in ("systemd-nspawn", "nsenter", "mount", "dbus-daemon") if shutil.which(tool) is None]
    if lacking:
        return f"needs {', '.join(lacking)}"
    if not os.access("/lib/systemd/systemd", os.X_OK):
        return "needs systemd on this machine, whose files the guest uses"
    return None


class GuestError(RuntimeError):
    """The guest did not do what the harness needs; the message holds its console."""


@dataclass
class Guest:
    """One booted guest.

    Attributes:
        root: its file system, seen from here; writable while it runs.
        pid: its PID 1, seen from here.
    """

    root: Path
    pid: int = 0
    console: Path = field(default=Path("/dev/null"))

    def run(self, *argv: str, timeout: float = 180, check: bool = True, stdin: str = "") -> str:
        """Run a command in the guest and return its output; raises GuestError when it fails."""
        done = self.attempt(*argv, timeout=timeout, stdin=stdin)
        if check and done.returncode:
            raise GuestError(f"{argv} ended with {done.returncode}:\n{done.stdout}\n{self.journal()}")
        return done.stdout

    def attempt(self, *argv: str, timeout: float = 180, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in the guest, whatever its status; stdout and stderr together."""
        enter = ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", "-r", "-w"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "SYSTEMD_COLORS": "0"}
        return subprocess.run(
            [*enter, *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            input=stdin,
            timeout=timeout,
            env=environment,
            check=False,
        )

    def journal(self, unit: str = "genesisd.service", lines: int = 80) -> str:
        """The last lines that the guest's journal has of the unit."""
        return self.attempt("journalctl", "-u", unit, "-n", str(lines), "--no-pager", "-o", "short-monotonic").stdout

    def logs(self) -> str:
        """What the workers wrote."""
        return self.attempt("sh", "-c", "cd /var/lib/genesisd && grep -r '' --include='*.log*' . | tail -n 80").stdout

    def show(self, prop: str, unit: str = "genesisd.service") -> str:
        """One property of a unit."""
        return self.run("systemctl", "show", "-P", prop, unit).strip()

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file of the guest's disk (not of its /run, /tmp or /dev, which are its own mounts)."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def eventually(self, *argv: str, said: str = "", within: float = 180) -> str:
        """Repeat a command until it succeeds (and says so); raises GuestError past the deadline."""
        deadline = time.monotonic() + within
        while True:
            done = self.attempt(*argv)
            if done.returncode == 0 and said in done.stdout:
                return done.stdout
            if time.monotonic() > deadline:
                raise GuestError(f"{argv} did not come to {said!r} in {within} s:\n{done.stdout}\n{self.journal()}")
            time.sleep(0.1)


class Machine:
    """Boots a guest on ``__enter__``, ends it and unmounts on ``__exit__``, whatever happened in between.

    Args:
        install: puts files on the guest's disk before it boots.
    """

    def __init__(self, install: Callable[[Path], None] = lambda _: None) -> None:
        self._install = install
        self._name = f"genesisd-{uuid.uuid4().hex[:8]}"
        self._undo = ExitStack()

    def __enter__(self) -> Guest:
        try:
            return self._boot(self._image())
        except BaseException:
            self._undo.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _image(self) -> Path:
        base = Path(tempfile.mkdtemp(prefix="genesisd-guest-"))
        self._undo.callback(shutil.rmtree, base, ignore_errors=True)
        _call("mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", str(base))
        self._undo.callback(_unmount, base)
        upper, work, root = base / "upper", base / "work", base / "root"
        for folder in (upper, work, root):
            folder.mkdir()
        options = f"lowerdir=/,upperdir={upper},workdir={work}"
        _call("mount", "-t", "overlay", "overlay", "-o", options, str(root))
        self._undo.callback(_unmount, root)
        _prepare(root)
        self._install(root)
        return root

    def _boot(self, root: Path) -> Guest:
        console = root.parent / "console"
        argv = ["systemd-nspawn", "--register=no", "--keep-unit", "--console=pipe", "--link-journal=no"]
        argv += ["--resolv-conf=off", "--timezone=off", "-D", str(root), "-b", "-M", self._name]
        argv += ["--", "systemd.unit=genesisd-tests.target", "systemd.show_status=no"]
        with console.open("wb") as output:
            nspawn = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
                start_new_session=True,
            )
        self._undo.callback(_end, nspawn)
        guest = Guest(root, console=console)
        deadline = time.monotonic() + 180
        while not self._answers(guest, nspawn):
            if nspawn.poll() is not None or time.monotonic() > deadline:
                raise GuestError("the guest did not boot:\n" + console.read_text(errors="replace")[-4000:])
            time.sleep(0.1)
        return guest

    def _answers(self, guest: Guest, nspawn: subprocess.Popen[bytes]) -> bool:
        inits = _guest_init(nspawn)
        if not inits:
            return False
        guest.pid = inits[0]
        state = guest.attempt("systemctl", "is-system-running").stdout.strip()
        return state in {"running", "degraded"}


def _prepare(root: Path) -> None:
    (root / "etc/machine-id").unlink(missing_ok=True)
    units = root / "etc/systemd/system"
    for wants in units.glob("*.target.wants"):
        shutil.rmtree(wants)
    (units / "genesisd-tests.target").write_text(_WANTED_TARGET)
    for unit in _MASKED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")


def _call(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GuestError(f"{' '.join(argv)}: {done.stderr.strip()}")


def _unmount(path: Path) -> None:
    for attempt in range(50):
        if subprocess.run(["umount", path], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1 * (attempt > 0))
    # Somebody still holds a file there: let go when the last one does, rather than keep the mount for ever.
    subprocess.run(["umount", "-l", path], capture_output=True, check=False)


def _end(nspawn: subprocess.Popen[bytes]) -> None:
    # SIGTERM powers the guest off; with SIGKILL the kernel ends every process of its pid namespace.
    nspawn.terminate()
    try:
        nspawn.wait(15)
    except subprocess.TimeoutExpired:
        for pid in _guest_init(nspawn):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        nspawn.kill()
        nspawn.wait(15)


def _guest_init(nspawn: subprocess.Popen[bytes]) -> list[int]:
    with suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/{nspawn.pid}/task/{nspawn.pid}/children").read_text().split()]
    return []
