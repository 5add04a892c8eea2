"""Watchlists as odd tools leave them: what can be read is, with its places; what cannot is told in words that help."""

from __future__ import annotations

import codecs
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.errors import ConfigError
from genesisd.watch.edit import set_status
from genesisd.watch.model import State
from genesisd.watch.source import MAX_BYTES, STEP, Source
from genesisd.watch.watchlist import in_short, load, read
from tests.helpers.watchlists import END, ROW, watch

MARK = codecs.BOM_UTF8


def refused(text: bytes) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(text, "x.yaml")
    return caught.value


def test_a_second_mark_is_told_as_one():
    """Two programs each put one in front: no place behind it would be right, and no line could be changed."""
    assert read(MARK + watch(ROW), "x").watch
    assert refused(MARK + MARK + watch(ROW)).message == (
        "x.yaml:1:1: a second byte-order mark (save the file with one, or none)"
    )


def test_a_mark_between_two_halves_is_pointed_at():
    """Files that were put together keep the mark of the second, which no editor shows; in a comment it does no harm."""
    marked = watch(ROW + b"  notes: n\n" + MARK + b"  severity: P1\n")
    assert refused(marked).hint == "remove the character; an editor may not show it"
    commented = watch(ROW.replace(b"open", b"open # " + MARK + b"mine"))
    changed = set_status(commented, read(commented, "x").watch[0], State.MERGED, "seen")
    assert changed == commented.replace(b"open # ", b"merged # ").replace(b"mine", b"mine [genesisd: seen]")


@pytest.mark.parametrize("sign", ["x", "é", "€", "🙈"])
def test_what_is_too_large_is_told_as_that(tmp_path, sign):
    """Also where reading stops in the middle of a character."""
    path = tmp_path / "w.yaml"
    path.write_bytes(b"# " + sign.encode() * MAX_BYTES + b"\n" + END)
    with pytest.raises(ConfigError, match=r"1:1: larger than 4 MiB$"):
        load(path)


def test_a_name_of_any_length_is_told_in_short():
    """A file that is something else by mistake says nothing of megabytes."""
    for row in (b"  %s: n\n", b"  local_patches: [%s]\n", b"  ? %s\n  : n\n"):
        assert len(refused(watch(ROW + row % (b"K" * 1000))).message) < 400
    assert len(refused(b"? " + b"k" * 5000 + b"\n: 1\n" + END).message) < 400


def test_letters_do_not_make_another_pull_request():
    """A row that is its own fix or duplicate is that however its repository is written."""
    row = ROW.replace(b"vllm#1", b"Owner/Repo#1")
    for field in (b"fix_upstream", b"duplicate_of"):
        assert "is what the row itself is about" in refused(watch(row + b"  " + field + b": owner/repo#1\n")).message
        assert read(watch(row + b"  " + field + b": owner/repo#2\n"), "x").watch


@pytest.mark.parametrize("said", [b"", b"watch:"])
def test_a_pipe_is_no_list(tmp_path, said):
    """Whoever is to read it every night would wait for an end, or take what has come so far for the whole."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    both = os.open(path, os.O_RDWR)
    try:
        os.write(both, said)
        with pytest.raises(ConfigError, match="it is a pipe or a device, and no file"):
            load(path)
    finally:
        os.close(both)


@pytest.mark.parametrize(
    ("rows", "end"),
    [
        (1, "expected open, closed or merged"),
        (3, "expected open, closed or merged"),
        (4, "; and 1 more (genesisctl watch check tells it)"),
        (100, "; and 97 more (genesisctl watch check tells them)"),
    ],
)
def test_what_the_daemon_tells_of_a_broken_list_is_short(rows, end):
    """The first faults, on one line; all of them are for who checks the file."""
    row = ROW.replace(b"open", b"shut")
    told = in_short(refused(watch(*(row.replace(b"vllm#1", b"vllm#%d" % n) for n in range(1, rows + 1)))))
    assert told.startswith("x.yaml:3:11: watch[0].status: it is 'shut'")
    assert told.endswith(end)
    assert (told.count("it is 'shut'"), "\n" in told) == (min(rows, 3), False)


SIGNS = st.sampled_from(["a", "é", "€", "🙈", "\n", "\r\n", "\r", " "])


@given(st.lists(SIGNS, max_size=40), st.integers(1, 3 * STEP), st.data())
def test_every_place_is_where_it_is(parts, stretch, drawn):
    """Bytes, line and column, in lines of any length and with characters of any width."""
    text = "".join(parts) * (1 + stretch // 40) + "é" * stretch
    source = Source(MARK + text.encode(), "x")
    start = drawn.draw(st.integers(0, len(text)))
    end = drawn.draw(st.integers(start, len(text)))
    place = source.place(start, end)
    assert source.raw[place.start : place.end].decode() == text[start:end]
    before = text[:start].replace("\r\n", "\n").replace("\r", "\n") if text[start - 1 : start + 1] != "\r\n" else None
    if before is not None:
        assert (place.line, place.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))
        assert source.at(place.start) == source.place(start, start)
