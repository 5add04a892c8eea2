"""Ways to an output layer's weights that lead past its loaders and its method, for scenes of ``output_layers``."""

import contextlib
import linecache
import sys
import types


def mapped(engine):
    """A layer that has the tensors of another process in the place of its own, and was never loaded."""
    import torch

    there, here = engine.scene("alone"), engine.scene("alone")
    here.model, here.loaded = here.made(), there.loaded
    here.head = here.model.lm_head
    for name, tensor in (*there.head.named_parameters(), *there.head.named_buffers()):
        here.head._parameters.pop(name, None)
        if isinstance(tensor, torch.nn.Parameter):
            here.head.register_parameter(name, torch.nn.Parameter(tensor.data, requires_grad=False))
        else:
            here.head.register_buffer(name, tensor)
    utils = sys.modules["vllm.model_executor.utils"]
    with getattr(utils, "weights_already_processed", contextlib.nullcontext)():
        here.process()
    return here.seen()


def in_other_activations(scene):
    """The engine turns what is not of the head's type into that, and multiplies by weights that it reads itself."""
    import torch

    x = torch.randn(3, scene.hidden, dtype=torch.bfloat16)
    if not hasattr(scene.processor, "head_dtype"):
        return scene.judged(scene.processor(scene.head, x), x)
    scene.processor.head_dtype = torch.bfloat16
    return scene.judged(scene.processor(scene.head, x.float()), x)


def copied(scene):
    """Numbers that are said to be what the kernel reads."""
    import torch

    try:
        scene.head.weight.copy_(torch.randn(scene.head.weight.shape))
    except RuntimeError as error:
        return "refused" if "PN77" in str(error) else repr(error)
    return "loaded"


def reading(layer):
    """A module of a model's code that does something with the weights of a layer of this name."""
    module = types.ModuleType("case_that_reads")
    text = f"def logits(self, x):\n    return x @ self.{layer}.weight.T\n"
    module.__file__ = f"case_that_reads_{layer}.py"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    return module
