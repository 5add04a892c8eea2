"""tq_codebook as a route's operation: keys are rotated, and each number is an index into the engine's codebook."""

from __future__ import annotations

import dataclasses
import functools
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

import torch

from genesisd.carried.lying import Lying
from genesisd.kernels.tq_codebook.codebook import tables_of
from genesisd.kernels.tq_codebook.guards import Setting, codebook_refusal, refusal
from genesisd.kernels.tq_codebook.layout import KEY_BITS, SlotLayout
from genesisd.kernels.tq_codebook.pack import slots
from genesisd.kernels.tq_codebook.plan import Plan, plan_for
from genesisd.kernels.tq_codebook.reference import reference

TELLING = ("get_centroids", "_build_hadamard")
"""Functions of the backend's module."""


def launching() -> ModuleType:
    """The module that launches the kernel. Raises ImportError where there is no triton."""
    from genesisd.kernels.tq_codebook import launch  # noqa: PLC0415 - the backend is loaded without triton as well

    return launch


@dataclass(frozen=True)
class CodebookKeys:
    """The kernel of 4bit_nc and k3v4_nc caches."""

    name: ClassVar[str] = "tq_codebook"
    apart: ClassVar[int] = 32
    setting: Setting
    codebook: tuple[float, ...] | None
    """The engine's entries, as float32 has them; None where it was not asked, or tells none."""
    rotation: torch.Tensor | None = field(compare=False)
    """The engine's, which a head_dim determines; likewise."""

    def laid(self, strides: tuple[int, int, int]) -> CodebookKeys:
        return dataclasses.replace(self, setting=dataclasses.replace(self.setting, cache_strides=strides))

    def launching(self) -> ModuleType:
        return launching()

    def refusal(self) -> str | None:
        refused = refusal(self.setting)
        if refused is None and self.codebook is None:
            return f"a backend that tells no codebook or no rotation: {' and '.join(TELLING)} are asked for them"
        return refused or codebook_refusal(self.codebook or (), self.setting.layout.key_bits)

    def plan(self, shape: Any) -> Plan:
        return plan_for(shape)

    def tried(self, plan: Plan) -> tuple[Plan, ...]:
        return (plan,)

    def form(self, plan: Plan) -> str:  # noqa: ARG002 - there is one alone
        return self.name

    def leaves_out(self, launch: ModuleType, plan: Plan, device: torch.device, reason: str) -> bool:  # noqa: ARG002 - likewise
        return False

    def run(self, launch: ModuleType, *given: torch.Tensor, **cut: Any) -> torch.Tensor:
        tables, _ = _on(given[0].device, self.codebook)
        named = {"kind": self.setting.kind, "tables": tables, "rotation": self.rotation}
        return launch.tq_codebook(*given, **named, **cut)

    def slots(self, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        _, book = _on(keys.device, self.codebook)
        return slots(keys, values, self.setting.kind, book, self.rotation)

    def right(self, *given: torch.Tensor, scale: float) -> torch.Tensor:
        _, book = _on(given[0].device, self.codebook)
        return reference(*given, kind=self.setting.kind, codebook=book, rotation=self.rotation, scale=scale)


@functools.cache
def _on(device: torch.device, codebook: tuple[float, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """The kernel's tables and the codebook, once on each device. The trial comes first, long before any capture."""
    book = torch.tensor(codebook, dtype=torch.float32)
    return tables_of(book).to(device), book.to(device)


def of_codebook(impl: Any, lying: Lying) -> CodebookKeys:
    """The operation of a layer with such keys, whatever becomes of its guards."""
    config, backend, dim = impl.tq_config, sys.modules[type(impl).__module__], impl.head_size
    bits = config.key_mse_bits
    layout = SlotLayout(dim, bits, config.key_packed_size, config.value_packed_size, config.slot_size_aligned)
    setting = Setting(_kind(bits, config), layout, norm_correction=bool(config.norm_correction), **lying.shared())
    if refusal(setting) is not None or not all(hasattr(backend, name) for name in TELLING):
        return CodebookKeys(setting, None, None)
    # What `_ensure_on_device` gives each layer, whose store multiplies and looks up with it; both are cached there.
    codebook = backend.get_centroids(dim, config.centroid_bits).float().tolist()
    return CodebookKeys(setting, tuple(codebook), backend._build_hadamard(dim, str(lying.device)))  # noqa: SLF001


def _kind(bits: int, config: Any) -> str:
    """The cache kind by what is in a slot: the layer does not keep its name."""
    values = config.effective_value_quant_bits
    known = {(known, 4): kind for kind, known in KEY_BITS.items()}
    return known.get((bits, values), f"of {bits}-bit keys and {values}-bit values")
