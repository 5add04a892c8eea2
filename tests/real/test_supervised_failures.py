"""A real vLLM that cannot start: one life, a readable reason, no loop. And one that is merely slow: left alone."""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from genesisd.demo.locate import locate
from tests.helpers.box import Box, alive, free_port
from tests.real.serving import RealVllm
from tests.real.supervised import Rig, engine_url, example, left_behind, listening, real_box, residue, scratch

CHUNK = 128
"""Tokens of a prefill step: as small as a KV block."""
LONGEST = 65536
WINDOW = 10.0
"""The default window of the progress probe."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``truncated``: half of the weights is missing. ``heavy``: a configuration whose prefill takes long."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("truncated", "heavy"):
        shutil.copytree(locate().path, folder / name)
    weights = folder / "truncated" / "model.safetensors"
    with weights.open("r+b") as file:
        file.truncate(weights.stat().st_size // 2)
    (folder / "heavy" / "model.safetensors").unlink()
    described = folder / "heavy" / "config.json"
    shape = {"hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 8, "num_attention_heads": 8}
    shape |= {"head_dim": 64, "max_position_embeddings": LONGEST, "layer_types": ["full_attention"] * 8}
    described.write_text(json.dumps(json.loads(described.read_text()) | shape))
    return folder


@pytest.fixture(scope="module")
def port() -> int:
    """The engine port that a stranger takes."""
    return free_port()


@pytest.fixture(scope="module")
def box(real_vllm_env: RealVllm, models: Path, port: int) -> Iterator[Box]:
    """One daemon; nothing starts by itself."""
    plain = {name: value for name, value in example().items() if name != "listen"} | {"autostart": False}
    heavy = [arg for arg in plain["args"] if not arg.startswith("--max-")]
    heavy += ["--load-format=dummy", f"--max-model-len={LONGEST}", f"--max-num-batched-tokens={CHUNK}"]
    heavy += ["--max-num-seqs=4", "--no-enable-prefix-caching"]
    before = residue()
    workers = {
        "flag": plain | {"args": [*plain["args"], "--no-such-flag"]},
        "path": plain | {"model": "/nonexistent/model"},
        "port": plain | {"engine_port": port},
        "kv": plain | {"env": plain["env"] | {"VLLM_CPU_KVCACHE_SPACE": "100000"}},
        "truncated": plain | {"model": str(models / "truncated")},
        "heavy": plain | {"model": str(models / "heavy"), "args": heavy},
    }
    with real_box(workers) as box:
        yield box
    assert left_behind(before) == set()


FAULTS = {
    "truncated": ("bad-weights", "a weight file cannot be read"),
    "flag": ("bad-config", "--no-such-flag"),
    "path": ("bad-model", "/nonexistent/model"),
    "kv": ("kv-too-large", "the KV cache does not fit into memory"),
    "port": ("port-taken", "its port is taken"),
}
"""Worker: code of the reason, words of its text."""


@pytest.fixture(scope="module")
def failed(box: Box, port: int) -> dict[str, dict[str, Any]]:
    """All of them as status shows them after their deaths; two start at a time, as they share the cores."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(FAULTS, pool.map(lambda name: _fail(Rig(box, name), port), FAULTS), strict=True))


def _fail(rig: Rig, port: int) -> dict[str, Any]:
    began = time.monotonic()
    rig.box.ask("order", "start", rig.worker)
    if rig.worker == "port":
        rig.reaches("starting", incarnation=1)
        with listening(port):  # the gate has passed: the engine itself meets the stranger
            found = rig.reaches("blocked", "failed", "ready")
            rig.box.ask("order", "stop", rig.worker)
    else:
        found = rig.reaches("failed", "ready")
    print(f"\n{rig.worker}: {found['phase']} after {time.monotonic() - began:.1f} s: {found['reason']}")
    return found


@pytest.mark.parametrize("worker", FAULTS)
def test_a_start_that_cannot_succeed_fails_once_and_says_why(
    box: Box, failed: dict[str, dict[str, Any]], worker: str
) -> None:
    """A classified, readable reason; one life, no restart loop, nothing left."""
    code, words = FAULTS[worker]
    found = failed[worker]
    assert (found["phase"], found["reason"]["code"]) == ("blocked" if worker == "port" else "failed", code), found
    assert found["last_exit"]["cause"] == code
    assert words in found["last_exit"]["text"]
    assert words in found["reason"]["text"] or worker == "port"
    assert len(found["reason"]["text"]) <= 400
    now = box.worker(worker)  # others have failed since, so a loop would show by now
    assert (now["phase"], now["incarnation"]) == ("stopped" if worker == "port" else "failed", 1)
    assert scratch(box, worker) == []


def test_a_lone_long_prefill_is_left_alone(box: Box) -> None:
    """Tokens stand still and canaries starve for several windows, and yet it is neither restarted nor degraded."""
    rig = Rig(box, "heavy")
    before, began = rig.ready(), time.time()
    length, seconds = 2048, 0.0
    while seconds <= 2 * WINDOW and length < LONGEST:  # how fast this machine is shows only by trying
        seconds = _prefill(engine_url(before["pid"]), length)
        print(f"\nprefill of {length} tokens: {seconds:.1f} s")
        length = int(length * (2 if seconds < WINDOW / 4 else 1.6))
    after = rig.look()
    assert seconds > 2 * WINDOW
    assert (after["pid"], after["phase"], rig.phases(began)) == (before["pid"], "ready", [])
    assert rig.events(began, "liveness_failed") == []
    rig.box.ask("order", "stop", "heavy")
    rig.reaches("stopped")
    assert not alive(before["pid"])


def _prefill(url: str, length: int) -> float:
    """Seconds to the first token of a prompt that no cache knows."""
    prompt = [5 + (i * 7 + length) % 400 for i in range(length)]
    body = json.dumps({"model": "tiny", "prompt": prompt, "max_tokens": 1}).encode()
    request = urllib.request.Request(f"{url}/v1/completions", body, {"content-type": "application/json"})
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=600) as answer:
        answer.read()
    return time.monotonic() - began
