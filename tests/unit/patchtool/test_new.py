"""Beginning a patch."""

from __future__ import annotations

import importlib.util
import io

import pytest
import yaml

from genesisd.patches.check_catalog import problems
from genesisd.patches.lifecycle import Lifecycle, Origin
from genesisd.patches.register_spec import RegisterSpec
from genesisd.patchtool.cases import cases
from tests.unit.patchtool.conftest import two

TITLE = 'Answer an empty "stop" list as none'


def made(clone, said):
    file = next(clone / one for one in said.json["files"] if "patches/catalog" in one)
    spec = importlib.util.spec_from_file_location("made", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PATCH


def begin(ask, *more, name="PN72"):
    return ask(["--json", "new", name, "--family", "serving", "--title", TITLE, *more], two())


def test_the_files_of_a_new_patch_are_sound(ask, clone):
    """The patch loads and has no problems, the case is found, the family becomes a package."""
    said = begin(ask)
    assert said.json["files"] == [
        "genesisd/patches/catalog/serving/pn72_answer_empty_stop_list_as.py",
        "tests/catalog/cases/pn72.py",
    ]
    patch = made(clone, said)
    assert (patch.id, patch.title, patch.flag.name) == ("PN72", TITLE, "PN72_ANSWER_EMPTY_STOP_LIST_AS")
    assert (patch.lifecycle, patch.origin, patch.study) == (Lifecycle.EXPERIMENTAL, Origin.ORIGINAL, None)
    assert problems([patch]) == ()
    cases.cache_clear()
    assert set(cases(clone)) == {"PN72"}
    assert (clone / "genesisd/patches/catalog/serving/__init__.py").exists()


def test_the_entry_for_the_register_can_be_pasted(ask):
    """It is what the register takes."""
    said = begin(ask, "--from-pr", "42")
    found = RegisterSpec.model_validate({"patches": yaml.safe_load(said.json["register"])})
    assert found.patches["PN72"].implemented
    assert found.patches["PN72"].upstream == ("vllm#42",)


def test_a_backport_keeps_its_study_note(ask, clone):
    """What upstream does, what ours does, which tests came along."""
    note = ["--study-upstream", 'checks "late"', "--study-ours", "checks early", "--study-tests", "none"]
    said = begin(ask, "--from-pr", "42", "--effect", "empty_stop", *note)
    patch = made(clone, said)
    assert (patch.origin, patch.upstream) == (Origin.BACKPORT, (42,))
    assert patch.study.upstream == 'checks "late"'
    assert said.json["study"] is True


def test_a_backport_without_a_note_is_told_to_stay_experimental(ask):
    """It is begun all the same."""
    said = ask(["new", "PN72", "--family", "serving", "--title", TITLE, "--from-pr", "42"], two())
    assert said.status == 0
    assert "without a study note it has to stay experimental" in said.err


def test_half_a_note_is_a_slip(ask, clone):
    """All three, or none."""
    said = begin(ask, "--from-pr", "42", "--study-ours", "better")
    assert said.status == 2
    assert "--study-upstream, --study-tests" in said.err
    assert list((clone / "tests/catalog/cases").iterdir()) == []


@pytest.mark.parametrize("name", ["P1", "p1", "PN71"])
def test_an_id_is_not_given_twice(ask, name):
    """Implemented, in whatever case of letters, or ended: the next free one is offered."""
    said = begin(ask, name=name)
    assert said.status == 5
    assert "no id is used twice" in said.err
    assert "the next free one is PN72" in said.err


def test_an_id_that_is_only_known_may_be_implemented(ask, clone):
    """Under the spelling of the register, and switched by the flag that people know."""
    said = begin(ask, name="p67")
    assert said.json["id"] == "P67"
    assert made(clone, said).flag.name == "P67_MULTI"


@pytest.mark.parametrize(
    ("line", "said"), [("new {f}", "the next free one is PN72"), ("new PN-72 {f}", "not shaped as an id")]
)
def test_ids_that_are_none(ask, line, said):
    """None said, or one that the register would not take."""
    told = ask(line.format(f="--family serving --title T"), two())
    assert told.status == 2
    assert said in told.err


def test_nothing_is_overwritten(ask, clone):
    """Whoever was there first."""
    (clone / "tests/catalog/cases/pn72.py").write_text("mine")
    said = begin(ask)
    assert said.status == 5
    assert (clone / "tests/catalog/cases/pn72.py").read_text() == "mine"
    assert not (clone / "genesisd/patches/catalog/serving").exists()


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


def test_a_person_is_asked_for_the_note(ask, clone, monkeypatch):
    """Three questions; what the options say is not asked."""
    monkeypatch.setattr("sys.stdin", Terminal("checks late\nnone\n"))
    line = ["new", "PN72", "--family", "serving", "--title", "T", "--from-pr", "42", "--study-ours", "checks early"]
    assert ask(line, two()).status == 0
    text = (clone / "genesisd/patches/catalog/serving/pn72_t.py").read_text()
    for word, said in (("upstream", "checks late"), ("ours", "checks early"), ("tests", "none")):
        assert f'        {word}="{said}",\n' in text
