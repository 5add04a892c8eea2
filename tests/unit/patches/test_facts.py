"""What can be known before a start, and that nothing else is made up."""

import json
from pathlib import Path

import pytest

import genesisd.demo
from genesisd.patches.conditions import Fact
from genesisd.patches.facts import gather
from genesisd.patches.model_config import is_gdn

GIB = 1 << 30
A5000 = (86, 24 * GIB)
QWEN_NEXT = {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "linear_num_value_heads": 32,
    "layer_types": ["linear_attention", "full_attention"],
}
QWEN_35 = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "text_config": {"linear_num_value_heads": 32, "layer_types": ["linear_attention", "full_attention"]},
    "quantization_config": {"quant_method": "auto-round", "bits": 4},
}
GEMMA = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "model_type": "gemma4",
    "text_config": {"layer_types": ["sliding_attention", "full_attention"]},
}


def fact(name, config=None, args=(), gpus=None):
    """The fact, or '?' where it is absent."""
    return gather(config, args, gpus).facts.get(name, "?")


@pytest.mark.parametrize(
    ("config", "hybrid"),
    [
        (QWEN_NEXT, True),
        (QWEN_35, True),
        (GEMMA, False),
        ({"architectures": ["Qwen3ForCausalLM"]}, False),
        ({"architectures": ["Qwen3_5MoeForConditionalGeneration"]}, True),
        ({"architectures": ["JambaForCausalLM"]}, True),
        ({"architectures": ["BambaForCausalLM"], "layers_block_type": ["mamba", "attention"]}, True),
        ({"architectures": ["GraniteMoeHybridForCausalLM"], "layer_types": ["attention", "attention"]}, False),
        ({"architectures": ["NemotronHForCausalLM"], "hybrid_override_pattern": "M-M*"}, True),
        ({"architectures": ["MiniMaxText01ForCausalLM"], "attn_type_list": [0, 1]}, True),
        ({"architectures": ["Lfm2ForCausalLM"], "layer_types": ["conv", "full_attention"]}, True),
        ({"layer_types": ["full_attention"]}, False),
        ({"layer_types": ["full_attention", "sliding_attention", "attention", "chunked_attention"]}, False),
        ({"hybrid_override_pattern": "M-"}, True),
        ({"attn_type_list": [0, 1]}, True),
        ({"language_config": {"layer_types": ["mamba"]}}, True),
        ({"llm_config": {"layers_block_type": ["mamba2"]}}, True),
        ({"layer_types": "attention"}, "?"),
        ({"layer_types": 3}, "?"),
        ({"layer_types": ["something_new"]}, "?"),
        ({}, "?"),
        (None, "?"),
    ],
)
def test_hybrids_are_told_by_layers_or_by_architecture(config, hybrid):
    """Layers that are all attention make no hybrid, whatever the architecture could be."""
    assert fact(Fact.IS_HYBRID, config) == hybrid


def test_gated_delta_nets_are_told_from_other_state_layers():
    """Some defects are theirs alone."""
    assert [is_gdn(one) for one in (QWEN_NEXT, QWEN_35, GEMMA, {"mamba_d_state": 1})] == [True, True, False, False]


@pytest.mark.parametrize(
    ("config", "args", "quantization"),
    [
        (QWEN_35, [], "auto-round"),
        (QWEN_NEXT, [], None),
        (QWEN_NEXT, ["-q", "fp8"], "fp8"),
        (QWEN_35, ["--quantization=inc"], "inc"),
        ({"text_config": {"quantization_config": {"quant_method": "awq"}}}, [], "awq"),
        ({"compression_config": {"quant_method": "compressed-tensors"}}, [], "compressed-tensors"),
        (None, ["-q=awq"], "awq"),
        (None, [], "?"),
        (QWEN_NEXT, ["--config", "f.yaml"], "?"),
    ],
)
def test_quantisation_is_what_the_flag_says_or_the_checkpoint(config, args, quantization):
    """A checkpoint that is not quantised is known to be none."""
    assert fact(Fact.QUANTIZATION, config, args) == quantization


@pytest.mark.parametrize(
    ("args", "name", "value"),
    [
        ([], Fact.SPEC_METHOD, None),
        (["--speculative-config", '{"method":"mtp"}'], Fact.SPEC_METHOD, "mtp"),
        (["--speculative-config", '{"method":"qwen3_next_mtp"}'], Fact.SPEC_METHOD, "mtp"),
        (["--spec-method", "ngram"], Fact.SPEC_METHOD, "ngram"),
        (["--speculative-config", '{"model":"d"}'], Fact.SPEC_METHOD, "?"),
        (["--spec-model", "d"], Fact.SPEC_METHOD, "?"),
        (["--spec-method"], Fact.SPEC_METHOD, "?"),
        (["--speculative-config", "{"], Fact.SPEC_METHOD, "?"),
        (["--config", "f.yaml"], Fact.SPEC_METHOD, "?"),
        (["--config", "f.yaml", "--spec-method=mtp"], Fact.SPEC_METHOD, "mtp"),
        ([], Fact.TOOL_CALL_PARSER, None),
        (["--tool-call-parser", "qwen3_xml"], Fact.TOOL_CALL_PARSER, "qwen3_xml"),
        (["--config=f.yaml"], Fact.TOOL_CALL_PARSER, "?"),
        (["--reasoning_parser=qwen3"], Fact.REASONING_PARSER, "qwen3"),
        ([], Fact.KV_CACHE_DTYPE, "auto"),
        (["--kv-cache-dtype=turboquant_k8v4"], Fact.KV_CACHE_DTYPE, "turboquant_k8v4"),
        (["--kv-cache-dtype=turboquant_k8v4"], Fact.IS_TURBOQUANT, True),
        (["--kv-cache-dtype=fp8"], Fact.IS_TURBOQUANT, False),
        (["--config=f.yaml"], Fact.IS_TURBOQUANT, "?"),
    ],
)
def test_flags_give_facts(args, name, value):
    """None is known; what a file of flags may hold is not."""
    assert fact(name, None, args) == value


BOTH, VARYING = "FULL_AND_PIECEWISE", "--speculative-config.num_speculative_tokens_per_batch_size=[[1, 2, 3]]"


@pytest.mark.parametrize(
    ("args", "mode"),
    [
        ([], BOTH),
        (["-O2"], BOTH),
        (["-O3"], BOTH),
        (["-O1"], "PIECEWISE"),
        (["-O0"], "NONE"),
        (["-O=0"], "NONE"),
        (["-O", "1"], "PIECEWISE"),
        (["--optimization-level", "1", "-O2"], BOTH),
        (["-Ofast"], "?"),
        (["--enforce-eager"], "NONE"),
        (["--enforce-eager", "-cc.cudagraph_mode=FULL", "--config=f.yaml"], "NONE"),
        (["--no-enforce-eager"], BOTH),
        (["--config=f.yaml"], "?"),
        (["--config=f.yaml", "-O0"], "?"),
        (["-cc.cudagraph_mode=full"], "FULL"),
        (["-cc.cudagraph_mode=None"], "NONE"),
        (["-cc.cudagraph_mode=1"], "PIECEWISE"),
        (["-cc.cudagraph_mode=2"], "FULL"),
        (["-cc.cudagraph_mode=7"], "?"),
        (["-cc.cudagraph_mode=FUL"], "?"),
        (["-cc", '{"cudagraph_mode": null}'], BOTH),
        (["-cc", "{"], "?"),
        (["-O0", "-cc.cudagraph_mode=FULL_DECODE_ONLY"], "FULL_DECODE_ONLY"),
        (["-O0", "-cc.cudagraph_mode=PIECEWISE"], "NONE"),
        (["-O0", "-cc.cudagraph_mode=PIECEWISE", "-cc.mode=3"], "PIECEWISE"),
        (["-O0", "-cc.cudagraph_mode=FULL_AND_PIECEWISE"], "?"),
        (["-cc.mode=0"], "?"),
        (["-cc.mode=vllm_compile"], BOTH),
        (["-cc.mode=NONE", "-cc.cudagraph_mode=FULL"], "FULL"),
        ([VARYING], "?"),
        ([VARYING, "-O1"], "PIECEWISE"),
    ],
)
def test_graphs_are_those_of_the_flags_or_of_the_level(args, mode):
    """Eager takes them all away; where releases differ, nothing is known."""
    assert fact(Fact.CUDAGRAPH_MODE, None, args) == mode


@pytest.mark.parametrize(
    ("gpus", "args", "count", "sm"),
    [
        ([A5000, A5000], [], 2, 86),
        ([A5000, (89, 24 * GIB)], [], 2, "?"),
        ([], [], 0, None),
        (None, [], "?", "?"),
        (None, ["-tp", "2"], 2, "?"),
        (None, ["-tp=2", "--pipeline-parallel-size", "2", "-dp", "2"], 8, "?"),
        (None, ["-tp", "2", "--config", "f"], "?", "?"),
    ],
)
def test_cards_give_facts(gpus, args, count, sm):
    """Of two kinds of card there is no one capability; without cards to ask, the flags say how many are needed."""
    assert (fact(Fact.N_GPUS, None, args, gpus), fact(Fact.SM, None, args, gpus)) == (count, sm)


@pytest.mark.parametrize(
    ("args", "arch"),
    [
        ([], "Qwen3NextForCausalLM"),
        (["--hf-overrides", '{"architectures": ["JambaForCausalLM"]}'], "JambaForCausalLM"),
        (["--hf-overrides", '{"text_config": {"x": 1}}'], "Qwen3NextForCausalLM"),
        (["--hf-overrides", "{"], "?"),
        (["--hf-config-path", "elsewhere"], "?"),
    ],
)
def test_flags_that_change_the_config_are_followed(args, arch):
    """Or the config is not known, where it is another one."""
    assert fact(Fact.MODEL_ARCH, QWEN_NEXT, args) == arch


@pytest.mark.parametrize(
    ("overrides", "quantization"),
    [
        ('{"quantization_config": {"bits": 8}}', "auto-round"),
        ('{"quantization_config": {"quant_method": "awq"}}', "awq"),
        ('{"quantization_config": null}', None),
        ('{"other": {"x": 1}}', "auto-round"),
    ],
)
def test_overrides_reach_into_nested_parts(overrides, quantization):
    """Key by key, as the engine does it."""
    assert fact(Fact.QUANTIZATION, QWEN_35, ["--hf-overrides", overrides]) == quantization


@pytest.mark.parametrize(
    ("config", "name", "value"),
    [
        (QWEN_35, Fact.MODEL_ARCH, "Qwen3_5ForConditionalGeneration"),
        (QWEN_35, Fact.MODEL_CLASS, "qwen3_5"),
        ({"architectures": []}, Fact.MODEL_ARCH, "?"),
        ({"architectures": "Qwen"}, Fact.MODEL_ARCH, "?"),
        ({"model_type": 3}, Fact.MODEL_CLASS, "?"),
    ],
)
def test_a_config_gives_class_and_architecture(config, name, value):
    """The names that the model's authors chose."""
    assert fact(name, config) == value


def test_numbers_come_from_flags_alone():
    """Their defaults depend on the card and the engine."""
    known = gather(QWEN_35, ["--max-num-seqs=4", "--max-model-len", "131072"], None)
    assert (known.max_num_seqs, known.max_model_len) == (4, 131072)
    assert gather(QWEN_35, [], None).max_num_seqs is None


def test_all_is_known_of_the_demo_model():
    """A real config and the flags of the example: every fact is there."""
    config = json.loads((Path(genesisd.demo.__file__).parent / "tiny" / "config.json").read_text())
    assert set(gather(config, ["--tool-call-parser=hermes"], [A5000]).facts) == set(Fact)
