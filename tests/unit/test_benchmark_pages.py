"""What a benchmark writes takes the place of what it wrote before, and of nothing else on the page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import pages
from genesisd.kernels import bench

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = pages.MARKS


def test_what_others_wrote_on_the_page_of_figures_stays() -> None:
    """The kernels' table and what TurboQuant came to in an engine are there to the byte after all else is new."""
    page = (DOCS / "benchmarks.md").read_text()
    others = page.split(END)[1]
    new = pages.replaced(page, "# Benchmarks\n\nnew")
    assert new == f"{BEGIN}\n# Benchmarks\n\nnew\n{END}{others}"
    assert {"## TurboQuant end to end", "## kernels", *bench.MARKS} <= set(others.splitlines())


@pytest.mark.parametrize("name", ["benchmarks.md", "probe-cost.md", "detection.md"])
def test_pages_can_be_written_anew(name: str) -> None:
    """Those that the command is told to write have its marks, and written again they are what they were."""
    page = (DOCS / name).read_text()
    assert pages.replaced(page, page.split(BEGIN)[1].split(END)[0]) == page


def test_a_page_that_is_not_there_begins_with_the_marks() -> None:
    """So that the next command knows what it may replace."""
    first = pages.replaced("", "one")
    assert first == f"{BEGIN}\none\n{END}\n"
    assert pages.replaced(f"{first}\n## others\n", "two") == f"{BEGIN}\ntwo\n{END}\n\n## others\n"


@pytest.mark.parametrize(
    "page",
    ["# all of others\n", f"{BEGIN}\nno end\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n"],
    ids=["none", "no end", "turned round", "twice"],
)
def test_a_page_that_lost_its_marks_is_not_written(page: str) -> None:
    """Nobody could tell what is ours in it."""
    with pytest.raises(pages.MarksLostError, match="once each"):
        pages.replaced(page, "new")


def test_lost_marks_are_told_before_anything_is_measured(tmp_path, monkeypatch, capsys) -> None:
    """Not after minutes; and the page is as it was."""
    page = tmp_path / "page.md"
    page.write_text("# all of others\n")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--only", "respawn", "--write", str(page)])
    monkeypatch.setitem(command.BENCHMARKS, "respawn", lambda _: pytest.fail("measured"))
    with pytest.raises(SystemExit):
        command.main()
    assert "written by benchmarks" in capsys.readouterr().err
    assert page.read_text() == "# all of others\n"
