"""What a predicate may speak of, and how each word is tested against a worker. Pure.

A test answers None where the worker's facts do not tell.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from genesisd.versions import VersionRange, parse_range, parse_version

Found: TypeAlias = bool | None
Test: TypeAlias = Callable[[Mapping[str, object]], Found]

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_COMPARED = re.compile(r"(?P<op>>=|<=|==|!=|>|<)\s*(?P<number>\d+(?:\.\d+)?)(?P<unit>\s*GiB)?")
_FLAG = re.compile(
    r"(?P<name>--[A-Za-z][\w-]*(?:\.\w+)*)"
    r"(?:\s*(?P<op>!=|=)\s*(?P<value>\S+)|\s*(?P<order>>=|<=|>|<)\s*(?P<number>\d+(?:\.\d+)?))?"
)
_PATCH = re.compile(r"(?P<id>[A-Za-z][\w-]*)\s+(?P<how>active|inactive)")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Spoken:
    """A word that a predicate may begin with.

    Attributes:
        form: how it goes on, with an example.
        read: the test in the text after it; None: that is no test.
        colon: a colon follows it.
    """

    form: str
    read: Callable[[str], Test | None]
    colon: bool = True


@dataclass(frozen=True, slots=True)
class Compared:
    """A number of the worker's, held against another."""

    key: str
    op: str
    wanted: float

    def __call__(self, worker: Mapping[str, object]) -> Found:
        """Of one worker."""
        value = worker.get(self.key)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return None
        return _OPERATORS[self.op](value, self.wanted)

    def near(self) -> Iterator[float]:
        """Numbers of which one is true of it, if any is."""
        steps = (-1.0, -0.5, 0.0, 0.5, 1.0) if self.key == "gpu_memory" else (-1.0, 0.0, 1.0)
        yield from (one for step in steps if (one := self.wanted + step) >= 0)


@dataclass(frozen=True, slots=True)
class Pinned:
    """The version of the worker's pin, held against a range."""

    wanted: VersionRange
    key: str = "pin"

    def __call__(self, worker: Mapping[str, object]) -> Found:
        """Of one worker."""
        try:
            return self.wanted.contains(parse_version(str(worker[self.key])))
        except (KeyError, ValueError):
            return None

    def near(self) -> Iterator[str]:
        """Versions of which one is in it, if any is."""
        for bound in (parse_version(one.bound.removesuffix(".*")) for one in self.wanted.clauses):
            least = bound.base_version
            yield from (str(bound), least, f"{least}.post1", f"{least}.dev0")
            if bound.pre is not None:
                letter, number = bound.pre
                near = (f"{least}{letter}{n}" for n in (number, number + 1))
                yield from (f"{one}{more}" for one in near for more in ("", ".dev0", ".post1"))
            if bound.dev is not None:
                before = bound.public.rpartition(".dev")[0]
                yield from (f"{before}.dev{n}" for n in (max(0, bound.dev - 1), bound.dev + 1))


@dataclass(frozen=True, slots=True)
class Said:
    """A word of the worker's. What it is known not to have is None, and written none."""

    key: str
    text: str

    def __call__(self, worker: Mapping[str, object]) -> Found:
        """Of one worker."""
        return str(worker[self.key]).casefold() == self.text.casefold() if self.key in worker else None

    def near(self) -> Iterator[str]:
        """The word, and another one."""
        yield from (self.text, f"{self.text}?")


@dataclass(frozen=True, slots=True)
class Patched:
    """Whether a patch is in the worker's build, in any case of letters."""

    id: str
    active: bool

    def __call__(self, worker: Mapping[str, object]) -> Found:
        """Of one worker."""
        ids = worker.get("patches")
        if not isinstance(ids, Collection) or isinstance(ids, str):
            return None
        return (self.id.casefold() in {str(one).casefold() for one in ids}) is self.active


def _number(key: str, text: str, *, dotted: bool = False, unit: bool = False) -> Test | None:
    found = _COMPARED.fullmatch(text)
    if found is None or (found["unit"] is not None and not unit) or ("." in found["number"] and not (dotted or unit)):
        return None
    # A compute capability is written 8.9 or 89; a lone digit would be far below every card.
    wanted = float(found["number"].replace(".", "") if dotted else found["number"])
    if dotted and wanted < 10:
        return None
    return Compared(key, found["op"], wanted)


def _model(text: str) -> Test | None:
    if not _WORD.fullmatch(text):
        return None
    # Whole words: gemma-4 is not in gemma-40b. A star stands for anything.
    first, *parts = [re.escape(part) for part in re.sub(r"\*+", "*", text).split("*")]
    ends = "(?![A-Za-z0-9])"
    # The nearest place of each part will do, and none is left again: a name in which it fails is not searched for ever.
    inner = first + "".join(f"(?>.*?{part}{ends if at == len(parts) else ''})" for at, part in enumerate(parts, 1))
    pattern = re.compile(rf"(?<![A-Za-z0-9]){inner}{ends if not parts else ''}", re.IGNORECASE)

    def test(worker: Mapping[str, object]) -> Found:
        named = worker.get("model")
        names = (named,) if isinstance(named, str) else named
        if not isinstance(names, (tuple, list, frozenset, set)) or not names:
            return None
        return any(pattern.search(str(name)) is not None for name in names)

    return test


def _flag(text: str) -> Test | None:
    found = _FLAG.fullmatch(text)
    if found is None:
        return None
    base, *keys = found["name"].split(".")
    name = ".".join((base.replace("_", "-"), *keys))

    def test(worker: Mapping[str, object]) -> Found:
        flags = worker.get("flags")
        if not isinstance(flags, Mapping):
            return None
        if flags.get(name) is None:
            return _not_given(found, known=worker.get("flags_known") is True)
        return _given(found, flags[name])

    return test


def _not_given(found: re.Match[str], *, known: bool) -> Found:
    """A number that is not given has a default that we do not know."""
    if not known or found["order"] is not None:
        return None
    return found["op"] == "!="


def _given(found: re.Match[str], value: object) -> Found:
    if found["order"] is not None:
        number = _as_number(value)
        return None if number is None else _OPERATORS[found["order"]](number, float(found["number"]))
    if found["op"] is None:
        return value is not False
    same = str(value).casefold() == found["value"].strip("'\"").casefold()
    return same if found["op"] == "=" else not same


def _as_number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _patch(text: str) -> Test | None:
    found = _PATCH.fullmatch(text)
    return None if found is None else Patched(found["id"], found["how"] == "active")


def _pin(text: str) -> Test | None:
    if not text:
        return None
    try:
        return Pinned(parse_range(text))
    except ValueError:
        return None


def _fact(key: str, text: str) -> Test | None:
    return Said(key, text) if _WORD.fullmatch(text) else None


def _switch(key: str, text: str) -> Test | None:
    return _fact(key, text) if text in {"true", "false"} else None


_FACTS = {
    "model_class": "qwen3_5_moe",
    "model_arch": "Qwen3NextForCausalLM",
    "quantization": "fp8",
    "kv_cache_dtype": "fp8",
    "spec_method": "mtp",
    "tool_call_parser": "qwen3_coder",
    "reasoning_parser": "none",
}
_SWITCHES = ("is_hybrid", "is_turboquant")


SUBJECTS: Mapping[str, Spoken] = {
    "model": Spoken("a colon and a name, such as 'model: gemma-4' or 'model: Qwen3.6-*-FP8'", _model),
    "flag": Spoken(
        "a colon and a flag, such as 'flag: --enable-prefix-caching' or 'flag: --kv-cache-dtype=fp8'", _flag
    ),
    "patch": Spoken("a colon, an id, and active or inactive, such as 'patch: P67 active'", _patch),
    "pin": Spoken("a colon and a range of versions, such as 'pin: >=0.24.0'", _pin),
    "gpu.sm": Spoken(
        "a comparison with a capability, such as 'gpu.sm >= 89'", partial(_number, "sm", dotted=True), colon=False
    ),
    "gpu.count": Spoken(
        "a comparison with a number, such as 'gpu.count >= 2'", partial(_number, "n_gpus"), colon=False
    ),
    "gpu.memory": Spoken(
        "a comparison with a size, such as 'gpu.memory >= 40 GiB'",
        partial(_number, "gpu_memory", unit=True),
        colon=False,
    ),
    **{
        name: Spoken(f"a colon and a value, such as '{name}: {like}'", partial(_fact, name))
        for name, like in _FACTS.items()
    },
    **{
        name: Spoken(f"a colon, and true or false, such as '{name}: true'", partial(_switch, name))
        for name in _SWITCHES
    },
}
"""Every word, by its name."""
SPOKEN_OF = {"sm": "gpu.sm", "n_gpus": "gpu.count", "gpu_memory": "gpu.memory"}
"""What predicates call a fact that has another name among a worker's."""
