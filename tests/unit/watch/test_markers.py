"""The markers file is read strictly: each slip is told with its line, its field and how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from genesisd.errors import ConfigError
from genesisd.watch.markers import builtin, load
from genesisd.watch.refs import Ref

GOOD = """\
markers:
  - pr: vllm#1
    title: breaks a lane
    affects: workers with a compressed cache
    present:
      - {file: vllm/core/cache.py, has: "mode is None"}
    absent:
      - {file: vllm/core/cache.py, lacks: "mode is None", within: Cache.size}
  - pr: vllm#2
    title: mends it
    present:
      - {file: vllm/core/cache.py, matches: 'isinstance\\(\\w+, Compressed\\)'}
gates:
  - id: compressed-cache
    blocks: vllm#1
    unless_any_of: [vllm#2]
    lanes: ["is_turboquant: true"]
    text: the engine does not boot
    mend: wait for a pin with vllm#2
"""


def read(tmp_path, text):
    path = tmp_path / "markers.yaml"
    path.write_text(text)
    return load(path)


def test_a_good_file_is_read(tmp_path):
    """Markers are found by their pull request, and gates are kept in order."""
    markers = read(tmp_path, GOOD)
    one, two = Ref("vllm-project/vllm", 1), Ref("vllm-project/vllm", 2)
    assert markers.refs() == (one, two)
    assert markers.of(one)[0].absent[0].within == "Cache.size"
    assert markers.of(Ref("vllm-project/vllm", 3)) == ()
    assert markers.gates[0].unless_any_of == (two,)


def test_several_rows_of_one_pull_request_are_forms_of_it(tmp_path):
    """A pull request may have a row for each form that it takes in releases."""
    row = "  - pr: vllm#2\n    title: as of 0.30\n    present: [{file: vllm/new.py, has: Compressed}]\n"
    assert len(read(tmp_path, GOOD.replace("gates:\n", row + "gates:\n")).of(Ref("vllm-project/vllm", 2))) == 2


def test_an_empty_file_has_no_markers(tmp_path):
    """A file without rows is a file of an operator who has none."""
    assert read(tmp_path, "# none yet\n").refs() == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "said"),
    [
        ("pr: vllm#1", "pr: 12", 2, "markers[0].pr", "in quotes"),
        ("pr: vllm#1", "pr: sglang#1", 2, "markers[0].pr", "owner/repo#123"),
        ('has: "mode is None"}', "has: ' '}", 6, "markers[0].present[0].has", "pattern"),
        ('has: "mode is None"}', 'has: "x", lacks: "y"}', 6, "markers[0].present[0]", "not has and lacks"),
        (', has: "mode is None"}', "}", 6, "markers[0].present[0]", "exactly one of has, lacks, matches, missing"),
        (
            "- {file: vllm/core/cache.py, has",
            "- {file: ../vllm/cache.py, has",
            6,
            "markers[0].present[0].file",
            "below the tree's root",
        ),
        (
            "matches: 'isinstance\\(",
            "matches: 'isinstance(((",
            12,
            "markers[1].present[0].matches",
            "regular expression",
        ),
        ("matches: 'isinstance.*'", "matches: '.*'", 12, "markers[1].present[0].matches", "empty text"),
        ("within: Cache.size", "within: Cache.size()", 8, "markers[0].absent[0].within", "match"),
        ("title: breaks a lane", "titel: breaks a lane", 3, "markers[0].titel", "did you mean 'title'"),
        (
            'lacks: "mode is None", within: Cache.size',
            'has: "mode is None"',
            8,
            "markers[0].absent[0]",
            "cannot tell the two apart",
        ),
        ("unless_any_of: [vllm#2]", "unless_any_of: [vllm#1]", 16, "gates[0].unless_any_of[0]", "cannot mend what"),
        (
            "unless_any_of: [vllm#2]",
            "unless_any_of: [vllm#9]",
            16,
            "gates[0].unless_any_of[0]",
            "no row under 'markers'",
        ),
        ("blocks: vllm#1", "blocks: vllm#9", 15, "gates[0].blocks", "no row under 'markers'"),
        ("id: compressed-cache", "id: Compressed", 14, "gates[0].id", "pattern"),
        ("is_turboquant: true", "turbo: true", 17, "gates[0].lanes[0]", "expected one of"),
        ("is_turboquant: true", "gpu.sm = 8", 17, "gates[0].lanes[0]", "comparison"),
    ],
)
def test_a_slip_is_told_with_its_line(tmp_path, old, new, line, field, said):
    """What is wrong is said with file, line and field."""
    text = (
        GOOD.replace("matches: 'isinstance\\(\\w+, Compressed\\)'", "matches: 'isinstance.*'") if ".*'" in old else GOOD
    )
    assert old in text
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text.replace(old, new, 1))
    problems = {(one["line"], one["field"]): one["problem"] for one in caught.value.fields["problems"]}
    assert said in problems[line, field]


def test_a_gate_is_named_once(tmp_path):
    """Decisions are kept by a gate's id: two of one id would be one."""
    gate = GOOD.partition("gates:\n")[2]
    with pytest.raises(ConfigError, match="'compressed-cache' is used above already"):
        read(tmp_path, GOOD + gate)


def test_a_row_that_stands_twice_is_told(tmp_path):
    """A row that was copied and not changed is a slip."""
    row = GOOD.partition("  - pr: vllm#2\n")[2].partition("gates:")[0]
    with pytest.raises(ConfigError, match="the same row of vllm#2 stands above"):
        read(tmp_path, GOOD.replace("gates:\n", f"  - pr: vllm#2\n{row}gates:\n"))


def test_all_slips_are_told_at_once_in_order(tmp_path):
    """Nobody has to run it once for each mistake."""
    text = GOOD.replace("unless_any_of: [vllm#2]", "unless_any_of: [vllm#9]").replace(
        "blocks: vllm#1", "blocks: vllm#8"
    )
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert [one["line"] for one in caught.value.fields["problems"]] == [15, 16]


def test_the_file_that_comes_with_the_project_is_read():
    """Without a file of the operator's, the project's own is used, and it has a gate."""
    assert builtin().is_file()
    markers = load()
    assert len(markers.by_ref) > 30
    assert markers.gates


def test_a_missing_file_is_told():
    """A path to nothing names the path."""
    with pytest.raises(ConfigError, match=r"/nowhere/markers\.yaml: cannot be read"):
        load(Path("/nowhere/markers.yaml"))
