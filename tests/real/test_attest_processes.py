"""Attestation of the real vLLM, process by process: as built, with a function swapped, and started beside the build."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from genesisd.attest.expected import read_expectation
from genesisd.attest.folder import read_folder
from genesisd.attest.judge import judge
from genesisd.attest.model import Attestation, Cause, Process, Standing, State
from genesisd.attest.report import Report
from genesisd.attest.roles import Role, wanted_roles
from genesisd.demo.locate import locate
from genesisd.identity import stat_fields
from genesisd.pins.build_gc import remove_build
from genesisd.pins.build_manifest import Build
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import build as environment
from tests.helpers import engine_build
from tests.helpers.fake import cmdline
from tests.real.serving import Server, session
from tests.real.supervised import CACHE, ROOT, until

Serve = Callable[..., AbstractContextManager[Server]]
SWAP = """
    def register():
        import multiprocessing
        if "EngineCore" in multiprocessing.current_process().name:
            from vllm.v1.core.sched.scheduler import Scheduler
            inner = Scheduler.schedule
            def schedule(self, *args, **more):
                return inner(self, *args, **more)
            Scheduler.schedule = schedule
"""
ASIDE = """
    import os, sys

    def register():
        kept = [one for one in sys.path if not one.startswith({build!r})]
        sys.path[:] = kept
        os.environ["PYTHONPATH"] = ""
"""


@pytest.fixture(scope="module")
def build() -> Iterator[Build]:
    one = engine_build.make(environment(find_pin(load_pins(ROOT / "etc" / "pins.yaml"), "cpu-0.32.0"), CACHE), CACHE)
    yield one
    remove_build(CACHE, one.name)


@dataclass(frozen=True)
class Life:
    """A running server and what it shows of itself."""

    server: Server
    build: Build
    reports: Path

    def look(self, *, overdue: bool = True) -> Attestation:
        found = read_folder(self.reports)
        assert found.faults == ()
        tree = [(pid, stat_fields(pid)) for pid in session(self.server.process.pid)]
        processes = [Process(pid, int(fields[19]), cmdline(pid)) for pid, fields in tree if fields]
        expected = read_expectation(self.build.name, str(self.build.path.resolve()), self.build.attest)
        return judge(expected, found.reports, processes, wanted_roles(()), self.server.process.pid, overdue=overdue)

    def of(self, role: Role) -> Report:
        (found,) = [one for one in read_folder(self.reports).reports if one.role is role]
        return found


@contextmanager
def living(serve: Serve, build: Build, folder: Path, *before: Path) -> Iterator[Life]:
    reports = folder / "reports"
    reports.mkdir()
    with serve(locate().path, (), engine_build.environment_of(build, reports, *before)) as server:
        yield Life(server, build, reports)


PLACES = {"T1": Role.ENGINE, "T2": Role.WORKER, "T3": Role.API}
"""In which process each of these is alive once the server answers."""


def _all_told(found: Attestation) -> bool:
    return all(one.live.get(PLACES[one.id]) for one in found.patches if one.id in PLACES)


def test_every_role_runs_the_build_and_says_so(serve: Serve, build: Build, tmp_path: Path):
    """Decorated routes, compiled steps, constants of validated classes: alive in the process that is there for them."""
    with living(serve, build, tmp_path) as life:
        # A report is up to a second old: what was loaded just before the server answered may not be in it yet.
        found = until(lambda: (one := life.look()).state is not State.PENDING and _all_told(one) and one)
        assert found.state is State.ATTESTED
        assert {one.role: len(one.processes) for one in found.roles} == {
            Role.API: 1, Role.ENGINE: 1, Role.WORKER: 1, Role.OTHER: 0,
        }  # fmt: skip
        standing = {one.id: one for one in found.patches}
        assert {name: one.standing for name, one in standing.items()} == {
            **dict.fromkeys(("T1", "T2", "T3", "T5"), Standing.ATTESTED),
            **dict.fromkeys(("T4", "T6", "T7"), Standing.NOT_LOADED),
        }
        assert (standing["T3"].live[Role.API], standing["T1"].live[Role.ENGINE], standing["T2"].live[Role.WORKER]) == (
            2,
        ) * 3
        life.server.chat({"messages": [{"role": "user", "content": "hello"}], "max_tokens": 4})
        hits = until(lambda: (now := [life.of(one).hits for one in (Role.API, Role.ENGINE, Role.WORKER)]) and
                     now[0]["T3"] and now[1]["T1"] and now[2]["T2"] and now)  # fmt: skip
        assert hits[0]["T3"] == 1
        assert life.look().state is State.ATTESTED
        assert life.of(Role.ENGINE).faults == ()
        assert "Failed to load plugin" not in life.server.log.read_text()


def test_a_swapped_function_is_named_with_its_process(serve: Serve, build: Build, tmp_path: Path):
    """Another plugin wraps the scheduler in EngineCore alone: that is told, and where its code stands."""
    swapper = tmp_path / "swapper"
    swapper.mkdir()
    engine_build.lay_plugin(swapper, "swapper", SWAP)
    with living(serve, build, tmp_path, swapper) as life:
        found = until(lambda: (one := life.look()).state is State.REFUSED and one)
        (finding,) = found.findings
        engine = life.of(Role.ENGINE).pid
        assert (finding.cause, finding.pid, finding.patches) == (Cause.DIGEST, engine, ("T1",))
        assert finding.text == (
            f"EngineCore (pid {engine}): vllm.v1.core.sched.scheduler.Scheduler.schedule is not the code of the build: "
            f"the code stands in {(swapper / 'swapper.py').resolve()}"
        )


def test_processes_beside_the_build_are_named(serve: Serve, build: Build, tmp_path: Path):
    """The API server runs the build and starts an engine that does not: no report comes, and that is refused."""
    aside = tmp_path / "aside"
    aside.mkdir()
    engine_build.lay_plugin(aside, "aside", ASIDE.format(build=str(build.path)))
    with living(serve, build, tmp_path, aside) as life:
        until(lambda: life.look(overdue=False).state is State.PENDING)
        found = life.look()
        assert found.state is State.REFUSED
        silent = [one.process.partition(" (")[0] for one in found.findings if one.pid]
        assert sorted(silent) == ["EngineCore", "Worker"]
        assert "has not reported: nothing shows that it runs the build" in found.summary
