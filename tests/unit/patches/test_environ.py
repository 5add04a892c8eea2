"""Keys that mean nothing are found before anybody measures without the patch."""

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.environ import Contradiction, Undeclared, environ_problems
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


ALIASED = [one for one in catalog() if one.flag is not None and one.flag.aliases]
OLD = patch(id="P9", flag=Flag("P9_NOW", (Alias("P9_THEN"), Alias("P9_ONCE"), Alias("P9_GONE", "0.1"))))
OWN = "GENESIS_ENABLE_P9_NOW"


@pytest.mark.parametrize(
    ("environ", "name", "other"),
    [
        ({OWN: "1", "GENESIS_ENABLE_P9_THEN": "0"}, "GENESIS_ENABLE_P9_THEN", OWN),
        ({OWN: "1", "SNDR_ENABLE_P9_ONCE": ""}, "SNDR_ENABLE_P9_ONCE", OWN),
        ({OWN: "1", "GENESIS_DISABLE_P9_THEN": "1"}, "GENESIS_DISABLE_P9_THEN", OWN),
        (
            {"GENESIS_ENABLE_P9_THEN": "1", "GENESIS_ENABLE_P9_ONCE": "0"},
            "GENESIS_ENABLE_P9_ONCE",
            "GENESIS_ENABLE_P9_THEN",
        ),
    ],
)
def test_an_older_name_that_says_off_beside_one_that_says_on_is_a_contradiction(environ, name, other):
    """It was a switch of its own once: to lose the whole patch by it would go unseen."""
    assert environ_problems(environ, [OLD]) == (Contradiction(name, other, "P9", OWN),)


@pytest.mark.parametrize(
    "environ",
    [
        {OWN: "0", "GENESIS_ENABLE_P9_THEN": "1"},
        {"GENESIS_DISABLE_P9_NOW": "1", "GENESIS_ENABLE_P9_THEN": "1", "GENESIS_ENABLE_P9_ONCE": "0"},
        {OWN: "1", "SNDR_ENABLE_P9_NOW": "0"},
        {OWN: "1", "GENESIS_DISABLE_P9_THEN": "0"},
        {"GENESIS_ENABLE_P9_THEN": "0", "GENESIS_ENABLE_P9_ONCE": "0"},
        {"GENESIS_ENABLE_P9_THEN": "1", "GENESIS_ENABLE_P9_ONCE": "1", OWN: "1"},
        {OWN: "1", "GENESIS_ENABLE_P9_GONE": "0"},
    ],
)
def test_a_patchs_own_name_switches_the_whole_off(environ):
    """As a profile's 'disable' does; and names of one mind, or that mean nothing any more, contradict nobody."""
    assert environ_problems(environ, [OLD]) == ()


@pytest.mark.parametrize("one", ALIASED, ids=lambda one: one.id)
def test_every_alias_of_the_catalog_is_held_to_that(one):
    """The message names both variables and the way out."""
    own = f"GENESIS_ENABLE_{one.flag.name}"
    for alias in one.flag.aliases:
        older = f"GENESIS_ENABLE_{alias.name}"
        (found,) = environ_problems({own: "1", older: "0"}, catalog())
        assert f"{older} switches off what {own} switches on" in str(found)
        assert f"{own}=0" in str(found)
    assert one.flag.aliases
