"""Defaults, drop-ins and paths of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from genesisd.config import load
from genesisd.errors import ConfigError

ETC = Path(__file__).parents[3] / "etc"
ROOT = {"HOME": "/root"}


def write(folder: Path, text: str, name: str = "genesisd.yaml") -> Path:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def of(tmp_path, text="workers: {}\n", environ=ROOT, root=True):
    return load(write(tmp_path, text), environ=environ, root=root)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "workers: {}\n", "{}\n"])
def test_an_empty_file_is_a_daemon_without_workers(tmp_path, text):
    """All has a default."""
    config = of(tmp_path, text)
    assert dict(config.workers) == {}
    assert config.daemon.metrics.listen is None
    assert not config.daemon.metrics.passthrough


@pytest.mark.parametrize(
    ("environ", "root", "expected"),
    [
        ({"HOME": "/root"}, True, ("/var/lib/genesisd", "/run/genesisd", "/var/cache/genesisd")),
        (
            {"HOME": "/home/u"},
            False,
            ("/home/u/.local/state/genesisd", "/home/u/.local/state/genesisd/run", "/home/u/.cache/genesisd"),
        ),
        (
            {"HOME": "/home/u", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/run/user/5", "XDG_CACHE_HOME": "/c"},
            False,
            ("/s/genesisd", "/run/user/5/genesisd", "/c/genesisd"),
        ),
        (
            {"HOME": "/home/u", "XDG_STATE_HOME": "relative", "XDG_RUNTIME_DIR": ""},
            False,
            ("/home/u/.local/state/genesisd", "/home/u/.local/state/genesisd/run", "/home/u/.cache/genesisd"),
        ),
        (
            {
                "STATE_DIRECTORY": "/var/lib/a:/var/lib/b",
                "RUNTIME_DIRECTORY": "/run/a",
                "CACHE_DIRECTORY": "/var/cache/a",
            },
            False,
            ("/var/lib/a", "/run/a", "/var/cache/a"),
        ),
        ({"HOME": "/root", "GENESISD_STATE": "/demo"}, True, ("/demo", "/demo/run", "/root/.cache/genesisd")),
    ],
)
def test_folders_follow_the_customs_of_who_runs_it(tmp_path, environ, root, expected):
    """FHS for root, XDG for a user, systemd before both."""
    paths = of(tmp_path, environ=environ, root=root).paths
    assert (str(paths.state_dir), str(paths.runtime_dir), str(paths.cache_dir)) == expected
    assert paths.socket == paths.runtime_dir / "control.sock"
    assert paths.store.parent == paths.state_dir


def test_folders_in_the_file_win_and_are_relative_to_it(tmp_path):
    """A daemon's working folder is nobody's choice."""
    config = of(
        tmp_path,
        "daemon:\n  state_dir: state\n  runtime_dir: /run/x\n  control: {socket: ../c.sock}\n",
        environ={"STATE_DIRECTORY": "/elsewhere", "HOME": "/root"},
    )
    assert config.paths.state_dir == tmp_path / "state"
    assert config.paths.runtime_dir == Path("/run/x")
    assert config.paths.socket == tmp_path.parent / "c.sock"


def test_a_tilde_is_the_home(tmp_path, monkeypatch):
    """People write it."""
    monkeypatch.setenv("HOME", "/home/u")
    assert of(tmp_path, "daemon:\n  state_dir: ~/g\n").paths.state_dir == Path("/home/u/g")


def test_drop_ins_add_workers_in_the_order_of_their_names(tmp_path):
    """Main file first; dot files and other endings are not read."""
    write(tmp_path / "conf.d", "workers: {c: {command: [x]}}\n", "20.yaml")
    write(tmp_path / "conf.d", "workers: {b: {command: [x], after: [a]}}\n", "10.yaml")
    write(tmp_path / "conf.d", "{{{", ".30.yaml")
    write(tmp_path / "conf.d", "{{{", "40.yaml~")
    assert list(of(tmp_path, "workers: {a: {command: [x]}}\n").workers) == ["a", "b", "c"]


def test_a_worker_defined_twice_names_both_files(tmp_path):
    """The reader needs to see both to choose."""
    other = write(tmp_path / "conf.d", "\nworkers:\n  a: {command: [x]}\n", "10.yaml")
    with pytest.raises(ConfigError) as caught:
        of(tmp_path, "workers:\n\n  a: {command: [x]}\n")
    assert caught.value.fields["file"] == str(other)
    assert caught.value.fields["line"] == 3
    assert f"{tmp_path}/genesisd.yaml:3" in caught.value.message


def test_a_fault_in_a_drop_in_names_the_drop_in(tmp_path):
    """Also for rules between files."""
    other = write(tmp_path / "conf.d", "workers:\n  b:\n    command: [x]\n    after: [nobody]\n", "10.yaml")
    with pytest.raises(ConfigError) as caught:
        of(tmp_path, "workers: {a: {command: [x]}}\n")
    assert (caught.value.fields["file"], caught.value.fields["line"]) == (str(other), 4)


def test_a_drop_in_cannot_set_the_daemon(tmp_path):
    """The daemon's settings have one place."""
    write(tmp_path / "conf.d", "daemon: {}\n", "10.yaml")
    with pytest.raises(ConfigError, match="unknown field"):
        of(tmp_path)


def test_all_faults_are_told_at_once(tmp_path):
    """Nobody likes to be told one a time."""
    with pytest.raises(ConfigError) as caught:
        of(tmp_path, "workers:\n  a: {command: [x], after: [q]}\n  b: {command: [x], gpus: [-1], pin: null}\n")
    assert [one["field"] for one in caught.value.fields["problems"]] == ["workers.a.after[0]", "workers.b.gpus[0]"]


def test_sharing_on_both_sides_is_allowed(tmp_path):
    """share_gpus is a wish of both."""
    of(
        tmp_path,
        "workers:\n  a: {command: [x], gpus: [0], share_gpus: true}\n  b: {command: [x], gpus: [0], share_gpus: true}\n",
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [("127.0.0.1:8000", "127.0.0.2:8000"), ("127.0.0.1:8000", "127.0.0.1:8001"), ("[::1]:8000", "127.0.0.1:8000")],
)
def test_addresses_that_differ_do_not_clash(tmp_path, one, other):
    """Two hosts may have one port."""
    of(tmp_path, f"workers:\n  a: {{command: [x], listen: '{one}'}}\n  b: {{command: [x], listen: '{other}'}}\n")


def test_a_diamond_is_no_cycle(tmp_path):
    """Two ways to one worker are fine; so is naming it in after and requires."""
    of(
        tmp_path,
        "workers:\n  d: {command: [x], after: [b, c]}\n  b: {command: [x], after: [a], requires: [a]}\n"
        "  c: {command: [x], requires: [a]}\n  a: {command: [x]}\n",
    )


def test_a_long_chain_needs_no_recursion(tmp_path):
    """A thousand workers in a row, last one first."""
    rows = "".join(f"  w{n}: {{command: [x], after: [w{n + 1}]}}\n" for n in range(1500))
    assert len(of(tmp_path, f"workers:\n{rows}  w1500: {{command: [x]}}\n").workers) == 1501


def test_two_cycles_are_both_told(tmp_path):
    """And each once."""
    with pytest.raises(ConfigError) as caught:
        of(
            tmp_path,
            "workers:\n  a: {command: [x], after: [b]}\n  b: {command: [x], after: [a]}\n"
            "  c: {command: [x], after: [d, a]}\n  d: {command: [x], after: [c]}\n",
        )
    assert [one["problem"].rpartition(": ")[2] for one in caught.value.fields["problems"]] == [
        "a -> b -> a",
        "c -> d -> c",
    ]


@pytest.mark.parametrize("example", ["genesisd.yaml", "examples/cpu.yaml"])
def test_the_examples_load(example):
    """With the pins file that they name."""
    config = load(ETC / example, environ=ROOT, root=True)
    assert config.workers
    assert config.pins == ETC / "pins.yaml"


def test_a_casebook_is_found_beside_the_file_that_names_it(tmp_path):
    """A daemon's working folder is nobody's choice; a fault in the book is told with the book's own line."""
    (tmp_path / "book.yaml").write_text("name: mine\ngolden: []\n")
    file = tmp_path / "genesisd.yaml"
    file.write_text("workers: {a: {command: [x], probes: {casebook: book.yaml}}}\n")
    environ = {"HOME": "/root"}
    assert load(file, environ=environ, root=True).workers["a"].probes.casebook == tmp_path / "book.yaml"
    (tmp_path / "book.yaml").write_text("name: mine\ngoldne: []\n")
    with pytest.raises(ConfigError, match=r"book\.yaml:2"):
        load(file, environ=environ, root=True)
