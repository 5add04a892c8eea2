"""PN77: the output layer is read whole for each token, in two bytes a weight where one would do.

With a vocabulary of 151,936 and a hidden size of 2,048 that is 594 MiB, in small models a third of all that a token
costs; few checkpoints quantise it, and no release has an option to do it while it loads one.

Here each output layer that was loaded in bfloat16 or float16 gets FP8 numbers with a scale a channel in the place of
its weights, and logits come from one kernel that reads each number once for up to 64 rows. Logits differ by what FP8
rounds off. Layers that are the embedding's too, that are quantised already, that adapters may change, or whose weights
the model's own code reads keep what they have, and the log says why.
"""

from __future__ import annotations

from genesisd.patches.carried import carried
from genesisd.patches.edits import AnchorEdit, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin
from genesisd.patches.model import Patch, Proof, Study

LOOK = """\
    from vllm.genesis.carried.lm_head import look as genesis_look

    genesis_look(model, model_config)
"""
LAYERS = """\
    for {}, module in model.named_modules():
        quant_method = getattr(module, "quant_method", None)
"""

PATCH = Patch(
    id="PN77",
    title="Quantise the output layer to FP8",
    family="quantization",
    lifecycle=Lifecycle.EXPERIMENTAL,
    origin=Origin.RELATED,
    flag=Flag("PN77_FP8_LM_HEAD"),
    upstream=(41000,),
    credit="Genesis",
    versions=">=0.24.0",
    edits=(
        AnchorEdit(
            "look",
            "vllm/model_executor/model_loader/utils.py",
            "process_weights_after_loading",
            tuple(Variant(LAYERS.format(name), LOOK) for name in ("_", "name")),
            placement=Placement.BEFORE,
        ),
        *carried("carried.lm_head"),
    ),
    proofs=(Proof("worker", counter="vllm.genesis.carried.lm_head:_genesis_hits"),),
    study=Study(
        upstream="proposes output layers whose checkpoints hold them quantised; from 0.33 on a drafter may have a "
        "quantised copy of its own",
        ours="a layer that was loaded whole is quantised in its place, by a method of the engine's own kind, so that its "
        "loaders quantise again on a reload; nothing is kept twice",
        tests="logits beside float64, drafters that share the layer, reloads, tied layers, each refusal",
    ),
)
