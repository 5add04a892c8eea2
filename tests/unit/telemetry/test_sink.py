"""Events reach everybody, and no receiver can harm the one who tells."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
import structlog

from genesisd.telemetry import names
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.sink import Sink, follow_store


class MemoryJournal:
    def __init__(self):
        self.rows = []

    def append(self, at, kind, worker, incarnation, fields):
        self.rows.append((kind, worker, incarnation, fields))
        return SimpleNamespace(id=len(self.rows))


@pytest.fixture
def journal():
    return MemoryJournal()


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def sink(metrics, journal):
    with structlog.testing.capture_logs() as logs:
        made = Sink(metrics, journal)
        made.logs = logs
        yield made


def count(metrics, kind):
    return metrics.daemon[names.JOURNAL_EVENTS].values[(kind,)]


def errors(metrics):
    return metrics.daemon[names.SINK_ERRORS].values[()]


def test_an_event_reaches_journal_metrics_log_and_listeners(sink, journal, metrics):
    """One emit, four receivers, one content."""
    heard = []
    sink.listen(heard.append)
    sink.emit("worker_exited", "w", incarnation=3, cause="crash", code=1)
    assert journal.rows == [("worker_exited", "w", 3, {"cause": "crash", "code": 1})]
    assert count(metrics, "worker_exited") == 1
    assert sink.logs == [
        {"event": "worker_exited", "log_level": "warning", "worker": "w", "incarnation": 3, "cause": "crash", "code": 1}
    ]
    assert (heard[0].id, heard[0].kind, heard[0].incarnation) == (1, "worker_exited", 3)


def test_probe_results_are_not_journalled(sink, journal, metrics):
    """Thousands an hour would push everything else out."""
    sink.emit("probe_result", "w", stage="liveness", kind="process", verdict="success", seconds=0.1)
    assert journal.rows == []
    assert count(metrics, "probe_result") == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"event": "a", "level": "b"},
        {"kind": "a", "worker": "b", "at": 1},
        {"incarnation": "not a number"},
        {"timestamp": 1, "exc_info": 1, "stack_info": 2, "name": "x", "self": 3},
    ],
)
def test_no_field_name_is_in_the_way(sink, journal, fields):
    """Fields called like our own words are kept."""
    sink.emit("strange_kind", "w", **fields)
    assert journal.rows[0][0] == "strange_kind"


def test_a_failing_journal_costs_its_copy_only(sink, journal, metrics):
    """Supervision must not stop because a row cannot be made."""

    def append(*_):
        raise TypeError("keys must be str")

    journal.append = append
    heard = []
    sink.listen(heard.append)
    sink.emit("order", None, verb="reload")
    assert heard[0].id is None
    assert count(metrics, "order") == 0
    assert errors(metrics) == 1


def test_a_failing_listener_is_counted_and_the_next_one_hears(sink, metrics):
    """Also when it removes itself in the middle."""
    heard = []
    ends = []

    def bad(_):
        ends[0]()
        raise RuntimeError("gone")

    ends.append(sink.listen(bad))
    sink.listen(heard.append)
    sink.emit("order")
    sink.emit("order")
    ends[0]()
    assert len(heard) == 2
    assert errors(metrics) == 1


async def test_a_slow_subscriber_is_told_what_it_missed(sink):
    """Its queue is bounded; the mark stands where the gap is."""
    with sink.subscribe(capacity=3) as events:
        for n in range(10):
            sink.emit("order", None, n=n)
        got = [await anext(events) for _ in range(4)]
        assert got[0].kind == "dropped"
        assert got[0].fields == {"count": 7}
        assert [one.fields["n"] for one in got[1:]] == [7, 8, 9]
        waiting = asyncio.create_task(anext(events))
        await asyncio.sleep(0)
        sink.emit("order", None, n=10)
        assert (await waiting).fields == {"n": 10}
    sink.emit("order")
    assert events.total_dropped == 7


async def test_troubles_of_the_store_become_events_also_from_its_thread(sink, metrics, journal):
    """Those of the opening first."""
    problem = SimpleNamespace(code="damaged", text="was damaged", path="/x")
    store = SimpleNamespace(problems=[problem], on_problem=None, on_error_count=None)
    follow_store(sink, metrics, store, asyncio.get_running_loop())
    assert journal.rows[-1][3] == {"code": "damaged", "text": "was damaged", "path": "/x"}

    def from_thread():
        store.on_error_count(7)
        store.on_problem(SimpleNamespace(code="write", text="full", path="/x"))

    thread = threading.Thread(target=from_thread)
    thread.start()
    thread.join()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert journal.rows[-1][3]["code"] == "write"
    assert metrics.daemon[names.STORE_ERRORS].values[()] == 7
