"""The kinds that compare answers, on the real vLLM: all is well where it is, and damaged weights are seen."""

from __future__ import annotations

import json
import shutil
import struct
import time
from typing import TYPE_CHECKING

import pytest

from genesisd.demo.locate import CASEBOOK, locate
from genesisd.probes import PROBES
from genesisd.probes.casebooks import load
from genesisd.probes.golden import Golden, compare
from genesisd.probes.golden_json import from_json, to_json
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Verdict
from genesisd.probes.ports import Abilities, Target
from genesisd.probes.recording import record
from genesisd.probes.spec import (
    GoldenProbe,
    KeepAliveProbe,
    LogprobDriftProbe,
    PrefixCacheProbe,
    TokenizerProbe,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.real.serving import Server

    Serve = Callable[..., AbstractContextManager[Server]]

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]
MODEL = locate()
BOOK = load(CASEBOOK)
PARSERS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
FLAGS = (*PARSERS, "--enable-prompt-tokens-details")
SPECS = (TokenizerProbe(), GoldenProbe(), LogprobDriftProbe(), PrefixCacheProbe(), KeepAliveProbe())


def target_of(server: Server, golden: Callable[[], Golden | None] = lambda: None) -> Target:
    abilities = Abilities(tool_parser="hermes", reasoning_parser="qwen3", prefix_caching=True, max_model_len=1024)
    return Target(
        "w", 1, server.process.pid, "127.0.0.1", server.port, lambda: (), model="tiny", casebook=BOOK,
        abilities=abilities, golden=golden,
    )  # fmt: skip


async def recorded(server: Server) -> Golden:
    target = target_of(server)
    async with open_session() as session:
        golden = await record(target, BOOK, session, model="tiny", pin="cpu", build=None)
    for one in target.seen.exchanges:
        if one.seconds > 1:
            print(f"{one.path} took {one.seconds:.1f} s: {sorted(one.request)}")
    return golden


@pytest.fixture(scope="module")
def server(serve: Serve) -> Iterator[Server]:
    with serve(MODEL.path, FLAGS) as one:
        yield one


async def test_every_kind_succeeds_on_what_was_recorded(server: Server) -> None:
    """After a recording each kind finds all as it was, ask after ask, within its budget of tokens."""
    begun = time.monotonic()
    golden = from_json(to_json(await recorded(server)))
    print(f"recorded in {time.monotonic() - begun:.1f} s, drift bound {golden.drift and golden.drift.bound}")
    assert golden.drift is not None
    assert all(reply.streamed and reply.ids and reply.margins for reply in golden.replies.values())
    target = target_of(server, lambda: golden)
    async with open_session() as session:
        for spec in SPECS:
            probe = PROBES[spec.kind](spec, session)
            for _ in range(5):
                begun = time.monotonic()
                outcome = await probe.ask(target, begun)
                print(f"{spec.kind}: {outcome.tokens} tokens, {time.monotonic() - begun:.2f} s: {outcome.summary}")
                assert outcome.verdict is Verdict.SUCCESS, outcome
                assert 0 <= outcome.tokens <= spec.max_tokens
            await probe.close()
    assert target.seen.count > 0


async def test_a_hit_is_shown(server: Server) -> None:
    """The second ask of the pair came from the cache, by the engine's own count."""
    async with open_session() as session:
        outcome = await PROBES["prefix-cache"](PrefixCacheProbe(), session).ask(target_of(server), 0.0)
    assert outcome.evidence["hit"] is True
    assert outcome.evidence["cached_tokens"] == 256


async def test_two_recordings_agree(server: Server) -> None:
    """Recorded twice, nothing differs: what is held against the plain pin is not noise."""
    assert compare(await recorded(server), await recorded(server)) == {}


async def test_damaged_weights_are_seen(server: Server, serve: Serve, tmp_path: Path) -> None:
    """With one matrix turned around on disk, answers and logprobs are no longer the recorded ones."""
    golden = await recorded(server)
    model = tmp_path / "tiny"
    shutil.copytree(MODEL.path, model)
    damage(model / "model.safetensors", "model.layers.1.mlp.down_proj.weight")
    with serve(model, FLAGS) as other:
        target = target_of(other, lambda: golden)
        async with open_session() as session:
            for spec in (GoldenProbe(), LogprobDriftProbe()):
                probe = PROBES[spec.kind](spec, session)
                for _ in range(2):
                    outcome = await probe.ask(target, 0.0)
                    print(f"{spec.kind} in {outcome.exchanges[0].seconds:.1f} s: {outcome.summary}")
                    assert outcome.verdict is Verdict.FAILURE
            tokens = await PROBES["tokenizer"](TokenizerProbe(), session).ask(target, 0.0)
            assert tokens.verdict is Verdict.SUCCESS


def damage(path: Path, tensor: str) -> None:
    """Change the sign of every number of one tensor."""
    raw = bytearray(path.read_bytes())
    (size,) = struct.unpack("<Q", raw[:8])
    start, end = json.loads(raw[8 : 8 + size])[tensor]["data_offsets"]
    for place in range(8 + size + start + 1, 8 + size + end, 2):
        raw[place] ^= 0x80
    path.write_bytes(raw)
