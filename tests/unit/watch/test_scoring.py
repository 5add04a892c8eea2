"""New pull requests are told by what they touch and by what runs here, each point with its reason."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from genesisd.watch.interests import interests
from genesisd.watch.model import PatchFact, Pull, State
from genesisd.watch.refs import Ref
from genesisd.watch.scoring import Interests, ranked, score

SHARED = Path(__file__).parents[4] / "shared"
PATCHES = (
    PatchFact(id="P62", active=True, files=("vllm/v1/core/sched/scheduler.py",)),
    PatchFact(id="P1", retired=True, files=("vllm/v1/core/block_pool.py",)),
)
HERE = Interests(
    models=frozenset({"qwen3.5"}), features=frozenset({"turboquant", "mtp"}), labels=frozenset({"quantization"})
)


def pull(number=1, title="Something", **fields):
    return Pull(ref=Ref("vllm-project/vllm", number), state=State.OPEN, checked_at=0.0, title=title, **fields)


def test_a_file_of_ours_weighs_most():
    """It is told with the patch, and ranks before a title that only speaks of a model."""
    touches = pull(1, files=("vllm/v1/core/sched/scheduler.py",))
    speaks = pull(2, title="Tune Qwen3.5 attention", files=("vllm/other.py",))
    first, second = ranked([speaks, touches], PATCHES, HERE, most=5)
    assert (first.pull, first.patches) == (touches, ("P62",))
    assert first.reasons[0] == "touches vllm/v1/core/sched/scheduler.py, which P62 changes"
    assert second.reasons == ("is about qwen3.5, a model that runs here",)


def test_a_file_of_a_retired_patch_is_nobodys():
    """Only what may be in a build counts."""
    assert score(pull(files=("vllm/v1/core/block_pool.py",)), PATCHES, HERE).patches == ()


@pytest.mark.parametrize("title", ["[Model] Qwen3.5 MoE", "support for qwen3_5", "Qwen 3.5 rope"])
def test_one_family_has_many_spellings(title):
    """Dots, underscores and blanks are the same."""
    assert "is about qwen3.5, a model that runs here" in score(pull(title=title), (), HERE).reasons


@pytest.mark.parametrize("title", ["[Model] Qwen2.5 MoE", "MTPLX", "requantize everything"])
def test_a_word_within_a_word_is_another(title):
    """No family and no feature is found inside a longer word."""
    assert score(pull(title=title), (), HERE).reasons == ()


@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("[Doc] MTP guide", "changes nothing that is shipped"),
        ("[ROCm] MTP kernels", "is for rocm"),
        ("[Bugfix] MTP crash", "mends something"),
    ],
)
def test_what_else_counts(title, reason):
    """Documents and other hardware sink, mends rise."""
    assert reason in score(pull(title=title), (), HERE).reasons


def test_hardware_of_ours_does_not_sink():
    """A box with a CPU engine hears of the CPU backend."""
    box = replace(HERE, hardware=frozenset({"cpu"}))
    assert score(pull(title="[CPU] MTP"), (), box).score > score(pull(title="[CPU] MTP"), (), HERE).score


def test_what_was_closed_is_not_told_and_the_number_is_bounded():
    """At most so many, of equals the newest change first."""
    pulls = [pull(n, title="MTP", updated_at=float(n)) for n in range(1, 9)]
    closed = replace(pull(99, title="MTP"), state=State.CLOSED)
    issue = replace(pull(98, title="MTP"), is_issue=True)
    assert [one.pull.ref.number for one in ranked([*pulls, closed, issue], PATCHES, HERE, most=3)] == [8, 7, 6]
    assert ranked(pulls, PATCHES, HERE, most=0) == ()


def test_interests_come_from_what_is_configured():
    """Models, formats, parsers and speculation, by the facts that predicates are asked about."""
    found = interests(
        [
            {
                "model": ("/srv/models/Qwen3.5-27B-AWQ", "Qwen3.5-27B-AWQ"),
                "kv_cache_dtype": "turboquant_k8v4",
                "flags": {"--enable-prefix-caching": True, "--enable-lora": False, "--attention-backend": "FLASHINFER"},
                "n_gpus": 1,
            },
            {"model": ("google/gemma-4-26B",), "spec_method": "mtp", "tool_call_parser": "hermes", "flags": {}},
            {"quantization": None, "kv_cache_dtype": "auto", "n_gpus": 0},
        ],
        models=["llama4"],
        labels=["bug"],
    )
    assert {"qwen3.5", "qwen3", "gemma-4", "llama4"} == found.models
    words = {"awq", "turboquant", "kv cache", "prefix caching", "prefix cache", "flashinfer"}
    assert found.features == words | {"mtp", "speculative", "spec decode", "hermes", "tool call", "tool parser"}
    assert found.hardware == {"cuda", "nvidia"}
    assert found.labels == {"bug"}


def test_an_engine_without_a_card_computes_on_the_processor():
    """Then upstream's CPU backend is its hardware; a program that is no engine says nothing."""
    assert "cpu" in interests([{"flags": {}, "n_gpus": 0}]).hardware
    assert "cpu" not in interests([{"n_gpus": 0}, {"flags": {}, "n_gpus": 1}, {"flags": {}}]).hardware


BATCH = {
    "gate": (47507, 47396, 47391, 47382),
    "collision": (47491, 47489, 47513, 47462),
    "irrelevant": (47556, 47459, 47460, 47386, 47445),
}
"""The pull requests of the night of 2026-07-05 whose triage by hand is known, by what it came to."""
FLEET = Interests(
    models=frozenset({"gemma4", "gemma-4", "diffusiongemma", "qwen3.5", "qwen3.6"}),
    features=frozenset(
        {"mtp", "eagle", "spec decode", "gdn", "fp8", "turboquant", "compressed tensors", "structured output", "mamba"}
    ),
)
"""What that fleet ran."""


def recall(numbers, order, at):
    return len([one for one in order[:at] if one in numbers]) / len(numbers)


@pytest.mark.skipif(not SHARED.exists(), reason="the facts of that night are not part of the project")
def test_a_known_night_is_ranked_as_people_did():
    """Of what people kept that night, more than half stands in the first half of the list, by titles alone."""
    facts = {one["number"]: one for one in json.loads((SHARED / "fixtures/pull_requests.json").read_text())}
    seed = (SHARED / "seeds/upstream_watchlist.yaml").read_text()
    named = {int(number) for number in re.findall(r"^- pr: (\d+)", seed, re.MULTILINE)}
    batch = [number for numbers in BATCH.values() for number in numbers]
    assert set(batch) <= named
    extras = [
        number for number, one in facts.items() if one["is_extra"] and one["title"] and one["kind"] == "pull_request"
    ]
    pulls = [
        pull(
            number,
            title=facts[number]["title"],
            files=None if facts[number]["files"] is None else tuple(facts[number]["files"]),
        )
        for number in (*batch, *extras)
    ]
    order = [one.pull.ref.number for one in ranked(pulls, (), FLEET, most=len(pulls), least=-99)]
    wanted = {*BATCH["gate"], *BATCH["collision"]}
    among = [number for number in order if number in batch]
    told = {at: round(recall(wanted, among, at), 2) for at in (4, 8, 10)} | {
        f"all {n}": round(recall(wanted, order, n), 2) for n in (10, 20)
    }
    print(f"recall of 8 known: within the batch of 13 at 4, 8, 10 and among {len(order)} at 10, 20: {told}")
    assert recall(wanted, among, 8) >= 0.5
