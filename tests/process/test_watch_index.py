"""Releases from an index on the loopback, and from the one that pip is configured with here."""

from __future__ import annotations

import importlib.metadata

import pytest
from packaging.version import Version

from genesisd.watch.sources.index import PackageIndex
from genesisd.watch.sources.pip_settings import PipSettings, pip_settings
from tests.helpers import simple_index
from tests.helpers.loopback_index import make_wheel, serve_index


class Notes:
    """What outlives a sweep."""

    def __init__(self):
        self.kept = {}

    async def recall(self, kind, keys=None):
        return {key: self.kept[kind, key] for key in keys if (kind, key) in self.kept}

    async def note(self, kind, values):
        for key, value in values.items():
            if value is None:
                self.kept.pop((kind, key), None)
            else:
                self.kept[kind, key] = value


@pytest.fixture
async def main():
    async with simple_index.serve() as index:
        yield index


def asking(*indexes, notes=None, **more):
    async def told():
        return PipSettings(indexes=tuple(one if isinstance(one, str) else one.url for one in indexes), **more)

    return PackageIndex(notes or Notes(), told)


def versions(found):
    return None if found is None else [one.version for one in found]


@pytest.mark.parametrize("form", ["json", "html"])
async def test_releases_of_an_index(main, form):
    """JSON where it is offered, else HTML, with the same versions."""
    main.json = form == "json"
    main.release("tiny-engine", "1.0.0", **{"upload-time": "2026-01-01T00:00:00Z"})
    main.release("tiny-engine", "1.1.0", yanked="broken")
    found = await asking(main).releases("Tiny_Engine")
    assert [(one.version, one.yanked, one.has_wheel) for one in found] == [
        ("1.1.0", True, True),
        ("1.0.0", False, True),
    ]
    assert found[1].uploaded_at == (1767225600.0 if form == "json" else None)
    assert main.asked[0][0] == "/simple/tiny-engine/"


async def test_an_unchanged_page_is_not_sent_again(main):
    """The next daemon asks with what the last one kept, always: what a cache is told to keep says nothing of today."""
    notes = Notes()
    main.release("tiny", "1.0")
    first = await asking(main, notes=notes).releases("tiny")
    index = asking(main, notes=notes)
    assert await index.releases("tiny") == first
    assert (index.asked, index.unchanged) == (1, 1)
    main.release("tiny", "1.1")
    assert versions(await index.releases("tiny")) == ["1.1", "1.0"]
    assert versions(await index.releases("tiny")) == ["1.1", "1.0"]
    assert (index.asked, index.unchanged) == (3, 2)


async def test_what_was_kept_by_another_version_is_not_used(main):
    """The page is asked for as if for the first time."""
    notes = Notes()
    main.release("tiny", "1.0")
    index = asking(main, notes=notes)
    await index.releases("tiny")
    for odd in ({}, {"files": [["x"]]}, {"files": [["no version", True, False, None]], "conditions": {}}, [], "x"):
        notes.kept = dict.fromkeys(notes.kept, odd)
        assert versions(await index.releases("tiny")) == ["1.0"]
    assert index.unchanged == 0


async def test_an_index_without_validators(main):
    """Nothing is kept for it."""
    main.etags = False
    main.release("tiny", "1.0")
    notes = Notes()
    await asking(main, notes=notes).releases("tiny")
    assert notes.kept == {}


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("status:502", "502"),
        ("status:403", "403"),
        ("status:429", "429"),
        ("cut", "did not answer"),
        ("login", "names no file"),
        ("type", "image/png"),
    ],
)
async def test_an_index_that_does_not_answer_has_no_releases_to_tell(main, fault, told):
    """Unknown, and not none; what was kept stays for the next time."""
    notes = Notes()
    main.release("tiny", "1.0")
    index = asking(main, notes=notes)
    first = await index.releases("tiny")
    main.fault = fault
    assert await index.releases("tiny") is None
    assert told in index.troubles[0]
    main.fault = ""
    assert await index.releases("tiny") == first
    assert index.troubles == ()


async def test_nobody_listens():
    """Unknown; the address is told without its password."""
    index = asking("http://ada:s3cret@127.0.0.1:9/simple")
    assert await index.releases("tiny") is None
    assert "127.0.0.1:9" in index.troubles[0]
    assert "s3cret" not in index.troubles[0]


async def test_credentials_of_the_address_are_sent(main):
    """As pip sends them; and they are not kept."""
    main.release("tiny", "1.0")
    notes = Notes()
    await asking(main.url.replace("//", "//ada:s3cret@"), notes=notes).releases("tiny")
    assert main.asked[0][1]["Authorization"].startswith("Basic ")
    assert "s3cret" not in str(notes.kept)


async def test_a_package_that_the_index_has_not(main):
    """That is an answer."""
    assert await asking(main).releases("tiny") == ()


async def test_all_places_together(main, tmp_path):
    """As pip would look: the indexes, pages on the disk, folders of archives. What is in several counts once."""
    main.release("tiny", "1.0")
    main.release("tiny", "1.1")
    (tmp_path / "simple" / "tiny").mkdir(parents=True)
    (tmp_path / "simple" / "tiny" / "index.html").write_text(
        '<a href="../tiny-1.1.tar.gz">x</a><a href="tiny-1.2.tar.gz">x</a>'
    )
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / "tiny-1.3-py3-none-any.whl").touch()
    (wheels / "other-9.9-py3-none-any.whl").touch()
    page = tmp_path / "links.html"
    page.write_text('<a href="https://files.example/tiny-1.4.tar.gz">x</a>')
    with serve_index(make_wheel("tiny", "1.5")) as other:
        index = asking(main, f"file://{tmp_path}/simple", other.url, find_links=(str(wheels), f"file://{page}"))
        assert versions(await index.releases("tiny")) == ["1.5", "1.4", "1.3", "1.2", "1.1", "1.0"]
        assert versions(await index.releases("absent")) == []
    assert index.troubles == ()


async def test_only_the_main_index_is_needed(main, tmp_path):
    """Another that does not answer is left out and told; without the main one the newest would be missing."""
    main.release("tiny", "1.0")
    broken = f"file://{tmp_path}/nowhere"
    index = asking(main, broken, find_links=(str(tmp_path / "gone"),))
    assert versions(await index.releases("tiny")) == ["1.0"]
    assert len(index.troubles) == 2
    assert await asking(broken, main).releases("tiny") is None


async def test_folders_alone(tmp_path):
    """Where pip is told to use no index."""
    (tmp_path / "tiny-1.3.tar.gz").touch()
    assert versions(await asking(find_links=(str(tmp_path),)).releases("tiny")) == ["1.3"]
    assert await asking(find_links=(str(tmp_path / "gone"),)).releases("tiny") is None


async def test_pip_that_does_not_run():
    """Unknown, with its reason."""

    async def broken():
        return await pip_settings("/nonexistent/python")

    index = PackageIndex(Notes(), broken)
    assert await index.releases("tiny") is None
    assert index.troubles != ()


async def test_pip_is_asked_where_it_looks(monkeypatch, tmp_path):
    """Its files, its environment and its defaults, by its own word."""
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://file.example/simple\n[download]\nextra-index-url =\n    https://a.example\n    https://b.example\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    for key in ("XDG_CONFIG_HOME", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    told = await pip_settings()
    assert told.indexes[0] == "https://file.example/simple"
    assert told.indexes[-2:] == ("https://a.example", "https://b.example")
    monkeypatch.setenv("PIP_INDEX_URL", "https://env.example/simple")
    assert (await pip_settings()).indexes[0] == "https://env.example/simple"
    monkeypatch.delenv("PIP_INDEX_URL")
    config.write_text("")
    [default, *_] = (await pip_settings()).indexes
    assert "://" in default


async def test_the_configured_index_has_what_is_installed_here():
    """The real one: the release of a package that came from it."""
    index = PackageIndex(Notes())
    found = await index.releases("packaging")
    if found is None:
        pytest.skip(f"the configured index does not answer: {'; '.join(index.troubles)}")
    here = importlib.metadata.version("packaging")
    known = {one.version: one for one in found}
    assert known[here].has_wheel
    assert [Version(one.version) for one in found] == sorted((Version(one.version) for one in found), reverse=True)
