"""Rules of the repository that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE_LIMIT = 300
LONG_FILES = {
    # file: why it may be longer than LINE_LIMIT
    "genesisd/supervisor/model.py": "the words of supervision: one list of phases, events and effects",
    "genesisd/supervisor/causes.py": "one table of causes, each with a line that was really written",
    "genesisd/supervisor/shim.py": "runs alone, from one file: a second module would cost every worker memory",
    "genesisd/demo/corpus.py": "training sentences",
    "genesisd/patches/catalog/tool_parsing/p61c_literal_opener.py": "holds two files that it puts into the engine",
    "genesisd/attest/plugin.py": "runs in the engine, from one file that is copied into every build",
    "genesisd/front/client.py": "the daemon's side of one protocol",
}

# A repository that names a machine or a registry works only where it was written.
ADDRESS = re.compile(r"https?://(?:[^\s/@\"'<>]+@)?([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
KNOWN_HOSTS = {"127.0.0.1", "www.apache.org", "no-color.org", "download.pytorch.org", "github.com", "api.github.com"}
"""Loopback, the license, a convention, the index that the pin file names for torch, and upstream's own pages and API."""
DEFINING = {"tests/unit/test_repository.py", "LICENSE"}
BINARY = {".safetensors", ".png", ".gz", ".bin", ".xz"}


def tracked() -> list[str]:
    """Files under version control, or in a bare copy every file that is not built."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    skipped = {".venv", ".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "mutants"}
    files = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [str(path) for path in files if not skipped.intersection(path.parts)]


FILES = tracked()
MODULES = [name for name in FILES if name.startswith("genesisd/") and name.endswith(".py")]
PAGES = [name for name in FILES if name.endswith(".md")]
LOCKS = ("requirements.lock", "requirements-dev.lock")


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__init__.py")])
def test_a_module_says_what_it_is(name):
    """Every module begins with a docstring."""
    assert ast.get_docstring(ast.parse((ROOT / name).read_text())), f"{name} has no docstring"


def test_files_stay_short():
    """No source file is over the limit unless the list says why, and the list holds no file that is not."""
    sources = [name for name in FILES if name.endswith(".py") and not name.startswith("tests/")]
    long = {name for name in sources if len((ROOT / name).read_text().splitlines()) > LINE_LIMIT}
    assert sorted(long - set(LONG_FILES)) == [], f"over {LINE_LIMIT} lines: split them, or give the reason above"
    assert sorted(set(LONG_FILES).intersection(sources) - long) == [], "short again: take them off the list"


def test_only_known_hosts_are_named():
    """A host name in a file is one that means the same to every reader."""
    found = [
        f"{name}:{number}: {host}"
        for name in FILES
        if name not in DEFINING and Path(name).suffix not in BINARY
        for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1)
        for host in ADDRESS.findall(line)
        if host not in KNOWN_HOSTS
        and not host.endswith((".example", ".test", ".invalid", ".example.com", ".example.org"))
    ]
    assert found == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_hashes_and_no_address(lock):
    """Every requirement is pinned with a hash, and no index or folder is named."""
    text = (ROOT / lock).read_text()
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip())
    assert len(entries) > 20
    for entry in entries:
        assert re.match(r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE)


def test_the_locks_follow_pyproject():
    """What pyproject.toml pins is what the locks hold, and the two locks agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    runtime, dev = (_pins(lock) for lock in LOCKS)
    assert set(project["dependencies"] + extras["build"]) - runtime == set(), "run: make lock"
    assert set(extras["dev"]) - dev == set(), "run: make lock"
    assert runtime - dev == set()


def _pins(lock: str) -> set[str]:
    found = re.findall(r"^([a-z0-9-]+)==([^ \\;]+)", (ROOT / lock).read_text(), re.MULTILINE)
    return {f"{name}=={version}" for name, version in found}


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_resolve(page):
    """A relative link in a page leads to a file, and its fragment to a heading."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        aim = (ROOT / page).parent / path if path else ROOT / page
        assert aim.exists(), f"{page}: {target}"
        if fragment:
            assert fragment in _anchors(aim.read_text()), f"{page}: {target}"


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_changelog_has_this_version():
    """The changelog has a heading for the version, or one for what is not yet released."""
    version = re.search(r'__version__ = "(.+)"', (ROOT / "genesisd/__init__.py").read_text())
    assert version
    headings = re.findall(r"^## \[?([^\]\s]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert {"Unreleased", version[1]}.intersection(headings)


@pytest.mark.parametrize("name", [n for n in FILES if n.startswith("etc/") and n.endswith((".yaml", ".yml"))])
def test_shipped_yaml_is_read(name):
    """Every YAML file that is shipped can be read."""
    import yaml

    assert yaml.load((ROOT / name).read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize(
    "name", [n for n in FILES if re.fullmatch(r"etc/(genesisd|examples/[^/]+)\.yaml", n) and "pins" not in n]
)
def test_shipped_configurations_load(name):
    """Every example configuration passes all checks of the daemon."""
    from genesisd.config import load

    assert load(ROOT / name, environ={"HOME": "/home/somebody"}, root=True).workers


def test_scripts_are_executable():
    """What a shebang says can be run, can be run."""
    scripts = [name for name in FILES if name.startswith(("tools/", ".ci/"))]
    assert scripts
    assert [name for name in scripts if not (ROOT / name).stat().st_mode & 0o111] == []


def test_every_test_folder_has_a_stage():
    """A folder of tests without a stage would run in no order and without its marker."""
    tree = ast.parse((ROOT / "tests/conftest.py").read_text())
    (stages,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "STAGES"
    )
    folders = {Path(name).parts[1] for name in FILES if re.match(r"tests/[^/]+/(.*/)?test_[^/]+\.py$", name)}
    assert folders - set(stages) == set()
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    declared = {marker.partition(":")[0] for marker in markers}
    assert {marker for marker, _ in stages.values() if marker} - declared == set()
