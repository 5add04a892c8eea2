"""Ranges over development pins: order alone decides, and local segments count only where the bound has one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.versions import commit_of, parse_range, parse_version

DEV = "0.23.1rc1.dev748+g2dfaae752"

CASES = [
    ("<0.23.1", True),
    ("<=0.23.1", True),
    (">=0.23.1", False),
    (">=0.23.0", True),
    (">0.23.0", True),
    ("<0.23.1rc1", True),
    (">0.23.1rc1.dev747", True),
    ("<0.23.1rc1.dev748", False),
    ("<=0.23.1rc1.dev748", True),
    (">0.23.1rc1.dev748", False),
    (">=0.23.1rc1.dev748", True),
    ("==0.23.1rc1.dev748", True),
    ("!=0.23.1rc1.dev748", False),
    ("==0.23.1rc1.dev748+g2dfaae752", True),
    ("==0.23.1rc1.dev748+cpu", False),
    ("!=0.23.1rc1.dev748+cpu", True),
    ("==0.23.1", False),
    ("!=0.23.1", True),
    ("==0.23.*", True),
    ("!=0.23.*", False),
    ("==0.24.*", False),
    ("~=0.23.0", True),
    ("~=0.23.1", False),
    ("~=0.23.1rc1.dev700", True),
    ("===0.23.1rc1.dev748+g2dfaae752", True),
    ("===0.23.1rc1.dev748", False),
    (">=0.23.0,<0.24", True),
    (">=0.23.0,<0.23.1rc1.dev700", False),
    ("", True),
]


@pytest.mark.parametrize(("bounds", "inside"), CASES, ids=[case[0] or "everything" for case in CASES])
def test_development_pin_against_every_operator(bounds, inside):
    """A development pin is inside a range exactly when order says so."""
    assert parse_range(bounds).contains(DEV) is inside


@pytest.mark.parametrize("bounds", ["==0.32.0", "<=0.32.0", ">=0.32.0", "==0.32.0+cpu", "~=0.32.0", "==0.32.*"])
def test_local_build_of_a_release_is_that_release(bounds):
    """A bound without a local segment speaks of every build."""
    assert parse_range(bounds).contains("0.32.0+cpu")


@pytest.mark.parametrize("bounds", [">0.32.0", "<0.32.0", "!=0.32.0", "==0.32.0+cu130"])
def test_local_build_is_neither_above_nor_another(bounds):
    """A local segment does not lift a version above its release."""
    assert not parse_range(bounds).contains("0.32.0+cpu")


DESCRIBED = [
    ("v0.23.0-748-g2dfaae752", "0.23.1.dev748+g2dfaae752", "2dfaae752"),
    ("v0.23.1rc0-748-g2dfaae752", DEV, "2dfaae752"),
    ("v0.23.1rc0-748-g2dfaae752-dirty", DEV + ".dirty", "2dfaae752"),
    ("v0.23.0-0-g2dfaae752", "0.23.0+g2dfaae752", "2dfaae752"),
    ("v0.32.0", "0.32.0", None),
    (" 0.32.0+cpu\n", "0.32.0+cpu", None),
]


@pytest.mark.parametrize(("text", "version", "commit"), DESCRIBED)
def test_what_git_describe_prints_is_a_version(text, version, commit):
    """The distance from a tag becomes a development version of what the tag leads to."""
    parsed = parse_version(text)
    assert (str(parsed), commit_of(parsed)) == (version, commit)


@pytest.mark.parametrize("text", ["", "main", "v", "0.23.0-x-g123", "g2dfaae752"])
def test_what_is_no_version_is_refused(text):
    """A branch or a bare commit is not a version."""
    with pytest.raises(ValueError, match="expected a version"):
        parse_version(text)


@pytest.mark.parametrize("text", ["0.23", "=>0.23", "<0.23.*", "~=1", ">=x", ">=0.2 3"])
def test_what_is_no_range_is_refused(text):
    """A bound without an operator, or with one that does not fit, is refused."""
    with pytest.raises(ValueError, match=r"expected|goes with|needs two parts"):
        parse_range(text)


versions = st.builds(
    lambda release, tail, local: ".".join(map(str, release)) + tail + local,
    st.lists(st.integers(0, 30), min_size=2, max_size=3),
    st.sampled_from(["", "rc1", "rc1.dev7", ".dev3", ".post1"]),
    st.sampled_from(["", "+cpu", "+g2dfaae752"]),
)


@given(versions, versions)
def test_below_and_at_or_above_split_all_versions(version, bound):
    """Of ``<`` and ``>=`` exactly one holds, for any version and bound."""
    assert parse_range(f"<{bound}").contains(version) is not parse_range(f">={bound}").contains(version)
