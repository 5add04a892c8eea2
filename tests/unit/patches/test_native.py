"""A patch for what the engine does by itself is warned about, from the version that does it on."""

import pytest

from genesisd.errors import ConfigError
from genesisd.patches.native import duplicates, load_native


@pytest.mark.parametrize(
    ("version", "patches", "warned"),
    [
        ("0.33.0", ["PN95", "P61c"], ["PN95"]),
        ("0.23.0", ["P64"], []),
        ("0.24.0", ["P64"], ["P64"]),
        ("0.32.0+cpu", ["PN51"], ["PN51"]),
        ("0.33.0", ["PN60"], []),
        ("0.23.0", ["PN383"], []),
        ("0.23.1rc1.dev748+g2dfaae752", ["PN383"], ["PN383"]),
        ("0.33.0", ["P61c"], []),
        ("0.33.0", [], []),
    ],
)
def test_a_duplicate_is_warned_about(version, patches, warned):
    """Not before, and not about anything else."""
    assert [text.partition(" ")[0] for text in duplicates(version, patches)] == warned


def test_the_warning_names_version_and_knob():
    """So that the patch can be given up for it."""
    (text,) = duplicates("0.33.0", ["PN95"])
    assert "since 0.23.0" in text
    assert "--kv-offloading-size" in text


GOOD = (
    "features:\n  - {name: n, what: w, since: 0.24.0, verified_on: 0.33.0, verified: 2026-11-30, duplicates: [P64]}\n"
)


@pytest.mark.parametrize(
    ("old", "new", "field", "problem"),
    [
        ("0.33.0", "0.23.0", "features[0].verified_on", "older than 0.24.0"),
        ("0.24.0", "soon", "features[0].since", "expected a version"),
        ("P64", "P999", "features[0].duplicates[0]", "no patch 'P999'"),
        ("2026-11-30", "lately", "features[0].verified", "isoformat"),
        ("what: w, ", "", "features[0].what", "missing"),
        ("name: n", "name: n, knobs: x", "features[0].knobs", "did you mean 'knob'?"),
    ],
)
def test_a_table_with_a_slip_is_refused(tmp_path, old, new, field, problem):
    """With its line."""
    path = tmp_path / "native.yaml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        load_native(path)
    assert (caught.value.fields["line"], caught.value.fields["field"]) == (2, field)
    assert problem in caught.value.message
