"""Golden tables, and text that must not steer a terminal."""

from __future__ import annotations

import pytest

from genesisd.cli.follow import parse_since, tame
from genesisd.cli.text import Cell, clean, duration, phase_cell, table
from genesisd.errors import GenesisError

HEAD = ("NAME", "PHASE", "REASON")
ROWS = [
    [Cell("tiny", "bold"), phase_cell("ready"), Cell("a generation was proven")],
    [Cell("big", "bold"), phase_cell("failed"), Cell("the model path does not exist; correct 'model' and reset")],
]


def test_wide() -> None:
    """Where there is room, nothing is cut and no line ends in spaces."""
    assert table(HEAD, ROWS, width=None, colour=False) == (
        "NAME  PHASE   REASON\n"
        "tiny  ready   a generation was proven\n"
        "big   failed  the model path does not exist; correct 'model' and reset\n"
    )


def test_narrow() -> None:
    """On a narrow terminal the widest column gives way, and every line fits."""
    shown = table(HEAD, ROWS, width=30, colour=False)
    assert shown == ("NAME  PHASE   REASON\ntiny  ready   a generation wa…\nbig   failed  the model path …\n")
    assert max(map(len, shown.splitlines())) <= 30


def test_far_too_narrow() -> None:
    """A terminal of nothing still gets the beginning of each column."""
    assert table(HEAD, ROWS, width=1, colour=False).splitlines()[2] == "big   failed  the mod…"


def test_colour() -> None:
    """Colours frame the words and do not move the columns."""
    assert table(HEAD, ROWS[:1], width=None, colour=True) == (
        "\x1b[1mNAME\x1b[0m  \x1b[1mPHASE\x1b[0m  \x1b[1mREASON\x1b[0m\n"
        "\x1b[1mtiny\x1b[0m  \x1b[32mready\x1b[0m  a generation was proven\n"
    )


def test_wide_characters_keep_the_columns() -> None:
    """East Asian characters take two cells."""
    shown = table(("A", "B"), [[Cell("漢字"), Cell("x")], [Cell("e\u0301"), Cell("y")]], width=None, colour=False)
    assert shown == "A     B\n漢字  x\ne\u0301     y\n"


def test_empty_cells_are_dashes() -> None:
    """A column never vanishes."""
    assert table(("A", "B"), [[Cell(""), Cell("x")]], width=None, colour=False) == "A  B\n-  x\n"


@pytest.mark.parametrize("evil", ["\x1b]0;owned\x07", "a\rb", "a\nb", "\x9b31m", "\u202eabc", "\x00", "\x7f"])
def test_control_characters_do_not_pass(evil) -> None:
    """A reason from a worker's own words cannot move the cursor, break a line or turn the text around."""
    shown = table(("A",), [[Cell(evil)]], width=None, colour=False)
    assert "\N{REPLACEMENT CHARACTER}" in shown
    assert len(shown.splitlines()) == 2
    assert not set(shown) & set("\x1b\x07\r\x9b\u202e\x00\x7f")


def test_tabs_and_text_pass() -> None:
    """Ordinary text is left alone."""
    assert clean("a\tb ž 漢") == "a\tb ž 漢"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0, "0s"), (59.9, "59s"), (60, "1m00s"), (3599, "59m59s"), (3725, "1h02m"), (273600, "3d4h")],
)
def test_duration(seconds, text) -> None:
    """Two units at most."""
    assert duration(seconds) == text


def test_log_lines_keep_their_colours_only() -> None:
    """Colour sequences pass and are closed; others do not."""
    assert tame("\x1b[31mred") == "\x1b[31mred\x1b[0m"
    assert "\x1b" not in tame("\x1b[2J\x1b]52;c;eA==\x07")
    assert tame("plain") == "plain"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90s", 910.0), ("10m", 400.0), ("1.5m", 910.0), ("2h", 0.0), ("1800000000", 1.8e9), ("2027-01-15T08:00:00+00:00", 1.8e9)],
)  # fmt: skip
def test_since(text, expected) -> None:
    """Ago, ISO, or seconds since the epoch; never before the epoch."""
    assert parse_since(text, 1000.0) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "-5m", "5 m", "nan", "10x"])
def test_bad_since(text) -> None:
    """What cannot be read is a usage error with the forms that can."""
    with pytest.raises(GenesisError) as caught:
        parse_since(text, 1000.0)
    assert caught.value.code == "usage"
    assert caught.value.hint
