"""Put the wheels into the environment: no index, no configuration, every hash checked again by pip."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from genesisd.pins import child, disk
from genesisd.pins.errors import BuildError
from genesisd.pins.failure import build_failure
from genesisd.pins.pip import Pip, PipFailed, tool_environment
from genesisd.pins.progress import Progress, Report, Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from genesisd.pins.fetch import Wheel
    from genesisd.pins.spec import PinSpec


def make_venv(interpreter: Path, env: Path, work: Path, keep_fd: int) -> Path:
    """A fresh environment at ``env`` with pip; its interpreter. Raises BuildError, NoSpaceError."""
    argv = (str(interpreter), "-m", "venv", "--clear", str(env))
    ended = child.run(argv, env=tool_environment(work), keep_fd=keep_fd)
    if ended.code != 0:
        if any("No space left" in line for line in ended.lines):
            raise disk.no_space(env.parent, "an environment")
        said = ended.lines[-1] if ended.lines else f"exit status {ended.code}"
        raise BuildError(
            f"{interpreter} could not make an environment: {said}", hint="does it have venv and ensurepip?"
        )
    return env / "bin" / "python"


def site_packages(env: Path) -> Path:
    """Where the environment keeps its distributions."""
    return next((env / "lib").glob("python3.*/site-packages"))


def install(pin: PinSpec, wheels: tuple[Wheel, ...], pip: Pip, env: Path, report: Report) -> None:
    """Install exactly ``wheels``. Raises BuildError, NoSpaceError."""
    links = pip.work / "links"
    shutil.rmtree(links, ignore_errors=True)
    links.mkdir()
    for wheel in wheels:
        (links / wheel.archive.filename).symlink_to(wheel.path)
    lock = pip.work / "install.txt"
    lock.write_text("".join(f"{w.archive.name}=={w.archive.version} --hash=sha256:{w.sha256}\n" for w in wheels))
    arguments = ("--no-deps", "--no-index", "--no-compile", "--find-links", str(links), "--requirement", str(lock))
    try:
        pip.isolated("install", *arguments, on_tick=_counter(site_packages(env), len(wheels), report))
    except PipFailed as failed:
        raise build_failure(pin, failed.complaint, pip.work) from None


def compile_all(python: Path, env: Path, work: Path, keep_fd: int, report: Report) -> None:
    """Bytecode that is checked by the source's hash: times are no proof once patched trees share these files."""
    report(Progress(Step.COMPILE, "compiling"))
    how = ("-m", "compileall", "-qq", "-j", "0", "--invalidation-mode", "checked-hash", str(site_packages(env)))
    ended = child.run((str(python), *how), env=tool_environment(work), keep_fd=keep_fd)
    # Its status is no verdict: packages ship templates and tests that are not Python, or not this Python.
    if any("No space left" in line for line in ended.lines):
        raise disk.no_space(env, "compiling")


def _counter(packages: Path, total: int, report: Report) -> Callable[[], None]:
    """Pip is silent while it unpacks; the records that appear tell how far it is."""
    before = len(list(packages.glob("*.dist-info")))

    def on_tick() -> None:
        done = max(0, len(list(packages.glob("*.dist-info"))) - before)
        report(Progress(Step.INSTALL, f"{done} of {total} distributions", min(done, total), total))

    return on_tick
