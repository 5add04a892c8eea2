"""What went wrong with patched engines before, each once, by the number that the notes on the incumbent give it.

Here is what can be told from texts, switches and verdicts; what takes files and processes stands under the same
names in tests/process.
"""

from __future__ import annotations

import pytest

import genesisd
from genesisd.attest.engagement import Use, engagements
from genesisd.attest.expected import Expectation, Item
from genesisd.attest.judge import judge
from genesisd.attest.model import Attestation, Cause, Process, State
from genesisd.attest.report import Report, Sighting
from genesisd.attest.roles import Role, Wanted
from genesisd.patches.build_key import build_key
from genesisd.patches.check_catalog import problems
from genesisd.patches.edits import Marker
from genesisd.patches.engine import plan
from genesisd.patches.facts import gather
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle
from genesisd.patches.outcome import AlreadyApplied, AnchorMissing, Applied, Failed, Fault, Superseded
from genesisd.patches.policy import apply_policy
from genesisd.patches.problems import ProblemKind
from genesisd.patches.resolve import Gate, Request, resolve
from genesisd.patches.spec import Policy
from genesisd.patches.stack import plan_all
from genesisd.patches.verdicts import Verdict, sentence, verdict
from genesisd.supervisor.spec import WorkerSpec
from genesisd.versions import parse_version
from genesisd.wiring.selection import Selection, key_of, select
from genesisd.wiring.starts import PatchNote, Start, lost, summary
from tests.unit.patches.made import FILE, edit, patch

OTHER = "vllm/other.py"
TEXT = "def steps():\n    return 1\n\n\ndef size():\n    return 10\n"
TREE = {FILE: TEXT, OTHER: TEXT}
ROOT = "/cache/builds/env+k"


def selected(env: dict[str, str], *patches: object, version: str = "0.32.0", **declared: object) -> Selection:
    """What a worker with this environment gets."""
    spec = WorkerSpec(pin="cpu", model="m", env=env, patches=declared)
    return select(spec, version, gather(None, (), ()), patches)


def notes(*words: str) -> dict[str, PatchNote]:
    return {f"P{n}": PatchNote(word) for n, word in enumerate(words)}


def attested(*reports: Report, overdue: bool = True) -> Attestation:
    """The judgement on an API server and an EngineCore."""
    item = Item("vllm.core", "steps", "function", ("P1",), frozenset({"good"}))
    tree = (Process(10, 1, "vllm serve"), Process(17, 2, "genesis:w:1::EngineCore"))
    return judge(Expectation("env+k", ROOT, {item.key: item}), reports, tree, Wanted(), 10, overdue=overdue)


def report(pid: int, role: Role, digest: str = "good", root: str = ROOT) -> Report:
    items = {("vllm.core", "steps", "function"): Sighting("live", digest, f"{root}/vllm/core.py")}
    return Report(pid, {10: 1, 17: 2}[pid], role, str(role), "env+k", f"{root}/vllm/__init__.py", items)


# --- confirmed weaknesses -------------------------------------------------------------------------------------------


def test_weakness_1_no_release_of_ours_makes_a_build_unfindable(monkeypatch):
    """The address of a build does not hold the program's version: a release does not silently lose the fast path."""
    one = patch(edit("return 1\n", "return 2\n", "steps"), flag=Flag("P1"))
    keys = set()
    for program in ("0.1.0", "12.1.0"):
        monkeypatch.setattr(genesisd, "__version__", program)
        keys.add(key_of(selected({"GENESIS_ENABLE_P1": "1"}, one), [one], "env"))
    assert len(keys) == 1
    assert keys != {None}


@pytest.mark.parametrize("count", [2, 13])
def test_weakness_2_any_number_of_patches_share_a_file(count):
    """Thirteen patches of one file are all in it: none of them makes the others' places unfindable."""
    tree = {FILE: "".join(f"x{n} = 0\n" for n in range(count))}
    patches = [patch(edit(f"x{n} = 0\n", f"x{n} = 1\n"), id=f"P{n}") for n in range(count)]
    found = plan_all(tree, patches)
    assert found.texts == {FILE: tree[FILE].replace("= 0", "= 1")}
    assert {verdict(one) for one in found.outcomes.values()} == {Verdict.APPLIED}


def test_weakness_3_half_a_patch_is_not_applied():
    """One required place that is gone takes the other edits with it; an optional one that is gone is told."""
    there = edit("return 1\n", "return 2\n", "steps", id="a")
    gone = edit("return 99\n", "return 3\n", "size", id="b")
    assert verdict(plan(TREE, patch(there, gone))) is Verdict.ANCHOR_MISSING
    assert plan_all(TREE, [patch(there, gone)]).texts == {}
    optional = plan(TREE, patch(there, edit("return 99\n", "return 3\n", "size", id="b", required=False)))
    assert sentence(optional) == "without b, for which there is no place"


def test_weakness_4_a_new_body_is_not_taken_for_the_old_one():
    """What is there is known by its content: the same patch with another text is another text and another build."""
    old = patch(edit("return 1\n", "return 2\n", "steps"))
    new = patch(edit("return 1\n", "return 3\n", "steps"))
    patched = TREE | dict(plan_all(TREE, [old]).texts)
    assert isinstance(plan(patched, old), AlreadyApplied)
    assert not isinstance(plan(patched, new), AlreadyApplied)
    assert build_key("env", [old], "plugin") != build_key("env", [new], "plugin")


def test_weakness_5_what_is_no_python_is_not_applied():
    """The result is parsed before anything is written."""
    outcome = plan(TREE, patch(edit("return 1\n", "return (1\n", "steps")))
    assert isinstance(outcome, Failed)
    assert outcome.fault is Fault.SYNTAX
    assert plan_all(TREE, [patch(edit("return 1\n", "return (1\n", "steps"))]).texts == {}


def test_weakness_6_line_endings_stay():
    """A file with CRLF has nothing but CRLF afterwards."""
    tree = {FILE: TEXT.replace("\n", "\r\n")}
    found = plan_all(tree, [patch(edit("    return 1\n", "    x = 2\n    return x\n", "steps"))])
    assert found.texts[FILE].count("\r\n") == found.texts[FILE].count("\n") == TEXT.count("\n") + 1


def test_weakness_8_a_fix_that_upstream_has_in_one_of_two_files_is_superseded():
    """Neither a failure nor a race: the verdict names the text that was found."""
    two = patch(
        edit("return 1\n", "return 2\n", "steps", id="a"),
        edit("return 99\n", "return 3\n", "size", id="b", path=OTHER),
        markers=(Marker(OTHER, "return 10"),),
    )
    outcome = plan_all(TREE, [two]).outcomes["P1"]
    assert isinstance(outcome, Superseded)
    assert sentence(outcome) == f"upstream has its own: 'return 10' in {OTHER}"


def test_weakness_10_the_boot_summary_is_whole():
    """Nothing cuts it to its last lines: each patch that was asked for is in it."""
    start = Start("b", notes(*["applied"] * 80, "anchor_missing", *["not_enabled"] * 200))
    told = summary(start)
    assert len(told["patches"]["applied"]) == 80
    assert told["patches"]["anchor_missing"] == ["P80"]


# --- incidents ------------------------------------------------------------------------------------------------------


def test_incident_1_a_patch_that_changes_nothing_is_never_applied():
    """Half of the patches did nothing for weeks: here 'applied' means that the text of the build is another one."""
    patches = [
        patch(edit("return 1\n", "return 2\n", "steps"), id="P1"),
        patch(edit("return 99\n", "return 3\n", "size"), id="P2"),
        patch(edit("return 10\n", "return 10\n", "size"), id="P3"),
        patch(edit("return 1\n", "return 2\n", "steps", path="vllm/gone.py"), id="P4"),
        patch(id="P5", reason="it only switches others"),
    ]
    for one in patches:
        found = plan_all(TREE, [one])
        changed = {path for path, text in found.texts.items() if text != TREE[path]}
        assert (verdict(found.outcomes[one.id]) is Verdict.APPLIED) == bool(changed), one.id


def test_incident_2_a_retired_base_fails_the_plan_with_its_dependants():
    """PN353A was retired and PN399 stood on it: the plan fails by name, before and after the tree is looked at."""
    base = patch(edit("return 1\n", "return 2\n", "steps"), id="PN353A", flag=Flag("PN353A"))
    top = patch(edit("return 2\n", "return 3\n", "steps", after="PN353A"), id="PN399", flag=Flag("PN399"))
    last = patch(edit("return 3\n", "return 4\n", "steps", after="PN399"), id="PN400", flag=Flag("PN400"))
    every = {f"GENESIS_ENABLE_{one.id}": "1" for one in (base, top, last)}
    gone = patch(*base.edits, id="PN353A", flag=base.flag, lifecycle=Lifecycle.RETIRED)
    (fault,) = selected(every, gone, top, last).faults
    assert fault.startswith("PN399, PN400 stand on PN353A, which is not applied: retired")
    assert fault.endswith("switch the dependants off, or the base on")
    for found in (
        plan_all({FILE: TEXT.replace("return 1\n", "return 7\n")}, [base, top, last]),
        plan_all(TREE, [top, last]),
    ):
        assert found.texts == {}
        ((name, dependants),) = [(one.base, one.dependants) for one in found.broken]
        assert (name, dependants) == ("PN353A", ("PN399", "PN400"))
    assert selected(every, base, top, last).faults == ()


def test_incident_6_a_process_that_runs_the_plain_engine_is_refused():
    """Mounted beside the plugin, launched by hand: the report says which vLLM it runs, and silence is no proof."""
    plain = attested(report(10, Role.API), report(17, Role.ENGINE, root="/site-packages"))
    assert plain.state is State.REFUSED
    assert [one.cause for one in plain.findings] == [Cause.UNPATCHED]
    assert "/site-packages/vllm/__init__.py" in plain.summary
    assert attested().state is State.REFUSED


def test_incident_7_a_change_in_one_process_is_none_in_another():
    """What the API server runs says nothing of EngineCore: each reports for itself."""
    found = attested(report(10, Role.API), report(17, Role.ENGINE, digest="original"))
    assert found.state is State.REFUSED
    assert "EngineCore" in found.summary or "engine" in found.summary
    assert attested(report(10, Role.API), overdue=False).state is State.PENDING


def test_incident_7b_being_there_is_not_being_used():
    """P103 was bypassed in every one of 442 calls: it is attested, and told as never engaged."""
    (never,) = engagements(["P103"], {"P103"}, [report(10, Role.API), report(17, Role.ENGINE)], 442)
    assert never.use is Use.NEVER
    assert never.summary == "never engaged in 442 requests"


def test_incident_8_spawned_workers_have_to_report_too():
    """A monkey patch in the parent does not reach them; without their own report nothing is attested."""
    item = Item("vllm.core", "steps", "function", ("P1",), frozenset({"good"}))
    expected = Expectation("env+k", ROOT, {item.key: item})
    tree = (Process(10, 1, "vllm serve"), Process(17, 2, "genesis:w:1::EngineCore"), Process(18, 3, "g::Worker_TP0"))
    reports = [report(10, Role.API), report(17, Role.ENGINE)]
    found = judge(expected, reports, tree, Wanted(worker=1), 10, overdue=True)
    assert found.state is State.REFUSED
    assert "Worker_TP0 (pid 18) has not reported" in found.summary


def test_incident_9_a_marker_is_looked_for_in_upstreams_text_alone():
    """PN30's second part wrote what its third part's marker looked for: a patch's own text supersedes nothing."""
    writes = patch(edit("return 1\n", "return clamp(1)\n", "steps"), id="P1")
    looks = patch(
        edit("return 10\n", "return 20\n", "size"), id="P2", follows=("P1",), markers=(Marker(FILE, "clamp("),)
    )
    found = plan_all(TREE, [writes, looks])
    assert {name: verdict(one) for name, one in found.outcomes.items()} == {
        "P1": Verdict.APPLIED,
        "P2": Verdict.APPLIED,
    }


def test_incident_10_a_patch_without_a_place_is_no_success():
    """PN12 and P101 were told as applied on a file that stayed as it was."""
    outcome = plan(TREE, patch(edit("return 99\n", "return 3\n", "size")))
    assert isinstance(outcome, AnchorMissing)
    optional = patch(edit("return 99\n", "return 3\n", "size", required=False))
    found = plan_all(TREE, [optional])
    assert not isinstance(found.outcomes["P1"], Applied)
    assert found.texts == {}


def test_incident_11_a_changed_signature_is_told_with_the_place():
    """PN59 was skipped in silence when upstream added a parameter: the verdict names file, edit and scope."""
    tree = {FILE: TEXT.replace("def steps():", "def steps(more):")}
    outcome = plan(tree, patch(edit("def steps():\n    return 1\n", "def steps():\n    return 2\n"), id="PN59"))
    assert verdict(outcome) is Verdict.ANCHOR_MISSING
    assert sentence(outcome).startswith(f"{FILE}: e finds no place in the module")


@pytest.mark.parametrize("now", ["anchor_missing", "anchor_ambiguous", "target_missing", "apply_error", "version"])
def test_incident_12_a_patch_that_a_bump_loses_is_told(now):
    """Three of seven edits died over several bumps, and nobody was told: each is a loss against the last good start."""
    good = Start("b", notes("applied", "applied", "superseded"))
    assert lost(good, notes("applied", now, "superseded")) == ("P1",)
    assert lost(good, notes("applied", "superseded", "superseded")) == ()


def test_incident_13_an_id_is_given_once():
    """A second entry of the same id shadowed PN96: the catalog is refused."""
    twice = [patch(edit("return 1\n", f"return {n}\n", "steps"), id="PN96") for n in (2, 3)]
    assert (ProblemKind.DUPLICATE_ID, "PN96") in {(one.kind, one.patch) for one in problems(twice)}
    assert ProblemKind.DUPLICATE_ID not in {one.kind for one in problems(twice[:1])}


@pytest.mark.parametrize("policy", [None, *Policy])
def test_incident_15_a_short_flag_is_an_error(policy):
    """GENESIS_ENABLE_P65 switched nothing: it is refused, and told what was meant, whatever the policy."""
    one = patch(edit("return 1\n", "return 2\n", "steps"), id="P65", flag=Flag("P65_DOWNGRADE"))
    found = selected({"GENESIS_ENABLE_P65": "1"}, one, policy=policy)
    assert found.patches == ()
    (fault,) = found.faults
    assert fault.startswith("GENESIS_ENABLE_P65 (meant GENESIS_ENABLE_P65_DOWNGRADE?): no patch reads this key")


def test_incident_16_a_default_is_honoured_with_a_reason_and_dropped_only_with_one():
    """Patches that were on by default stopped being applied by a change of policy, and no word was said."""
    asked = patch(edit("return 1\n", "return 2\n", "steps"), id="P1", flag=Flag("P1"))
    default = patch(edit("return 10\n", "return 20\n", "size"), id="P2", flag=Flag("P2"), default_on="it cannot boot")
    for policy in (None, *Policy):
        found = selected({}, asked, default, policy=policy)
        assert found.patches == ("P2",)
        rulings = found.resolution.rulings
        assert (rulings["P1"].gate, rulings["P2"].reason) == (Gate.NOT_ENABLED, "it cannot boot")
    dropped = selected({}, asked, default, policy="safe", attribution={"P2": {"role": "no_op"}})
    assert dropped.patches == ()
    assert dropped.plan.excluded == {"P2": "safe drops role no_op"}
    off = selected({"GENESIS_DISABLE_P2": "1"}, asked, default)
    assert off.resolution.rulings["P2"].reason == "switched off by GENESIS_DISABLE_P2"


@pytest.mark.parametrize("policy", [None, *Policy])
def test_incident_16_every_patch_that_is_on_has_a_verdict(policy):
    """What a policy or a gate takes away is named with its reason: nothing is dropped in silence."""
    patches = [patch(edit("return 1\n", f"return {n}\n", "steps"), id=f"P{n}", flag=Flag(f"P{n}")) for n in range(2, 6)]
    env = {f"GENESIS_ENABLE_P{n}": "1" for n in range(2, 6)}
    after_policy = apply_policy(env, policy, {}, patches, "0.1.0")
    found = selected(env, *patches, policy=policy)
    assert set(after_policy.included) | set(after_policy.excluded) == {one.id for one in patches}
    assert set(found.patches) == set(after_policy.included)
    assert all(ruling.reason for ruling in found.resolution.rulings.values())


def test_incident_17_a_start_with_fewer_patches_tells_which_it_lost():
    """Thirty-seven instead of eighty-five were applied when a wrapper dropped the switches."""
    patches = [patch(edit(f"x{n} = 0\n", f"x{n} = 1\n"), id=f"P{n}", flag=Flag(f"P{n}_FLAG")) for n in range(85)]
    whole = {f"GENESIS_ENABLE_P{n}_FLAG": "1" for n in range(85)}
    stripped = dict(list(whole.items())[:37])
    good = Start("b", {name: PatchNote("applied") for name in selected(whole, *patches).patches})
    assert len(good.patches) == 85
    rulings = selected(stripped, *patches).resolution.rulings
    now = {name: PatchNote(str(ruling.gate or "applied")) for name, ruling in rulings.items()}
    assert set(lost(good, now)) == {f"P{n}" for n in range(37, 85)}
    said = selected(stripped | {f"GENESIS_DISABLE_P{n}_FLAG": "1" for n in range(37, 85)}, *patches).resolution.rulings
    assert lost(good, {name: PatchNote(str(ruling.gate or "applied")) for name, ruling in said.items()}) == ()


@pytest.mark.parametrize("flag", ["GENESIS_ENABLE_P1", "SNDR_ENABLE_P1"])
@pytest.mark.parametrize(
    ("versions", "version"),
    [
        ("<0.33", "0.33.0"),
        (">=0.33", "0.32.0"),
        ("==0.32.0", "0.32.1"),
        (">=0.23,<0.24", "0.24.0"),
        (">=0.24", "0.23.1rc1.dev748+g2dfaae752"),
    ],
)
def test_incident_18_a_version_out_of_range_is_never_applied(flag, versions, version):
    """A switch outweighed the range unless another switch enforced it: here nothing does, not even allow_retired."""
    for default in ("", "nothing boots without it"):
        one = patch(edit("return 1\n", "return 2\n", "steps"), flag=Flag("P1"), versions=versions, default_on=default)
        request = Request(parse_version(version), {flag: "1"}, "0.1.0", allow_retired=frozenset({"P1"}))
        found = resolve([one], request)
        assert found.selected == ()
        assert found.rulings["P1"].gate is Gate.VERSION
        assert found.rulings["P1"].reason == f"for {versions}, not for {version}"


def test_incident_19_no_memory_of_what_was_done_is_needed():
    """A cache of markers lost its entries: what is applied is read from the text, as often as one asks."""
    one = patch(edit("return 1\n", "return 2\n", "steps"))
    patched = TREE | dict(plan_all(TREE, [one]).texts)
    assert [type(plan(patched, one)) for _ in range(2)] == [AlreadyApplied, AlreadyApplied]
    assert isinstance(plan(TREE, one), Applied)
    assert plan_all(patched, [one]).texts == {}


def test_incident_20_a_build_is_addressed_by_what_goes_in():
    """Restarted containers kept the old text: the same switches find the same build, others never do."""
    one = patch(edit("return 1\n", "return 2\n", "steps"), id="P1", flag=Flag("P1"))
    two = patch(edit("return 10\n", "return 20\n", "size"), id="P2", flag=Flag("P2"))
    keys = [
        key_of(selected(dict.fromkeys(names, "1"), one, two), [one, two], "env")
        for names in (["GENESIS_ENABLE_P1"], ["GENESIS_ENABLE_P1"], ["GENESIS_ENABLE_P1", "GENESIS_ENABLE_P2"], [])
    ]
    assert keys[0] == keys[1]
    assert keys[2] not in {keys[0], None}
    assert keys[3] is None
