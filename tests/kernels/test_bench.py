from __future__ import annotations

import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

from genesisd.kernels import bench


def test_the_cases_are_named_without_a_gpu(capsys):
    """`--list` needs neither a card nor torch."""
    assert bench.main(["--list"]) == 0
    said = capsys.readouterr().out
    assert "tq_verify, bench: 8/1/256, B=8, 128K, 6 query tokens" in said
    assert "tq_verify, bench: 32/8/128, B=8, 32K, head-major, 5 query tokens" in said
    assert "tq_verify, bench: 8/1/256, B=8, 32K, in triton, raw tail, 6 query tokens" in said
    assert "tq_verify, test: verify, head-major pages, raw tail, 3 query tokens" in said
    assert "lm_head_fp8, bench: 4096 x 151936, 8 rows" in said
    assert "lm_head_fp8, test: subnormal weights" in said


def test_one_operation_is_chosen_by_its_name():
    """Then all its cases are measured and no other's; its tests alone run first."""
    assert list(bench.selected("lm_head_fp8")) == ["lm_head_fp8"]
    assert list(bench.selected("")) == list(bench.SECTIONS)


def test_cases_are_chosen_by_a_part_of_their_name():
    """Words that no case has leave nothing to measure, which is said."""
    assert [case.name for case in bench.selected("5120 x 248320, 1 row")["lm_head_fp8"]] == ["5120 x 248320, 1 row"]
    assert bench.selected("nothing of this name") == {}


def test_a_name_that_nothing_has_is_an_error(capsys):
    """A word mistyped is told, rather than an empty table printed."""
    assert bench.main(["--only", "lm_head_fp9"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "'lm_head_fp9'" in said.err


@pytest.mark.parametrize("op", bench.SECTIONS)
def test_every_operation_has_what_is_called(op):
    """Each package brings its cases, tests and table under the same names."""
    package = Path(bench.__file__).parent / op
    assert "def failures(device: str, " in (package / "checking.py").read_text()
    assert "def lines(" in (package / "table.py").read_text()


def test_a_red_test_prints_no_figures(monkeypatch, capsys):
    """When a test fails there is nothing on standard output, and its name is on standard error."""
    red = types.ModuleType("genesisd.kernels.tq_verify.checking")
    red.failures = lambda _device, _upstream: ["decode, group 8: error 1.00e+00"]
    monkeypatch.setitem(sys.modules, red.__name__, red)
    monkeypatch.setattr("genesisd.kernels.tq_verify.checking", red, raising=False)
    assert bench.main([]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "decode, group 8" in said.err


def test_the_table_is_put_between_its_marks(tmp_path):
    """Only what is between the marks of a page changes."""
    page = tmp_path / "page.md"
    after = f"after\n<!-- another's -->\n{bench.MARKS[1]}\nlast\n"
    page.write_text(f"before\n{bench.MARKS[0]}\nold\n{bench.MARKS[1]}\n{after}")
    bench.replace(page, "| new |")
    assert page.read_text() == f"before\n{bench.MARKS[0]}\n| new |\n{bench.MARKS[1]}\n{after}"


def test_a_page_without_the_marks_gets_the_section_at_its_end(tmp_path):
    """The rest of the page is written by another command, which knows nothing of this table."""
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n")
    for table in ("| old |", "| new |"):
        bench.replace(page, table)
    section = bench.section("tq_verify")
    assert page.read_text() == f"# Benchmarks\n\n{section}\n{bench.MARKS[0]}\n| new |\n{bench.MARKS[1]}\n"


def test_each_operation_has_a_table_of_its_own(tmp_path):
    """Measuring one leaves the figures of another where they are."""
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n")
    bench.replace(page, "| verify |")
    bench.replace(page, "| old |", "lm_head_fp8")
    bench.replace(page, "| new |", "lm_head_fp8")
    said = page.read_text()
    assert said.count("| verify |") == said.count("| new |") == 1
    assert "| old |" not in said
    assert "## kernels lm_head_fp8\n" in said


@pytest.mark.parametrize(
    ("name", "count", "share", "us", "met"),
    [
        ("8/1/256, B=8, 128K", 6, 0.5, 190, True),
        ("8/1/256, B=8, 128K", 1, 0.5, 190, False),
        ("8/1/256, B=1, 8K", 1, 0.1, 15, True),
        ("16/2/256, B=8, 32K, head-major", 1, 0.5, 60, False),
    ],
)
def test_goals(name, count, share, us, met):
    """Each shape is held against its own goal."""
    from genesisd.kernels.tq_verify import cases
    from genesisd.kernels.tq_verify.goals import goal_of

    case = next(case for case in cases.BENCHED if case.name == name and case.query_lens[0] == count)
    assert goal_of(case)[1](share, us) is met


def test_what_a_tail_costs_is_measured_beside_the_same_form():
    """Each case with a raw tail has one without that is measured in triton too; neither has a goal."""
    from genesisd.kernels.tq_verify import cases
    from genesisd.kernels.tq_verify.goals import goal_of

    found = [case for case in cases.BENCHED if case.triton]
    tailed = [replace(case, name=case.name.removesuffix(", raw tail"), tail=False) for case in found if case.tail]
    assert tailed
    assert tailed == [case for case in found if not case.tail]
    assert [case for case in found if goal_of(case)] == []
