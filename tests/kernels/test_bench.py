from __future__ import annotations

import sys
import types

import pytest

from genesisd.kernels import bench


def test_the_cases_are_named_without_a_gpu(capsys):
    """`--list` needs neither a card nor torch."""
    assert bench.main(["--list"]) == 0
    assert "8/1/256, B=8, 128K, 6 query tokens" in capsys.readouterr().out


def test_a_red_test_prints_no_figures(monkeypatch, capsys):
    """When a test fails there is nothing on standard output, and its name is on standard error."""
    red = types.ModuleType("genesisd.kernels.tq_verify.checking")
    red.failures = lambda _device: ["decode, group 8: error 1.00e+00"]
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
    assert page.read_text() == f"# Benchmarks\n\n{bench.SECTION}\n{bench.MARKS[0]}\n| new |\n{bench.MARKS[1]}\n"


@pytest.mark.parametrize(
    ("name", "count", "share", "us", "met"),
    [
        ("8/1/256, B=8, 128K", 6, 0.5, 190, True),
        ("8/1/256, B=8, 128K", 1, 0.5, 190, False),
        ("8/1/256, B=1, 8K", 1, 0.1, 15, True),
    ],
)
def test_goals(name, count, share, us, met):
    """Each shape is held against its own goal."""
    from genesisd.kernels.tq_verify import cases

    case = next(case for case in cases.BENCHED if case.name == name and case.query_lens[0] == count)
    assert bench.goal_of(case)[1](share, us) is met
