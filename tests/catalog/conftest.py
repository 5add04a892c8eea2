"""The trees, the server of cases, and the patched trees: each made once."""

from __future__ import annotations

import ast
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import Queue
from typing import Any, TypeAlias

import pytest

from genesisd.errors import GenesisError
from genesisd.patches.catalog import catalog
from genesisd.pins.trees import fetch_tree
from tests.catalog.cases import CASES, Case, needed
from tests.catalog.forge import Server, extras, linked, plan_on
from tests.catalog.releases import APPLIED, CACHE, RELEASES
from tests.real.conftest import real_vllm_env

__all__ = ["real_vllm_env"]
Seen: TypeAlias = Callable[..., Any]


@pytest.fixture(scope="session")
def tree() -> Callable[[str], Path]:
    """``tree(version)``: the folder that holds the release's ``vllm``."""

    @cache
    def fetched(version: str) -> Path:
        try:
            return fetch_tree(RELEASES[version], version, CACHE)
        except GenesisError as error:
            pytest.fail(f"no tree of {version}: {error}")

    return fetched


@pytest.fixture(scope="session", autouse=True)
def _one_parses_at_a_time() -> Iterator[None]:
    """Python 3.11 counts the depth of a syntax tree for all threads together: two that parse at once can break each
    other with "AST constructor recursion depth mismatch". Cases are planned in threads here.
    """
    lock, parse = threading.RLock(), ast.parse

    def alone(*arguments: Any, **options: Any) -> ast.AST:
        with lock:
            return parse(*arguments, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ast, "parse", alone)
        yield


@pytest.fixture(scope="session")
def servers(real_vllm_env) -> Iterator[Queue[Server]]:
    """Two processes that run cases: loading the engine is most of a case, and keeps one core busy."""
    libraries = extras(real_vllm_env.python, CACHE)
    made = [Server(real_vllm_env.python, libraries) for _ in range(2)]
    free: Queue[Server] = Queue()
    for one in made:
        free.put(one)
    yield free
    for one in made:
        one.close()


@pytest.fixture
def server(servers: Queue[Server]) -> Iterator[Server]:
    """One of them, for this test alone."""
    one = servers.get()
    yield one
    servers.put(one)


@pytest.fixture(scope="session")
def observe(request, servers: Queue[Server], tree: Callable[[str], Path], tmp_path_factory) -> Iterator[Seen]:
    """``observe(case, version, patched=...)``: what a case sees in a release's tree.

    All that the selected tests will ask is asked ahead, two at a time.
    """
    by_id = {patch.id: patch for patch in catalog()}
    root = "-".join(tmp_path_factory.getbasetemp().parts[-2:])

    def seen(name: str, version: str, patched: bool) -> Any:
        case: Case = CASES[name]
        server = servers.get()
        try:
            if not patched:
                return server.observe(tree(version), version, case.file)
            plan = plan_on(tree(version), [by_id[one] for one in needed(by_id[name], by_id)])
            # Beside the trees, since links cannot cross file systems.
            target = CACHE / "work" / f"patched-{root}-{name}-{version}"
            try:
                return server.observe(linked(tree(version), target, plan.texts), version, case.file)
            finally:
                shutil.rmtree(target, ignore_errors=True)
        finally:
            servers.put(server)

    pool = ThreadPoolExecutor(2)
    asked = {one: pool.submit(seen, *one) for one in _wanted(request.session.items)}

    def answered(name: str, version: str, *, patched: bool) -> Any:
        if (name, version, patched) not in asked:
            asked[name, version, patched] = pool.submit(seen, name, version, patched)
        return asked[name, version, patched].result()

    yield answered
    pool.shutdown(cancel_futures=True)


def _wanted(items: Iterable[pytest.Item]) -> dict[tuple[str, str, bool], None]:
    """What the tests of red, green and upstream ask, in their order."""
    found: dict[tuple[str, str, bool], None] = {}
    for item in items:
        asked = item.callspec.params if "observe" in getattr(item, "fixturenames", ()) else {}
        if "name" in asked:
            name, version = asked["name"], asked["version"]
            found[name, version, False] = None
            if CASES[name].verdicts[version] == APPLIED:
                found[name, version, True] = None
    return found
