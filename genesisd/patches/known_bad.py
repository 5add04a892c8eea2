"""Sets of flags that are known to crash or to answer wrongly, asked before a worker starts.

known_bad.yaml is the data. A row holds by its circumstances (``when``), or by a check that is written here because it
compares two things (``check``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from genesisd.patches import model_config
from genesisd.patches.conditions import Answer
from genesisd.patches.environ import Undeclared, environ_problems
from genesisd.patches.facts import Known
from genesisd.patches.model import Patch
from genesisd.patches.tables import Range, RowName, Text, Upstream, load_table, refuse, twice
from genesisd.patches.when import When, holds
from genesisd.units import SpecModel
from genesisd.versions import parse_range, parse_version
from genesisd.yamlfile import Location

KNOWN_BAD = Path(__file__).with_name("known_bad.yaml")
_FAMILIES = (
    {"gptq", "gptq_marlin", "auto_gptq", "moe_wna16"},
    {"awq", "awq_marlin", "auto_awq", "moe_wna16"},
    {"inc", "auto_round"},
    {"modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed"},
    {"mxfp4", "gpt_oss_mxfp4"},
    {"fp8", "deepseek_v4_fp8"},
    {"compressed_tensors"},
    {"bitsandbytes"},
)
"""Methods that one checkpoint may be served by."""
_ANY = "humming"
"""A method that takes over checkpoints of others."""


class BadSet(SpecModel):
    """One row."""

    id: RowName
    """What ``waive`` names to start all the same."""
    upstream: tuple[Upstream, ...] = ()
    versions: Range = ""
    severity: Literal["error", "warn"]
    when: When | None = None
    check: Literal["quantization", "positions", "phantom-env"] | None = None
    text: Text
    """What happens."""
    mend: Text
    """What to do, in the imperative, without a full stop."""
    mended_by: tuple[str, ...] = ()
    """Patches any one of which takes the danger away."""

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if (self.when is None) == (self.check is None):
            raise ValueError("give exactly one of 'when' and 'check'")
        if self.when is not None and self.when == When():
            raise ValueError("'when' is empty: the row would hold for every worker")
        return self


class BadSets(SpecModel):
    """The table."""

    rows: tuple[BadSet, ...]


@dataclass(frozen=True, slots=True)
class Bad:
    """A row that holds, or that may hold (``certain`` is false: then it is no more than a warning)."""

    id: str
    severity: Literal["error", "warn"]
    text: str
    mend: str
    certain: bool = True

    def __str__(self) -> str:
        return f"{self.text}; {self.mend} [{self.id}]"


@dataclass(frozen=True, slots=True)
class Start:
    """What is asked about: the environment, all patches that there are, the ids that are on, and keys let through."""

    environ: Mapping[str, str]
    patches: Sequence[Patch] = ()
    on: Collection[str] = ()
    extra_env: Collection[str] = ()


@cache
def load_known_bad(path: Path = KNOWN_BAD) -> tuple[BadSet, ...]:
    """The table at ``path``. Raises ConfigError with file, line and field."""
    spec, document = load_table(path, BadSets, _ids)
    names: list[tuple[Location, str]] = [(("rows", n, "id"), row.id) for n, row in enumerate(spec.rows)]
    refuse(document, list(twice(names)))
    return spec.rows


def _ids(spec: BadSets) -> Iterator[tuple[Location, str]]:
    for n, row in enumerate(spec.rows):
        for m, name in enumerate(row.mended_by):
            yield ("rows", n, "mended_by", m), name


def known_bad(
    version: str, known: Known, start: Start, waive: Collection[str] = (), rows: tuple[BadSet, ...] | None = None
) -> tuple[Bad, ...]:
    """Every row that holds for a start on ``version``, in the order of the table, less those that are waived."""
    seen = parse_version(version)
    return tuple(
        bad
        for row in (load_known_bad() if rows is None else rows)
        if row.id not in waive and parse_range(row.versions).contains(seen) and not set(row.mended_by) & set(start.on)
        for bad in _ask(row, known, start)
    )


def _ask(row: BadSet, known: Known, start: Start) -> Iterator[Bad]:
    if row.when is not None:
        found = holds(row.when, known, start.environ)
        if found.answer is Answer.YES:
            yield Bad(row.id, row.severity, row.text, row.mend)
        elif found.answer is Answer.CANNOT_TELL:
            yield Bad(row.id, "warn", f"cannot tell ({found.reason}) whether this holds: {row.text}", row.mend, False)
    elif row.check is not None:
        for shown in _CHECKS[row.check](known, start):
            yield Bad(row.id, row.severity, f"{shown}: {row.text}", row.mend)


def _quantization(known: Known, _: Start) -> Iterator[str]:
    """The flag and the checkpoint name methods that do not go together. A checkpoint that is not quantised goes with all."""
    asked = known.flags.value("--quantization")
    made = model_config.quantization(known.config) if known.config is not None else None
    if asked is None or made is None or asked == _ANY:
        return
    one, other = (name.lower().replace("-", "_") for name in (asked, made))
    if one != other and not any({one, other} <= family for family in _FAMILIES):
        yield f"--quantization is {asked}, and the checkpoint's config.json says {made}"


def _positions(known: Known, start: Start) -> Iterator[str]:
    """More tokens of context than the model has positions for. Without the variable the engine itself refuses."""
    allowed = start.environ.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "0").strip().lower() in {"1", "true"}
    there = model_config.positions(known.config) if known.config is not None else None
    if allowed and there is not None and known.max_model_len is not None and known.max_model_len > there:
        yield f"--max-model-len is {known.max_model_len}, and the checkpoint's config.json has {there} positions"


def _phantom_env(_: Known, start: Start) -> Iterator[str]:
    """Keys of ours that nobody declares: short forms of flags, slips, leftovers."""
    for problem in environ_problems(start.environ, start.patches, start.extra_env):
        if isinstance(problem, Undeclared):
            yield problem.name + (f" (meant {problem.near}?)" if problem.near else "")


_CHECKS: Mapping[str, Callable[[Known, Start], Iterator[str]]] = {
    "quantization": _quantization,
    "positions": _positions,
    "phantom-env": _phantom_env,
}
