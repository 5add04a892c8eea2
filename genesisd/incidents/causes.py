"""The causes of incidents: their titles, and which of two says more. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from genesisd.incidents.model import CAUSES

TITLES = {
    "host-oom": "the machine ran out of memory",
    "cuda-oom": "the card ran out of memory",
    "illegal-memory-access": "a kernel touched memory that is not its own",
    "cuda-error": "the card failed",
    "xid": "the driver reported a fault of the card",
    "nccl": "the cards could not speak to each other",
    "kv-too-small": "the KV cache is too small",
    "kv-too-large": "the KV cache does not fit",
    "engine-dead": "the engine died",
    "hung": "the engine hung",
    "port-taken": "its port is taken",
    "bad-config": "a setting is wrong",
    "bad-weights": "the weights cannot be used",
    "bad-model": "the model cannot be used",
    "bad-environment": "its environment is broken",
    "bad-build": "its patched build is not right",
    "garbage-output": "it answers wrong",
    "orphaned-vram": "the card's memory is held by others",
    "unkillable": "its processes cannot be killed",
    "start-timeout": "it did not start in time",
    "startup-wedged": "it started and generates nothing",
    "killed": "somebody killed it",
    "crash": "it crashed",
    "unknown": "something is wrong",
}
_VAGUE = {"unknown": 0, "crash": 1, "killed": 1}
_SYMPTOMS = {"start-timeout": 2, "startup-wedged": 2, "engine-dead": 2, "hung": 2, "cuda-error": 2, "orphaned-vram": 2}
_PRECISE = 3
WRONG_ANSWERS = frozenset(
    {
        "golden",
        "logprob-drift",
        "tool-calls",
        "structured-output",
        "reasoning",
        "prefix-cache",
        "keep-alive",
        "degeneration",
        "needle",
        "tokenizer",
    }
)
"""Probes whose failure means that answers are wrong; of the others, that it is slow, leaks or lacks its patches."""
_BUILD = frozenset({"engagement", "attestation"})


def more_precise(old: str, new: str) -> bool:
    """Whether ``new`` says more than ``old``. The first of two that say as much stands: what follows it, follows of it."""
    return _weight(new) > _weight(old)


def known(cause: str) -> str:
    """The cause if it is one of the list, else ``unknown``."""
    return cause if cause in CAUSES else "unknown"


def of_probe(kind: str) -> str:
    """What a failing correctness probe shows."""
    if kind in WRONG_ANSWERS:
        return "garbage-output"
    return "bad-build" if kind in _BUILD else "unknown"


def of_probes(kinds: Iterable[str]) -> str:
    """What several show together: wrong answers weigh most."""
    found = [of_probe(kind) for kind in kinds] or ["unknown"]
    return "garbage-output" if "garbage-output" in found else found[0]


def _weight(cause: str) -> int:
    return _VAGUE.get(cause, _SYMPTOMS.get(cause, _PRECISE))
