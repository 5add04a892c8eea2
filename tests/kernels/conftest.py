"""The kernels in triton's interpreter, on the CPU, where torch and triton can be had."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when a kernel is defined

HERE = Path(__file__).parent
WITH_TORCH = sorted(path.name for path in HERE.glob("test_*.py") if 'importorskip("torch"' in path.read_text())
"""Files that need torch and triton. The daemon's own environment has neither, so `test_where_torch_is.py` runs them in
the engine's; where both can be imported, they run by themselves."""

collect_ignore = ["test_where_torch_is.py"] if find_spec("torch") and find_spec("triton") else list(WITH_TORCH)


@pytest.fixture
def untimed(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType], None]:
    """Puts the benchmark of an operation on the CPU, given its module ``timing``: all but the clock, which says 10 us."""

    def graph_us(run: Callable[[int], object], _repeats: int) -> float:
        run(0)
        run(1)
        return 10.0

    def without_device(timing: ModuleType) -> None:
        monkeypatch.setattr(timing, "DEVICE", "cpu")
        monkeypatch.setattr(timing, "SPREAD", 1000)  # no cache to be beaten
        monkeypatch.setattr(timing, "graph_us", graph_us)

    return without_device
