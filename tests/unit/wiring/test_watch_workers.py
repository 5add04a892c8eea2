"""What predicates are asked about is what is configured."""

import pytest

from genesisd.patches.facts import gather
from genesisd.supervisor.spec import WorkerSpec
from genesisd.watch.interests import interests
from genesisd.watch.revisit import holds
from genesisd.wiring.watch_workers import WatchedWorkers, flags


class Known:
    """Knows flags and cards, and no model."""

    def __init__(self, gpus=((86, 24 << 30),)):
        self.cards = gpus

    async def of(self, spec):
        return gather(None, spec.args, self.cards)

    async def gpus(self, spec):
        return self.cards


def spec(**fields):
    return WorkerSpec.model_validate(
        {"pin": "a", "model": "/srv/models/Qwen3.5-27B-AWQ", "listen": "127.0.0.1:8000"} | fields
    )


async def told(one, active=None, pins=None):
    workers = WatchedWorkers(lambda: {"w": one}, Known(), lambda _: active, lambda: pins)
    return (await workers.facts())["w"]


@pytest.mark.parametrize(
    ("predicate", "answer"),
    [
        ("model: qwen3.5", True),
        ("model: gemma-4", False),
        ("flag: --kv-cache-dtype=turboquant_k8v4", True),
        ("is_turboquant: true", True),
        ("flag: --speculative-config.method=mtp", True),
        ("flag: --enable-prefix-caching", False),
        ("flag: --max-num-seqs >= 8", True),
        ("spec_method: mtp", True),
        ("gpu.sm >= 89", False),
        ("gpu.count >= 1", True),
        ("gpu.memory >= 24 GiB", True),
        ("gpu.memory > 24 GiB", False),
        ("patch: P67 active", True),
        ("patch: P1 active", False),
        ("pin: >=0.24.0", True),
        ("model_class: qwen3_5", None),
    ],
)
async def test_a_worker_answers_predicates(predicate, answer, tmp_path):
    """From its flags in either spelling, its cards, its patches and its pin's version."""
    pins = tmp_path / "pins.yaml"
    pins.write_text('pins:\n  a: {package: vllm, version: "0.32.0", python: "3.11"}\n')
    args = (
        "--kv-cache-dtype", "turboquant_k8v4", '--speculative-config={"method": "mtp", "num_speculative_tokens": 3}',
        "--no-enable-prefix-caching", "--max_num_seqs=8",
    )  # fmt: skip
    assert holds(predicate, await told(spec(args=args), frozenset({"P67"}), pins)) is answer


async def test_what_is_not_known_is_left_out():
    """No pins file, no build: such predicates cannot be told."""
    facts = await told(spec())
    assert holds("pin: >=0.24.0", facts) is None
    assert holds("patch: P67 active", facts) is None


async def test_a_command_has_no_flags_that_we_know():
    """A worker with a command of its own may be told anything by it."""
    facts = await told(WorkerSpec.model_validate({"command": ["sleep", "9"], "listen": "127.0.0.1:8000"}))
    assert "flags" not in facts
    assert holds("flag: --enable-prefix-caching", facts) is None


def test_the_last_of_two_counts():
    """As in the engine; JSON is flattened."""
    assert flags(("--max-num-seqs=4", "--max-num-seqs", "8", "--hf-overrides", '{"a": {"b": 1}}')) == {
        "--max-num-seqs": "8", "--hf-overrides": True, "--hf-overrides.a.b": 1,
    }  # fmt: skip


async def test_a_worker_tells_what_new_pull_requests_are_scored_by():
    """The same facts, whichever way a flag is written."""
    args = (
        "--kv_cache_dtype",
        "turboquant_k8v4",
        '-sc={"method": "mtp"}',
        "--no-enable-prefix-caching",
        "--enable-lora",
    )
    facts = await told(spec(args=args))
    found = interests([facts])
    assert {"qwen3.5", "qwen3"} <= found.models
    assert {"awq", "turboquant", "kv cache", "mtp", "lora"} <= found.features
    assert "prefix caching" not in found.features
