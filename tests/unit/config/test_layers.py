"""Workers are laid from model, hardware and profile, and every value remembers where it was written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.config import diff, explain, load
from genesisd.config.merge import merged, part_of
from genesisd.errors import ConfigError, NotFoundError
from genesisd.yamlfile import Document

ROOT = {"HOME": "/root"}
LAYERS = """\
models:
  big:
    command: [serve]
    args: [--a=1, --b, "2", --c]
    env: {MODEL: m, SAME: model}
    stop: {drain: 1s, grace: 2s}
    gpus: [0]
    patches:
      policy: safe
      attribution:
        P61c: {role: load_bearing, note: models}
        P62: {role: optional_perf, bench_evidence: measured}
  small: {command: [other]}
hardware:
  rig:
    gpus: [1, 2]
    args: [--a=2]
    env: {HARDWARE: h, SAME: hardware}
profiles:
  lean:
    args: [--no-c, --d]
    env: {SAME: profile}
    stop: {drain: 3s}
    patches_delta:
      enable: {GENESIS_ENABLE_P86: '1'}
      disable: [GENESIS_ENABLE_P62_STRUCT_OUT_SPEC_TIMING]
      attribution:
        P61c: {role: defensive}
  other: {}
workers:
"""


def write(folder, workers, text=LAYERS):
    file = folder / "genesisd.yaml"
    file.write_text(text + workers)
    return load(file, environ=ROOT, root=True)


def worker(folder, fields="", use="{model: big, hardware: rig, profile: lean}"):
    return write(folder, f"  a: {{use: {use}{fields}}}\n").workers["a"]


def test_later_layers_win(tmp_path):
    """Model, hardware, profile, worker; mappings key by key, lists whole."""
    spec = worker(tmp_path, ", env: {OWN: w}, stop: {grace: 9s}")
    assert spec.env == {
        "MODEL": "m",
        "SAME": "profile",
        "HARDWARE": "h",
        "GENESIS_ENABLE_P62_STRUCT_OUT_SPEC_TIMING": "0",
        "GENESIS_ENABLE_P86": "1",
        "OWN": "w",
    }
    assert (spec.stop.drain, spec.stop.grace) == (3.0, 9.0)
    assert spec.gpus == (1, 2)
    assert spec.patches.policy == "safe"


@pytest.mark.parametrize(
    ("use", "fields", "args"),
    [
        ("{model: big}", "", ["--a=1", "--b", "2", "--c"]),
        ("{model: big, hardware: rig}", "", ["--b", "2", "--c", "--a=2"]),
        ("{model: big, hardware: rig, profile: lean}", "", ["--b", "2", "--a=2", "--no-c", "--d"]),
        ("{model: big}", ", args: [--b, '3', --e]", ["--a=1", "--c", "--b", "3", "--e"]),
        ("{model: big}", ", args: [--b.x=1]", ["--a=1", "--c", "--b.x=1"]),
        ("{model: big}", ", args: []", ["--a=1", "--b", "2", "--c"]),
        ("{profile: lean}", ", command: [x]", ["--no-c", "--d"]),
    ],
)
def test_a_flag_replaces_the_one_below_with_its_values(tmp_path, use, fields, args):
    """Arguments are joined; no flag is given by two layers."""
    assert list(worker(tmp_path, fields, use).args) == args


def test_an_entry_of_attribution_is_replaced_whole(tmp_path):
    """The profile's role does not keep the model's note."""
    found = worker(tmp_path).patches.attribution
    assert (found["P61c"].role, found["P61c"].note) == ("defensive", None)
    assert found["P62"].bench_evidence == "measured"


def test_an_entry_of_the_worker_is_the_last_word(tmp_path):
    """Over the profile's, whole as well."""
    entry = ", patches: {policy: null, attribution: {P61c: {role: no_op}}}"
    found = worker(tmp_path, entry).patches
    assert (found.policy, found.attribution["P61c"].role, len(found.attribution)) == (None, "no_op", 2)


def test_a_worker_without_layers_is_as_it_was(tmp_path):
    """Layers are there for those that name them."""
    one = write(tmp_path, "  a: {command: [x], args: [--a=1, --a=2]}\n")
    assert one.workers == write(tmp_path, "  a: {command: [x], args: [--a=1, --a=2]}\n", "workers:\n").workers
    assert list(one.workers["a"].args) == ["--a=1", "--a=2"]


def test_a_drop_in_uses_the_layers_of_the_main_file(tmp_path):
    """And a fault of the layer is told in the main file, one of the worker in its own."""
    other = tmp_path / "conf.d" / "10.yaml"
    other.parent.mkdir()
    other.write_text("workers:\n  b:\n    use: {model: big}\n    after: [a]\n")
    config = write(tmp_path, "  a: {command: [x]}\n")
    assert config.workers["b"].command == ("serve",)
    assert {one.file for one in explain(config, "b")} == {str(tmp_path / "genesisd.yaml"), str(other)}
    other.write_text("workers:\n  b:\n    use: {model: big, hardware: rig}\n    gpus: [2, 2]\n")
    with pytest.raises(ConfigError) as caught:
        write(tmp_path, "  a: {command: [x]}\n")
    assert (caught.value.fields["file"], caught.value.fields["line"]) == (str(other), 4)
    other.write_text("workers:\n  b:\n    use: {model: big, hardware: rig}\n")
    with pytest.raises(ConfigError) as caught:
        write(tmp_path, "  a: {command: [x]}\n", LAYERS.replace("[1, 2]", "[1, 1]"))
    assert (caught.value.fields["file"], caught.value.fields["field"]) == (
        str(tmp_path / "genesisd.yaml"),
        "hardware.rig.gpus[1]",
    )


def test_a_drop_in_that_names_no_layer_is_told_in_its_own_line(tmp_path):
    """With the layers of the main file to choose from."""
    other = tmp_path / "conf.d" / "10.yaml"
    other.parent.mkdir()
    other.write_text("workers:\n  b:\n    use: {model: bigg}\n")
    with pytest.raises(ConfigError, match="did you mean 'big'") as caught:
        write(tmp_path, "  a: {command: [x]}\n")
    assert (caught.value.fields["file"], caught.value.fields["line"]) == (str(other), 3)


def test_a_fault_in_a_layer_is_told_once(tmp_path):
    """However many workers use it, with the layer's line."""
    with pytest.raises(ConfigError) as caught:
        write(
            tmp_path, "  a: {use: {model: big}}\n  b: {use: {model: big}}\n", LAYERS.replace("drain: 1s", "drain: 1y")
        )
    assert [(one["line"], one["field"]) for one in caught.value.fields["problems"]] == [(6, "models.big.stop.drain")]


def test_a_delta_that_switches_a_patch_on_and_off_is_refused(tmp_path):
    """Whichever of them won would silently undo the other."""
    text = LAYERS.replace("disable: [", "disable: [GENESIS_ENABLE_P86, ")
    with pytest.raises(ConfigError, match="'enable' and 'disable' both name GENESIS_ENABLE_P86") as caught:
        write(tmp_path, "  a: {use: {model: big, profile: lean}}\n", text)
    assert caught.value.fields["problems"][0]["field"] == "profiles.lean.patches_delta"


def test_layers_that_do_not_go_together_are_told_at_the_last(tmp_path):
    """Each is sound alone: the one that was laid on top is shown."""
    text = "models:\n  m: {command: [x], start: {deadline: 10m}}\nprofiles:\n  p:\n    start: {cap: 5m}\nworkers:\n"
    with pytest.raises(ConfigError, match=r"start\.cap must not be below") as caught:
        write(tmp_path, "  a: {use: {model: m, profile: p}}\n", text)
    assert (caught.value.fields["line"], caught.value.fields["field"]) == (5, "profiles.p.start")


def test_a_list_of_a_layer_has_its_place(tmp_path):
    """A fault of the whole list is told where the layer gives it."""
    text = "hardware:\n  h:\n    command: []\nworkers:\n"
    with pytest.raises(ConfigError) as caught:
        write(tmp_path, "  a: {use: {hardware: h}}\n", text)
    assert [one["field"] for one in caught.value.fields["problems"]] == ["hardware.h.command"]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("--d]", "--e]", ["a"]),
        ("HARDWARE: h", "HARDWARE: i", ["a", "b"]),
        ("note: models", "note: other", ["b", "c"]),
        ("command: [other]", "command: [another]", ["d"]),
        ("other: {}", "other: {stop: {drain: 1s}}", []),
        ("SAME: hardware", "SAME: h", ["b"]),
    ],
)
def test_a_change_of_a_layer_changes_those_that_see_it(tmp_path, old, new, changed):
    """Exactly these; what a later layer hides changes nobody."""
    workers = (
        "  a: {use: {model: big, hardware: rig, profile: lean}, share_gpus: true}\n"
        "  b: {use: {model: big, hardware: rig}, share_gpus: true}\n"
        "  c: {use: {model: big}}\n  d: {use: {model: small}}\n  e: {command: [x]}\n"
    )
    before = write(tmp_path, workers)
    assert list(diff(before, write(tmp_path, workers, LAYERS.replace(old, new))).changed) == changed


@pytest.mark.parametrize(
    ("field", "value", "layer", "line"),
    [
        ("command[0]", "serve", "model big", 3),
        ("args[2]", "--a=2", "hardware rig", 17),
        ("args[3]", "--no-c", "profile lean", 21),
        ("env.MODEL", "m", "model big", 5),
        ("env.SAME", "profile", "profile lean", 22),
        ("env.GENESIS_ENABLE_P86", "1", "profile lean", 25),
        ("env.GENESIS_ENABLE_P62_STRUCT_OUT_SPEC_TIMING", "0", "profile lean", 26),
        ("stop.grace", "2s", "model big", 6),
        ("gpus[1]", 2, "hardware rig", 16),
        ("patches.attribution.P61c.role", "defensive", "profile lean", 28),
        ("patches.attribution.P62.role", "optional_perf", "model big", 12),
        ("listen", "127.0.0.1:1", "worker", 31),
        ("after", [], "worker", 31),
    ],
)
def test_each_value_names_its_layer(tmp_path, field, value, layer, line):
    """With file and line."""
    config = write(
        tmp_path, "  a: {use: {model: big, hardware: rig, profile: lean}, listen: '127.0.0.1:1', after: []}\n"
    )
    (found,) = [one for one in explain(config, "a") if one.field == field]
    assert (found.value, found.layer, found.file, found.line) == (value, layer, str(config.file), line)


def test_only_workers_are_explained(tmp_path):
    """A name that is none is an error."""
    with pytest.raises(NotFoundError):
        explain(write(tmp_path, "  a: {command: [x]}\n"), "b")


def test_a_worker_of_its_own_is_explained_too(tmp_path):
    """Everything is the worker's then."""
    found = explain(write(tmp_path, "  a: {command: [x, y]}\n"), "a")
    assert [(one.field, one.value, one.layer) for one in found] == [
        ("command[0]", "x", "worker"),
        ("command[1]", "y", "worker"),
    ]


HERE = (Document(Path("f"), None, {(): 1}), ())
some = st.integers(0, 3)
fields = st.fixed_dictionaries(
    {},
    optional={
        "cwd": some,
        "gpus": st.lists(some, max_size=2),
        "env": st.dictionaries(st.sampled_from("abc"), some),
        "stop": st.fixed_dictionaries(
            {}, optional={"drain": some, "deep": st.dictionaries(st.sampled_from("xy"), some)}
        ),
        "patches": st.fixed_dictionaries(
            {}, optional={"attribution": st.dictionaries(st.sampled_from("pq"), st.dictionaries(st.just("r"), some))}
        ),
        "args": st.lists(st.sampled_from([("--a", "1"), ("--b",), ("--no-a",), ("--a.x=1",)]), max_size=4).map(
            lambda flags: [part for flag in flags for part in flag]
        ),
    },
)
"""Fields of one shape each, as those that pass the checks are."""


def laid(*layers):
    whole = part_of({}, HERE)
    for layer in layers:
        whole = merged(whole, part_of(layer, HERE))
    return whole.plain()


@given(fields)
def test_an_empty_layer_changes_nothing(one):
    """Before or after."""
    assert laid(one, {}) == laid({}, one) == one


@given(fields)
def test_a_layer_twice_is_a_layer_once(one):
    """Laying is idempotent."""
    assert laid(one, one) == one


@given(fields, fields, fields)
def test_layers_may_be_laid_in_groups(one, two, three):
    """Laying is associative, so that the order alone decides."""
    assert laid(one, laid(two, three)) == laid(laid(one, two), three) == laid(one, two, three)
