"""The control API: orders become events, answers come from memory, refusals say what to do."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from genesisd.control.ports import Peer, WaitTimeoutError
from genesisd.errors import ConfigError, ConflictError, NotFoundError
from genesisd.supervisor.model import Phase, Reason, WorkerState
from genesisd.supervisor.ports import Found
from genesisd.supervisor.spec import WorkerSpec
from genesisd.supervisor.supervisor import Supervisor
from genesisd.wiring.api import DaemonApi
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.lines import LogLines
from genesisd.wiring.views import Sources, Views
from tests.fakes.supervision import SECONDS, Fakes, FakeSink, events_until_ready, life
from tests.fakes.wiring import FakeFronts, FakeOperations

READY = WorkerState(phase=Phase.READY, wanted=True, incarnation=3, reason=Reason("ready", "serving"))
PEER = Peer(uid=1000, gid=1000, pid=1)


class FakeCorrectness:
    """As far as orders concern it."""

    def __init__(self):
        self.forgiven = []
        self.ended = []

    def forgive(self, worker, *, lift):
        self.forgiven.append((worker, lift))

    def stopped(self, worker):
        self.ended.append(worker)


class Desk:
    def __init__(self, states):
        self.fakes = Fakes(states)
        self.fakes.prober.auto = events_until_ready(self.fakes.clock)
        self.supervisor = Supervisor(lambda supervisor: self.fakes.ports())
        self.operations, self.sink = FakeOperations(), FakeSink()
        runner = self.fakes.runner
        for name, state in states.items():
            if state.phase is Phase.READY:
                runner.found[name] = Found(life(name, 3), shim_alive=True, incarnation=3, last_exit=None)
        views = Views(
            Sources(
                supervisor=self.supervisor,
                runner=runner,
                fronts=FrontAdapter(FakeFronts()),
                probes=lambda name: (),
                adopted=self.supervisor.was_adopted,
                shim_pid=lambda name: None,
                build=lambda name, incarnation: None,
                clock=self.fakes.clock,
            )
        )
        self.correctness = FakeCorrectness()
        self.api = DaemonApi(
            self.supervisor, views, None, LogLines(runner), self.operations, self.correctness, None, self.sink,
            self.fakes.clock,
        )  # fmt: skip


@contextlib.asynccontextmanager
async def desk(states=None, **specs):
    one = Desk({"w": READY} if states is None else states)
    async with asyncio.timeout(SECONDS):
        await one.supervisor.start(specs or {"w": WorkerSpec(command=("vllm",))}, rebooted=False)
        yield one
    await one.supervisor.detach()


async def test_a_stop_is_answered_with_what_it_led_to():
    """Never with 'ready'; the order and who gave it are told."""
    async with desk() as one:
        one.fakes.front.flying["w"] = 1
        view = await one.api.stop("w", PEER)
        assert (view.phase, view.wanted) == (Phase.DRAINING, False)
        assert str(PEER) in view.reason.text
        assert one.sink.events == [("order", "w", {"verb": "stop", "peer": str(PEER)})]


async def test_a_stop_without_drain_does_not_wait_for_requests():
    """SIGTERM at once."""
    async with desk() as one:
        one.fakes.front.flying["w"] = 1
        await one.api.stop("w", PEER, drain=False)
        assert ("terminate", "w", 3) in one.fakes.log


async def test_a_drain_is_a_stop_that_waits():
    """And it is final as well."""
    async with desk() as one:
        one.fakes.front.flying["w"] = 1
        view = await one.api.drain("w", PEER)
        assert (view.phase, view.wanted) == (Phase.DRAINING, False)


async def test_a_restart_is_a_new_incarnation_at_no_cost():
    """The budget is untouched."""
    async with desk() as one:
        await one.api.restart("w", PEER)
        await one.fakes.log.until("born")
        view = await one.api.wait_for("w", {Phase.READY}, 10)
        assert (view.incarnation, view.restarts.in_window) == (4, 0)


@pytest.mark.parametrize("verb", ["start", "reset"])
async def test_a_start_or_reset_also_gives_a_failed_build_another_try(verb):
    """Else it would answer with a failure of five minutes ago."""
    failed = WorkerState(phase=Phase.FAILED, wanted=True, incarnation=3, reason=Reason("budget-spent", "gave up"))
    async with desk({"w": failed}) as one:
        await getattr(one.api, verb)("w", PEER)
        await one.api.wait_for("w", {Phase.READY}, 10)
        assert ("builds",) in one.operations.told


@pytest.mark.parametrize("verb", ["start", "stop", "restart", "drain", "reset"])
async def test_orders_are_refused_for_the_unknown_the_leaving_and_at_the_end(verb):
    """And not told as if they had been obeyed."""
    async with desk() as one:
        order = getattr(one.api, verb)
        with pytest.raises(NotFoundError):
            await order("v", PEER)
        one.operations.stopping = True
        with pytest.raises(ConflictError, match="shutting down"):
            await order("w", PEER)
        one.operations.stopping = False
        one.fakes.front.flying["w"] = 1
        leaving = asyncio.create_task(one.supervisor.remove("w"))
        await one.fakes.log.until("count")
        with pytest.raises(ConflictError, match="being removed"):
            await order("w", PEER)
        one.fakes.front.flying.clear()
        await leaving
        assert one.sink.events == []


async def test_a_wait_ends_with_the_phase_or_with_its_deadline():
    """The error says where the worker is and why."""
    async with desk() as one:
        assert (await one.api.wait_for("w", {Phase.READY, Phase.FAILED}, 1)).phase is Phase.READY
        with pytest.raises(WaitTimeoutError, match="w is ready after 0.01 s: serving") as caught:  # noqa: RUF043
            await one.api.wait_for("w", {Phase.STOPPED}, 0.01)
        assert (caught.value.fields["phase"], "logs w" in caught.value.hint) == ("ready", True)
        with pytest.raises(NotFoundError):
            await one.api.wait_for("v", {Phase.STOPPED}, 0.01)


async def test_a_wait_for_a_worker_that_leaves_ends_as_well():
    """Its actor is gone: nobody would ever wake the waiter."""
    async with desk() as one:
        waiting = asyncio.create_task(one.api.wait_for("w", {Phase.FAILED}, 60))
        await asyncio.sleep(0)
        await one.supervisor.remove("w")
        with pytest.raises(ConflictError, match="not supervised"):
            await waiting


async def test_looking_brings_the_counts_up_to_date():
    """Without waiting for them; the list of names costs nothing."""
    async with desk() as one:
        assert [view.name for view in one.api.status().workers] == ["w"]
        assert one.api.worker("w").name == "w"
        assert one.operations.told == [("refresh",)] * 2
        one.api.workers()
        assert len(one.operations.told) == 2


async def test_logs_of_an_unknown_worker_are_refused_before_anything_is_sent():
    """And those of a known one are its last lines."""
    async with desk() as one:
        one.fakes.runner.lines = ["a", "b"]
        with pytest.raises(NotFoundError):
            one.api.logs("v", 1, follow=False)
        assert [line async for line in one.api.logs("w", 1, follow=False)] == ["b"]


async def test_reload_and_shutdown_are_told_with_who_asked():
    """A reload is refused at the end; a shutdown may be asked for twice."""
    async with desk() as one:
        await one.api.reload(PEER)
        await one.api.shutdown(PEER, drain=True)
        one.operations.stopping = True
        with pytest.raises(ConflictError):
            await one.api.reload(PEER)
        await one.api.shutdown(PEER, drain=False)
        assert one.operations.told == [("reload",), ("stop", True), ("stop", False)]
        assert [fields["verb"] for fields in one.sink.of("order")] == ["reload", "shutdown", "shutdown"]


async def test_a_check_looks_at_the_asked_file_or_at_the_own(tmp_path):
    """Relative paths are refused: the daemon's folder is not the asker's."""
    file = tmp_path / "g.yaml"
    file.write_text("workers: {}\n")
    async with desk() as one:
        one.operations.config_path = file
        assert (await one.api.check_config(None)).path == str(file)
        with pytest.raises(ConfigError, match="relative"):
            await one.api.check_config("g.yaml")
        file.write_text("workers: {w: {comand: [x]}}\n")
        (fault, *_) = (await one.api.check_config(str(file))).faults
        assert (fault.line, fault.file) == (1, str(file))


async def test_a_person_who_starts_what_is_down_begins_anew():
    """For the judge too; a start of what runs means nothing, and a reset lifts a rollback besides."""
    async with desk() as one:
        await one.api.start("w", PEER)
        assert one.correctness.forgiven == []
        await one.api.reset("w", PEER)
        assert one.correctness.forgiven == [("w", True)]
        await one.api.stop("w", PEER, drain=False)
        await one.api.wait_for("w", {Phase.STOPPED}, 5)
        await one.api.start("w", PEER)
        assert one.correctness.forgiven == [("w", True), ("w", False)]
        await one.api.restart("w", PEER)
        assert len(one.correctness.forgiven) == 2
        await one.api.stop("w", PEER, drain=False)
        await one.api.wait_for("w", {Phase.STOPPED}, 5)
        await one.api.restart("w", PEER)
        assert len(one.correctness.forgiven) == 3


@pytest.mark.parametrize("verb", ["stop", "drain"])
async def test_a_stop_ends_what_is_tried_on_the_workers_behalf(verb):
    """Nobody looks for a guilty patch of a worker that nobody wants; a refused order ends nothing."""
    async with desk() as one:
        one.operations.stopping = True
        with pytest.raises(ConflictError):
            await getattr(one.api, verb)("w", PEER)
        assert one.correctness.ended == []
        one.operations.stopping = False
        await getattr(one.api, verb)("w", PEER)
        assert one.correctness.ended == ["w"]
