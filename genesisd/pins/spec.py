"""What an operator declares about pins: exact upstream versions, and where their wheels come from."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal, Self

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from genesisd.units import ByteSize, SpecModel

SlotName = Literal["current", "rollback", "candidate", "stable"]

PinId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]{0,63}$")]
PythonVersion = Annotated[str, StringConstraints(pattern=r"^3\.\d{1,2}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _exact_version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise ValueError(f"expected an exact version such as 0.32.0 or 0.23.1rc1.dev748, not {text!r}") from None
    return text


def _requirement(text: str) -> str:
    try:
        Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"expected a requirement such as numpy<3, not {text!r}: {error}") from None
    return text


def _name(text: str) -> str:
    return canonicalize_name(text)


ExactVersion = Annotated[str, AfterValidator(_exact_version)]
RequirementText = Annotated[str, AfterValidator(_requirement)]
Distribution = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"), AfterValidator(_name)]


class FallbackIndex(SpecModel):
    """An index to ask for ``packages`` alone, and only once pip's configured indexes lack them."""

    index: Annotated[str, StringConstraints(pattern=r"^(https?|file)://")]
    packages: tuple[Distribution, ...] = Field(min_length=1)


class SourceSpec(SpecModel):
    """Where the wheels come from; by default from wherever pip is configured to look."""

    wheel: Annotated[str, StringConstraints(pattern=r"^(https?://|file://|/).+\.whl$")] | None = None
    """URL or path of the package's own wheel, for commits that no index holds."""
    sha256: Sha256 | None = None
    """What that wheel must hash to."""
    fallback: tuple[FallbackIndex, ...] = ()

    @model_validator(mode="after")
    def _hash_needs_wheel(self) -> Self:
        if self.sha256 is not None and self.wheel is None:
            raise ValueError("'sha256' is the hash of 'wheel': set both or neither")
        return self


class DropSpec(SpecModel):
    """A distribution that the package asks for and the environment is better without."""

    name: Distribution
    reason: str = Field(min_length=1)


class ShimSpec(SpecModel):
    """A distribution record without code: vLLM looks itself up under the name ``vllm``."""

    name: Distribution
    version: ExactVersion


class PinSpec(SpecModel):
    """One exact upstream version and the environment that holds it."""

    id: PinId
    package: Distribution
    version: ExactVersion
    commit: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|v\d\S*)$")] | None = None
    """Full SHA or tag of the upstream commit; an abbreviated SHA may become ambiguous."""
    cut: dt.datetime | None = None
    """When upstream cut it; with its offset from UTC."""
    python: PythonVersion
    source: SourceSpec = SourceSpec()
    requirements: tuple[RequirementText, ...] = ()
    """Distributions wanted beside the package."""
    constraints: tuple[RequirementText, ...] = ()
    """Bounds on what the resolver may choose."""
    drop: tuple[DropSpec, ...] = ()
    shim: ShimSpec | None = None
    disk: ByteSize = 1 << 30
    """Estimate of the bytes that a build takes at its peak, downloads included: asked for before it starts."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.cut is not None and self.cut.tzinfo is None:
            raise ValueError("'cut' needs an offset from UTC, such as 2026-11-20T08:00:00Z")
        if self.package in {one.name for one in self.drop}:
            raise ValueError(f"'drop' names the pin's own package {self.package!r}")
        return self


class SlotsSpec(SpecModel):
    """Which pin plays which part; null where none does."""

    current: PinId | None = None
    rollback: PinId | None = None
    candidate: PinId | None = None
    stable: PinId | None = None


class PinsSpec(SpecModel):
    """The pins file."""

    pins: dict[str, PinSpec] = Field(default={})
    slots: SlotsSpec = SlotsSpec()

    @model_validator(mode="before")
    @classmethod
    def _keys_are_ids(cls, content: Any) -> Any:
        """A pin is written under its id, so that the id stands once in the file."""
        pins = content.get("pins") if isinstance(content, dict) else None
        if not isinstance(pins, dict):
            return content
        named = {key: {"id": key} | pin if isinstance(pin, dict) else pin for key, pin in pins.items()}
        return content | {"pins": named}
