"""The kernels in triton's interpreter, on the CPU, where torch and triton can be had."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.helpers.unpacked import newest_tree

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when a kernel is defined

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
STORE = "vllm/v1/attention/ops/triton_turboquant_store.py"
WITH_TORCH = sorted(path.name for path in HERE.glob("test_*.py") if 'importorskip("torch"' in path.read_text())
"""Files that need torch and triton. The daemon's own environment has neither, so `test_where_torch_is.py` runs them in
the engine's; where both can be imported, they run by themselves."""

collect_ignore = ["test_where_torch_is.py"] if find_spec("torch") and find_spec("triton") else list(WITH_TORCH)


@pytest.fixture(scope="session")
def tree() -> Path:
    """The newest release that is unpacked."""
    found = newest_tree(CACHE, STORE)
    if found is None:
        pytest.skip(f"no tree of a release in {CACHE / 'trees'}: unpack one, or look at `genesisd patches`")
    return found


@pytest.fixture
def untimed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts the benchmark of an operation on the CPU, given its modules of measuring: all but the clock.

    The clock says 10 us, or each of ``times`` in turn.
    """

    def without_device(*modules: ModuleType, times: Iterable[float] = itertools.repeat(10.0)) -> None:
        clock = iter(times)

        def graph_us(run: Callable[[int], object], _repeats: int, samples: int = 9) -> float:
            assert samples > 0
            run(0)
            run(1)
            return next(clock)

        put = {"DEVICE": "cpu", "SPREAD": 1000, "graph_us": graph_us, "every_table": tables}  # no cache to be beaten
        for module, name in itertools.product(modules, put):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, put[name])

    return without_device


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Graphs without a card: of a launch it makes one that a graph takes down with what it was given, and repeats."""
    from torch import cuda

    capturing: list[Graph] = []

    class Graph:
        taken: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]

        def replay(self) -> None:
            for launch, given, named in self.taken:
                launch(*given, **named)

    @contextlib.contextmanager
    def graph(graph: Graph) -> Iterator[None]:
        graph.taken = []
        capturing.append(graph)
        yield
        capturing.pop()

    def launching(launch: Callable[..., Any]) -> Callable[..., Any]:
        def launched(*given: Any, **named: Any) -> Any:
            if not capturing:
                return launch(*given, **named)
            return capturing[-1].taken.append((launch, given, named))

        return launched

    monkeypatch.setattr(cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(cuda, "graph", graph)
    return launching


def tables(problem: Any, spare: int) -> list[Any]:
    """As the benchmark's own, which draws them on a card: each over other pages of the cache."""
    pages = problem.cache.shape[0]
    return [(problem.table + i * pages // spare) % pages for i in range(spare)]
