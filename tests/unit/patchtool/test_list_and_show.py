"""What there is, in a list and one by one."""

from __future__ import annotations

from genesisd.patches.applies_to import condition_of
from genesisd.patches.model import Proof, Study
from genesisd.patches.parameters import Kind, Parameter
from tests.unit.patchtool.conftest import two, upon


def ids(said):
    return [one["id"] for one in said.json["patches"]]


def test_the_catalog_is_listed_first_of_all(ask):
    """By default only what is implemented; the rest on request, P9 before P67."""
    assert ids(ask("--json list", two(), upon())) == ["P1", "P2"]
    assert ids(ask("--json list --known", two(), upon())) == ["P67", "PN9", "PN71"]
    assert ids(ask("--json list --all", two(), upon())) == ["P1", "P2", "P67", "PN9", "PN71"]


def test_filters_narrow_the_list(ask):
    """Family and lifecycle, together."""
    assert ids(ask("--json list --all --family turboquant", two())) == ["P67"]
    assert ids(ask("--json list --all --lifecycle tombstone", two())) == ["PN71"]
    assert ids(ask("--json list --all --lifecycle planned --family moe", two())) == ["PN9"]


def test_a_misspelt_filter_is_no_empty_list(ask):
    """It would read as an answer."""
    told = ask("list --family turbo", two())
    assert told.status == 2
    assert "no patch has it" in told.err
    assert "turboquant" in told.err


def test_a_tree_adds_a_column(ask, tree):
    """The verdict there."""
    told = ask(f"list --tree {tree}", two())
    assert told.out.splitlines()[0].split()[-2:] == ["tree", "TITLE"]
    assert "applied" in told.out
    assert ask(f"--json list --tree {tree}", two()).json["patches"][0]["verdicts"] == {"tree": "applied"}


def test_show_tells_everything(ask):
    """Flag, parameter, condition, edit, proof, study, and who needs it."""
    rich = two(
        parameters=(Parameter("GENESIS_P1_LIMIT", Kind.INT, 4, 1, 8),),
        applies_to=condition_of({"is_hybrid": True, "sm_min": 80}),
        proofs=(Proof("engine", "vllm.core:_genesis_hits"),),
        study=Study("nothing", "all", "none"),
    )
    out = ask("show p1", rich, upon()).out
    for line in (
        "P1: Return two",
        "GENESIS_ENABLE_P1_TWO",
        "GENESIS_P1_LIMIT: a value of kind int from 1 up to 8, 4 if it is not set",
        "is_hybrid is True and sm >= 80",
        "e: replace in vllm/core.py, run",
        "engine: 'vllm.core:_genesis_hits'",
        "needed by       P2",
        "upstream nothing, ours all, tests none",
    ):
        assert line in out


def test_an_id_that_is_only_known_shows_the_register(ask):
    """And says that there is no more."""
    told = ask("show P67", two())
    assert "P67: Verify drafts\n  known, and not implemented here\n" in told.out
    assert ask("--json show p67", two()).json["patch"]["implemented"] is False


def test_an_unknown_id_names_the_nearest(ask):
    """Slips are the rule."""
    told = ask("show P6", two())
    assert told.status == 1
    assert "did you mean 'P67'?" in told.err or "did you mean 'P1'?" in told.err
