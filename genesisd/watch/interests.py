"""What the workers' configurations say that upstream's titles may say too. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from genesisd.watch.scoring import Interests

_FAMILY = re.compile(r"[a-z]+[ _.-]?\d+(?:\.\d+)?|[a-z]+", re.IGNORECASE)
_VALUED = {
    "--quantization": (),
    "--attention-backend": (),
    "--tool-call-parser": ("tool parser", "tool call"),
    "--reasoning-parser": ("reasoning",),
}
"""Flags whose value is a word of upstream's, and the words that go with having one at all."""
_SWITCHES = {
    "--enable-prefix-caching": {"prefix caching", "prefix cache"},
    "--enable-lora": {"lora"},
    "--enable-expert-parallel": {"expert parallel", "ep"},
    "--enable-chunked-prefill": {"chunked prefill"},
    "--enable-auto-tool-choice": {"tool call", "tool choice"},
    "--async-scheduling": {"async scheduling"},
    "--enable-sleep-mode": {"sleep", "wake up"},
}
_METHODS = re.compile(r'"method"\s*:\s*"([A-Za-z0-9_-]+)"')
_FORMATS = ("awq", "gptq", "fp8", "int4", "int8", "nvfp4", "mxfp4", "gguf", "w4a16", "w8a8", "autoround")


def interests(
    workers: Iterable[Mapping[str, object]], *, models: Iterable[str] = (), labels: Iterable[str] = ()
) -> Interests:
    """From each worker's ``model``, ``args`` and ``gpus``, beside what the operator names.

    Args:
        workers: one mapping each, with ``model`` (a path or name), ``args`` (strings, ``--flag=value`` or apart).
        models: families named in the configuration of the watch.
        labels: upstream's labels named there.
    """
    families, features = set(models), set()
    hardware = {"cuda", "nvidia"}
    for worker in workers:
        name = str(worker.get("model") or "").rstrip("/").rpartition("/")[2]
        families |= _family(name)
        features |= {one for one in _FORMATS if re.search(rf"\b{one}\b", name, re.IGNORECASE)}
        given = worker.get("args")
        features |= _features([str(one) for one in given] if isinstance(given, list | tuple) else [])
        if str(worker.get("pin") or "").startswith("cpu"):
            hardware.add("cpu")
    return Interests(
        models=frozenset(one.lower() for one in families if one),
        features=frozenset(one.lower() for one in features if one),
        labels=frozenset(labels),
        hardware=frozenset(hardware),
    )


def _family(name: str) -> set[str]:
    """``Qwen3.5-27B-AWQ`` is ``qwen3.5`` and ``qwen3``; a name without letters in front is no family."""
    found = _FAMILY.match(name)
    if found is None or len(found[0]) < 3:
        return set()
    whole = found[0].lower()
    return {whole, whole.partition(".")[0]}


def _features(args: list[str]) -> set[str]:
    found: set[str] = set()
    for at, arg in enumerate(args):
        flag, equals, value = arg.partition("=")
        value = value if equals else (args[at + 1] if at + 1 < len(args) else "")
        found |= _SWITCHES.get(flag, set())
        if value.startswith("--"):
            continue
        if value and flag in _VALUED:
            found |= {value, *_VALUED[flag]}
        if value and flag == "--kv-cache-dtype":
            found |= {value.partition("_")[0], "kv cache"} - {"auto"}
        if flag in {"--speculative-config", "--speculative_config"}:
            methods = set(_METHODS.findall(value))
            found |= {"speculative", "spec decode", *methods} if methods else {"speculative", "spec decode"}
    return found
