"""Where a worker's model lies on this box, and what its config.json says."""

from __future__ import annotations

import json

import pytest

from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.models import model_config, model_folder

REVISION = "0123456789abcdef"


def nothing(_name):
    return None


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch):
    monkeypatch.delenv("HF_HOME", raising=False)


@pytest.fixture
def hub(tmp_path):
    """A cache with one downloaded repository, ``org/name``."""
    home = tmp_path / "huggingface"
    put(home / "hub/models--org--name/snapshots" / REVISION, {"model_type": "downloaded"})
    refs = home / "hub/models--org--name/refs"
    refs.mkdir()
    (refs / "main").write_text(f"{REVISION}\n")
    return home


def put(folder, content):
    folder.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "config.json").write_text(text)
    return folder


def kind(model, cache, demo=nothing, **env):
    """The model_type that is found, or None."""
    found = model_config(WorkerSpec(pin="p", model=str(model), env=env), demo, cache)
    return None if found is None else found["model_type"]


def test_a_path_is_read_where_it_is(tmp_path):
    """A local model."""
    assert kind(put(tmp_path / "m", {"model_type": "local"}), tmp_path) == "local"


def test_a_downloaded_repository_is_found_by_its_main_revision(tmp_path, hub):
    """As the engine finds it without asking the hub."""
    put(hub / "hub/models--org--name/snapshots/other", {"model_type": "older"})
    assert kind("org/name", tmp_path) == "downloaded"


def test_the_workers_own_hub_comes_first(tmp_path, hub, monkeypatch):
    """HF_HOME of the worker, then that of the daemon, then the cache: as the launcher gives it."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "elsewhere"))
    assert kind("org/name", tmp_path) is None
    assert kind("org/name", tmp_path, HF_HOME=str(hub)) == "downloaded"


def test_a_demo_model_is_asked_for_by_its_name(tmp_path):
    """Without the word before the colon."""
    folder = put(tmp_path / "tiny", {"model_type": "demo"})
    assert kind("demo:tiny", tmp_path, {"tiny": folder}.get) == "demo"
    assert kind("demo:other", tmp_path, {"tiny": folder}.get) is None


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "7", '"text"', "\udcff".encode("utf-8", "surrogateescape"), "[" * 100_000, "{}" + " " * (16 << 20)],
    ids=["empty", "open", "list", "number", "text", "bytes", "deep", "large"],
)
def test_what_is_no_object_is_nothing(tmp_path, content):
    """A config that cannot be read is one that cannot be had."""
    folder = put(tmp_path / "m", "")
    (folder / "config.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert model_config(WorkerSpec(pin="p", model=str(folder)), nothing, tmp_path) is None


def test_a_folder_without_a_config_is_nothing(tmp_path):
    """It may hold a GGUF file, say."""
    assert kind(tmp_path, tmp_path) is None


def test_a_model_that_is_not_here_is_nothing(tmp_path, hub):
    """The engine downloads it at the start; until then nobody can tell."""
    assert kind("org/other", tmp_path) is None
    (hub / "hub/models--org--name/refs/main").write_text("a revision that is not here")
    assert kind("org/name", tmp_path) is None


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000, "nul\0nul"], ids=["long-name", "long-path", "nul"])
def test_a_name_that_is_no_path_is_nothing(tmp_path, name):
    """What the kernel refuses to look up must not shut the gate with an error about a file name."""
    assert kind(name, tmp_path) is None


def test_a_folder_that_may_not_be_looked_into_is_nothing(tmp_path, monkeypatch):
    """The daemon may not see what the worker may."""
    from pathlib import Path

    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert kind("/locked/model", tmp_path) is None


def test_a_worker_with_a_command_has_no_model(tmp_path):
    """Nothing is known of it."""
    assert model_config(WorkerSpec(command=("x",)), nothing, tmp_path) is None


def test_model_folder_leaves_the_rest_to_the_engine(tmp_path):
    """None is an answer."""
    assert model_folder("org/name", nothing, tmp_path) is None
    assert model_folder(str(tmp_path), nothing, tmp_path) == tmp_path
