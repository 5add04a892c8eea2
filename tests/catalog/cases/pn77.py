"""Output layers of small models, loaded, asked for logits, shared, and loaded again: which numbers do they hold?

Logits are held against float64: of the weights as they were loaded ("whole"), and of what FP8 makes of them ("fp8").
The kernel is replaced by plain sums, so that what is seen is the way to it: the engine's own layers, loader, reload and
logits processor make it.
"""

import sys

ID = "PN77"
STUBS = (
    "the GPU kernel, by plain sums over what the real one is given; the card; the ranks beside this one; the engine's "
    "configuration, as far as the loader reads it; what a CPU makes of weights"
)
VERDICTS = dict.fromkeys(("0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied") | {"0.23.0": "version"}
WHOLE, FP8 = {"weights": "bfloat16", "logits": "whole"}, {"weights": "uint8", "logits": "fp8"}
ASIDE = (
    "tied", "tied_by_assignment", "with_a_bias", "quantised_already", "with_lora", "for_pooling", "in_float32",
    "batch_invariant", "copied_for_drafts", "offloaded", "on_an_older_card", "on_no_card", "of_an_odd_size",
    "read_by_the_model", "without_the_kernel", "a_kernel_that_is_wrong", "a_kernel_that_fails", "in_an_unknown_engine",
    "of_another_type", "read_by_another_name", "in_the_targets_float32",
)  # fmt: skip
"""Where the layer keeps what it was loaded with."""
SERVED = (
    "alone",
    "many_rows",
    "no_rows",
    "a_shard",
    "left_out_of_quantisation",
    "capped_and_scaled",
    "with_an_added_bias",
)
GREEN = {
    **dict.fromkeys(SERVED, FP8),
    **dict.fromkeys(ASIDE, WHOLE),
    "top_tokens": "fp8",
    "shared_with_drafts": "fp8",
    "equal_heads_are_found_equal": True,
    "a_whole_head_is_no_quantised_one": False,
    "tied_later": "embedding",
    "loaded_again": {"weights": "uint8", "logits": "fp8", "same_memory": True},
    "loaded_one_by_one": "refused",
    "copied": "refused",
    "mapped": FP8,
    "in_other_activations": "fp8",
    "lengths_tried": [1, 9, 17, 33, 70],
    "imported": True,
    "why_not": [
        "LM: no output layer of its own here: the embedding is it, or another rank has it",
        "lm_head: LoRA is on, and an adapter may be one for the output layer",
        "lm_head: VLLM_BATCH_INVARIANT: the kernel sums in another order for other numbers of rows",
        "lm_head: a hidden size of 72 is not a positive multiple of 16",
        "lm_head: a layer of this model computes logits in torch.float32, of weights that the engine reads itself",
        "lm_head: a pooling model has no logits",
        "lm_head: case_that_reads reads the weights itself",
        "lm_head: compute capability 7.5: 8.0 or newer is needed",
        "lm_head: head_dtype torch.float32: the engine reads the weights itself",
        "lm_head: it answers wrong here (1 rows): error 1.0e-01, allowed 1e-02",
        "lm_head: it does not run here: RuntimeError: no kernel image",
        "lm_head: it is quantised already, or computed by Other",
        "lm_head: its weights are offloaded to the host",
        "lm_head: its weights are the embedding's too: quantising them would change that, and a copy would cost memory",
        "lm_head: the engine makes a quantised copy of it for its drafter",
        "lm_head: the engine's configuration is not known while this model is loaded",
        "lm_head: the kernel cannot be loaded: no triton",
        "lm_head: the kernel is for NVIDIA's cards, and the weights are on cpu",
        "lm_head: the layer has a bias, which the kernel does not add",
        "lm_head: weights in torch.bfloat16 and activations in torch.float16",
        "markov_w2: case_that_reads reads the weights itself",
    ],
    "counted": True,
}  # fmt: skip
RED = GREEN | {
    **dict.fromkeys(SERVED, WHOLE),
    "top_tokens": "whole",
    "shared_with_drafts": "whole",
    "loaded_again": {"weights": "bfloat16", "logits": "whole", "same_memory": True},
    "loaded_one_by_one": "loaded",
    "copied": "loaded",
    "mapped": WHOLE,
    "in_other_activations": "whole",
    "lengths_tried": [],
    "imported": False,
    "why_not": [],
    "counted": False,
}


def observe(version):
    import torch
    from output_layer_ways import copied, in_other_activations, mapped
    from output_layers import Engine

    torch.set_default_dtype(torch.bfloat16)
    engine = Engine()
    with torch.inference_mode(mode=False), torch.no_grad():
        seen = {name: engine.scene(name).seen() for name in (*SERVED, *ASIDE)}
        engine.scene("the_embedding_itself")
        seen["top_tokens"] = engine.scene("alone").top_tokens()
        seen["shared_with_drafts"] = engine.scene("alone").shared()
        seen["equal_heads_are_found_equal"] = torch.equal(*(engine.scene("alone").head.weight for _ in range(2)))
        # Where the engine asks whether a drafter may share, the drafter's may be the one that stayed whole.
        heads = engine.scene("alone").head.weight, engine.scene("tied").head.weight + 1
        seen["a_whole_head_is_no_quantised_one"] = torch.equal(*heads)
        seen["tied_later"] = engine.scene("alone").tied_later()
        seen["loaded_again"] = engine.scene("alone").loaded_again()
        seen["loaded_one_by_one"] = engine.scene("alone").loaded_one_by_one()
        seen["copied"] = copied(engine.scene("alone"))
        seen["mapped"] = mapped(engine)
        seen["in_other_activations"] = in_other_activations(engine.scene("alone"))
    carried = engine.carried
    seen["lengths_tried"] = sorted(engine.tried)
    seen["imported"] = any(name.startswith("vllm.genesis") for name in sys.modules)
    seen["why_not"] = sorted(carried._genesis_skips["PN77"]) if carried else []
    seen["counted"] = bool(carried and carried._genesis_hits["PN77"])
    return seen
