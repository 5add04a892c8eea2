"""candidate_when gives advice: it warns, and never excludes."""

import pytest

from genesisd.patches.candidate import KEYS, candidate_warnings
from genesisd.patches.facts import gather
from genesisd.patches.spec import Attribution

ARGS = ["--max-num-seqs=4", "--max-model-len=32k", "--tool-call-parser=qwen3_xml", "-q=awq"]
KNOWN = gather({}, ARGS, [(86, 0), (86, 0)])
NOTHING = gather(None, ["--config=f"], None)


def warnings(when, known=KNOWN, patches=("P1",)):
    return candidate_warnings({"P1": Attribution(candidate_when=when)}, known, patches)


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ({"max_num_seqs_gte": 4}, None),
        ({"max_num_seqs_gte": 5}, "max_num_seqs is 4, not >= 5"),
        ({"max_num_seqs_lte": 4}, None),
        ({"max_num_seqs_lte": 3}, "max_num_seqs is 4, not <= 3"),
        ({"max_model_len_gte": 32_000}, None),
        ({"max_model_len_gte": 32_001}, "max_model_len is 32000, not >= 32001"),
        ({"n_gpus_eq": 2}, None),
        ({"n_gpus_eq": 1}, "n_gpus is 2, not = 1"),
        ({"tool_call_parser": ["hermes", "qwen3_xml"]}, None),
        ({"tool_call_parser": "qwen3_xml"}, None),
        ({"tool_call_parser": ["hermes", "mistral"]}, "tool_call_parser is qwen3_xml, not hermes or mistral"),
        ({"reasoning_parser": ["qwen3"]}, "reasoning_parser is None, not qwen3"),
        ({"kv_cache_dtype": ["auto"]}, None),
        ({"kv_cache_dtype": ["fp8"]}, "kv_cache_dtype is auto, not fp8"),
        ({"quantization": ["awq"]}, None),
        ({"quantization": ["gptq"]}, "quantization is awq, not gptq"),
        (
            {"max_num_seqs_get": 4},
            "max_num_seqs_get is not known here and says nothing; did you mean max_num_seqs_gte?",
        ),
        ({"xyz": 4}, "xyz is not known here and says nothing; known: max_num_seqs_gte, max_num_seqs_lte, "),
        ({"max_num_seqs_gte": "4"}, "max_num_seqs_gte takes a whole number, not '4'"),
        ({"max_num_seqs_gte": True}, "max_num_seqs_gte takes a whole number, not True"),
    ],
)
def test_each_key_warns_when_it_does_not_fit(when, text):
    """And when it is not known, or its value is none."""
    found = warnings(when)
    assert len(found) == (text is not None)
    assert all(text in one for one in found)


@pytest.mark.parametrize("key", KEYS)
def test_what_cannot_be_had_is_told(key):
    """Advice that cannot be checked is not taken for good advice."""
    bound = key.endswith(("_gte", "_lte", "_eq"))
    (found,) = warnings({key: 1 if bound else ["x"]}, NOTHING)
    named = f"{key}: {key.rpartition('_')[0]}" if bound else key
    assert found == f"P1: candidate_when.{named} is not known"


def test_only_patches_in_question_are_asked_about():
    """A patch that is off may say what it likes."""
    assert warnings({"n_gpus_eq": 9}, patches=()) == ()
    assert warnings({"n_gpus_eq": 9})[0].startswith("P1: candidate_when.n_gpus_eq")
