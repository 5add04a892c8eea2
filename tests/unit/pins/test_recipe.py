"""Which recipes fit a tree."""

from pathlib import Path

import pytest

from genesisd.pins.build_dist import build_version, record
from genesisd.pins.errors import BuildError
from genesisd.pins.recipe import Recipe, check_recipe

TREE = {"vllm/__init__.py", "vllm/a.py", "vllm/core/b.py"}
KEY = "0123456789ab"


def make(files, key=KEY, **more):
    return Recipe(key, dict.fromkeys(files, "x = 1\n"), Path("plugin.py"), **more)


@pytest.mark.parametrize(
    "recipe",
    [
        make([]),
        make(["vllm/a.py", "vllm/core/b.py"], scopes={"P1": [["vllm/a.py", "f"]]}),
        make(["vllm/core/new.py"], whole={"vllm/core/new.py": "new"}),
        make(["vllm/fresh/deep/new.py"], whole={"vllm/fresh/deep/new.py": "new"}),
        make(["vllm/a.py"], whole={"vllm/a.py": "replaced"}),
    ],
)
def test_recipe_that_fits_is_taken(recipe):
    """Edits and replacements of files that are there, and new ones where nothing is."""
    check_recipe(recipe, TREE)


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (make(["vllm/a.py"], key="0123456789AB"), "twelve hexadecimal digits"),
        (make(["vllm/a.py"], key="../../../etc"), "twelve hexadecimal digits"),
        (make(["vllm/a.py"], key="0123456789abc"), "twelve hexadecimal digits"),
        (make(["vllm/none.py"]), "no such file"),
        (make(["vllm/none.py"], whole={"vllm/none.py": "replaced"}), "no such file"),
        (make(["vllm/a.py"], whole={"vllm/a.py": "new"}), "to be a new file"),
        (make(["vllm/a.py/b.py"], whole={"vllm/a.py/b.py": "new"}), "which is a file"),
        (make(["vllm/a.py"], whole={"vllm/other.py": "new"}), "has no text"),
        (make(["vllm/a.py"], scopes={"P1": [["vllm/core/b.py", ""]]}), "has no text"),
        *(
            (make([path], whole={path: "new"}), "plain relative paths")
            for path in ("/etc/x.py", "../x.py", "vllm/../../x.py", "vllm", "other/x.py", "vllm//x.py", "vllm/./x.py",
                         "vllm/__pycache__/a.cpython-311.pyc", "vllm/x\0.py", "vllm\\x.py", "")
        ),
    ],
)  # fmt: skip
def test_recipe_that_does_not_fit_is_refused(recipe, said):
    """Each with the path and what is wrong; nothing leads out of the tree."""
    with pytest.raises(BuildError, match=said):
        check_recipe(recipe, TREE)


@pytest.mark.parametrize(
    ("pristine", "expected"), [("0.33.0", "0.33.0+genesis.k"), ("0.32.0+cpu", "0.32.0+cpu.genesis.k")]
)
def test_version_of_a_build_keeps_the_local_segment(pristine, expected):
    """What vLLM reads its platform from stays in its place."""
    assert build_version(pristine, "k") == expected


def test_record_lists_files_with_commas_as_one_field():
    """Names of tuning files hold commas; what reads RECORD is a CSV reader."""
    path, content = record("v.dist-info", {"vllm/E=1,N=2.json": b"{}"})
    digest = "sha256=RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o"
    assert (path, content) == ("v.dist-info/RECORD", f'"vllm/E=1,N=2.json",{digest},2\nv.dist-info/RECORD,,\n'.encode())
