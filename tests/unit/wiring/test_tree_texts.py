"""A tree as texts: read when asked for, and nothing outside of it."""

from __future__ import annotations

import pytest

from genesisd.wiring.tree_texts import LARGEST, TreeTexts


@pytest.fixture
def root(tmp_path):
    tree = tmp_path / "tree"
    (tree / "vllm").mkdir(parents=True)
    (tree / "vllm" / "core.py").write_bytes(b"a\r\nb\n")
    (tree / "vllm" / "bytes.bin").write_bytes(b"\xff")
    (tmp_path / "secret").write_text("secret")
    return tree


def test_a_file_is_its_text_with_its_line_endings(root):
    """As the bytes have it."""
    assert TreeTexts(root)["vllm/core.py"] == "a\r\nb\n"


@pytest.mark.parametrize(
    "path", ["../secret", "vllm/../../secret", "/etc/hostname", "vllm/a\0b", "", "vllm", "gone.py"]
)
def test_what_a_diff_names_outside_of_the_tree_is_not_there(root, path):
    """Upstream's diffs are not ours: none of them may make us read another file."""
    assert path not in TreeTexts(root)
    assert TreeTexts(root).get(path) is None


def test_what_is_no_text_or_too_large_is_not_there(root):
    """Nothing could be looked for in it."""
    with (root / "vllm" / "large.py").open("wb") as file:
        file.truncate(LARGEST + 1)
    texts = TreeTexts(root)
    assert "vllm/bytes.bin" not in texts
    assert "vllm/large.py" not in texts


def test_only_the_last_few_are_kept(root):
    """Thousands of files are looked at one after another."""
    for number in range(5):
        (root / f"{number}.py").write_text(str(number))
    texts = TreeTexts(root, keep=2)
    assert [texts[f"{number}.py"] for number in range(5)] == list("01234")
    (root / "4.py").write_text("kept")
    (root / "0.py").write_text("read again")
    assert (texts["4.py"], texts["0.py"]) == ("4", "read again")


def test_its_files_can_be_listed(root):
    """By paths as a diff has them."""
    assert sorted(TreeTexts(root)) == ["vllm/bytes.bin", "vllm/core.py"]
    assert len(TreeTexts(root)) == 2
