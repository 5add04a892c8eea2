"""How figures stand in a table, and in the lines of a sweep; all operations' own are in `test_tables.py`."""

from __future__ import annotations

from types import SimpleNamespace

from genesisd.kernels import rows

WITH = SimpleNamespace(floor_us=3.04, ours_us=14.44, upstream_us=141.96, error=1.84e-3, upstream_error=1.66e-3)
WITHOUT = SimpleNamespace(floor_us=3.04, ours_us=14.44, upstream_us=None, error=None, upstream_error=None)


def test_a_table_has_a_line_under_its_names():
    """Without it a page would show the names as words among others."""
    assert rows.header("what", "us") == "| what | us |\n| --- | --- |"
    assert rows.row("all", "", "5") == "| all |  | 5 |"


def test_a_comparison_has_a_cell_for_each_name():
    """Floor, the engine's and ours, how many times faster, and our share of the floor."""
    assert rows.compared(WITH) == ("3.0", "142.0", "14.4", "x9.8", "21.1%")
    assert rows.compared(WITH, digits=2)[0] == "3.04"
    assert len(rows.compared(WITH)) == len(rows.COMPARED)


def test_what_was_not_measured_is_left_empty():
    """Neither a zero nor a word stands where there was no tree, or no reference."""
    assert rows.compared(WITHOUT) == ("3.0", "", "14.4", "", "21.1%")
    assert (rows.errors(WITH), rows.errors(WITHOUT)) == ("1.8e-03, 1.7e-03", "")


def test_the_first_cut_of_a_sweep_is_marked():
    """It is the plan's own; what is wrong with a cut stands behind its figures."""
    cuts = iter([rows.Cut("2 rows", 10.04), rows.Cut("4 rows", 20.0, ", WRONG by 1.0e+00")])
    assert list(rows.sweep("decode", 5.0, cuts)) == [
        "decode: 2 rows (the plan): 10.0 us, 49.8%",
        "decode: 4 rows: 20.0 us, 25.0%, WRONG by 1.0e+00",
    ]
