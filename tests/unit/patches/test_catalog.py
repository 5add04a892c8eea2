"""The catalog as data: sound, told alike by the register, shown by cases, and safe from what once went wrong."""

from pathlib import Path

import pytest

import genesisd.patches.catalog
from genesisd.patches.catalog import by_number, catalog
from genesisd.patches.check_catalog import problems
from genesisd.patches.edits import new_texts
from genesisd.patches.environ import Undeclared, environ_problems, variables_of
from genesisd.patches.flags import ENABLE
from genesisd.patches.lifecycle import WITH_EDITS, Implementation, Lifecycle, Origin, StableKind
from genesisd.patches.problems import ProblemKind
from genesisd.patches.register import load_register, stem
from genesisd.patches.resolve import Gate, Request, resolve
from genesisd.versions import parse_version
from tests.catalog.cases import CASES
from tests.unit.patches.made import patch as made

PATCHES = catalog()
FOLDER = Path(genesisd.patches.catalog.__file__).parent
FILES = [path for path in FOLDER.glob("*/*.py") if path.name != "__init__.py"]
each_patch = pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.id)


@pytest.fixture(scope="module")
def register():
    return load_register()


def test_it_has_no_problems():
    """Ids, flags, ranges, references, order and edits are sound, all patches taken together."""
    assert problems(PATCHES) == ()


def test_it_is_in_the_order_that_people_count_in():
    """P9 stands before P62 and both before PN9, whichever folder they are in."""
    assert [by_number(name) for name in ("P9", "P62", "P79c", "P79d", "PN9")] == sorted(
        by_number(name) for name in ("PN9", "P79d", "P62", "P79c", "P9")
    )
    assert [patch.id for patch in PATCHES] == sorted((patch.id for patch in PATCHES), key=by_number)


def test_every_file_is_a_patch_named_by_its_id():
    """A file is found by the id that a log line names, in the folder of its family."""
    expected = {(patch.family, patch.id.lower()) for patch in PATCHES}
    assert {(path.parent.name, path.stem.split("_")[0]) for path in FILES} == expected
    assert len(FILES) == len(PATCHES)
    assert [path.name for path in FILES if "_" not in path.stem] == []


def test_the_register_calls_the_same_patches_implemented(register):
    """What sweeps and configurations are checked against is what there is."""
    assert {name for name, one in register.records.items() if one.implemented} == {patch.id for patch in PATCHES}


@each_patch
def test_an_optional_edit_says_where_it_is_not_needed(patch):
    """Otherwise a release that moved its place would get half a fix, and the verdict would still be applied."""
    assert [edit.id for edit in patch.anchored() if not edit.required and edit.unless is None] == []


@each_patch
def test_the_register_says_the_same(register, patch):
    """Family, lifecycle, flag and upstream numbers of a patch stand twice and agree."""
    record = register.records[patch.id]
    assert (record.family, record.lifecycle) == (patch.family, patch.lifecycle)
    assert {one.rpartition("#")[2] for one in record.upstream} == {str(number) for number in patch.upstream}
    if patch.flag is not None:
        assert record.flag is not None
        assert stem(record.flag) == patch.flag.name


@each_patch
def test_what_calls_itself_shown_is_shown(patch):
    """A patch that is stable by its behaviour has a case that differs with it and without it."""
    if patch.stable_kind is StableKind.BEHAVIOUR:
        case = CASES[patch.id]
        applied = [version for version, verdict in case.verdicts.items() if verdict == "applied"]
        assert applied
        assert all(case.red_on(version) != case.green_on(version) for version in applied)


@each_patch
def test_a_stable_backport_was_studied(patch):
    """What upstream did, what we do better or why not, and which tests came along: all three are said."""
    if patch.origin is Origin.BACKPORT and patch.lifecycle is Lifecycle.STABLE:
        assert patch.study is not None
        assert all((patch.study.upstream, patch.study.ours, patch.study.tests))


@each_patch
def test_a_backport_names_what_it_carries(patch):
    """Without a number nobody could tell when it may go; without a credit it would pass for ours."""
    if patch.origin is Origin.BACKPORT:
        assert patch.upstream
        assert patch.credit


@each_patch
def test_a_case_covers_what_is_shown_by_the_patch_alone(patch):
    """A case's verdicts fit the patch: superseded only with a marker, out of range only with a range."""
    verdicts = set(CASES[patch.id].verdicts.values()) if patch.id in CASES else set()
    assert "superseded" not in verdicts or patch.markers
    assert "version" not in verdicts or patch.versions


@each_patch
def test_a_proof_counts_under_the_name_of_its_patch(patch):
    """The sign of life that is waited for is one that the patch itself gives."""
    texts = [text for edit in patch.edits for text in new_texts(edit)]
    for proof in patch.proofs:
        assert proof.role in {"api", "engine", "worker"}
        assert bool(proof.counter) != bool(proof.log)
        said = proof.log or f'"{patch.id}"'
        assert any(said in text for text in texts)


@each_patch
def test_a_proof_counts_in_a_module_that_is_patched(patch):
    """Its counter lies in a file that the patch changes, or one that it requires."""
    changed = {edit.path for one in PATCHES if one.id in {patch.id, *patch.requires} for edit in one.edits}
    for proof in patch.proofs:
        path = proof.counter.partition(":")[0].replace(".", "/")
        assert not proof.counter or {f"{path}.py", f"{path}/__init__.py"} & changed


def test_patches_of_one_module_share_its_counters():
    """A second patch that made the counters anew would forget the first one's."""
    makers = [
        (edit.path, patch.id)
        for patch in PATCHES
        for edit in patch.edits
        if any("_genesis_hits = {" in text for text in new_texts(edit))
    ]
    assert len({path for path, _ in makers}) == len(makers)


def test_a_switch_belongs_to_one_patch():
    """No variable, older names included, is read by two."""
    names = [name for patch in PATCHES for name in variables_of(patch)]
    assert len(names) == len(set(names))


def test_a_second_patch_of_one_id_is_an_error():
    """Incident: an id given twice let the later entry shadow the earlier, and a gain was lost without a word."""
    again = made(id=PATCHES[0].id, edits=PATCHES[0].edits)
    assert ProblemKind.DUPLICATE_ID in {one.kind for one in problems((*PATCHES, again))}
    assert len({patch.id.lower() for patch in PATCHES}) == len(PATCHES)


@each_patch
def test_a_short_flag_is_an_error_that_names_the_long_one(patch):
    """Incident: GENESIS_ENABLE_P65=1 was passed over, and the engine measured without the patch."""
    if patch.flag is None or patch.flag.name == patch.id.upper():
        return
    for prefix in ENABLE:
        short = prefix + patch.id.upper()
        assert environ_problems({short: "1"}, PATCHES) == (Undeclared(short, prefix + patch.flag.name),)


@each_patch
def test_a_flag_begins_with_the_id_of_its_patch(patch):
    """Whoever reads an environment sees which patches it asks for."""
    if patch.flag is not None:
        assert patch.flag.name.partition("_")[0] == patch.id.upper()


@each_patch
def test_what_is_on_unasked_says_why(patch):
    """Incident: patches were on by default in the list and off in the engine; here a default is a reason, or none."""
    assert patch.default_on == "" or len(patch.default_on.split()) >= 3


def test_nothing_is_applied_unasked_but_what_says_why():
    """An empty environment switches on what has a reason to be, and nothing else."""
    resolution = resolve(PATCHES, Request(parse_version("0.24.0"), {}, "0.1"))
    for patch in PATCHES:
        asked_for_none = resolution.rulings[patch.id].gate is Gate.NOT_ENABLED
        assert asked_for_none == (not patch.default_on and patch.flag is not None)


@each_patch
def test_no_patch_writes_what_upstream_is_known_by(patch):
    """Incident: a marker matched a patch's own text; its next part was skipped as merged, and the engine aborted."""
    for other in PATCHES:
        texts = [text for edit in other.edits for text in new_texts(edit)]
        assert [marker.text for marker in patch.markers if any(marker.text in text for text in texts)] == []


@each_patch
def test_what_does_nothing_says_why(patch):
    """A patch without edits is a coordinator, or has a reason to be in the catalog."""
    if patch.implementation not in WITH_EDITS:
        assert patch.reason or patch.implementation is Implementation.COORDINATOR
