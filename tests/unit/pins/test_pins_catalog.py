"""The pins file."""

from pathlib import Path

import pytest

from genesisd.errors import ConfigError, NotFoundError
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.layout import environment_name
from genesisd.pins.slots import pin_in, slots_of

OURS = Path(__file__).parents[3] / "etc" / "pins.yaml"
PIN = 'pins:\n  a:\n    package: vllm\n    version: "1.0"\n    python: "3.11"\n'


def test_our_own_pins_file_loads():
    """The file that comes with the project is valid, and the CPU pins carry what they need to run."""
    pins = load_pins(OURS)
    assert set(pins.pins) == {"cpu-0.32.0", "cpu-0.31.0", "gpu-0.33.0", "gpu-0.24.0"}
    for name in ("cpu-0.32.0", "cpu-0.31.0"):
        pin = pins.pins[name]
        assert pin.shim is not None
        assert "cpu" in pin.shim.version
        assert {one.name for one in pin.drop} == {"triton", "torchvision", "torchaudio", "torchcodec"}
    assert slots_of(pins, "cpu-0.32.0") == ("current", "stable")
    rollback = pin_in(pins, "rollback")
    assert rollback is not None
    assert rollback.id == "cpu-0.31.0"
    assert pin_in(pins, "candidate") is None


FAULTS = [
    ("slot", PIN + "slots:\n  current: b\n", 7, "slots.current"),
    ("version", PIN.replace('"1.0"', "newest"), 4, "pins.a.version"),
    ("python", PIN.replace('"3.11"', "3.10"), 5, "pins.a.python"),
    ("id", PIN + "    id: b\n", 6, "pins.a.id"),
    ("commit", PIN + "    commit: 2dfaae752\n", 6, "pins.a.commit"),
    ("cut", PIN + "    cut: 2026-11-30T01:00:00\n", 2, "pins.a"),
    ("drop-own", PIN + "    drop: [{name: vllm, reason: x}]\n", 2, "pins.a"),
    ("hash-alone", PIN + "    source:\n      sha256: " + "a" * 64 + "\n", 6, "pins.a.source"),
    ("requirement", PIN + "    requirements:\n    - numpy<3\n    - numpy <\n", 8, "pins.a.requirements[1]"),
    ("name", PIN.replace("  a:", "  A/b:"), 2, "pins.A/b"),
]


@pytest.mark.parametrize(("text", "line", "field"), [one[1:] for one in FAULTS], ids=[one[0] for one in FAULTS])
def test_fault_has_its_line_and_field(text, line, field, tmp_path):
    """A fault in the pins file is placed."""
    path = tmp_path / "pins.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_pins(path)
    assert caught.value.fields["line"] == line
    assert str(caught.value.fields["field"]).startswith(field)


def test_unknown_pin_names_the_nearest(tmp_path):
    """A slip of the pen leads to the pin that was meant."""
    with pytest.raises(NotFoundError, match=r"did you mean 'cpu-0.32.0'"):
        find_pin(load_pins(OURS), "cpu-0.32")


def test_environment_is_named_by_what_shapes_it():
    """A note about a pin leaves its environment alone; a requirement leads to another."""
    pin = load_pins(OURS).pins["cpu-0.32.0"]
    assert environment_name(pin.model_copy(update={"commit": None, "disk": 1})) == environment_name(pin)
    assert environment_name(pin.model_copy(update={"requirements": ("numpy<3",)})) != environment_name(pin)
