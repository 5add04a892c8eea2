"""Who waits for whom."""

from __future__ import annotations

from genesisd.supervisor import order
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.spec import WorkerSpec


def spec(**fields) -> WorkerSpec:
    return WorkerSpec(command=("true",), **fields)


def test_a_worker_waits_for_wanted_ones_before_it_and_always_for_required_ones():
    """``after`` is about order, ``requires`` about need."""
    down, unwanted = WorkerState(Phase.STARTING, wanted=True), WorkerState(Phase.STOPPED)
    after, needs = spec(after=["a"]), spec(requires=["a"])
    assert order.waits_for(after, {"a": down}).text == "waits for a, which is starting"
    assert order.waits_for(after, {"a": unwanted}) is None
    assert order.waits_for(needs, {"a": unwanted}).code == "dependency"
    assert order.waits_for(needs, {"a": WorkerState(Phase.READY, wanted=True)}) is None
    assert order.waits_for(needs, {}) is None


def test_a_shutdown_goes_in_reverse():
    """Dependents first; what does not depend goes together."""
    specs = {"db": spec(), "llm": spec(requires=["db"]), "agent": spec(after=["llm"]), "lone": spec()}
    assert order.stop_waves(specs) == [["agent", "lone"], ["llm"], ["db"]]


def test_only_those_that_require_it_go_down_with_it():
    """``after`` does not."""
    specs = {"db": spec(), "llm": spec(requires=["db"]), "agent": spec(after=["db"])}
    assert order.dependents("db", specs) == ["llm"]
