"""The catalog against every release: the verdict of each patch, and what its code does without and with it."""

from __future__ import annotations

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.engine import plan
from genesisd.patches.outcome import Applied, Superseded, TargetMissing
from genesisd.versions import parse_range, parse_version
from tests.catalog.cases import CASES, needed
from tests.catalog.forge import plan_on, texts_for
from tests.catalog.releases import ABSENT, APPLIED, OUT_OF_RANGE, RELEASES, SUPERSEDED

BY_ID = {patch.id: patch for patch in catalog()}
KINDS = {Applied: APPLIED, Superseded: SUPERSEDED, TargetMissing: ABSENT}
EVERYWHERE = [(name, version) for name in CASES for version in RELEASES]


def with_verdict(verdict):
    return [(name, version) for name, version in EVERYWHERE if CASES[name].verdicts[version] == verdict]


def test_each_implemented_patch_has_a_case_and_each_case_a_patch():
    """A patch that nothing shows to work would be a promise."""
    assert set(CASES) == set(BY_ID)


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.id)
def test_a_case_can_fail(case):
    """Without a difference between RED and GREEN a case would pass on any code."""
    assert set(case.verdicts) == set(RELEASES)
    for version in RELEASES:
        assert case.red_on(version) != case.green_on(version)
    assert case.stubs


@pytest.mark.parametrize(("name", "version"), EVERYWHERE)
def test_the_verdict_is_the_one_that_the_case_tells(tree, name, version):
    """Applied where the defect is, superseded where upstream mended it, target missing where there is nothing."""
    patch = BY_ID[name]
    if not parse_range(patch.versions).contains(parse_version(version)):
        found = OUT_OF_RANGE
    else:
        others = [BY_ID[one] for one in needed(patch, BY_ID)[1:]]
        outcome = plan_on(tree(version), [patch, *others]).outcomes[name]
        found = KINDS.get(type(outcome), repr(outcome))
    assert found == CASES[name].verdicts[version], plan(texts_for(tree(version), [patch]), patch)


@pytest.mark.real
@pytest.mark.parametrize(("name", "version"), with_verdict(APPLIED))
def test_the_defect_is_there_without_the_patch_and_gone_with_it(observe, name, version):
    """Red on the pristine tree, green on the patched one, by running the release's own code."""
    case = CASES[name]
    assert observe(name, version, patched=False) == case.red_on(version)
    assert observe(name, version, patched=True) == case.green_on(version)


@pytest.mark.real
@pytest.mark.parametrize(("name", "version"), with_verdict(SUPERSEDED))
def test_upstream_does_what_the_patch_would(observe, name, version):
    """A patch is superseded where upstream's own code behaves, not where it merely looks alike."""
    assert observe(name, version, patched=False) == CASES[name].upstream_on(version)


@pytest.mark.parametrize("version", [version for version in RELEASES if version != "0.23.0"])
def test_where_a_patchs_file_is_gone_its_target_is_missing(tree, version):
    """Its range keeps PN374 from such releases; asked all the same, it is told apart from an anchor that moved."""
    outcome = plan_on(tree(version), [BY_ID["PN374"]]).outcomes["PN374"]
    assert KINDS.get(type(outcome)) == ABSENT, outcome
