"""The flags of ``vllm serve`` as people write them: two spellings, short names, JSON that may be spread over dots. Pure.

Only what is written is known here; a default is the engine's, and depends on its version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SHORT = {
    "-q": "--quantization",
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-ac": "--attention-config",
}
LEVEL = "--optimization-level"
PARTS = {
    "--spec-method": ("--speculative-config", "method"),
    "--spec-model": ("--speculative-config", "model"),
    "--spec-tokens": ("--speculative-config", "num_speculative_tokens"),
}
"""Flags that are a key of one that takes JSON."""
_NUMBER = re.compile(r"-\d")
_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgG]?)")
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Given:
    """One flag with its values: ``name`` in dashes, ``keys`` what follows its dots, ``at`` its place among the args."""

    name: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    negated: bool
    at: slice


class ServeFlags:
    """What a command line says. The last one that is given twice wins, as in the engine."""

    def __init__(self, args: Sequence[str]) -> None:
        self._given = tuple(read(args))

    @property
    def whole(self) -> bool:
        """Nothing is said elsewhere: with ``--config`` a file holds flags that are not seen here."""
        return not self.has("--config")

    def has(self, name: str) -> bool:
        """Whether the flag, or a part of it, is given."""
        return any(one.name == name for one in self._given)

    def is_on(self, name: str) -> bool | None:
        """Of a switch: on, or off by ``--no-``; None if it is not given."""
        last = self._last(name)
        if last is None:
            return None
        return not last.negated and last.values[:1] not in {("False",), ("false",)}

    def value(self, name: str) -> str | None:
        """The flag's value, or None if it is not given."""
        last = self._last(name)
        return last.values[0] if last is not None and last.values else None

    def number(self, name: str) -> int | None:
        """The flag's value as a whole number (``8``, ``32k`` = 32000, ``32K`` = 32768); None for anything else."""
        found = _HUMAN.fullmatch(self.value(name) or "")
        return int(float(found[1]) * _TIMES[found[2]]) if found else None

    def mapping(self, name: str) -> Mapping[str, object] | None:
        """The flag's JSON with what its dotted forms and its PARTS add; None where that is no mapping.

        Empty if it is not given.
        """
        content: dict[str, object] = {}
        for one in self._given:
            whole, key = PARTS.get(one.name, (one.name, None))
            if whole != name or (key and not one.values):
                continue
            value, keys = _plain(one.values[0]) if one.values else True, (key,) if key else one.keys
            if not keys:
                if not isinstance(value, dict):
                    return None
                content |= value
            elif not _put(content, keys, value):
                return None
        return content

    def _last(self, name: str) -> Given | None:
        return next((one for one in reversed(self._given) if one.name == name and not one.keys), None)


def read(args: Sequence[str]) -> Iterator[Given]:
    """Every flag in ``args``; what stands before the first one belongs to none."""
    starts = [n for n, arg in enumerate(args) if _is_flag(arg)]
    for start, end in pairwise([*starts, len(args)]):
        written, equals, value = _leveled(args[start]).partition("=")
        name, *keys = written.split(".")
        values = ((value,) if equals else ()) + tuple(args[start + 1 : end])
        name = SHORT.get(name, name.replace("_", "-"))
        negated = name.startswith("--no-")
        yield Given(
            "--" + name.removeprefix("--no-") if negated else name, tuple(keys), values, negated, slice(start, end)
        )


def _leveled(arg: str) -> str:
    """``-O0``, ``-O=0`` and ``-O`` by their long name; the engine's other short names are whole words."""
    if not arg.startswith("-O"):
        return arg
    return LEVEL if arg == "-O" else f"{LEVEL}={arg.removeprefix('-O').removeprefix('=')}"


def _is_flag(arg: str) -> bool:
    return len(arg) > 1 and arg.startswith("-") and _NUMBER.match(arg) is None


def _plain(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _put(content: dict[str, object], keys: tuple[str, ...], value: object) -> bool:
    for key in keys[:-1]:
        inner = content.setdefault(key, {})
        if not isinstance(inner, dict):
            return False
        content = inner
    content[keys[-1]] = value
    return True
