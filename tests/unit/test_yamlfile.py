"""Reading YAML strictly: positions, refusals, and what a person is told."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from genesisd import yamlfile
from genesisd.errors import ConfigError
from genesisd.units import SpecModel


class Http(SpecModel):
    kind: Literal["http"] = "http"
    path: str = "/"


class Step(SpecModel):
    kind: Literal["step"] = "step"
    window: int = 1


class Inner(SpecModel):
    budget: int = 1
    factor: float = 1


class Worker(SpecModel):
    pin: str
    restart: Inner = Inner()
    probes: tuple[Annotated[Http | Step, Field(discriminator="kind")], ...] = ()
    env: dict[str, str] = Field(default={})


class Root(SpecModel):
    workers: dict[str, Worker] = Field(default={})


def read(text: str) -> Root:
    return yamlfile.validate(Root, yamlfile.parse(text, Path("etc/x.yaml")))


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert caught.value.fields["file"] == "etc/x.yaml"
    return caught.value


def test_valid_text_becomes_the_model():
    """A file that fits the model comes back as the model."""
    root = read("workers:\n  a:\n    pin: cpu\n    probes:\n    - kind: step\n      window: 3\n")
    assert root == Root(workers={"a": Worker(pin="cpu", probes=(Step(window=3),))})


def test_empty_file_is_an_empty_mapping():
    """A file with comments alone means all defaults."""
    assert read("# nothing yet\n") == Root()


FAULTS = [
    ("unknown", "workers:\n  a:\n    pin: x\n    restrat:\n      budget: 1\n", 4, "workers.a.restrat", "'restart'"),
    (
        "unknown-deep",
        "workers:\n  a:\n    pin: x\n    restart:\n\n      bugdet: 1\n",
        6,
        "workers.a.restart.bugdet",
        "'budget'",
    ),
    (
        "unknown-far",
        "workers:\n  a:\n    pin: x\n    zzz: 1\n",
        4,
        "workers.a.zzz",
        "known here: env, pin, probes, restart",
    ),
    ("unknown-top", "\nwrokers: {}\n", 2, "wrokers", "'workers'"),
    ("missing", "workers:\n  b: {pin: x}\n  a:\n    env: {}\n", 3, "workers.a.pin", "missing"),
    ("type", "workers:\n  a:\n    pin: x\n    restart:\n      budget: many\n", 5, "workers.a.restart.budget", "'many'"),
    ("quotes", "workers:\n  a:\n    pin: 0.32\n", 3, "workers.a.pin", "write it in quotes"),
    (
        "quotes-env",
        "workers:\n  a:\n    pin: x\n    env:\n      B: two\n      A: 1\n",
        6,
        "workers.a.env.A",
        "write it in quotes",
    ),
    ("mapping", "workers: [1]\n", 1, "workers", "expected a mapping, not [1]"),
    ("list", "workers:\n  a:\n    pin: x\n    probes: 3\n", 4, "workers.a.probes", "expected a list"),
    (
        "tag",
        "workers:\n  a:\n    pin: x\n    probes:\n    - kind: http\n    - kind: htpp\n",
        6,
        "workers.a.probes[1]",
        "'htpp'",
    ),
    (
        "in-union",
        "workers:\n  a:\n    pin: x\n    probes:\n    - kind: http\n      pth: /\n",
        6,
        "workers.a.probes[0].pth",
        "'path'",
    ),
    ("root", "- workers\n", 1, "(top level)", "expected a mapping"),
]


@pytest.mark.parametrize(("text", "line", "field", "said"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_fault_names_line_field_and_remedy(text, line, field, said):
    """A fault is reported at its line, under its dotted name, with what would have been right."""
    error = refused(text)
    assert (error.fields["line"], error.fields["field"]) == (line, field)
    assert said in error.message
    assert error.message.startswith(f"etc/x.yaml:{line}: {field}: ")


def test_every_fault_is_listed_in_the_order_of_the_file():
    """All faults are told at once, so that one run of the check is enough."""
    error = refused("workers:\n  a:\n    zzz: 1\n    restart: {budget: x}\n  b: {pin: 1}\n")
    assert [one["line"] for one in error.fields["problems"]] == [2, 3, 4, 5]
    assert len(error.message.splitlines()) == 4


BROKEN = [
    ("twice", "workers:\n  a: {pin: x}\n  b: {pin: x}\n  a: {pin: y}\n", 4, "first at line 2"),
    ("twice-flow", "workers: {a: {pin: x,\n pin: y}}\n", 2, "'pin' is set twice"),
    ("unclosed", "workers: [1\n", 2, "not valid YAML"),
    ("tab", "workers:\n\ta: 1\n", 2, "not valid YAML"),
    ("control", "\n\nworkers: \x07\n", 3, "control characters"),
    ("two-documents", "workers: {}\n---\nworkers: {}\n", 2, "another document"),
    ("object-tag", "workers: !!python/object/apply:os.system [x]\n", 1, "takes no tag"),
    ("set-tag", "workers: !!set {a, b}\n", 1, "takes no tag"),
    ("own-tag", "workers:\n  a: !secret x\n", 2, "constructor"),
    ("date", "workers: 2026-99-99\n", 1, "not a value"),
    ("bool-key", "workers:\n  on: {}\n", 2, "quote it"),
    ("list-key", "? [a]\n: 1\n", 1, "plain text"),
    ("self", "workers: &a\n  b: *a\n", 1, "contains itself"),
    ("unknown-alias", "workers: *nobody\n", 1, "undefined alias"),
    ("merge-scalar", "workers:\n  <<: 3\n", 2, "takes a mapping"),
    ("deep", "a: " + "[" * 200 + "]" * 200, 1, "deep"),
    ("very-deep", "[" * 50_000, 1, "not valid YAML"),
]


@pytest.mark.parametrize(("text", "line", "said"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_broken_yaml_names_its_line(text, line, said):
    """Text that is not one plain, unambiguous document is refused with its line."""
    error = refused(text)
    assert error.fields["line"] == line
    assert said in error.message


def test_aliases_and_merge_keys_work_and_own_keys_win():
    """A shared block may be written once; what stands beside a merge wins over it."""
    root = read("workers:\n  a: &a\n    pin: x\n    env: {K: one}\n  b:\n    <<: *a\n    pin: y\n")
    assert root.workers["b"] == Worker(pin="y", env={"K": "one"})


def test_fault_inside_a_merged_block_points_to_the_block():
    """The line is where the faulty key is written, not where it is merged."""
    error = refused("workers:\n  a: &a\n    pin: x\n    bugdet: 1\n  b:\n    <<: *a\n")
    assert [one["line"] for one in error.fields["problems"]] == [4, 4]


def test_alias_bomb_is_refused():
    """A few nested aliases that stand for millions of values are refused, not expanded."""
    rows = ["a: &a [" + "x," * 10 + "x]"]
    rows += [f"{b}: &{b} [" + f"*{a}," * 10 + "]" for a, b in zip("abcdefg", "bcdefgh", strict=True)]
    assert "aliases expand" in refused("\n".join(rows)).message


def test_alias_to_a_text_shares_no_bound():
    """An alias used often, but small, is fine."""
    assert len(read("workers:\n  a: &a {pin: x}\n" + "".join(f"  w{n}: *a\n" for n in range(500))).workers) == 501


def test_missing_file_says_so(tmp_path):
    """A file that is not there is a configuration error with its path."""
    with pytest.raises(ConfigError, match=r"no\.yaml: cannot be read: No such file"):
        yamlfile.load(tmp_path / "no.yaml")


def test_text_that_is_not_utf8_names_its_line(tmp_path):
    """Bytes that are not UTF-8 are found at their line."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ConfigError, match="not UTF-8") as caught:
        yamlfile.load(path)
    assert caught.value.fields["line"] == 2


def test_huge_file_is_refused(tmp_path):
    """A file far larger than any configuration is refused before it is parsed."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"# " + b"x" * yamlfile.MAX_BYTES)
    with pytest.raises(ConfigError, match="larger than"):
        yamlfile.load(path)


def test_validate_takes_a_part_of_the_document():
    """A part is validated by itself, and its faults keep their place in the whole file."""
    document = yamlfile.parse("x: 1\nrestart:\n  bugdet: 1\n", Path("x.yaml"))
    with pytest.raises(ConfigError) as caught:
        yamlfile.validate(Inner, document, ("restart",))
    assert (caught.value.fields["line"], caught.value.fields["field"]) == (3, "restart.bugdet")


def test_fault_of_our_own_is_placed_like_any_other():
    """A rule between two parts of a file is reported with the line of the part."""
    document = yamlfile.parse("x: 1\nworkers:\n  a:\n    pin: nope\n", Path("x.yaml"))
    error = yamlfile.fault(document, ("workers", "a", "pin"), "no such pin", hint="add it")
    assert error.message == "x.yaml:4: workers.a.pin: no such pin"
    assert error.hint == "add it"
