"""The trees, the server of cases, and the patched trees: each made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from genesisd.errors import GenesisError
from genesisd.patches.catalog import catalog
from genesisd.pins.trees import fetch_tree
from tests.catalog.cases import CASES, Case, needed
from tests.catalog.forge import Server, extras, linked, plan_on
from tests.catalog.releases import CACHE, RELEASES
from tests.real.conftest import real_vllm_env

__all__ = ["real_vllm_env"]


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


@pytest.fixture(scope="session")
def server(real_vllm_env) -> Iterator[Server]:
    server = Server(real_vllm_env.python, extras(real_vllm_env.python, CACHE))
    yield server
    server.close()


@pytest.fixture(scope="session")
def observe(server: Server, tree: Callable[[str], Path], tmp_path_factory) -> Callable[..., Any]:
    """``observe(case, version, patched=...)``: what a case sees in a release's tree."""
    by_id = {patch.id: patch for patch in catalog()}

    @cache
    def seen(name: str, version: str, *, patched: bool) -> Any:
        case: Case = CASES[name]
        if not patched:
            return server.observe(tree(version), version, case.file)
        plan = plan_on(tree(version), [by_id[one] for one in needed(by_id[name], by_id)])
        # Beside the trees, since links cannot cross file systems.
        target = CACHE / "work" / f"patched-{tmp_path_factory.getbasetemp().name}-{name}-{version}"
        try:
            return server.observe(linked(tree(version), target, plan.texts), version, case.file)
        finally:
            shutil.rmtree(target, ignore_errors=True)

    return seen
