"""What is known about a worker before it starts, from its model's config, its flags and its cards. Pure.

A fact that cannot be had is absent, and whatever asks for it 'cannot tell'. None as a fact's value is knowledge:
no parser, no speculative method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from genesisd.patches import model_config
from genesisd.patches.conditions import Fact, Value
from genesisd.patches.graphs import cudagraph_mode
from genesisd.patches.serve_flags import ServeFlags

Gpu = tuple[int, int]
"""Compute capability without its dot (86), and memory in bytes."""


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known.

    Attributes:
        facts: for conditions.
        flags: what the command line says.
        config: the model's config.json as the flags change it, or None if it could not be had.
        max_num_seqs: sequences at once, if a flag says so.
        max_model_len: tokens of context, if a flag says so.
    """

    facts: Mapping[Fact, Value]
    flags: ServeFlags
    config: Mapping[str, object] | None
    max_num_seqs: int | None = None
    max_model_len: int | None = None


def gather(config: Mapping[str, object] | None, args: Sequence[str], gpus: Sequence[Gpu] | None) -> Known:
    """Everything that these three say.

    Args:
        config: config.json of the model, or None if it could not be read.
        args: flags of ``vllm serve``.
        gpus: the worker's cards; empty for an engine without any, None if nobody could be asked.
    """
    flags = ServeFlags(args)
    seen = _changed(config, flags)
    facts = dict(_from_flags(flags)) | dict(_from_config(seen, flags)) | dict(_from_cards(gpus, flags))
    return Known(facts, flags, seen, flags.number("--max-num-seqs"), flags.number("--max-model-len"))


def _changed(config: Mapping[str, object] | None, flags: ServeFlags) -> Mapping[str, object] | None:
    """The config that the engine will see, or None where flags send it to one that is not here."""
    changes = flags.mapping("--hf-overrides")
    if config is None or changes is None or flags.has("--hf-config-path"):
        return None
    return model_config.overridden(config, changes) if changes else config


def _from_flags(flags: ServeFlags) -> Iterator[tuple[Fact, Value]]:
    named = {
        Fact.TOOL_CALL_PARSER: ("--tool-call-parser", None),
        Fact.REASONING_PARSER: ("--reasoning-parser", None),
        Fact.KV_CACHE_DTYPE: ("--kv-cache-dtype", "auto"),
    }
    for fact, (name, default) in named.items():
        value = flags.value(name)
        if value is not None or flags.whole:
            yield fact, default if value is None else value
            if fact is Fact.KV_CACHE_DTYPE:
                yield Fact.IS_TURBOQUANT, (value or "").startswith("turboquant")
    yield from _method(flags)
    graphs = cudagraph_mode(flags)
    if graphs is not None:
        yield Fact.CUDAGRAPH_MODE, graphs


def _method(flags: ServeFlags) -> Iterator[tuple[Fact, Value]]:
    """A draft model without a method has one that the engine finds in the draft's own config."""
    config = flags.mapping("--speculative-config")
    method = flags.value("--spec-method") or (config or {}).get("method")
    if isinstance(method, str):
        # The engine itself reads qwen3_next_mtp and its like as mtp.
        yield Fact.SPEC_METHOD, "mtp" if method.endswith("_mtp") else method
    elif flags.whole and not any(flags.has(name) for name in ("--speculative-config", "--spec-model", "--spec-method")):
        yield Fact.SPEC_METHOD, None


def _from_config(config: Mapping[str, object] | None, flags: ServeFlags) -> Iterator[tuple[Fact, Value]]:
    asked = flags.value("--quantization")
    if asked is not None:
        yield Fact.QUANTIZATION, asked
    elif config is not None and flags.whole:
        yield Fact.QUANTIZATION, model_config.quantization(config)
    if config is None:
        return
    named = model_config.architecture(config)
    if named is not None:
        yield Fact.MODEL_ARCH, named
    kind = config.get("model_type")
    if isinstance(kind, str):
        yield Fact.MODEL_CLASS, kind
    hybrid = model_config.is_hybrid(config)
    if hybrid is not None:
        yield Fact.IS_HYBRID, hybrid


def _from_cards(gpus: Sequence[Gpu] | None, flags: ServeFlags) -> Iterator[tuple[Fact, Value]]:
    if gpus is None:
        sizes = [flags.number(f"--{kind}-parallel-size") for kind in ("tensor", "pipeline", "data")]
        if any(size is not None for size in sizes) and flags.whole:
            first, second, third = (size or 1 for size in sizes)
            yield Fact.N_GPUS, first * second * third
        return
    yield Fact.N_GPUS, len(gpus)
    capabilities = {capability for capability, _ in gpus}
    if len(capabilities) <= 1:  # a rule for one of two kinds of card would be wrong for the other
        yield Fact.SM, next(iter(capabilities), None)
