"""Which patches a worker gets, and what speaks against its start, before any file is looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.patches.catalog import catalog as shipped
from genesisd.patches.conditions import Fact, Is
from genesisd.patches.facts import gather
from genesisd.patches.flags import Alias, Flag
from genesisd.patches.lifecycle import Lifecycle
from genesisd.patches.parameters import Kind, Parameter
from genesisd.patches.resolve import Gate
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.selection import key_of, plugin_hash, select, unmended
from tests.unit.patches.made import edit, patch

VERSION = "0.24.0"
ONE = patch(
    edit("return 1", "return 2", "steps"),
    id="P1",
    flag=Flag("P1_STEPS"),
    parameters=(Parameter("GENESIS_P1_MANY", Kind.INT, 1, 1, 9),),
)
TWO = patch(edit("return 10", "return 20", "size"), id="P2", flag=Flag("P2_SIZE"))
TOP = patch(edit("return 2", "return 3", "steps", after="P1"), id="P3", flag=Flag("P3_ON_P1"))
OLD = patch(edit("LIMIT = 1", "LIMIT = 2"), id="P4", flag=Flag("P4_OLD"), versions="<0.20")
TURBO = patch(
    edit("LIMIT = 1", "LIMIT = 3"), id="P5", flag=Flag("P5_TURBO"), applies_to=Is(Fact.IS_TURBOQUANT, (True,))
)
DEFAULT = patch(edit("LIMIT", "LIMIT"), id="P6", flag=Flag("P6_DEFAULT"), default_on="without it nothing boots")
LANE = patch(edit("return 10", "return 30", "size"), id="P84", flag=Flag("P84_BLOCK"))
CURE = patch(edit("return 10", "return 40", "size"), id="PN346B", flag=Flag("PN346B_CURE", (Alias("PN346B_OLD"),)))
GONE = patch(id="P9", flag=Flag("P9_GONE"), lifecycle=Lifecycle.TOMBSTONE)
CATALOG = (ONE, TWO, TOP, OLD, TURBO, LANE, CURE, GONE)
MTP = (
    '--speculative-config={"method": "mtp", "num_speculative_tokens": 2}',
    "--enable-prefix-caching",
    "--kv-cache-memory-bytes=1G",
)
HYBRID = {"model_type": "qwen3_next", "linear_num_value_heads": 32}


def on(*names: str) -> dict[str, str]:
    return {f"GENESIS_ENABLE_{name}": "1" for name in names}


def chosen(*names, env=None, args=(), config=None, catalog=CATALOG, version=VERSION, **patches):
    spec = WorkerSpec(pin="cpu", model="m", args=args, env={**on(*names), **(env or {})}, patches=patches)
    return select(spec, version, gather(config, args, ()), catalog)


def test_without_a_switch_there_is_no_build_and_the_environment_is_the_very_same():
    """A worker that asks for nothing runs the plain pin as it did before there were patches."""
    spec = WorkerSpec(pin="cpu", model="m", env={"VLLM_X": "1", "PYTHONPATH": "/own"})
    selection = select(spec, VERSION, gather(None, (), ()), CATALOG)
    assert selection.environ is spec.env
    assert (selection.patches, selection.faults, selection.warnings) == ((), (), ())
    assert key_of(selection, CATALOG, "env") is None


def test_what_is_switched_on_is_selected_in_its_order():
    """A base comes before what stands on it, however the catalog is listed."""
    for catalog in (CATALOG, CATALOG[::-1]):
        selection = chosen("P3_ON_P1", "P1_STEPS", "P2_SIZE", catalog=catalog)
        assert selection.patches == ("P1", "P2", "P3")
        assert selection.faults == ()


@pytest.mark.parametrize(
    ("names", "more", "text"),
    [
        (["P1_STEPS"], {"env": {"GENESIS_P1_MANY": "12"}}, "GENESIS_P1_MANY='12' cannot be used: expected a value of kind int from 1 up to 9"),
        (["P1"], {}, "GENESIS_ENABLE_P1 (meant GENESIS_ENABLE_P1_STEPS?)"),
        (["P1"], {}, "write the whole name, take the key away, or list it under patches.extra_env"),
        (["P3_ON_P1"], {}, "P3 stand on P1, which is not applied: not_enabled: nothing switches it on; switch the dependants off, or the base on"),
        (["P1_STEPS"], {"env": {"PYTHONOPTIMIZE": "2"}}, "PYTHONOPTIMIZE=2 has Python compile other code than that of the build, which is then refused; take it out"),
        (["P84_BLOCK"], {"lane": "27b-int4-fp8kv"}, "waive it by name (patches.waive: [P84])"),
        ([], {"args": MTP, "config": HYBRID}, "leave out --enable-prefix-caching, or switch PN346B on, or waive it by name (patches.waive: [mtp-prefix-caching-gdn])"),
        (["PN346B_CURE"], {"env": {"GENESIS_ENABLE_PN346B_OLD": "0"}}, "GENESIS_ENABLE_PN346B_OLD switches off what GENESIS_ENABLE_PN346B_CURE switches on"),
    ],
    ids=["value", "key", "key-mend", "chain", "optimize", "lane", "known-bad", "contradiction"],
)  # fmt: skip
def test_a_fault_says_what_was_found_and_how_to_mend_it(names, more, text):
    """The reason of a worker that does not start is all that its owner sees."""
    (fault,) = chosen(*names, **more).faults
    assert text in fault


@pytest.mark.parametrize(
    ("names", "more"),
    [
        (["P1"], {"extra_env": ["GENESIS_ENABLE_P1"]}),
        (["P1"], {"waive": ["phantom-env"]}),
        (["P84_BLOCK"], {"lane": "27b-int4-fp8kv", "waive": ["P84"]}),
        (["P84_BLOCK"], {"lane": "35b-a3b-fp8"}),
        ([], {"args": MTP, "config": HYBRID, "waive": ["mtp-prefix-caching-gdn"]}),
        (["PN346B_CURE"], {"args": MTP, "config": HYBRID}),
        (["P3_ON_P1", "P1_STEPS"], {}),
        (["PN346B_OLD"], {"env": {"GENESIS_ENABLE_PN346B_CURE": "0"}}),
        ([], {"env": {"PYTHONOPTIMIZE": "2"}}),
        (["P1_STEPS"], {"env": {"PYTHONOPTIMIZE": "0"}}),
    ],
    ids=[
        "let-through",
        "key-waived",
        "lane-waived",
        "other-lane",
        "bad-waived",
        "bad-mended",
        "whole-chain",
        "own-name-off",
        "plain",
        "not",
    ],
)
def test_what_a_fault_names_lets_the_worker_start(names, more):
    """A way out that is told has to be one."""
    assert chosen(*names, **more).faults == ()


def test_a_set_that_may_be_bad_is_a_warning():
    """Without the model's config nobody can tell whether it is a hybrid."""
    selection = chosen(args=MTP)
    assert selection.faults == ()
    assert any("cannot tell" in text and "prefix caching" in text for text in selection.warnings)


def test_a_parameter_of_a_patch_that_is_not_applied_is_told_to_do_nothing():
    """It is declared, so it is no phantom; its owner would believe in it all the same."""
    alone = chosen(env={"GENESIS_P1_MANY": "3"})
    assert alone.faults == ()
    assert "GENESIS_P1_MANY does nothing: P1, which reads it, is not applied (not_enabled)" in alone.warnings
    assert not any("does nothing" in text for text in chosen("P1_STEPS", env={"GENESIS_P1_MANY": "3"}).warnings)


def test_a_selected_patch_that_is_not_there_mends_nothing():
    """Its anchor may be gone: the set of flags is as bad as without it."""
    spec = WorkerSpec(pin="cpu", model="m", args=MTP, env=on("PN346B_CURE"))
    known = gather(HYBRID, MTP, ())
    selection = select(spec, VERSION, known, CATALOG)
    assert unmended(spec, VERSION, known, CATALOG, selection, ["PN346B"]) == ()
    (told,) = unmended(spec, VERSION, known, CATALOG, selection, [])
    assert "MTP with prefix caching" in told


@pytest.mark.parametrize("flag", ["GENESIS_ENABLE_P4_OLD", "SNDR_ENABLE_P4_OLD"])
@pytest.mark.parametrize("policy", [None, "compat", "safe"])
@pytest.mark.parametrize("allowed", [(), ("P4",)])
def test_a_patch_for_other_versions_is_never_selected(flag, policy, allowed):
    """No flag, policy or override of another kind outweighs the range."""
    selection = chosen(env={flag: "1"}, policy=policy, allow_retired=allowed)
    assert selection.patches == ()
    assert selection.resolution.rulings["P4"].gate is Gate.VERSION


def test_a_patch_for_other_engines_is_shut_out_with_the_reason():
    """What applies_to asks for is told, and so is that it cannot be told."""
    assert "is_turboquant" in chosen("P5_TURBO", args=("--kv-cache-dtype=auto",)).resolution.rulings["P5"].reason
    assert chosen("P5_TURBO", args=("--kv-cache-dtype=turboquant_k8v4",)).patches == ("P5",)
    assert "cannot tell" in chosen("P5_TURBO", args=("--config=f.yaml",)).resolution.rulings["P5"].reason


def test_a_policy_takes_the_switch_out_of_the_environment():
    """What is dropped is not told to the engine either."""
    no_op = {"P1": {"role": "no_op"}}
    selection = chosen("P1_STEPS", "P2_SIZE", env={"KEPT": "1"}, policy="safe", attribution=no_op)
    assert selection.patches == ("P2",)
    assert dict(selection.environ) == {"KEPT": "1", **on("P2_SIZE")}


def test_warnings_are_told_once(monkeypatch):
    """Two parts that find the same say it once."""
    monkeypatch.setattr("genesisd.wiring.selection.advice", lambda *_: ("the same", "another"))
    monkeypatch.setattr("genesisd.wiring.selection.duplicates", lambda *_: ("the same",))
    selection = chosen("P1_STEPS", env={"GENESIS_ENABLE_P2_SIZE": "perhaps"})
    told, *rest = selection.warnings
    assert "perhaps" in told
    assert rest == ["the same", "another"]


def test_the_address_follows_what_shapes_the_build_and_nothing_else():
    """Another environment or patch is another build; another parameter, order or title is the same one."""
    base = key_of(chosen("P1_STEPS"), CATALOG, "env")
    assert base is not None
    assert key_of(chosen("P1_STEPS", env={"GENESIS_P1_MANY": "3"}), CATALOG[::-1], "env") == base
    renamed = patch(*ONE.edits, id="P1", title="another", flag=ONE.flag, parameters=ONE.parameters)
    assert key_of(chosen("P1_STEPS", catalog=(renamed,)), (renamed,), "env") == base
    changed = patch(edit("return 1", "return 9", "steps"), id="P1", flag=ONE.flag)
    others = [
        key_of(chosen("P1_STEPS"), CATALOG, "other"),
        key_of(chosen("P1_STEPS", "P2_SIZE"), CATALOG, "env"),
        key_of(chosen("P2_SIZE"), CATALOG, "env"),
        key_of(chosen("P1_STEPS", catalog=(changed,)), (changed,), "env"),
    ]
    assert len({base, *others}) == 5


def test_the_plugin_is_part_of_the_address(monkeypatch, tmp_path):
    """Every build has a copy of it: an old one must not be found for a new plugin."""
    before = key_of(chosen("P1_STEPS"), CATALOG, "env")
    monkeypatch.setattr("genesisd.wiring.selection.plugin_hash", lambda: "another")
    assert key_of(chosen("P1_STEPS"), CATALOG, "env") != before
    assert len(plugin_hash.__wrapped__()) == 64


SWITCHES = st.dictionaries(
    st.sampled_from(
        [
            f"{prefix}_{one.flag.name}"
            for prefix in ("GENESIS_ENABLE", "GENESIS_DISABLE", "SNDR_ENABLE")
            for one in (*CATALOG, DEFAULT)
        ]
    ),
    st.sampled_from(["0", "1", "yes", "off", "perhaps"]),
)


@given(SWITCHES, st.sampled_from([None, "compat", "safe", "minimal"]))
def test_laws_of_a_selection(env, policy):
    """Each patch has one ruling; the selected are those that no gate shut out; without a policy nothing is rewritten."""
    catalog = (*CATALOG, DEFAULT)
    spec = WorkerSpec(pin="cpu", model="m", env=env, patches={"policy": policy})
    selection = select(spec, VERSION, gather(None, (), ()), catalog)
    rulings = selection.resolution.rulings
    assert set(rulings) == {one.id for one in catalog}
    assert set(selection.patches) == {name for name, ruling in rulings.items() if ruling.gate is None}
    assert (key_of(selection, catalog, "env") is None) == (not selection.patches)
    if policy is None:
        assert selection.environ is spec.env
    assert set(selection.patches) <= set(selection.plan.included)


@pytest.mark.parametrize(
    ("cache", "served"),
    [
        ("turboquant_k8v4", ("P67", "PN530")),
        ("turboquant_4bit_nc", ("P67",)),
        ("turboquant_k3v4_nc", ("P67",)),
        ("turboquant_3bit_nc", ()),
        ("fp8", ()),
    ],
)
def test_kernels_go_to_the_caches_that_they_read(cache, served):
    """A switch that is on elsewhere puts nothing into a build."""
    on = ("P67_TQ_MULTI_QUERY_KERNEL", "PN530_TQ_STORE")
    args = (f"--kv-cache-dtype={cache}",)
    assert chosen(*on, args=args, version="0.24.0", catalog=shipped()).patches == served


TURBO_DRAFTS = ("--kv-cache-dtype=turboquant_k8v4", "--spec-method=ngram", "--spec-tokens=5", "-O1")


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"GENESIS_ENABLE_P67_TQ_MULTI_QUERY_KERNEL": "0"},
        {"GENESIS_DISABLE_P67_TQ_MULTI_QUERY_KERNEL": "1", "GENESIS_ENABLE_PN521_SPLIT_K": "1"},
    ],
)
def test_a_patch_that_carries_code_leaves_nothing_once_it_is_off(env):
    """The start before this one had it; this one runs the plain pin, whatever builds are there."""
    on_ = chosen("P67_TQ_MULTI_QUERY_KERNEL", args=TURBO_DRAFTS, version="0.24.0", catalog=shipped())
    assert on_.patches == ("P67",)
    assert key_of(on_, shipped(), "env") is not None
    off = chosen(env=env, args=TURBO_DRAFTS, version="0.24.0", catalog=shipped())
    assert (off.patches, off.faults) == ((), ())
    assert key_of(off, shipped(), "env") is None
