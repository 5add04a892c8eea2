"""The model folder is found and proven, or the fault is named."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from genesisd.demo.locate import FOLDER, DemoModelError, locate

BUDGET = 2 * 1024 * 1024


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "tiny"))


def test_the_committed_model_is_whole() -> None:
    """Every file has the hash that SHA256SUMS says, and that file's hash names the model."""
    model = locate()
    assert model.path == FOLDER
    assert model.sha256 == hashlib.sha256((FOLDER / "SHA256SUMS").read_bytes()).hexdigest()


def test_every_file_is_sealed() -> None:
    """A file that SHA256SUMS does not know could change unseen."""
    listed = {line.split("  ", 1)[1] for line in (FOLDER / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in FOLDER.iterdir()} - {"SHA256SUMS"}


def test_the_folder_is_small() -> None:
    """It lives in git: two megabytes at most."""
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < BUDGET


def test_a_changed_byte_is_found(copy: Path) -> None:
    """The error names the file and both hashes."""
    weights = copy / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    with pytest.raises(DemoModelError, match=r"model\.safetensors is not the committed file") as caught:
        locate(copy)
    assert caught.value.fields["found"] == hashlib.sha256(changed).hexdigest()


@pytest.mark.parametrize("name", ["SHA256SUMS", "config.json"])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    """The error says which file is lacking."""
    (copy / name).unlink()
    with pytest.raises(DemoModelError, match=name):
        locate(copy)


@pytest.mark.parametrize("parser", ["hermes", "qwen3_coder"])
def test_each_parser_has_its_template(parser: str) -> None:
    """Both files exist, and differ."""
    assert locate().template(parser).is_file()
    assert locate().template("hermes").read_text() != locate().template("qwen3_coder").read_text()


def test_an_unknown_parser_is_refused() -> None:
    """The hint lists the known ones."""
    with pytest.raises(DemoModelError) as caught:
        locate().template("pythonic")
    assert caught.value.hint == "Use one of: hermes, qwen3_coder."
