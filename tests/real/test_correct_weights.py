"""Right answers of a real vLLM recorded, and weights that were changed on disk afterwards: T15 of the scenarios.

One worker serves all tests, in this order; each starts from a record that the fixture made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from genesisd.demo.locate import locate
from tests.real.correctness import (
    Judged,
    judged,
    judged_rig,
    model_copy,
    now,
    rewritten,
    told,
    with_case,
)
from tests.real.serving import RealVllm
from tests.real.supervised import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(1200)]
LITERAL = {
    "id": "literal",
    "body": {"max_tokens": 60, "messages": [{"role": "user", "content": "Which tag opens a tool call?"}]},
}
ROW = 256
"""Bytes of one token in the table of tokens: 128 numbers of 16 bits."""
SWAPPED = ((438, 447), (440, 457))
"""Tokens that change places: Lima and Tokyo, bread and coal."""


@pytest.fixture(autouse=True)
def _no_child_left() -> None:
    """Not asked here: one daemon serves the module, and the box looks at its end that nothing is left."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo model."""
    return model_copy(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def rig(real_vllm_env: RealVllm, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """Ready, with patches, and with a parser that says otherwise without one of them."""
    settings = judged(("P61c", "PN389"), with_case(tmp_path_factory.mktemp("book"), LITERAL))
    settings["model"] = str(model)
    settings["args"] = [one.replace("hermes", "qwen3_coder") for one in settings["args"]]
    settings["args"].append(f"--chat-template={locate().template('qwen3_coder')}")
    with judged_rig(settings) as rig:
        rig.ready()
        yield rig


@pytest.fixture(scope="module")
def refused(rig: Judged) -> str:
    """What is said to whoever records without a word on the differences."""
    said = rig.ctl("probes", "record-golden", "tiny", status=5)
    assert list((rig.box.state / "goldens").rglob("*.json")) == []
    return said


@pytest.fixture(scope="module")
def golden(rig: Judged, refused: str) -> dict[str, Any]:
    """The recording, once the difference is named."""
    assert refused
    said = rig.ctl("--json", "probes", "record-golden", "tiny", "--explain", "literal=P61c")
    content: dict[str, Any] = json.loads(Path(json.loads(said)["path"]).read_text())
    return content


@pytest.fixture
def sound(rig: Judged, model: Path, golden: dict[str, Any]) -> Iterator[Judged]:
    """It runs the right weights; they are right again afterwards."""
    assert golden
    weights = model / "model.safetensors"
    right = weights.read_bytes()
    yield rig
    weights.write_bytes(right)


def restarted(rig: Judged) -> float:
    """In a new life; when it became ready."""
    before = rig.look()["incarnation"]
    rig.order("restart")
    rig.reaches("ready", incarnation=before + 1)
    return now()


def test_a_difference_from_the_plain_pin_has_to_be_named(rig: Judged, refused: str, golden: dict[str, Any]) -> None:
    """Without a patch named for it nothing is recorded; with it, the plain pin's recording is the reference."""
    assert "literal" in refused
    assert "no patch is named for it" in refused
    assert "--explain CASE=PATCH" in refused
    assert rig.box.ask("patches", "tiny")["build"]["state"] == "attested"
    assert golden["differs"] == {"literal": "P61c"}
    assert golden["reference"].startswith("cpu-0.32.0 without patches")
    assert golden["build"] == rig.look()["build"]["build"]
    assert rig.scratches() == []


def test_what_was_recorded_is_found_again(rig: Judged, golden: dict[str, Any]) -> None:
    """Every kind that is asked is good, those that compare among them."""
    assert golden["drift"] is not None
    rig.sound()
    assert {"golden", "logprob-drift", "tokenizer"} <= set(rig.standing())
    assert "No incident is open" in rig.why()


def test_a_change_that_no_word_shows_is_seen_in_logprobs(sound: Judged, model: Path) -> None:
    """The last scale lost a hundredth: greedy answers are the same to the letter, and only the drift is bad."""
    rewritten(model, "model.norm.weight", smaller)
    rig = sound
    began = restarted(rig)
    event = rig.first(began, "judge_told")
    told("logprobs that drifted, from ready to told", began, event)
    until(lambda: rig.standing()["golden"] == "good")
    assert event["fields"]["kinds"] == ["logprob-drift"]
    assert {kind for kind, one in rig.standing().items() if one == "bad"} <= {"logprob-drift"}
    rig.order("stop")
    rig.reaches("stopped")


def test_t15_changed_weights_are_caught_and_the_worker_is_held(sound: Judged, model: Path) -> None:
    """Four tokens changed places on disk: fluent, and wrong. No patch is blamed for it, and the worker does not serve."""
    rewritten(model, "model.embed_tokens.weight", swapped)
    rig, loaded = sound, now()
    rig.order("reset")
    rig.order("start")
    rig.reaches("ready")
    began = now()
    event = rig.first(loaded, "judge_restart")
    told("wrong answers, from ready to restart", began, event)
    ended = rig.first(loaded, "bisection_ended")
    told("wrong answers, from ready to the end of the search", began, ended)
    held = rig.first(loaded, "judge_hold")
    told("wrong answers, from ready to hold", began, held)
    rig.reaches("failed")
    assert {"golden", "logprob-drift"} <= rig.failed(loaded)
    assert ended["fields"]["guilty"] == []
    assert "the plain pin answers wrong too, so no patch is to blame" in held["fields"]["text"]
    why = rig.why()
    print(why)
    assert "no patch is to blame" in why
    until(lambda: rig.scratches() == [])
    assert rig.ctl("quarantine", "list") == ""


def smaller(raw: bytearray, start: int, end: int) -> None:
    """Each number of 16 bits by two of its last places: about a hundredth."""
    for place in range(start, end, 2):
        value = int.from_bytes(raw[place : place + 2], "little")
        raw[place : place + 2] = (value - 2).to_bytes(2, "little")


def swapped(raw: bytearray, start: int, end: int) -> None:
    """Rows change places."""
    for one, other in SWAPPED:
        first, second = (slice(start + row * ROW, start + (row + 1) * ROW) for row in (one, other))
        assert second.stop < end
        raw[first], raw[second] = raw[second], raw[first]
