"""Two pretended cards in the place of the driver's library: put this folder first on a daemon's PYTHONPATH.

Who holds what is read from the ledger of the fake workers, named by GENESISD_TEST_LEDGER.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.append(str(Path(__file__).parents[1]))

from fakevllm import ledger

TOTAL = 1 << 30
NVML_ERROR_DRIVER_NOT_LOADED = 9


class NVMLError(Exception):
    """Nothing here raises it; the callers name it."""

    value = 0


class NVMLError_LibraryNotFound(NVMLError):  # noqa: N801, N818 - the library's name
    """As above."""


class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818 - the library's name
    """As above."""


def nvmlInit() -> None:  # noqa: N802 - the library's name
    """Nothing to do."""


nvmlShutdown = nvmlInit  # noqa: N816 - the library's name


def nvmlDeviceGetCount() -> int:  # noqa: N802 - the library's name
    """Two."""
    return 2


def nvmlDeviceGetHandleByIndex(index: int) -> int:  # noqa: N802 - the library's name
    """The index itself."""
    return index


def _holders(index: int) -> dict[int, int]:
    return ledger.holders(os.environ["GENESISD_TEST_LEDGER"]).get(index, {})


def nvmlDeviceGetMemoryInfo(index: int) -> SimpleNamespace:  # noqa: N802 - the library's name
    """What nobody holds is free."""
    return SimpleNamespace(total=TOTAL, free=TOTAL - sum(_holders(index).values()))


def nvmlDeviceGetComputeRunningProcesses(index: int) -> list[SimpleNamespace]:  # noqa: N802 - the library's name
    """Those who hold."""
    return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in _holders(index).items()]


def nvmlDeviceGetGraphicsRunningProcesses(index: int) -> list[SimpleNamespace]:  # noqa: N802 - the library's name
    """Nobody."""
    return []


def nvmlDeviceGetCudaComputeCapability(index: int) -> tuple[int, int]:  # noqa: N802 - the library's name
    """A card of 2022."""
    return 8, 9
