"""What the workers' configurations say that upstream's titles may say too. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from genesisd.watch.scoring import Interests

_FAMILY = re.compile(r"[a-z]+[ _.-]?\d+(?:\.\d+)?|[a-z]+", re.IGNORECASE)
_VALUED: dict[str, tuple[str, ...]] = {
    "quantization": (),
    "tool_call_parser": ("tool parser", "tool call"),
    "reasoning_parser": ("reasoning",),
    "spec_method": ("speculative", "spec decode"),
}
"""Facts whose value is a word of upstream's, and the words that go with having one at all."""
_SWITCHES: dict[str, tuple[str, ...]] = {
    "--enable-prefix-caching": ("prefix caching", "prefix cache"),
    "--enable-lora": ("lora",),
    "--enable-expert-parallel": ("expert parallel", "ep"),
    "--enable-chunked-prefill": ("chunked prefill",),
    "--enable-auto-tool-choice": ("tool call", "tool choice"),
    "--async-scheduling": ("async scheduling",),
    "--enable-sleep-mode": ("sleep", "wake up"),
}
_FORMATS = ("awq", "gptq", "fp8", "int4", "int8", "nvfp4", "mxfp4", "gguf", "w4a16", "w8a8", "autoround")


def interests(
    workers: Iterable[Mapping[str, object]], *, models: Iterable[str] = (), labels: Iterable[str] = ()
) -> Interests:
    """From the facts of each worker that predicates are asked about too, beside what the operator names.

    Args:
        workers: one mapping each, with ``model`` (its names), ``flags`` (as ``docs/triage.md`` writes them), ``n_gpus``
            and what is known of formats and parsers; what is not known is left out.
        models: families named in the configuration of the watch.
        labels: upstream's labels named there.
    """
    families, features = set(models), set()
    hardware = {"cuda", "nvidia"}
    for worker in workers:
        for name in _names(worker):
            families |= _family(name)
            features |= {one for one in _FORMATS if re.search(rf"\b{one}\b", name, re.IGNORECASE)}
        features |= _features(worker)
        if "flags" in worker and worker.get("n_gpus") == 0:  # an engine, and no card: it computes on the processor
            hardware.add("cpu")
    return Interests(
        models=frozenset(one.lower() for one in families if one),
        features=frozenset(one.lower() for one in features if one),
        labels=frozenset(labels),
        hardware=frozenset(hardware),
    )


def _names(worker: Mapping[str, object]) -> list[str]:
    """Without the folders before them."""
    names = worker.get("model")
    given = [str(one) for one in names] if isinstance(names, tuple | list) else []
    return [one.rstrip("/").rpartition("/")[2] for one in given]


def _family(name: str) -> set[str]:
    """``Qwen3.5-27B-AWQ`` is ``qwen3.5`` and ``qwen3``; a name without letters in front is no family."""
    found = _FAMILY.match(name)
    if found is None or len(found[0]) < 3:
        return set()
    whole = found[0].lower()
    return {whole, whole.partition(".")[0]}


def _features(worker: Mapping[str, object]) -> set[str]:
    found: set[str] = set()
    for fact, also in _VALUED.items():
        if value := worker.get(fact):
            found |= {str(value), *also}
    if (kept := worker.get("kv_cache_dtype")) and kept != "auto":
        found |= {str(kept).partition("_")[0], "kv cache"}
    flags = worker.get("flags")
    given: Mapping[str, object] = flags if isinstance(flags, Mapping) else {}
    if backend := given.get("--attention-backend"):
        found.add(str(backend))
    for flag, words in _SWITCHES.items():
        if given.get(flag) not in {None, False}:
            found.update(words)
    return found
