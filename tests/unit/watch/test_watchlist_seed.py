"""The watchlist that came with the project, read as it is, and what the checks find in it."""

from collections import Counter, defaultdict
from contextlib import suppress

import pytest
import yaml

from genesisd.patches.register import load_register
from genesisd.patches.register_spec import ENDED
from genesisd.watch.checks import check
from genesisd.watch.findings import FindingKind
from genesisd.watch.model import PatchFact
from genesisd.watch.refs import parse_ref
from genesisd.watch.watchlist import load
from tests.helpers.watchlists import SEED, WHY_NO_SEED

pytestmark = pytest.mark.skipif(not SEED.exists(), reason=WHY_NO_SEED)


@pytest.fixture(scope="module")
def seed():
    return load(SEED)


@pytest.fixture(scope="module")
def found(seed):
    register = load_register()
    findings = check(seed, _facts(register), register.find, None, 1.8e9, 1e9)
    kinds = defaultdict(list)
    for finding in findings:
        kinds[finding.kind].append(finding)
    return kinds


def _facts(register):
    facts = {}
    for id_, record in register.records.items():
        refs = []
        for name in record.upstream:
            with suppress(ValueError):
                refs.append(parse_ref(name))
        ended = record.lifecycle in ENDED
        facts[id_] = PatchFact(
            id=id_,
            title=record.title or "",
            implemented=record.implemented,
            active=record.implemented and not ended,
            retired=ended,
            planned=record.planned,
            upstream=tuple(refs),
            superseded_by=record.superseded_by,
        )
    return facts


def numbers(findings):
    return {int(finding.row.rpartition("#")[2]) for finding in findings}


def test_every_row_is_read(seed):
    """Forty rows to watch, seventy-three of the sweep, with the words that people counted in them."""
    assert (len(seed.watch), len(seed.sweep)) == (40, 73)
    assert Counter(row.status for row in seed.watch) == {"open": 20, "closed": 11, "merged": 9}
    assert Counter(row.action for row in seed.watch) == {
        "watch": 14,
        "drift-check": 9,
        "a-b-test": 8,
        "retire": 4,
        "port": 4,
        "cookbook": 1,
    }
    assert Counter(row.trigger for row in seed.sweep) == {
        "review-on-merge": 36,
        "retire-on-merge": 30,
        "reanchor-on-merge": 7,
    }
    assert Counter(row.detection for row in seed.sweep) == {"anchor": 70, "manual": 2, "test": 1}
    forms = Counter("watch" if row.watch_only else "planned" if row.planned else "ids" for row in seed.sweep)
    assert forms == {"ids": 39, "watch": 18, "planned": 16}


def test_every_value_is_what_another_reader_reads(seed):
    """A loader that resolves types and knows nothing of rows agrees on all that the rows hold."""
    other = yaml.safe_load(SEED.read_bytes())
    for row, said in zip(seed.watch, other["watch"], strict=True):
        assert (str(row.upstream), row.status, row.action) == (said["upstream"], said["status"], said["action"])
        assert (str(row.since), row.notes) == (str(said["since"]), said["notes"])
        assert (list(row.patches), list(row.affects)) == (said["local_patches"], said.get("affects_models", []))
        assert (row.severity, row.fix_status) == (said.get("severity"), said.get("fix_status"))
        assert (str(row.fix_upstream) if row.fix_upstream else None) == said.get("fix_upstream")
    for row, said in zip(seed.sweep, other["sweep"], strict=True):
        assert (row.upstream.number, row.trigger, row.note) == (said["pr"], said["trigger"], said["note"])
        if row.patches:
            assert ", ".join(row.patches) == said["genesis_patch"]


def test_the_lines_are_those_of_the_file(seed):
    """The line of a row is the one that an editor shows it at."""
    lines = SEED.read_text().split("\n")
    for row in seed.watch:
        assert lines[row.line - 1] == f"- upstream: {row.upstream}"
    for row in seed.sweep:
        assert lines[row.line - 1] == f"- pr: {row.upstream.number}"


def test_the_planned_work_that_is_done_is_found(found):
    """Twelve rows plan what a patch does already; they were counted by hand before."""
    assert numbers(found[FindingKind.PLANNED_DONE]) == {
        *(45199, 45005, 44628, 44563, 45080, 44868, 45202, 44784, 45196, 45060, 45040, 44955),
    }


def test_the_id_that_was_planned_twice_is_found(found):
    """P86 was planned for one pull request and given to another."""
    (finding,) = found[FindingKind.PLANNED_TAKEN]
    assert (finding.row, "vllm#40876" in finding.text) == ("sweep:vllm#45202", True)


def test_the_sections_that_disagree_are_found(found):
    """Two pull requests are closed in one section and waited for in the other."""
    assert numbers(found[FindingKind.CONTRADICTION]) == {42006, 42237}


def test_the_triggers_that_cannot_fire_are_found(found):
    """Rows that wait for the merge of what the file itself has as closed."""
    assert numbers(found[FindingKind.TRIGGER_DEAD]) == {26504, 42006, 42237, 43074, 42102}


def test_nothing_is_told_of_upstream_that_was_not_asked(found):
    """Without a store there is no claim that could be called unverified or wrong."""
    asked = {FindingKind.UNVERIFIED, FindingKind.OUTDATED, FindingKind.WRONG, FindingKind.MERGED_BEFORE}
    assert asked.isdisjoint(found)
