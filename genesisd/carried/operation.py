"""The operation that a route leads to: chosen by how a layer's keys are stored, and all that differs between the two."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar, Protocol

import torch


class Operation(Protocol):
    """A kernel with what it needs of a group of layers. Two of them are alike where they would answer alike."""

    name: ClassVar[str]
    apart: ClassVar[int]
    """Pages that lie as far apart, but for whole multiples of so many bytes, get the same kernel."""

    @property
    def setting(self) -> Any:
        """What the guards were asked."""

    def laid(self, strides: tuple[int, int, int]) -> Operation:
        """The same over a cache that lies so."""

    def launching(self) -> ModuleType:
        """The module that launches it. Raises ImportError where there is no triton."""

    def refusal(self) -> str | None:
        """Why it does not serve these layers, or None."""

    def plan(self, shape: Any) -> Any:
        """The cut for a shape."""

    def tried(self, plan: Any) -> tuple[Any, ...]:
        """The plans that have to answer right before one serves: itself, and whatever a launch of it may turn into."""

    def form(self, plan: Any) -> str:
        """What of the kernel a plan launches, as the log names it."""

    def leaves_out(self, launch: ModuleType, plan: Any, device: torch.device, reason: str) -> bool:
        """Whether other forms serve on the device from now on, in place of the plan's, which failed."""

    def run(self, launch: ModuleType, *given: torch.Tensor, **cut: Any) -> torch.Tensor:
        """The launch, with what is the same for all batches."""

    def slots(self, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Keys and values as the engine stores them, in plain steps."""

    def right(self, *given: torch.Tensor, scale: float) -> torch.Tensor:
        """The answer in float64 and plain steps."""
