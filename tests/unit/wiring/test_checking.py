"""Looking at a configuration, and at pins, without using them."""

from __future__ import annotations

import pytest

from genesisd.errors import ConfigError
from genesisd.wiring import pinviews as module
from genesisd.wiring.checking import check_file
from genesisd.wiring.pinviews import pin_views

PINS = """
pins:
  one: {package: vllm, version: 0.32.0, commit: v0.32.0, python: '3.11'}
  two: {package: vllm, version: 0.31.0, python: '3.11'}
slots: {current: one, stable: one, rollback: two}
"""


@pytest.fixture
def write(tmp_path):
    def put(text, name="g.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return put


def test_a_good_file_names_its_workers(write):
    """In their order, and no fault."""
    view = check_file(write("workers:\n  b: {command: [x]}\n  a: {command: [x]}\n"))
    assert (view.workers, view.faults) == (("b", "a"), ())


def test_what_would_block_a_worker_is_told_before_it_does(write):
    """A switch that nobody declares: the daemon would start, and that worker not."""
    view = check_file(write("workers:\n  w:\n    command: [x]\n    env: {GENESIS_ENABLE_P61: '1'}\n"))
    (fault,) = view.faults
    assert (fault.line, fault.field, view.workers) == (4, "workers.w.env.GENESIS_ENABLE_P61", ("w",))


def test_what_is_waived_blocks_nobody_and_is_not_told(write):
    """As the daemon has it."""
    waived = "patches: {waive: [phantom-env]}"
    view = check_file(write(f"workers:\n  w:\n    command: [x]\n    env: {{GENESIS_PHANTOM: '1'}}\n    {waived}\n"))
    assert view.faults == ()


def test_every_fault_of_the_schema_is_told_at_once(write):
    """With line and field, so that one edit mends them all."""
    view = check_file(write("workers:\n  w:\n    comand: [x]\n    gpus: yes\n"))
    assert {(fault.line, fault.field) for fault in view.faults} >= {(3, "workers.w.comand"), (4, "workers.w.gpus")}
    assert all(fault.message.startswith(f"{view.path}:{fault.line}: ") for fault in view.faults)
    assert view.workers == ()


def test_a_file_that_is_no_yaml_has_one_fault(write):
    """The reader stops at the first."""
    path = write("workers: {\n")
    (fault,) = check_file(path).faults
    assert fault.file == str(path)
    assert str(path) in fault.message


def test_a_missing_file_is_a_fault_and_not_a_crash(tmp_path):
    """Somebody mistyped it."""
    (fault,) = check_file(tmp_path / "none.yaml").faults
    assert "none.yaml" in fault.message


def test_drop_ins_count(write):
    """A fault in one is told with its own file."""
    path = write("workers: {}\n")
    other = write("workers: {w: {}}\n", "conf.d/more.yaml")
    assert {fault.file for fault in check_file(path).faults} == {str(other)}


def test_the_pins_file_counts(write):
    """Also when no worker uses it."""
    write("pins: {one: {}}\n", "pins.yaml")
    faults = check_file(write("pins: pins.yaml\nworkers: {}\n")).faults
    assert {fault.file.rpartition("/")[2] for fault in faults} == {"pins.yaml"}
    assert any("version" in (fault.field or "") for fault in faults)


def test_pins_are_shown_with_their_slots_and_builds(write, monkeypatch, tmp_path):
    """In the order of the file."""

    class Built:
        path = tmp_path / "env"

        class manifest:  # noqa: N801
            built_at = 7.0

    monkeypatch.setattr(module, "find_environment", lambda pin, cache: Built if pin.id == "one" else None)
    one, two = pin_views(write(PINS, "pins.yaml"), tmp_path)
    assert (one.id, one.version, one.commit, one.slots) == ("one", "0.32.0", "v0.32.0", ("current", "stable"))
    assert (one.built, one.path, one.built_at) == (True, str(tmp_path / "env"), 7.0)
    assert (two.slots, two.built, two.path, two.built_at) == (("rollback",), False, None, None)


def test_without_a_pins_file_there_are_no_pins(tmp_path):
    """That is no fault."""
    assert pin_views(None, tmp_path) == ()


def test_a_broken_pins_file_is_an_error(write, tmp_path):
    """And not an empty list."""
    with pytest.raises(ConfigError):
        pin_views(write("pins: [", "pins.yaml"), tmp_path)
