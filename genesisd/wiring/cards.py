"""Who holds how much memory on each card, by NVML.

NVML calls may block for a minute when a driver is ill, so each look runs in a thread of its own with a deadline;
while one is stuck no second one is begun. The thread is a daemon: an executor's would hold up the end of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any

import pynvml

from genesisd.errors import UnavailableError
from genesisd.supervisor.ports import Card

LOOK_SECONDS = 10.0


def look() -> dict[int, Card]:
    """One blocking look at all cards; empty where there is no driver. Raises UnavailableError."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError_LibraryNotFound:
        return {}
    except pynvml.NVMLError as error:
        if error.value == pynvml.NVML_ERROR_DRIVER_NOT_LOADED:
            return {}
        raise _silent(error) from error
    try:
        return {index: _card(index) for index in range(pynvml.nvmlDeviceGetCount())}
    except pynvml.NVMLError as error:
        raise _silent(error) from error
    finally:
        with contextlib.suppress(pynvml.NVMLError):  # what was seen counts
            pynvml.nvmlShutdown()


def _card(index: int) -> Card:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    holders: dict[int, int] = {}
    for ask in (pynvml.nvmlDeviceGetComputeRunningProcesses, pynvml.nvmlDeviceGetGraphicsRunningProcesses):
        holders.update({process.pid: process.usedGpuMemory or 0 for process in _processes(ask, handle)})
    return Card(index, int(memory.total), int(memory.free), holders, _capability(handle))


def _capability(handle: Any) -> int | None:
    try:
        major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    except pynvml.NVMLError:  # only patches ask for it, and they can be told that it is not known
        return None
    return int(major) * 10 + int(minor)


def _processes(ask: Callable[[Any], list[Any]], handle: Any) -> list[Any]:
    """Some cards and containers do not tell; then free memory alone decides."""
    try:
        return ask(handle)
    except pynvml.NVMLError_NotSupported:
        return []


def _silent(error: Exception) -> UnavailableError:
    return UnavailableError(
        f"the GPU driver did not answer: {error}", hint="nvidia-smi on this box shows whether the driver is ill"
    )


class NvmlLedger:
    """Implements ``CardLedger``. ``look`` is replaceable: tests plant stuck and failing drivers."""

    def __init__(self, look: Callable[[], Mapping[int, Card]] = look, seconds: float = LOOK_SECONDS) -> None:
        self._look = look
        self._seconds = seconds
        self._pending: asyncio.Future[Mapping[int, Card]] | None = None

    async def cards(self) -> Mapping[int, Card]:
        """The cards by index. Raises UnavailableError when the driver is ill or silent."""
        if self._pending is None or self._pending.done():
            self._pending = self._begin()
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(self._pending)
        except TimeoutError:
            raise _silent(TimeoutError(f"no answer in {self._seconds:g} s")) from None

    def _begin(self) -> asyncio.Future[Mapping[int, Card]]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Mapping[int, Card]] = loop.create_future()
        answer.add_done_callback(_heard)

        def work() -> None:
            found: Mapping[int, Card] | Exception
            try:
                found = self._look()
            except Exception as error:  # noqa: BLE001 - whoever asked is told
                found = error
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(_settle, answer, found)

        Thread(target=work, name="nvml", daemon=True).start()
        return answer


def _settle(answer: asyncio.Future[Mapping[int, Card]], found: Mapping[int, Card] | Exception) -> None:
    if answer.done():
        return
    if isinstance(found, Exception):
        answer.set_exception(found)
    else:
        answer.set_result(found)


def _heard(answer: asyncio.Future[Mapping[int, Card]]) -> None:
    """An answer that came too late for everybody is no error of the loop."""
    if not answer.cancelled():
        answer.exception()
