"""The generated pages."""

from __future__ import annotations

import pytest

from genesisd.patches.parameters import Kind, Parameter
from genesisd.patchtool.documents import differences, written
from genesisd.patchtool.gates import GATES
from genesisd.patchtool.tool import Tool
from tests.unit.patchtool.conftest import two, upon

CASE = """
ID = "P1"
OLD, NEW = "superseded", "applied"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0"), NEW) | {"0.33.0": OLD}
STUBS = "none"
UNATTESTED = {"TABLE": "it is computed"}
import engine_that_is_not_here
"""


def test_the_pages_of_this_clone_are_current():
    """Whoever changes the catalog writes them anew."""
    tool = Tool()
    pages = {name: text for name, text in written(tool).items() if (tool.checkout / name).read_text() != text}
    assert not pages, differences(tool.checkout, pages)


@pytest.fixture
def page(ask, clone):
    (clone / "tests/catalog/cases/p1.py").write_text(CASE)
    limit = Parameter("GENESIS_P1_LIMIT", Kind.INT, 4, 1, 8)
    rich = two(upstream=(42,), credit="Ann | Ben", parameters=(limit,), versions=">=0.23.0")
    assert ask("docs", rich, upon()).status == 0
    return (clone / "docs/PATCHES.md").read_text()


def test_a_patch_has_a_row_with_a_verdict_a_release(page):
    """Bars in words do not break the table; the words of the case become people's words."""
    assert (
        "| `P1` | Return two | experimental |  | `GENESIS_ENABLE_P1_TWO` | `GENESIS_P1_LIMIT` | "
        "[#42](https://github.com/vllm-project/vllm/pull/42) | Ann \\| Ben | `>=0.23.0` | applied | applied | upstream | `TABLE` |"
    ) in page


def test_what_a_row_has_no_room_for_stands_below(page):
    """Parameters with their ranges, what it stands on, why something is not attested."""
    assert (
        "- `P1`: `GENESIS_P1_LIMIT` takes a value of kind int from 1 up to 8, 4 if it is not set. Not attested: `TABLE`, since it is computed."
        in page
    )
    assert "- `P2`: Stands on `P1`." in page


def test_known_ids_stand_in_their_family(page):
    """With how they ended."""
    scheduler, moe, rest = page.index("## Scheduler"), page.index("## MoE"), page.index("## Without a family")
    assert moe < scheduler < rest < page.index("| `PN71` | Burned | tombstone (abandoned) |")
    assert "The catalog implements 2 patches; 3 more ids are known" in page


def test_every_table_is_a_table(page, clone):
    """As many cells in each line as in its head."""
    for text in (page, (clone / "docs/RELEASE_POLICY.md").read_text()):
        head = None
        for line in text.splitlines():
            cells = line.replace("\\|", "").count("|")
            head = (head or cells) if line.startswith("|") else None
            assert not line.startswith("|") or cells == head, line


def test_the_policy_names_every_check(page, clone):
    """Each gate with its clauses."""
    text = (clone / "docs/RELEASE_POLICY.md").read_text()
    for mode, clauses in GATES.items():
        assert f"## {mode}\n" in text
        assert all(f"| `{clause.name}` |" in text for clause in clauses)


def test_check_fails_with_the_difference(ask, clone):
    """Exit 10, the lines that differ, and what to do; nothing is written."""
    assert ask("docs", two()).status == 0
    before = (clone / "docs/PATCHES.md").read_text()
    told = ask("docs --check", two(title="Return another"))
    assert told.status == 10
    assert "-| `P1` | Return two" in told.out
    assert "+| `P1` | Return another" in told.out
    assert "write them anew: genesisctl patches docs" in told.out
    assert (clone / "docs/PATCHES.md").read_text() == before


def test_check_is_quiet_when_all_is_well(ask):
    """And writing again changes nothing."""
    assert ask("docs", two()).status == 0
    assert ask("docs --check", two()).status == 0
    assert ask("--json docs", two()).json["written"] == []


def test_an_installed_package_says_that_it_is_no_clone(ask, clone):
    """There is nowhere to write to."""
    (clone / "docs").rmdir()
    told = ask("docs", two())
    assert told.status == 2
    assert "works in a clone" in told.err
