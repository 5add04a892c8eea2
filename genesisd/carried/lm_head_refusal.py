"""Which output layers keep their weights as they were loaded, each with its reason."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from genesisd.kernels.lm_head_fp8.guards import Setting, refusal

LIBRARIES = frozenset({"vllm", "torch", "transformers", "builtins", "typing", "abc"})
MODELS = ("vllm.models.", "vllm.model_executor.models.")


def refusal_of_model(model: Any, model_config: Any) -> str | None:
    """Why no output layer of a model is served, or None."""
    config = sys.modules["vllm.config"].get_current_vllm_config_or_none()
    if config is None:
        return "the engine's configuration is not known while this model is loaded"
    if config.lora_config is not None:
        return "LoRA is on, and an adapter may be one for the output layer"
    if getattr(config.speculative_config, "draft_lm_head_quantization", None) is not None:
        return "the engine makes a quantised copy of it for its drafter"
    if getattr(sys.modules["vllm.model_executor.utils"], "is_weights_pre_processed", bool)():
        return "the weights come from a process that made them what kernels read"
    if sys.modules["vllm.envs"].VLLM_BATCH_INVARIANT:
        return "VLLM_BATCH_INVARIANT: the kernel sums in another order for other numbers of rows"
    if model_config.runner_type == "pooling":
        return "a pooling model has no logits"
    if getattr(model_config, "head_dtype", model_config.dtype) != model_config.dtype:
        return f"head_dtype {model_config.head_dtype}: the engine reads the weights itself"
    for (
        layer
    ) in model.modules():  # a drafter's own configuration says nothing of what its logits processor was made with
        if getattr(layer, "head_dtype", None) not in (None, model_config.dtype):
            return (
                f"a layer of this model computes logits in {layer.head_dtype}, of weights that the engine reads itself"
            )
    return None


def refusal_of_layer(head: Any, model: Any, model_config: Any) -> str | None:
    """Why one output layer is not served, or None."""
    if not is_plain(head):
        return f"it is quantised already, or computed by {type(head.quant_method).__name__}"
    weight, capability = head.weight, capability_of(head.weight)
    if capability is None:
        return f"the kernel is for NVIDIA's cards, and the weights are on {weight.device.type}"
    if getattr(weight, "_vllm_is_uva_offloaded", False):
        return "its weights are offloaded to the host"
    if _holders(weight, model) > 1:
        return "its weights are the embedding's too: quantising them would change that, and a copy would cost memory"
    if weight.dtype != model_config.dtype:
        return f"weights in {weight.dtype} and activations in {model_config.dtype}"
    reader = next(_readers(head, model), None)
    if reader is not None:
        return f"{reader} reads the weights itself"
    channels, hidden = weight.shape
    return refusal(
        Setting(
            hidden=hidden,
            channels=channels,
            weight_stride=hidden,
            activations=str(weight.dtype).removeprefix("torch."),
            capability=capability,
            bias=getattr(head, "bias", None) is not None,
        )
    )


def capability_of(weight: torch.Tensor) -> tuple[int, int] | None:
    """Of the NVIDIA card that holds the weights; None where none does."""
    if weight.device.type != "cuda" or torch.version.hip is not None:
        return None
    major, minor = torch.cuda.get_device_capability(weight.device)
    return major, minor


def is_plain(head: Any) -> bool:
    """Whether it has the method of a model without quantisation, or that of one which leaves this layer out."""
    layers = "vllm.model_executor.layers"
    embedding = sys.modules[f"{layers}.vocab_parallel_embedding"].UnquantizedEmbeddingMethod
    return type(head.quant_method) in (embedding, sys.modules[f"{layers}.linear"].UnquantizedLinearMethod)


def _holders(weight: torch.Tensor, model: Any) -> int:
    """How many layers have their parameters in the same memory: an embedding may be tied by name or by address."""
    place = weight.untyped_storage().data_ptr()
    return sum(
        one.untyped_storage().data_ptr() == place
        for layer in model.modules()
        for one in layer.parameters(recurse=False)
        if not one.is_meta
    )


def _readers(head: Any, model: Any) -> Iterator[str]:
    """Modules of the model's code that do anything with the weights but set them, by ``lm_head`` or a name of its own."""
    parents = [layer._modules for layer in model.modules()]  # noqa: SLF001 - torch's own walk leaves out second names
    named = {name for children in parents for name, child in children.items() if child is head}
    kinds = {kind for layer in model.modules() for kind in type(layer).__mro__}
    for name in sorted({kind.__module__ for kind in kinds}):
        if name.startswith(MODELS) or name.partition(".")[0] not in LIBRARIES:
            module = sys.modules.get(name)
            if module is not None and _reads(module, named | {"lm_head"}):
                yield name


def _reads(module: ModuleType, named: set[str]) -> bool:
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return False
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "weight")
    return any(isinstance(node.ctx, ast.Load) and _name(node.value) in named for node in nodes)


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")
