"""Flag sets that are known to crash are found before the start: every row of the table, firing and not."""

import json

import pytest

from genesisd.errors import ConfigError
from genesisd.patches.facts import gather
from genesisd.patches.flags import Flag
from genesisd.patches.known_bad import Start, known_bad, load_known_bad
from tests.unit.patches.made import patch

MTP = ("--speculative-config", json.dumps({"method": "mtp", "num_speculative_tokens": 4}))
GDN = {"architectures": ["Qwen3_5ForConditionalGeneration"], "text_config": {"linear_num_value_heads": 32}}
DENSE = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
JAMBA = {"architectures": ["JambaForCausalLM"], "layers_block_type": ["mamba", "attention"]}
GEMMA = {"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4"}
AWQ = {"architectures": ["X"], "quantization_config": {"quant_method": "awq"}}
ROUND = {"architectures": ["X"], "quantization_config": {"quant_method": "auto-round"}}
SHORT = {"architectures": ["Qwen3ForCausalLM"], "max_position_embeddings": 2048}
YARN = SHORT | {"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}
LONG = {"environ": {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}}
CARD = [(86, 24 << 30)]
NGRAM = ("--speculative-config", json.dumps({"method": "ngram", "num_speculative_tokens": 5}))
DRAFTS_ROWS = ("turboquant-drafts-full-graphs", "turboquant-many-drafts-full-graphs")
DRAFTS_16 = ("--speculative-config.num_speculative_tokens=16",)
TURBO = ("--kv-cache-dtype", "turboquant_k8v4")
SIZED = ("--kv-cache-memory-bytes=8000000000",)
APC = ("--enable-prefix-caching",)
P65 = patch(id="P65", flag=Flag("P65_DOWNGRADE"))


def ids(config, args, *, version="0.24.0", gpus=CARD, environ=(), on=(), extra=(), waive=()):
    start = Start(dict(environ), [P65], on, extra)
    found = known_bad(version, gather(config, args, gpus), start, waive)
    return [(one.id, one.severity, one.certain) for one in found]


ROWS = [
    # row, what fires it, and what differs in one thing and does not
    ("mtp-prefix-caching-gdn", "error", (GDN, (*MTP, *SIZED, *APC)), {}, [
        (GDN, (*MTP, *SIZED), {}),
        (GDN, (*APC, *SIZED), {}),
        (JAMBA, (*MTP, *SIZED, *APC), {}),
        (GDN, (*MTP, *SIZED, *APC), {"version": "0.26.0"}),
        (GDN, (*MTP, *SIZED, *APC), {"on": ["PN346B"]}),
        (GDN, (*MTP, *SIZED, *APC, "--no-enable-prefix-caching"), {}),
    ]),
    ("gemma4-data-parallel", "error", (GEMMA, ("-dp", "2")), {}, [
        (GEMMA, ("-dp", "1"), {}),
        (GEMMA, ("-tp", "2"), {}),
        (GEMMA, (), {}),
        (DENSE, ("--data-parallel-size=2",), {}),
    ]),
    ("gemma4-eplb", "error", (GEMMA, ("--enable-eplb",)), {}, [
        (GEMMA, ("--no-enable-eplb",), {}),
        (GEMMA, ("--enable-expert-parallel",), {}),
        (DENSE, ("--enable-eplb",), {}),
    ]),
    ("mtp-kv-size-hybrid", "error", (GDN, MTP), {"version": "0.33.0"}, [
        (GDN, (*MTP, *SIZED), {}),
        (GDN, (*MTP, "--num-gpu-blocks-override=512"), {}),
        (GDN, (*MTP, "--enforce-eager"), {}),
        (GDN, (*MTP, "-O0"), {}),
        (GDN, (*MTP, "-cc.cudagraph_mode=none"), {}),
        (GDN, (), {}),
        (GDN, MTP, {"gpus": []}),
        (GDN, MTP, {"on": ["PN367"]}),
    ]),
    ("mtp-kv-size", "warn", (DENSE, MTP), {}, [
        (DENSE, (*MTP, *SIZED), {}),
        (DENSE, ("--spec-method=ngram",), {}),
        (DENSE, MTP, {"on": ["PN367"]}),
    ]),
    ("turboquant-drafts-full-graphs", "error", (DENSE, (*TURBO, *NGRAM)), {}, [
        (DENSE, TURBO, {}),
        (DENSE, NGRAM, {}),
        (DENSE, (*TURBO, *NGRAM, "--enforce-eager"), {}),
        (DENSE, (*TURBO, *NGRAM, "--compilation-config", '{"cudagraph_mode": "PIECEWISE"}'), {}),
        (DENSE, (*TURBO, *NGRAM, "-cc.cudagraph_mode=piecewise"), {}),
        (DENSE, (*TURBO, *NGRAM, "-cc.cudagraph_mode=None"), {}),
        (DENSE, (*TURBO, *NGRAM, "-cc.cudagraph_mode=0"), {}),
        (DENSE, (*TURBO, *NGRAM, "-O0"), {}),
        (DENSE, (*TURBO, *NGRAM, "-O", "1"), {}),
        (DENSE, (*TURBO, *NGRAM, "--optimization-level=1"), {}),
        (DENSE, (*TURBO, *NGRAM), {"version": "0.27.0"}),
        (DENSE, (*TURBO, *NGRAM), {"on": ["P67"]}),
        (DENSE, (*TURBO, "--spec-method=extract_hidden_states"), {}),
    ]),
    ("turboquant-many-drafts-full-graphs", "warn", (DENSE, (*TURBO, *NGRAM, *DRAFTS_16)), {"on": ["P67"]}, [
        (DENSE, (*TURBO, *NGRAM), {}),
        (DENSE, (*NGRAM, *DRAFTS_16), {}),
        (DENSE, (*TURBO, *NGRAM, *DRAFTS_16, "--enforce-eager"), {}),
        (DENSE, (*TURBO, *NGRAM, *DRAFTS_16, "-O1"), {}),
        (DENSE, (*TURBO, *NGRAM, *DRAFTS_16, "--compilation-config", '{"cudagraph_mode": "PIECEWISE"}'), {}),
        (DENSE, (*TURBO, *NGRAM, *DRAFTS_16), {"version": "0.27.0"}),
    ]),
    ("quantization-mismatch", "error", (AWQ, ("--quantization", "gptq")), {}, [
        (AWQ, ("-q=awq",), {}),
        (AWQ, ("-q=awq_marlin",), {}),
        (AWQ, ("-q=humming",), {}),
        (ROUND, ("-q=inc",), {}),
        (ROUND, ("-q", "auto_round"), {}),
        (AWQ, (), {}),
        (DENSE, ("-q=fp8",), {}),
        (None, ("-q=fp8",), {}),
    ]),
    ("beyond-positions", "error", (SHORT, ("--max-model-len=2049",)), LONG, [
        (SHORT, ("--max-model-len=2048",), {}),
        (SHORT, (), {}),
        (SHORT, ("--max-model-len=2049",), {"environ": {}}),
        (SHORT, ("--max-model-len=2049",), {"environ": {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "0"}}),
        (SHORT, ("--max-model-len=2049", "--hf-overrides", '{"max_position_embeddings": 4096}'), {}),
        (YARN, ("--max-model-len=8192",), {}),
        (SHORT | {"rope_scaling": {"type": "dynamic", "factor": 2.0}}, ("--max-model-len=4096",), {}),
        (SHORT | {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, ("--max-model-len=4096",), {}),
        (DENSE, ("--max-model-len=2049",), {}),
        (None, ("--max-model-len=2049",), {}),
    ]),
    ("phantom-env", "error", (DENSE, ()), {"environ": {"GENESIS_ENABLE_P65": "1"}}, [
        (DENSE, (), {"environ": {"GENESIS_ENABLE_P65_DOWNGRADE": "1"}}),
        (DENSE, (), {"environ": {"VLLM_X": "1"}}),
        (DENSE, (), {"environ": {"GENESIS_OWN": "1"}, "extra": ["GENESIS_OWN"]}),
    ]),
]  # fmt: skip


def test_every_row_of_the_table_is_tried():
    """A row without a test could be one that never fires."""
    assert [row[0] for row in ROWS] == [row.id for row in load_known_bad()]


@pytest.mark.parametrize(("row", "severity", "given", "more"), [row[:4] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_row_fires(row, severity, given, more):
    """On what it describes, alone and with certainty; and not if it is waived."""
    assert ids(*given, **more) == [(row, severity, True)]
    assert ids(*given, **more, waive=[row]) == []


@pytest.mark.parametrize(
    ("config", "args", "more"),
    [
        pytest.param(config, args, given | more, id=f"{name}-{n}")
        for name, _, _, given, others in ROWS
        for n, (config, args, more) in enumerate(others)
    ],
)
def test_a_row_is_silent_where_one_thing_differs(config, args, more):
    """One circumstance less is no circumstance."""
    assert ids(config, args, **more) == []


@pytest.mark.parametrize(
    ("config", "args", "more", "expected"),
    [
        (None, ("-dp", "2"), {}, ["gemma4-data-parallel"]),
        (None, ("-dp", "1"), {}, []),
        (None, (*MTP, *SIZED, *APC), {}, ["mtp-prefix-caching-gdn"]),
        (GDN, ("--speculative-config.model=d", *SIZED, *APC), {}, ["mtp-prefix-caching-gdn"]),
        (GDN, MTP, {"gpus": None}, ["mtp-kv-size-hybrid"]),
        (
            GEMMA,
            ("--config", "f.yaml"),
            {},
            ["gemma4-data-parallel", "gemma4-eplb", "mtp-kv-size", *DRAFTS_ROWS],
        ),
    ],
)
def test_what_cannot_be_told_is_a_warning(config, args, more, expected):
    """Where nothing speaks against it and something is not known, the row warns and says what it lacks."""
    assert ids(config, args, **more) == [(name, "warn", False) for name in expected]


@pytest.mark.parametrize("method", ["ngram_gpu", "custom_class", "mlp_speculator", "dflash"])
def test_drafts_are_verified_alike_whoever_makes_them(method):
    """The row of drafts on a TurboQuant cache holds for each method of the engine, also one that comes."""
    assert ids(DENSE, (*TURBO, f"--spec-method={method}")) == [(DRAFTS_ROWS[0], "error", True)]


@pytest.mark.parametrize(
    "args",
    [("-O2",), ("-O3",), ("-O0", "-cc.cudagraph_mode=FULL"), ("-O1", "-cc", '{"cudagraph_mode": "full_decode_only"}')],
)
def test_drafts_are_refused_where_full_graphs_are_captured_at_any_level(args):
    """A level is only what is captured where nothing else is said."""
    assert ids(DENSE, (*TURBO, *NGRAM, *args)) == [(DRAFTS_ROWS[0], "error", True)]


def test_many_drafts_are_seen_in_either_spelling():
    """A flag of its own for their number is the engine's short form of the same."""
    args = (*TURBO, "--spec-method=ngram", "--spec-tokens", "16")
    assert ids(DENSE, args, on=["P67"]) == [(DRAFTS_ROWS[1], "warn", True)]


def test_a_finding_says_what_happens_and_how_to_mend_it():
    """With what was found, where two things are compared."""
    (found,) = known_bad("0.33.0", gather(AWQ, ["-q=gptq"], CARD), Start({}))
    assert str(found) == (
        "--quantization is gptq, and the checkpoint's config.json says awq: the engine would refuse to start; "
        "leave out --quantization (the engine reads config.json), or name the checkpoint's own method "
        "[quantization-mismatch]"
    )
    (found,) = known_bad("0.33.0", gather({}, [], []), Start({"GENESIS_ENABLE_P65": "1"}, [P65]))
    assert found.text.startswith("GENESIS_ENABLE_P65 (meant GENESIS_ENABLE_P65_DOWNGRADE?): no patch reads this key")


GOOD = "rows:\n  - id: one\n    severity: warn\n    text: t\n    mend: m\n    versions: '<1'\n    when: {flags: {--x: true}}\n"
WHEN = GOOD.replace("{flags: {--x: true}}", "%s")


@pytest.mark.parametrize(
    ("text", "line", "field", "problem"),
    [
        (WHEN % "{}", 2, "rows[0]", "'when' is empty"),
        (GOOD + "    check: quantization\n", 2, "rows[0]", "exactly one of 'when' and 'check'"),
        (WHEN % "{facts: {is_hybird: true}}", 7, "rows[0].when.facts", "did you mean is_hybrid?"),
        (WHEN % "{facts: {is_hybrid: [[1]]}}", 7, "rows[0].when.facts", "is_hybrid cannot be"),
        (WHEN % "{flags: {-x: true}}", 7, "rows[0].when.flags.-x", "pattern"),
        (WHEN % "{flags: {--x: {get: 1}}}", 7, "rows[0].when.flags.--x", ""),
        (WHEN % "{flag: {--x: true}}", 7, "rows[0].when.flag", "did you mean 'flags'?"),
        (GOOD.replace("'<1'", "'<<1'"), 6, "rows[0].versions", "expected a version"),
        (GOOD.replace("warn", "fatal"), 3, "rows[0].severity", "'error' or 'warn'"),
        (GOOD + "    mended_by: [P999]\n", 8, "rows[0].mended_by[0]", "no patch 'P999'"),
        (GOOD + "    mended_by: [p62]\n", 8, "rows[0].mended_by[0]", "is written 'P62' here"),
        (GOOD + "    upstream: ['#1']\n", 8, "rows[0].upstream[0]", "pattern"),
        (GOOD + GOOD.removeprefix("rows:\n"), 8, "rows[1].id", "'one' is used above already"),
        (GOOD.replace("    mend: m\n", ""), 2, "rows[0].mend", "missing"),
    ],
)
def test_a_table_with_a_slip_is_refused(tmp_path, text, line, field, problem):
    """With its line: a row that is passed over protects nobody."""
    path = tmp_path / "known_bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_known_bad(path)
    assert (caught.value.fields["line"], caught.value.fields["field"]) == (line, field)
    assert problem in caught.value.message
