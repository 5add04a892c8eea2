"""tq_verify as a route's operation: keys are FP8 numbers."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import torch

from genesisd.carried.lying import Lying
from genesisd.kernels.tq_verify.guards import Setting, refusal
from genesisd.kernels.tq_verify.layout import SlotLayout
from genesisd.kernels.tq_verify.pack import slots
from genesisd.kernels.tq_verify.plan import Plan, plan_for, ways
from genesisd.kernels.tq_verify.reference import reference


def launching() -> ModuleType:
    """The module that launches the kernel. Raises ImportError where there is no triton."""
    from genesisd.kernels.tq_verify import launch  # noqa: PLC0415 - the backend is loaded without triton as well

    return launch


@dataclass(frozen=True)
class Fp8Keys:
    """The kernel of k8v4 caches."""

    name: ClassVar[str] = "tq_verify"
    apart: ClassVar[int] = 64
    setting: Setting

    def laid(self, strides: tuple[int, int, int]) -> Fp8Keys:
        return Fp8Keys(dataclasses.replace(self.setting, cache_strides=strides))

    def launching(self) -> ModuleType:
        return launching()

    def refusal(self) -> str | None:
        return refusal(self.setting)

    def plan(self, shape: Any) -> Plan:
        return plan_for(shape)

    def tried(self, plan: Plan) -> tuple[Plan, ...]:
        return ways(plan)

    def form(self, plan: Plan) -> str:
        return plan.form

    def leaves_out(self, launch: ModuleType, plan: Plan, device: torch.device, reason: str) -> bool:
        """The form in CUDA, for those in triton."""
        if plan.form != "warp-group":
            return False
        launch.hopper.leave_out(torch.empty(0, device=device).device.index, reason)
        return True

    def run(self, launch: ModuleType, *given: torch.Tensor, **cut: Any) -> torch.Tensor:
        return launch.tq_verify(*given, fp8_format=self.setting.fp8_format, **cut)

    def slots(self, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        return slots(keys, values, self.setting.fp8_format)

    def right(self, *given: torch.Tensor, scale: float) -> torch.Tensor:
        return reference(*given, scale=scale, fp8_format=self.setting.fp8_format)


def of_fp8(impl: Any, lying: Lying) -> Fp8Keys:
    """The operation of a layer with such keys."""
    config, backend = impl.tq_config, sys.modules[type(impl).__module__]
    layout = SlotLayout(impl.head_size, config.key_packed_size, config.value_packed_size, config.slot_size_aligned)
    e4b15 = backend._use_fp8_e4b15(lying.device.index or 0)  # noqa: SLF001 - its own answer
    return Fp8Keys(Setting(layout=layout, fp8_format="e4b15" if e4b15 else "e4nv", **lying.shared()))
