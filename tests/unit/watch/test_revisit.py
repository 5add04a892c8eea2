"""Predicates over configuration and hardware."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from genesisd.watch.predicates import SUBJECTS
from genesisd.watch.revisit import PredicateError, come_true, holds, holds_of_any, parse, refuse

WORKER = {
    "model": ("google/Gemma-4-26B-A4B", "main"),
    "flags": {
        "--enable-prefix-caching": True,
        "--enable-eplb": False,
        "--kv-cache-dtype": "fp8",
        "--max-num-seqs": "8",
        "--speculative-config": "{...}",
        "--speculative-config.method": "mtp",
        "--speculative-config.num_speculative_tokens": 3,
        "--served-model-name": "word",
    },
    "flags_known": True,
    "patches": frozenset({"P67", "PN-1"}),
    "pin": "0.24.1rc1.dev3",
    "sm": 86,
    "n_gpus": 2,
    "gpu_memory": 23.9,
    "quantization": None,
    "spec_method": "mtp",
    "is_hybrid": True,
    "is_turboquant": False,
}
PAGE = Path(__file__).parents[3] / "docs" / "triage.md"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("model: gemma-4", True),
        ("model: Gemma-4-26b-*", True),
        ("model: google/*-A4B", True),
        ("model: main", True),
        ("model: gemma-40", False),
        ("model: emma-4", False),
        ("model: gemma-4-26", False),
        ("model: gemma.4", False),
        ("model: *", True),
        ("model: g*4*b-a4b", True),
        ("model: **26B**", True),
        ("model: goo*4-2", False),
        ("model: gemma*4-26B-A4B*x", False),
        ("patch: p67 active", True),
        ("patch: pn-1 inactive", False),
        ("not model: gemma-4", False),
        ("gpu.sm >= 89", False),
        ("gpu.sm >= 86", True),
        ("gpu.sm >= 8.9", False),
        ("gpu.sm > 8.6", False),
        ("gpu.sm<90", True),
        ("gpu.sm <= 85", False),
        ("gpu.sm == 86", True),
        ("gpu.sm < 12.0", True),
        ("gpu.sm >= 10", True),
        ("gpu.sm != 86", False),
        ("gpu.count >= 2", True),
        ("gpu.count > 2", False),
        ("gpu.memory >= 40 GiB", False),
        ("gpu.memory >= 23.5GiB", True),
        ("gpu.memory >= 24", False),
        ("flag: --enable-prefix-caching", True),
        ("flag: --enable_prefix_caching", True),
        ("flag: --enable-eplb", False),
        ("flag: --enable-chunked-prefill", False),
        ("flag: --kv-cache-dtype=fp8", True),
        ("flag: --kv-cache-dtype = FP8", True),
        ("flag: --kv-cache-dtype='fp8'", True),
        ("flag: --kv-cache-dtype=fp8_e5m2", False),
        ("flag: --kv-cache-dtype!=fp8", False),
        ("flag: --kv-cache-dtype != auto", True),
        ("flag: --dtype=half", False),
        ("flag: --dtype!=half", True),
        ("flag: --max-num-seqs >= 8", True),
        ("flag: --max-num-seqs > 8", False),
        ("flag: --max-num-seqs=8", True),
        ("flag: --max-num-batched-tokens >= 8", None),
        ("flag: --served-model-name >= 8", None),
        ("flag: --speculative-config.method=mtp", True),
        ("flag: --speculative_config.num_speculative_tokens >= 3", True),
        ("patch: P67 active", True),
        ("patch: P67 inactive", False),
        ("patch: P68 active", False),
        ("patch: PN-1 active", True),
        ("patch: P68 inactive", True),
        ("pin: >=0.24.0", True),
        ("pin: <0.24.1", True),
        ("pin: >=0.24.1, <0.26", False),
        ("quantization: none", True),
        ("quantization: fp8", False),
        ("spec_method: MTP", True),
        ("kv_cache_dtype: fp8", None),
        ("not kv_cache_dtype: fp8", None),
        ("is_hybrid: true", True),
        ("is_hybrid: false", False),
        ("is_turboquant: false", True),
        ("model: gemma-4 and gpu.sm >= 89", False),
        ("model: gemma-4 and not gpu.sm >= 89", True),
        ("model: gemma-4 and kv_cache_dtype: fp8", None),
        ("kv_cache_dtype: fp8 and gpu.sm >= 89", False),
        ("  gpu.count >= 2   and  is_hybrid: true ", True),
    ],
)
def test_what_holds_of_a_worker(text, answer):
    """Yes, no, or that the facts do not tell."""
    assert holds(text, WORKER) is answer


@pytest.mark.parametrize(
    "text",
    [
        "model: x",
        "flag: --x",
        "flag: --x=1",
        "flag: --x!=1",
        "patch: P1 active",
        "patch: P1 inactive",
        "pin: >=1",
        "gpu.sm >= 10",
        "gpu.count >= 1",
        "gpu.memory >= 1",
        "quantization: none",
        "is_hybrid: false",
    ],
)
def test_what_is_not_known_is_neither(text):
    """Of a worker of whom nothing is known nothing holds, and nothing is known not to."""
    assert holds(text, {}) is None


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"model": ()}, "model: x"),
        ({"model": 7}, "model: 7"),
        ({"sm": None}, "gpu.sm >= 10"),
        ({"n_gpus": True}, "gpu.count >= 1"),
        ({"sm": "86"}, "gpu.sm >= 10"),
        ({"flags": {}, "flags_known": False}, "flag: --x"),
        ({"flags": {"--x": None}, "flags_known": False}, "flag: --x"),
        ({"flags": {}}, "flag: --x!=1"),
        ({"flags": ["--x"], "flags_known": True}, "flag: --x"),
        ({"patches": "P1"}, "patch: P1 active"),
        ({"patches": None}, "patch: P1 active"),
        ({"pin": "main"}, "pin: >=1"),
    ],
)
def test_odd_facts_are_no_facts(facts, text):
    """A configuration that cannot be read makes nothing true or false."""
    assert holds(text, facts) is None


def test_one_model_may_be_given_bare():
    """A name, or several."""
    assert holds("model: x", {"model": "x"}) is True
    assert holds("model: x", {"model": ["y", "x"]}) is True


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("", 1, "one of "),
        ("gpus >= 2", 1, "one of "),
        ("gpu.sm >= 89 and", 8, "a comparison"),
        ("model: x and", 8, "a colon and a name"),
        ("quantization: fp8 and", 15, "a colon and a value"),
        ("flag: --x.a-b=3", 7, "a colon and a flag"),
        ("gpu.sm >= 89 and ", 18, "one of "),
        ("model gemma", 6, "a colon and a name"),
        ("model:", 7, "a colon and a name"),
        ("gpu.sm: 89", 7, "a comparison"),
        ("gpu.sm => 89", 8, "a comparison"),
        ("gpu.sm >= 9", 8, "a comparison"),
        ("gpu.sm >= eighty", 8, "a comparison"),
        ("gpu.sm >= 89 GiB", 8, "a comparison"),
        ("gpu.count >= 1.5", 11, "a comparison"),
        ("flag: kv-cache-dtype=fp8", 7, "a colon and a flag"),
        ("flag: --x=", 7, "a colon and a flag"),
        ("flag: --x >= y", 7, "a colon and a flag"),
        ("flag: --x == 3", 7, "a colon and a flag"),
        ("patch: P67", 8, "active or inactive"),
        ("patch: P67 on", 8, "active or inactive"),
        ("pin:", 5, "a range"),
        ("pin: newest", 6, "a range"),
        ("is_hybrid: yes", 12, "true or false"),
        ("quantization:", 14, "a colon and a value"),
        ("not", 1, "one of "),
        ("not not model: x", 5, "one of "),
        ("model: x and gpus >= 2", 14, "one of "),
    ],
)
def test_what_is_no_predicate_is_refused(text, column, part):
    """The error says where, and what was expected."""
    with pytest.raises(PredicateError) as caught:
        parse(text)
    assert (caught.value.text, caught.value.column) == (text, column)
    assert part in caught.value.expected
    assert str(caught.value) == f"{text!r}, character {column}: expected {caught.value.expected}"


def test_one_worker_must_have_it_all():
    """Terms that are joined hold of one worker; predicates for themselves of any."""
    other = WORKER | {"model": "qwen", "sm": 90}
    text = "model: gemma-4 and gpu.sm >= 89"
    assert holds_of_any(text, [WORKER, other]) is False
    assert holds_of_any("gpu.sm >= 89", [WORKER, other]) is True
    assert holds_of_any("gpu.sm >= 89", [WORKER, {}]) is None
    assert holds_of_any("gpu.sm >= 89", [{}, other]) is True
    assert holds_of_any("gpu.sm >= 89", []) is None
    assert come_true(["gpu.sm >= 89", text, "is_hybrid: true"], [WORKER, other]) == ("gpu.sm >= 89", "is_hybrid: true")


def test_what_is_true_already_is_refused():
    """It could never turn true; what is false or unknown may."""
    with pytest.raises(ValueError, match=r"'gpu\.count >= 2' is true already"):
        refuse(["gpu.sm >= 89", "gpu.count >= 2"], [WORKER])
    refuse(["gpu.sm >= 89", "kv_cache_dtype: fp8"], [WORKER])
    with pytest.raises(PredicateError):
        refuse(["nonsense"], [WORKER])


def test_the_page_has_the_language():
    """Each predicate of docs/triage.md can be read, and each word of the language is there."""
    table = PAGE.read_text().split("| Predicate |")[1].split("\n\n")[0]
    shown = [re.match(r"\| `([^`]+)`", line) for line in table.splitlines()[2:]]
    for found in shown:
        assert found is not None
        parse(found[1])
    assert [word for word in SUBJECTS if f"`{word}" not in table] == []


def test_each_form_shows_an_example():
    """What an error offers can itself be read."""
    for word, spoken in SUBJECTS.items():
        examples = re.findall(r"'([^']+)'", spoken.form)
        assert examples, word
        for example in examples:
            assert parse(example).text.startswith(word)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("gpu.sm >= 90 and gpu.sm < 80", "gpu.sm"),
        ("gpu.count > 1 and model: x and gpu.count < 2 and gpu.count != 1", "gpu.count"),
        ("gpu.count < 0", "gpu.count"),
        ("not gpu.memory >= 40 GiB and gpu.memory > 40 GiB", "gpu.memory"),
        ("pin: >=0.24.0,<0.23.0", "pin"),
        ("pin: >0.24.0 and pin: <=0.24.0", "pin"),
        ("quantization: fp8 and quantization: awq", "quantization"),
        ("is_hybrid: true and not is_hybrid: true", "is_hybrid"),
    ],
)
def test_what_can_never_be_true_is_no_predicate(text, key):
    """It would keep a decision closed for ever, and a gate open."""
    with pytest.raises(PredicateError, match=f"no worker's {re.escape(key)} is all of that"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "gpu.sm >= 80 and gpu.sm < 81",
        "gpu.count > 1 and gpu.count < 3",
        "gpu.memory > 23 GiB and gpu.memory < 24 GiB",
        "not gpu.count > 0",
        "pin: >0.24.0,<0.24.1",
        "pin: >=0.24.0 and pin: !=0.24.0",
        "pin: ==0.23.*",
        "pin: <0.1",
        "pin: >0.24.1rc1.dev714,<0.24.1rc1",
        "pin: >0.24.1rc1,<0.24.1rc2",
        "pin: >0.24.1.dev3+g2dfaae752,<0.24.1.dev5",
        "pin: ~=0.24.1",
        "pin: ===0.24.0",
        "quantization: fp8 and not quantization: awq",
        "not quantization: fp8 and not quantization: awq",
        "is_hybrid: true and is_turboquant: true",
    ],
)
def test_what_can_be_true_is_one(text):
    """Near miss: narrow, and yet some worker may be such."""
    assert parse(text).text == text


def test_a_name_with_many_stars_is_not_searched_for_ever():
    """Predicates are tried in the daemon's own thread."""
    worker = {"model": "a" * 120}
    assert holds("model: " + "*a" * 60 + "*b", worker) is False
    assert holds("model: " + "*a" * 60, worker) is True


def test_what_was_kept_and_is_no_predicate_never_comes_true():
    """An earlier version took it; it must not end every sweep."""
    assert come_true(["gpu.count < 0", "nonsense", "gpu.count >= 2"], [WORKER]) == ("gpu.count >= 2",)
    with pytest.raises(PredicateError):
        refuse(["gpu.count < 0"], [WORKER])


def test_a_patch_that_nobody_knows_is_refused():
    """A slip in its name would keep the decision closed for ever; an alias is no name that builds use."""
    known = {"p68": "P68", "fast": "P68"}
    refuse(["patch: p68 active and gpu.count > 7"], [WORKER], lambda name: known.get(name.casefold()))
    for name, mend in (("P86", "patches list"), ("fast", "write P68")):
        with pytest.raises(ValueError, match=mend):
            refuse([f"gpu.count > 7 and patch: {name} active"], [WORKER], lambda name: known.get(name.casefold()))
