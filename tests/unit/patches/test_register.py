"""The register of patch ids: our own file, its lookups, the faults it refuses, and the lists it was filled from."""

import re
from pathlib import Path

import pytest

from genesisd.errors import ConfigError, NotFoundError
from genesisd.patches.catalog import catalog
from genesisd.patches.lifecycle import Lifecycle
from genesisd.patches.register import Register, load_register

SEEDS = Path(__file__).parents[4] / "shared" / "seeds"
BASE = """\
patches:
  P1:
    title: One
    flag: GENESIS_ENABLE_P1_ONE
    aliases: [P1v2]
  P2:
    title: Two
"""


@pytest.fixture(scope="module")
def register() -> Register:
    return load_register()


def test_titles_are_phrases(register):
    """A title is a naming phrase of ten words at most, without a full stop."""
    titles = [record.title for record in register.records.values() if record.title]
    assert len(titles) > 200
    assert [title for title in titles if len(title.split()) > 10 or title.endswith(".")] == []


def test_retired_ids_stay(register):
    """What ended is in the register like everything else, and says what came after it."""
    assert register["P56"].superseded_by == "P65"
    assert register["PN71"].lifecycle is Lifecycle.TOMBSTONE
    assert register["PN91"].planned


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("P61c", "P61c"),
        ("P61C", "P61c"),
        ("p61c", "P61c"),
        ("g4_60e", "G4_60E"),
        ("pn40-CLASSIFIER", "PN40-classifier"),
        ("PN55v2", "PN55"),
        ("SPRINT26_CG_DISPATCH_TRACE", "PN122"),
    ],
)
def test_other_spellings_are_understood(register, written, meant):
    """Letters in another case, and declared aliases, lead to the id as it is written here."""
    assert register.resolve(written) == meant
    assert register[written] is register.records[meant]


@pytest.mark.parametrize("written", ["PN-401", "PN 401", "PN0401", "401", "P110", ""])
def test_nothing_else_is_guessed(register, written):
    """A spelling that was never in use means no patch."""
    assert register.find(written) is None
    with pytest.raises(NotFoundError) as caught:
        register.resolve(written)
    assert caught.value.fields["patch"] == written


def test_a_slip_leads_to_the_nearest(register):
    """An id that is not there names the one that was likely meant."""
    with pytest.raises(NotFoundError, match=r"did you mean 'PN401'"):
        register.resolve("PN-401")


@pytest.mark.parametrize(
    ("flag", "patches"),
    [
        ("GENESIS_ENABLE_P82", ("P82",)),
        ("SNDR_ENABLE_P82", ("P82",)),
        ("GENESIS_ENABLE_PN90_PROBABILISTIC_DRAFT", ("PN90",)),
        ("GENESIS_DISABLE_PN33_SPEC_DECODE_WARMUP_K", ("PN33",)),
        ("GENESIS_ENABLE_SPRINT26_CG_DISPATCH_TRACE", ("PN122",)),
        ("GENESIS_ENABLE_P68_AUTO_FORCE_TOOL", ("P68", "P69")),
        ("GENESIS_ENABLE_P65", ()),
        ("GENESIS_P82_THRESHOLD_SINGLE", ()),
        ("GENESIS_BUFFER_MODE", ()),
        ("P82", ()),
    ],
)
def test_a_flag_leads_to_its_patches(register, flag, patches):
    """Both prefixes, both directions and old names find the patches; a parameter or an unknown flag finds none."""
    assert register.by_flag(flag) == patches


FAULTS = [
    ("unknown-field", BASE + "    titel: Two\n", 8, "patches.P2.titel"),
    ("unknown-family", BASE + "    family: parsers\n", 8, "patches.P2.family"),
    ("unknown-lifecycle", BASE + "    lifecycle: archived\n", 8, "patches.P2.lifecycle"),
    ("no-patches", "shared_flags: {}\n", 1, "patches"),
    ("id-twice", BASE + "  P1:\n    title: Other\n", 8, None),
    ("id-in-other-case", BASE + "  P3b: {}\n  P3B: {}\n", 9, "patches.P3B"),
    ("id-of-no-series", BASE + "  DA-018: {}\n", 8, "patches.DA-018"),
    ("alias-is-an-id", BASE + "    aliases: [x, p1]\n", 8, "patches.P2.aliases[1]"),
    ("alias-twice", BASE + "    aliases: [P1V2]\n", 8, "patches.P2.aliases[0]"),
    ("alias-of-itself", BASE + "    aliases: [p2]\n", 8, "patches.P2.aliases[0]"),
    ("alias-said-twice", BASE + "    aliases: [x, X]\n", 8, "patches.P2.aliases[1]"),
    ("flag-twice", BASE + "    flag: GENESIS_ENABLE_P1_ONE\n", 8, "patches.P2.flag"),
    ("flag-in-other-prefix", BASE + "    flag: SNDR_ENABLE_P1_ONE\n", 8, "patches.P2.flag"),
    ("flag-is-an-alias", BASE + "    flag_aliases: [GENESIS_ENABLE_P1_ONE]\n", 8, "patches.P2.flag_aliases"),
    (
        "flag-is-own-alias",
        BASE + "    flag: SNDR_ENABLE_P2\n    flag_aliases: [GENESIS_ENABLE_P2]\n",
        9,
        "patches.P2.flag_aliases[0]",
    ),
    ("flag-to-disable", BASE + "    flag: GENESIS_DISABLE_P2\n", 8, "patches.P2.flag"),
    ("shared-by-one", BASE + "shared_flags:\n  GENESIS_ENABLE_P1_ONE: [P1]\n", 9, "shared_flags.GENESIS_ENABLE_P1_ONE"),
    ("shared-not-used", BASE + "shared_flags:\n  GENESIS_ENABLE_P1_ONE: [P1, P2]\n", 9, "shared_flags"),
    ("shared-unknown", BASE + "shared_flags:\n  GENESIS_ENABLE_P3: [P1, P2]\n", 9, "shared_flags"),
    ("upstream", BASE + "    upstream: ['#40941']\n", 8, "patches.P2.upstream[0]"),
    ("superseded-by-nobody", BASE + "    superseded_by: P9\n", 8, "patches.P2.superseded_by"),
    ("part-of-nobody", BASE + "    part_of: P9\n", 8, "patches.P2.part_of"),
    ("requires-nobody", BASE + "    requires: [P1, P9]\n", 8, "patches.P2.requires[1]"),
    ("conflicts-with-nobody", BASE + "    conflicts: [P9]\n", 8, "patches.P2.conflicts[0]"),
    ("refers-to-alias", BASE + "    requires: [P1]\n    part_of: P5b\n", 9, "patches.P2.part_of"),
    ("superseded-by-itself", BASE + "    superseded_by: P2\n", 8, "patches.P2.superseded_by"),
    ("circle", BASE + "    requires: [P3]\n  P3:\n    requires: [P2]\n", 8, "patches.P2.requires"),
    (
        "circle-of-names",
        BASE + "    superseded_by: P3\n  P3:\n    superseded_by: P4\n  P4:\n    superseded_by: P2\n",
        8,
        "patches.P2",
    ),
    ("because-alive", BASE + "    lifecycle: stable\n    because: merged\n", 6, "patches.P2"),
    ("superseded-by-what", BASE + "    lifecycle: retired\n    because: superseded\n", 6, "patches.P2"),
    ("planned-and-alive", BASE + "    lifecycle: stable\n    planned: true\n", 6, "patches.P2"),
    ("planned-and-done", BASE + "    family: moe\n    planned: true\n    implemented: true\n", 6, "patches.P2"),
    ("implemented-when", BASE + "    family: moe\n    implemented: true\n", 6, "patches.P2"),
    ("implemented-unknown", BASE + "    implemented: true\n", 6, "patches.P2"),
]


@pytest.mark.parametrize(("text", "line", "field"), [one[1:] for one in FAULTS], ids=[one[0] for one in FAULTS])
def test_a_fault_has_its_line_and_field(text, line, field, tmp_path):
    """What the register may not say is refused, with the place."""
    path = tmp_path / "register.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_register(path)
    assert caught.value.fields["line"] == line
    found = caught.value.fields["field"]
    assert found == field or str(found).startswith(str(field))


def test_all_faults_are_told_at_once(tmp_path):
    """Several faults between records come in one error, in the order of the file."""
    path = tmp_path / "register.yaml"
    path.write_text(BASE + "    part_of: P9\n    flag: SNDR_ENABLE_P1_ONE\n")
    with pytest.raises(ConfigError) as caught:
        load_register(path)
    assert [one["line"] for one in caught.value.fields["problems"]] == [8, 9]


def test_a_circle_is_spelled_out(tmp_path):
    """The complaint about a circle follows it in the direction of the references."""
    path = tmp_path / "register.yaml"
    path.write_text("patches:\n  P1: {requires: [P2]}\n  P2: {requires: [P3]}\n  P3: {requires: [P1]}\n")
    with pytest.raises(ConfigError, match=r"P1 -> P2 -> P3|P2 -> P3 -> P1|P3 -> P1 -> P2"):
        load_register(path)


def test_what_is_shared_may_be_shared(tmp_path):
    """A flag of two patches is fine once it is declared with exactly these, in either prefix."""
    path = tmp_path / "register.yaml"
    path.write_text(BASE + "    flag: SNDR_ENABLE_P1_ONE\nshared_flags:\n  GENESIS_ENABLE_P1_ONE: [P2, P1]\n")
    assert load_register(path).by_flag("GENESIS_ENABLE_P1_ONE") == ("P1", "P2")


NAMED = re.compile(
    r"(?<![A-Za-z0-9#])("
    r"PN?\d+(?:_V\d+|_SPLIT_K|-classifier|-C(?![A-Za-z0-9])|v\d+|[A-Z](?![A-Za-z0-9]))?"
    r"|G4_T?\d+[A-Z]?|Q3_T?\d+[A-Z]?|SNDR_[A-Z_]+_\d{3}"
    r")(?![0-9])",
    re.IGNORECASE,
)
NO_IDS = re.compile(r"P[0-3]-(?:correctness|crash|cleanup|perf)|P0\.\d|P\d\d (?=TPOT|TTFT)")
"""Severities, sections and percentiles that look like ids."""
RANGE = re.compile(r"(PN?|G4_)(\d+)(?:\u2013|\.\.|-)\1(\d+)")
CHAIN = re.compile(r"(PN?|G4_)(\d+)((?:/\d+)+)")
WIDEST = 10
"""A range of more numbers than this says how far a series goes; only its ends are names."""


@pytest.fixture(scope="module")
def seeds() -> str:
    if not SEEDS.is_dir():
        pytest.skip("the lists that the register was filled from are not beside this checkout")
    return "\n".join((SEEDS / name).read_text() for name in ("PATCHES.md", "upstream_watchlist.yaml"))


def named_in(text: str) -> set[str]:
    """Every id in ``text``, with those that stand inside short ranges (P1..P3) and chains (P1/2/3)."""
    text = NO_IDS.sub(" ", text)
    names = set(NAMED.findall(text))
    for series, first, last in RANGE.findall(text):
        if int(last) - int(first) < WIDEST:
            names |= {f"{series}{number}" for number in range(int(first), int(last) + 1)}
    for series, _, rest in CHAIN.findall(text):
        names |= {f"{series}{number}" for number in rest[1:].split("/")}
    return names


def test_names_are_found_in_text():
    """What the comparison with the lists rests on finds ids, and only these."""
    assert named_in("P1/P2, PN55v2; GENESIS_ENABLE_P60B_X P0-correctness, P99 TPOT") == {"P1", "P2", "PN55v2", "P60B"}
    assert named_in("G4_71/72, PN8\u2013PN522, PN21..PN23, #P3, MP4") == {
        *("G4_71", "G4_72"),
        *("PN8", "PN522"),
        *("PN21", "PN22", "PN23"),
    }


def test_every_name_in_the_lists_is_registered(register, seeds):
    """No id that the lists name is missing."""
    assert sorted(name for name in named_in(seeds) if register.find(name) is None) == []


def test_every_registered_name_is_in_the_lists(register, seeds):
    """No id that is said to come from the lists was made up."""
    named = {register.find(name) for name in named_in(seeds)}
    listed = {patch for patch, record in register.records.items() if record.source == "lists"}
    assert sorted(listed - named) == []


def test_every_flag_in_the_lists_is_registered(register, seeds):
    """The lists' flags to enable or disable something and the register's are the same, but for those that we gave."""
    listed = {flag for flag in re.findall(r"\b(?:GENESIS|SNDR)_(?:ENABLE|DISABLE)_\w+", seeds) if flag[-1] != "_"}
    assert sorted(flag for flag in listed if not register.by_flag(flag)) == []
    ours = {flag for one in register.records.values() for flag in (one.flag, *one.flag_aliases) if flag}
    given = {f"GENESIS_ENABLE_{patch.flag.name}" for patch in catalog() if patch.flag}
    assert sorted(ours - listed - given) == []


def test_titles_are_our_own(register, seeds):
    """No title is a passage of the lists."""
    theirs = " ".join(seeds.casefold().split())
    titles = [record.title for record in register.records.values() if record.title]
    assert [title for title in titles if title.casefold() in theirs] == []
