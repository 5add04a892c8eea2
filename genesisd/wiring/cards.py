"""Who holds how much memory on each card, by NVML.

NVML calls may block for a minute when a driver is ill, so each look runs in a thread of its own with a deadline;
while one is stuck no second one is begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
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
        pynvml.nvmlShutdown()


def _card(index: int) -> Card:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    holders: dict[int, int] = {}
    for ask in (pynvml.nvmlDeviceGetComputeRunningProcesses, pynvml.nvmlDeviceGetGraphicsRunningProcesses):
        holders.update({process.pid: process.usedGpuMemory or 0 for process in _processes(ask, handle)})
    return Card(index, int(memory.total), int(memory.free), holders)


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

    def __init__(self, look: Callable[[], Mapping[int, Card]] = look) -> None:
        self._look = look
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="nvml")
        self._pending: asyncio.Future[Mapping[int, Card]] | None = None

    async def cards(self) -> Mapping[int, Card]:
        """The cards by index. Raises UnavailableError when the driver is ill or silent."""
        if self._pending is None or self._pending.done():
            self._pending = asyncio.get_running_loop().run_in_executor(self._pool, self._look)
        try:
            return await asyncio.wait_for(asyncio.shield(self._pending), LOOK_SECONDS)
        except TimeoutError:
            raise _silent(TimeoutError(f"no answer in {LOOK_SECONDS:g} s")) from None

    def close(self) -> None:
        """Let go of the thread; a stuck one is left behind."""
        self._pool.shutdown(wait=False, cancel_futures=True)
