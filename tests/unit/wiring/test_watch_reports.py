"""Reports of sweeps lie in a folder, the newest of them."""

import os

import pytest

from genesisd.errors import NotFoundError
from genesisd.watch.kinds import SweepKind
from genesisd.watch.result import SweepOutcome, SweepResult
from genesisd.wiring.watch_reports import Reports

RESULT = SweepResult(kind=SweepKind.NIGHTLY, window="w", started=1_800_000_000.0, outcome=SweepOutcome.FAILED)


def test_a_report_is_read_in_both_forms(tmp_path):
    """By its number, or the newest."""
    reports = Reports(tmp_path / "reports")
    reports.keep(9, RESULT, most=5)
    kept = reports.keep(10, RESULT, most=5)
    number, _, text, path = reports.read(None, "markdown")
    assert (number, path) == (10, kept)
    assert text.startswith("# Upstream on 2027-01-15")
    assert reports.read(9, "html")[2].startswith("<!doctype html>")


def test_the_oldest_go(tmp_path):
    """By number, and not by how the number is spelt; other files in the folder stay."""
    reports = Reports(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    for number in (8, 9, 10, 11):
        reports.keep(number, RESULT, most=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10.html", "10.md", "11.html", "11.md", "notes.txt"]
    with pytest.raises(NotFoundError, match="kept are those of sweeps 10 to 11"):
        reports.read(8, "markdown")


def test_before_the_first_there_is_none(tmp_path):
    """And the error says how to get one."""
    with pytest.raises(NotFoundError) as caught:
        Reports(tmp_path / "none").read(None, "html")
    assert caught.value.hint == "genesisctl watch sweep --now makes one"


def test_a_store_that_was_begun_anew_counts_from_one_again(tmp_path):
    """What is written now is the newest, whatever numbers the old store had reached, and is not the first to go."""
    reports = Reports(tmp_path)
    for number in (51, 52):
        path = reports.keep(number, RESULT, most=2)
        for one in (path, path.with_suffix(".html")):
            os.utime(one, (number, number))
    reports.keep(1, RESULT, most=2)
    assert reports.read(None, "markdown")[0] == 1
    assert reports.read(52, "markdown")[0] == 52
    with pytest.raises(NotFoundError):
        reports.read(51, "markdown")
