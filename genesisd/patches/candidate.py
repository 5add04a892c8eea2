"""``candidate_when``: when a patch is worth having. Advice: a mismatch or an unknown key warns, and never excludes. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from genesisd.patches.conditions import Fact, Value
from genesisd.patches.facts import Known
from genesisd.patches.spec import Attribution


@dataclass(frozen=True, slots=True)
class _Number:
    """A bound on a number."""

    of: Callable[[Known], Value]
    sign: str

    def fits(self, have: int, wanted: int) -> bool:
        """Whether the bound holds."""
        return {">=": have >= wanted, "<=": have <= wanted, "=": have == wanted}[self.sign]


_NUMBERS = {
    "max_num_seqs_gte": _Number(lambda known: known.max_num_seqs, ">="),
    "max_num_seqs_lte": _Number(lambda known: known.max_num_seqs, "<="),
    "max_model_len_gte": _Number(lambda known: known.max_model_len, ">="),
    "n_gpus_eq": _Number(lambda known: known.facts.get(Fact.N_GPUS), "="),
}
_LISTS = {
    "tool_call_parser": Fact.TOOL_CALL_PARSER,
    "reasoning_parser": Fact.REASONING_PARSER,
    "kv_cache_dtype": Fact.KV_CACHE_DTYPE,
    "quantization": Fact.QUANTIZATION,
}
KEYS = (*_NUMBERS, *_LISTS)


def candidate_warnings(
    attribution: Mapping[str, Attribution], known: Known, patches: Collection[str]
) -> tuple[str, ...]:
    """What speaks against those of ``patches`` that say when they are worth having, in the order of their ids."""
    named = ((patch, attribution[patch]) for patch in sorted(patches) if patch in attribution)
    return tuple(
        f"{patch}: candidate_when.{text}"
        for patch, entry in named
        for key, wanted in entry.candidate_when.items()
        for text in _against(key, wanted, known)
    )


def _against(key: str, wanted: object, known: Known) -> Iterator[str]:
    if key in _NUMBERS:
        yield from _number(key, wanted, known)
    elif key in _LISTS:
        yield from _list(key, wanted, known)
    else:
        near = difflib.get_close_matches(key, KEYS, n=1)
        hint = f"did you mean {near[0]}?" if near else "known: " + ", ".join(KEYS)
        yield f"{key} is not known here and says nothing; {hint}"


def _number(key: str, wanted: object, known: Known) -> Iterator[str]:
    rule = _NUMBERS[key]
    have = rule.of(known)
    if isinstance(wanted, bool) or not isinstance(wanted, int):
        yield f"{key} takes a whole number, not {wanted!r}"
    elif isinstance(have, bool) or not isinstance(have, int):
        yield f"{key}: {key.rpartition('_')[0]} is not known"
    elif not rule.fits(have, wanted):
        yield f"{key}: {key.rpartition('_')[0]} is {have}, not {rule.sign} {wanted}"


def _list(key: str, wanted: object, known: Known) -> Iterator[str]:
    values = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    if _LISTS[key] not in known.facts:
        yield f"{key} is not known"
    elif (have := known.facts[_LISTS[key]]) not in values:
        yield f"{key} is {have}, not {' or '.join(map(str, values))}"
