"""What is written is what is declared, for every kind of worker; and the schemas do not change unnoticed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.control import correctness_messages, messages, patch_messages, watch_messages, wire
from genesisd.control.views import ProbeView, StatusView, ViewMemo
from genesisd.errors import ConflictError
from genesisd.supervisor.model import Phase, Reason
from tests.fakes.control_api import NOW, FakeApi, failed_worker, ready_worker, stopped_worker

SCHEMAS = Path(__file__).parents[2] / "data" / "schemas"
DECLARED = [
    one for module in (messages, patch_messages, correctness_messages, watch_messages) for one in vars(module).values()
]
ANSWERS = sorted(
    {one for one in DECLARED if isinstance(one, type) and issubclass(one, messages.Answer)} - {messages.Answer},
    key=lambda m: m.__name__,
)


@pytest.mark.parametrize("model", ANSWERS, ids=lambda m: m.__name__)
def test_schema_is_kept(model) -> None:
    """A change of the wire shows in tests/data/schemas: set UPDATE_SCHEMAS=1 to accept it, and think of old clients."""
    path = SCHEMAS / f"{model.__name__}.json"
    now = json.dumps(model.model_json_schema(by_alias=True), indent=2, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_SCHEMAS"):
        path.write_text(now)
    assert path.read_text() == now


def test_no_schema_is_left_over() -> None:
    """A file without its message would be a promise that nobody keeps."""
    assert {path.stem for path in SCHEMAS.glob("*.json")} == {model.__name__ for model in ANSWERS}


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase(phase) -> None:
    """Each phase can be told."""
    text = wire.worker(ready_worker(phase=phase), wire.WorkerTexts(), NOW)
    assert messages.WorkerAnswer.model_validate_json(text).worker.phase is phase


@given(text=st.text(), at=st.none() | st.floats(0, NOW * 2), name=st.text())
def test_any_text_survives(text, at, name) -> None:
    """Percent signs, quotes and surrogates in a worker's words neither break the template nor change."""
    probe = ProbeView(stage="x", kind=text, verdict=text, summary=text, at=at)
    view = ready_worker(reason=Reason(text, text), probes=(probe, probe), url=name)
    told = json.loads(wire.worker(view, wire.WorkerTexts(), NOW))["worker"]
    assert (told["reason"], told["url"]) == ({"code": text, "text": text}, name)
    assert told["probes"][1]["summary"] == text
    assert (told["probes"][0]["age_seconds"] is None) == (at is None)
    assert at is None or told["probes"][0]["age_seconds"] >= 0


def test_ages_move_while_the_view_stays() -> None:
    """Kept text still tells the time."""
    texts, view = wire.WorkerTexts(), ready_worker(since=NOW)
    ages = [json.loads(wire.worker(view, texts, NOW + later))["worker"]["for_seconds"] for later in (0, 5, -3)]
    assert ages == [0.0, 5.0, 0.0]


def test_texts_forget_workers_that_left() -> None:
    """Kept text does not grow with the names that ever were."""
    texts = wire.WorkerTexts()
    for n in range(50):
        wire.workers([ready_worker(f"w{n}"), ready_worker()], texts, NOW)
    assert len(texts._kept) == 2


def test_status_of_many_kinds() -> None:
    """A status with every shape of worker is as declared."""
    api = FakeApi(ready_worker(), failed_worker(), stopped_worker())
    told = messages.StatusAnswer.model_validate_json(wire.status(api.status(), wire.WorkerTexts(), NOW))
    assert [worker.name for worker in told.workers] == ["tiny", "big", "spare"]


@pytest.mark.parametrize(
    ("workers", "store_ok", "healthy"),
    [
        ((), True, True),
        ((stopped_worker(),), True, True),
        ((ready_worker(),), True, True),
        ((ready_worker(),), False, False),
        ((ready_worker(), failed_worker()), True, False),
        ((ready_worker(phase=Phase.DEGRADED),), True, False),
    ],
)
def test_healthy(workers, store_ok, healthy) -> None:
    """All that is wanted is ready, and the store works."""
    daemon = replace(FakeApi().daemon, store_ok=store_ok)
    assert StatusView(daemon, workers).healthy is healthy


def test_memo_keeps_while_inputs_are_the_same() -> None:
    """The same objects give the same view; another object, or another number of them, a new one."""
    memo, first, second = ViewMemo(), object(), object()
    view = memo.view("tiny", (first,), ready_worker)
    assert memo.view("tiny", (first,), ready_worker) is view
    assert memo.view("tiny", (second,), ready_worker) is not view
    assert memo.view("tiny", (second, first), ready_worker) is not view
    memo.forget("tiny")
    memo.forget("tiny")


def test_error_keeps_what_json_has_no_word_for() -> None:
    """Fields are facts of any type."""
    told = json.loads(wire.error(ConflictError("x", path=Path("/a"), phase=Phase.READY, names={"a": {1}})))
    assert told["error"]["fields"]["path"] == "/a"
