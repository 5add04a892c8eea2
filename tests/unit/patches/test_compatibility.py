"""What experience forbids on a lane blocks a plan there, unless it is waived by name."""

import pytest

from genesisd.errors import ConfigError, NotFoundError
from genesisd.patches.compatibility import Verdict, advice, blocked, conflict_sets, load_compatibility
from genesisd.patches.facts import gather

TQ = "27b-int4-tq"
FULL = ()
PIECEWISE = ("--compilation-config.cudagraph_mode=PIECEWISE",)
AMPERE = [(86, 24 << 30)]


def known(*args, gpus=AMPERE):
    return gather({}, args, gpus)


@pytest.mark.parametrize(
    ("lane", "patches", "args", "blocks"),
    [
        (TQ, ["P84"], (), ["P84"]),
        (TQ, ["P84", "P85"], (), ["P84", "P85"]),
        ("27b-int4-fp8kv", ["P85"], (), ["P85"]),
        ("35b-a3b-fp8", ["P84", "P85"], (), []),
        (None, ["P84", "P85"], (), []),
        (TQ, ["P67"], FULL, []),
        (TQ, ["P67b"], FULL, ["P67b"]),
        (TQ, ["P67b"], ("--compilation-config", '{"cudagraph_mode": "FULL"}'), ["P67b"]),
        (TQ, ["P67", "P67b"], PIECEWISE, []),
        (TQ, ["P67b"], ("-cc", '{"cudagraph_mode": "NONE"}'), []),
        (TQ, ["P67b"], ("--enforce-eager",), []),
        (TQ, ["P67b"], ("-O1",), []),
        (TQ, ["P67b"], ("--config=f",), ["P67b"]),
        ("35b-a3b-fp8", ["P67", "P67b"], FULL, []),
        ("27b-int4-fp8kv", ["P67"], FULL, []),
        (TQ, ["P58", "P62"], (), []),
        (None, ["P65"], (), ["P65"]),
    ],
)
def test_what_must_not_be_enabled_blocks(lane, patches, args, blocks):
    """On its lane and in its circumstances; what is not known lifts no warning."""
    assert [one.waive for one in blocked(lane, patches, known(*args))] == blocks


def test_a_block_is_waived_by_name():
    """One name, one row."""
    assert [one.waive for one in blocked(TQ, ["P84", "P85"], known(), waive=["P84"])] == ["P85"]


def test_a_block_says_where_and_why():
    """So that nobody has to look it up."""
    (found,) = blocked(TQ, ["P84"], known())
    assert found.text == f"P84 must not be enabled on lane {TQ}: 29 % less throughput in a test of four arms"


def test_ampere_has_its_own_row():
    """A newer card may do what an older one must not."""
    assert blocked(None, ["P65"], known(gpus=[(90, 1)])) == ()


@pytest.mark.parametrize(
    ("lane", "patches", "texts"),
    [
        (None, ["P70"], ["P70 is for certain workloads only: for ngram drafting; it does nothing under MTP"]),
        (None, ["P61"], ["P61 is superseded: P12 took its place"]),
        ("35b-a3b-fp8", ["PN12"], ["PN12 is for certain workloads only on lane 35b-a3b-fp8: +0.16 %, which is noise"]),
        (TQ, ["PN12", "P58"], []),
    ],
)
def test_advice_is_given(lane, patches, texts):
    """What is for few, and what has been replaced."""
    assert list(advice(lane, patches, known())) == texts


def test_conflicts_found_by_running_are_data():
    """They hold on every lane, and can be waived by name."""
    found = {one.name: one.members for one in conflict_sets(TQ, known())}
    assert found == {
        "mtp-hybrid-prefix-cache": {"P83", "P84", "P85"},
        "reasoning-boundary": {"PN58", "P62"},
    }
    assert [one.name for one in conflict_sets(None, known(), waive=["reasoning-boundary"])] == [
        "mtp-hybrid-prefix-cache"
    ]


def test_a_lane_that_is_not_there_names_the_nearest():
    """A lane with a slip in it would protect nobody."""
    table = load_compatibility()
    assert "27B" in table.lane(TQ)
    with pytest.raises(NotFoundError) as caught:
        table.lane("27b-int4-qt")
    assert caught.value.hint == f"did you mean {TQ!r}?"


def test_every_row_can_speak():
    """Each names its evidence and one lane of the table, and no two contradict each other."""
    rows = load_compatibility().rows
    keys = [(row.patches, row.lane) for row in rows]
    assert len(keys) == len(set(keys))
    assert {row.verdict for row in rows} == set(Verdict)


ROW = "{patches: [P1], lane: a, verdict: safe, date: 2026-04-30, evidence: e}"
GOOD = f"lanes: {{a: A}}\nrows:\n  - {ROW}\nconflicts:\n  - {{name: n, patches: [P1, P2], date: 2026-04-30, evidence: e}}\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "problem"),
    [
        ("lane: a", "lane: b", 3, "rows[0].lane", "no lane 'b'"),
        ("[P1]", "[P999]", 3, "rows[0].patches[0]", "no patch 'P999'"),
        ("[P1]", "[]", 3, "rows[0].patches", "at least 1"),
        ("safe", "fine", 3, "rows[0].verdict", "do_not_enable"),
        ("2026-04-30, evidence: e}\nc", "today, evidence: e}\nc", 3, "rows[0].date", "isoformat"),
        ("safe,", "safe, pin: nightly,", 3, "rows[0].pin", "expected a version"),
        ("[P1, P2]", "[P1]", 5, "conflicts[0].patches", "at least 2"),
        ("[P1, P2]", "[P1, P999]", 5, "conflicts[0].patches[1]", "no patch 'P999'"),
        ("evidence: e}\nc", "evidence: ''}\nc", 3, "rows[0].evidence", "at least 1"),
    ],
)
def test_a_table_with_a_slip_is_refused(tmp_path, old, new, line, field, problem):
    """With its line."""
    path = tmp_path / "compatibility.yaml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        load_compatibility(path)
    assert (caught.value.fields["line"], caught.value.fields["field"]) == (line, field)
    assert problem in caught.value.message
