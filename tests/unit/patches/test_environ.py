"""Keys that mean nothing are found before anybody measures without the patch."""

import pytest

from genesisd.patches.environ import Undeclared, environ_problems
from genesisd.patches.flags import Alias, Flag
from genesisd.patches.parameters import BadValue, Kind, Parameter
from tests.unit.patches.made import patch

CATALOG = [
    patch(
        id="P82",
        flag=Flag("P82_THRESHOLD", (Alias("P82", "0.1"),)),
        parameters=(Parameter("GENESIS_P82_SINGLE", Kind.FLOAT, 0.3, 0, 1, aliases=("GENESIS_P82_T",)),),
    ),
    patch(id="P65", flag=Flag("P65_DOWNGRADE")),
]


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"GENESIS_ENABLE_P82_THRESHOLD": "1", "SNDR_DISABLE_P65_DOWNGRADE": "1"},
        {"GENESIS_ENABLE_P82": "1"},
        {"GENESIS_P82_SINGLE": "0.5"},
        {"GENESIS_P82_T": "0.5"},
        {"VLLM_USE_V1": "1", "GENESISX": "1"},
        {"GENESIS_OWN": "1"},
    ],
)
def test_what_is_declared_or_let_through_is_no_problem(environ):
    """Switches, parameters and their older names are known, other programs' keys none of our business."""
    assert environ_problems(environ, CATALOG, extra={"GENESIS_OWN"}) == ()


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"GENESIS_ENABLE_P65": "1"}, Undeclared("GENESIS_ENABLE_P65", "GENESIS_ENABLE_P65_DOWNGRADE")),
        ({"GENESIS_ENABLE_P66": "1"}, Undeclared("GENESIS_ENABLE_P66")),
        ({"GENESIS_P82_SINGEL": "1"}, Undeclared("GENESIS_P82_SINGEL", "GENESIS_P82_SINGLE")),
        (
            {"GENESIS_ENABLE_P65_DOWNGRAED": "1"},
            Undeclared("GENESIS_ENABLE_P65_DOWNGRAED", "GENESIS_ENABLE_P65_DOWNGRADE"),
        ),
        ({"SNDR_WHATEVER": "0"}, Undeclared("SNDR_WHATEVER")),
        ({"GENESIS_P82_SINGLE": "3"}, BadValue("GENESIS_P82_SINGLE", "3", "a value of kind float from 0 up to 1")),
    ],
)
def test_what_means_nothing_is_named(environ, problem):
    """A misspelt key is told with the one it resembles; a value out of range with the range."""
    assert environ_problems(environ, CATALOG) == (problem,)
