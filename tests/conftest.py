"""Order of the stages, their markers and time limits, and what no test may leave behind."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

# No test fails because the machine was slow: on loaded cores even drawing takes its time. The profile that CI chose
# (draws that are the same each time) is built upon.
settings.register_profile(
    "any-machine",
    parent=settings.default,
    deadline=None,
    suppress_health_check=(*settings.default.suppress_health_check, HealthCheck.too_slow),
)
settings.load_profile("any-machine")

TESTS = Path(__file__).parent
STAGES = {
    # folder: (marker, seconds that one test may take)
    "unit": (None, 120),
    "contract": (None, 120),
    "kernels": (None, 180),
    "process": ("process", 180),
    "e2e": ("process", 300),
    "systemd": ("systemd", 300),
    "catalog": ("catalog", 1200),
    "real": ("real", 900),
}
"""From the fastest to the slowest, in which order they run: the cheap failure comes first."""

WHOLE = frozenset({"real", "catalog", "systemd"})
"""Stages whose files share what takes long to begin: an engine, trees that are looked into, a booted system. Two at a
time would only slow each other down."""


def stage(path: Path) -> str | None:
    """The stage that a test file belongs to, by its folder."""
    with suppress(ValueError):
        return path.relative_to(TESTS).parts[0]
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    order = list(STAGES)
    for item in items:
        marker, limit = STAGES.get(stage(item.path) or "", (None, 120))
        if marker is not None:
            item.add_marker(marker)
        if item.get_closest_marker("timeout") is None and item.get_closest_marker("soak") is None:
            item.add_marker(pytest.mark.timeout(limit))
        if inspect.iscoroutinefunction(getattr(item, "obj", None)):
            # First in, last out: the other fixtures of the test have had their turn to clean up.
            item.fixturenames.insert(0, "_no_task_left")
    items.sort(key=lambda item: order.index(s) if (s := stage(item.path)) in order else -1)
    if hasattr(config, "workerinput"):  # one of several: nothing takes longer than the engine, so it begins at once
        items.sort(key=lambda item: stage(item.path) != "real")
    if "soak" not in (config.option.markexpr or ""):
        _leave_out_soak(config, items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """What is given to one of several pytest processes as a whole: a stage of ``WHOLE``, else a file."""
    from xdist.scheduler import LoadScopeScheduling

    class ByStage(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return name if (name := stage(config.rootpath / file)) in WHOLE else file

    return ByStage(config, log)


def _leave_out_soak(config: pytest.Config, items: list[pytest.Item]) -> None:
    soak = [item for item in items if item.get_closest_marker("soak")]
    if soak:
        config.hook.pytest_deselected(items=soak)
        items[:] = [item for item in items if item not in soak]


@pytest.fixture
async def _no_task_left() -> AsyncIterator[None]:
    """Fail a test that leaves an asyncio task running."""
    before = asyncio.all_tasks()
    yield
    # A task that was cancelled needs a turn of the loop to end.
    for _ in range(20):
        left = {task for task in asyncio.all_tasks() - before - {asyncio.current_task()} if not task.done()}
        if not left:
            return
        await asyncio.sleep(0)
    pytest.fail("tasks left running: " + ", ".join(sorted(repr(task) for task in left)))


@pytest.fixture(autouse=True)
def _no_child_left() -> Iterator[None]:
    """Fail a test that leaves a child process running (those of wider fixtures were there before)."""
    before = children(os.getpid())
    yield
    deadline = time.monotonic() + 5
    while left := {pid: text for pid, text in children(os.getpid()).items() if pid not in before}:
        if time.monotonic() > deadline:
            pytest.fail(f"child processes left running: {left}")
        time.sleep(0.02)


def children(parent: int) -> dict[int, str]:
    """Living children of a process: pid to command line."""
    found = {}
    for task in Path(f"/proc/{parent}/task").iterdir():
        with suppress(OSError):
            for word in (task / "children").read_text().split():
                if (text := _command(int(word))) is not None:
                    found[int(word)] = text
    return found


def _command(pid: int) -> str | None:
    """The command line; None for the dead, the dying, and for multiprocessing's own tracker."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        text = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return None if state in "ZX" or "resource_tracker" in text else text
    return None
