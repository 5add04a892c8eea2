"""What the register of patch ids may hold: the shape of an id, the fields of its record."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from genesisd.patches.lifecycle import Lifecycle, RetiredBecause
from genesisd.units import SpecModel

ENDED = frozenset({Lifecycle.DEPRECATED, Lifecycle.RETIRED, Lifecycle.TOMBSTONE})
"""The lifecycles that have a reason."""

PatchId = Annotated[
    str,
    Field(
        pattern=r"^(PN?\d+([A-Za-z]|_[A-Z0-9_]+|-[A-Za-z]+)?|PN(-[A-Z0-9]+)+|(G4|Q3)_T?\d+[A-Z]?|SNDR(_[A-Z0-9]+)+)$"
    ),
]
EnableFlag = Annotated[str, Field(pattern=r"^(GENESIS|SNDR)_ENABLE_[A-Z0-9_]+$")]
UpstreamRef = Annotated[str, Field(pattern=r"^[\w.-]+(/[\w.-]+)?#[1-9]\d*$")]
Family = Literal[
    "attention",
    "compile_safety",
    "gdn",
    "kernels",
    "kv_cache",
    "loader",
    "lora",
    "memory",
    "middleware",
    "model_compat",
    "moe",
    "multimodal",
    "observability",
    "quantization",
    "reasoning",
    "scheduler",
    "serving",
    "spec_decode",
    "structured_output",
    "tool_parsing",
    "turboquant",
    "worker",
]


class PatchRecord(SpecModel):
    """What is known of one id. A field that is absent is not known; none of them is ever guessed."""

    title: str | None = Field(default=None, min_length=1, max_length=80)
    """What the patch does, in a phrase; None for an id that is known by name alone."""
    family: Family | None = None
    lifecycle: Lifecycle | None = None
    because: RetiredBecause | None = None
    """Why it ended; only with a lifecycle of ENDED."""
    superseded_by: PatchId | None = None
    part_of: PatchId | None = None
    """The patch that this one is a sub-id of."""
    planned: bool = False
    """The name was given to work that was never seen done."""
    implemented: bool = False
    """This project has the patch. Only then may anything bind to its anchors."""
    flag: EnableFlag | None = None
    flag_aliases: tuple[EnableFlag, ...] = ()
    aliases: tuple[str, ...] = ()
    """Other names of the same patch."""
    requires: tuple[PatchId, ...] = ()
    conflicts: tuple[PatchId, ...] = ()
    """Naming a conflict on one side is enough."""
    upstream: tuple[UpstreamRef, ...] = ()
    """Pull requests that the patch carries, undoes, or gives way to."""
    credit: str | None = Field(default=None, min_length=1)
    source: Literal["lists", "code"] = "lists"
    """Where the id was first met: in the lists that came with the project, or in the code behind them."""
    note: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.because and self.lifecycle not in ENDED:
            raise ValueError(f"'because' goes with one of {', '.join(sorted(ENDED))}")
        if self.because is RetiredBecause.SUPERSEDED and self.superseded_by is None:
            raise ValueError("'because: superseded' wants 'superseded_by'")
        if self.planned and (self.lifecycle or self.implemented):
            raise ValueError("what is only planned has no lifecycle and is not implemented")
        if self.implemented and not (self.title and self.family and self.lifecycle):
            raise ValueError("what is implemented has a title, a family and a lifecycle")
        return self


class RegisterSpec(SpecModel):
    """The register's file."""

    shared_flags: dict[EnableFlag, tuple[PatchId, ...]] = Field(default={})
    """The flags that switch several patches, with all of these."""
    patches: dict[PatchId, PatchRecord]
