"""The daemon's log: for people, for machines, and never in the way."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import threading

import pytest

from genesisd.telemetry import log
from genesisd.telemetry.outlet import Outlet


def lines(shape, level="info", act=lambda logger: None, **extra):
    stream = io.StringIO()
    end = log.configure(shape, level, stream=stream, environ={}, **extra)
    try:
        act(log.get_logger("genesisd.test"))
    finally:
        end()
    return stream.getvalue().splitlines()


def test_json_lines_carry_worker_and_incarnation():
    """One object a line, and auto means JSON where there is no terminal."""
    (line,) = lines("auto", act=lambda logger: logger.warning("worker_exited", worker="w", incarnation=3))
    found = json.loads(line)
    assert {key: found[key] for key in ("event", "level", "worker", "incarnation", "logger")} == {
        "event": "worker_exited",
        "level": "warning",
        "worker": "w",
        "incarnation": 3,
        "logger": "genesisd.test",
    }
    assert found["timestamp"].endswith("Z")


def test_people_get_one_plain_line():
    """Without colours where nothing shows them."""
    (line,) = lines("human", act=lambda logger: logger.info("worker_ready", worker="w"))
    assert "worker_ready" in line
    assert "worker=w" in line
    assert "\x1b" not in line


def test_what_others_wrote_steers_no_terminal():
    """A title of upstream's or a worker's words are shown with their escapes made harmless; tabs and lines stay."""
    said = {"title": "a\x1b[2Jb", "text": "\x9b31m\tc\u202e", "reasons": ["\x1b]0;x\x07"]}
    shown = "\n".join(lines("human", act=lambda logger: logger.info("pull\x07", **said)))
    assert [sign for sign in shown if not (sign.isprintable() or sign in "\n\t")] == []
    assert "a\ufffd[2Jb" in shown


def test_libraries_log_the_same_way():
    """A warning of aiohttp is JSON as well; its info is left out."""

    def act(_):
        logging.getLogger("aiohttp.access").info("GET /")
        logging.getLogger("aiohttp.server").warning("odd %s", "thing")

    (line,) = lines("json", act=act)
    assert json.loads(line)["event"] == "odd thing"


def test_an_exception_is_one_line_of_json():
    """Journald would make an entry of each line of a traceback."""

    def act(logger):
        try:
            int("boom")
        except ValueError:
            logger.exception("failed")

    (line,) = lines("json", act=act)
    assert "boom" in json.loads(line)["exception"]


def test_a_traceback_for_people_shows_no_local_variables():
    """They may hold a token."""

    def act(logger):
        token = "hunter2".upper()
        try:
            int(token[:0])
        except ValueError:
            logger.exception("failed")

    text = "\n".join(lines("human", act=act))
    assert "ValueError" in text
    assert "HUNTER2" not in text


def test_the_level_can_change_while_running():
    """A reload changes it."""

    def act(logger):
        logger.debug("one")
        log.set_level("debug")
        logger.debug("two")

    assert [json.loads(line)["event"] for line in lines("json", act=act)] == ["two"]


def test_a_value_that_json_does_not_know_is_written_as_text():
    """A path, an address, a phase."""
    (line,) = lines("json", act=lambda logger: logger.info("x", what={1, 2}.__class__))
    assert "set" in line


def test_under_systemd_each_line_has_its_priority(tmp_path):
    """journalctl -p warning works."""
    with (tmp_path / "journal").open("w+") as stream:
        status = os.fstat(stream.fileno())
        end = log.configure("auto", stream=stream, environ={"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
        log.get_logger("x").error("bad")
        log.get_logger("x").info("good")
        end()
        stream.seek(0)
        assert [line[:3] for line in stream] == ["<3>", "<6>"]


def test_a_stuck_reader_costs_lines_and_not_the_daemon():
    """Nobody reads the pipe: writes return at once, and what was lost is said when it moves again."""
    reading, writing = os.pipe()
    outlet = Outlet(os.fdopen(writing, "w", buffering=1), capacity=10)
    for n in range(3000):
        outlet.write(f"{n} {'x' * 200}\n")
    assert outlet.dropped > 2000
    got = io.StringIO()

    def drain():
        with os.fdopen(reading) as stream:
            got.write(stream.read())

    reader = threading.Thread(target=drain)
    reader.start()
    outlet.close(10)
    outlet._stream.close()
    reader.join(10)
    told = sum(map(int, re.findall(r"\((\d+) log lines were dropped here\)", got.getvalue())))
    written = len(re.findall(r"^\d+ x", got.getvalue(), re.MULTILINE))
    assert (told, told + written) == (outlet.dropped, 3000)


def test_a_closed_stream_is_survived():
    """The terminal is gone; the daemon is not."""
    stream = io.StringIO()
    outlet = Outlet(stream)
    stream.close()
    outlet.write("x\n")
    outlet.close()
    outlet.write("late\n")
    assert not outlet._thread.is_alive()


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_levels_are_those_of_the_configuration(level):
    """What the configuration accepts, the log takes."""
    assert lines("json", level, act=lambda logger: logger.error("x"))
