"""Each patch, written for upstream, on each release that it applies to: real git takes it."""

from __future__ import annotations

import os
import subprocess

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.outcome import Applied
from genesisd.patches.reading import read_texts
from genesisd.patches.stack import plan_all
from genesisd.patchtool.exporting import changes, letter
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import Tree
from genesisd.versions import parse_range, parse_version
from tests.catalog.releases import RELEASES


@pytest.mark.parametrize("version", RELEASES)
def test_git_takes_each_patch(tree, version):
    """On the pristine files, and what comes out is what the engine would write."""
    tool, place = Tool(), Tree(tree(version), parse_version(version), version)
    taken = []
    for patch in catalog():
        needed = tool.needed(patch)
        texts = read_texts(place.root, needed)
        if parse_range(patch.versions).contains(place.version) and isinstance(
            plan_all(texts, needed).outcomes[patch.id], Applied
        ):
            written = letter(patch, *changes(tool, patch, place))
            # Outside of any repository, so that the folder alone counts.
            environ = os.environ | {"GIT_DIR": os.devnull}
            done = subprocess.run(
                ["git", "apply", "--check", "--verbose"],
                input=written.encode(),
                cwd=place.root,
                env=environ,
                capture_output=True,
                check=False,
            )
            assert done.returncode == 0, f"{patch.id}: {done.stderr.decode()}"
            taken.append(patch.id)
    assert taken
