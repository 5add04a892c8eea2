"""The behaviour cases of a clone, as far as they are constants: which verdict each tells of each release."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = "tests/catalog/cases"
RELEASES = "tests/catalog/releases.py"
_BUILTINS = {one.__name__: one for one in (dict, frozenset, int, list, range, set, str, tuple, zip)}


@dataclass(frozen=True, slots=True)
class Told:
    """What one case file says.

    Attributes:
        patch: id of the patch that it is about.
        file: where it stands.
        verdicts: by release.
        stubs: what in it is not the real thing.
        unattested: what of the patch no process can be asked about, with the reason, by name.
    """

    patch: str
    file: Path
    verdicts: Mapping[str, str]
    stubs: str
    unattested: Mapping[str, str] = field(default_factory=dict)


@cache
def cases(checkout: Path) -> dict[str, Told]:
    """By id of the patch; nothing where the project is installed without its tests."""
    found = (_told(file) for file in sorted((checkout / FOLDER).glob("*.py")) if file.name != "__init__.py")
    return {told.patch: told for told in found if told is not None}


def verdicts_on(checkout: Path, release: str) -> dict[str, str]:
    """The verdict that each case tells of ``release``, where it tells one."""
    return {name: told.verdicts[release] for name, told in cases(checkout).items() if release in told.verdicts}


def releases(checkout: Path) -> dict[str, str]:
    """The releases that the cases are run on, each with the package whose wheel has it."""
    file = checkout / RELEASES
    found = constants(file).get("RELEASES", {}) if file.exists() else {}
    return found if isinstance(found, dict) else {}


def constants(file: Path) -> dict[str, Any]:
    """The module's constants that plain expressions make. Nothing is imported and nothing called but containers."""
    names: dict[str, Any] = {}
    for name, value in _assignments(file):
        try:
            code = compile(ast.Expression(value), str(file), "eval")
            names[name] = eval(code, {"__builtins__": _BUILTINS} | names)  # noqa: S307 - a file of this very clone
        except Exception:  # noqa: BLE001, S112 - it needs more than constants, so it is none
            continue
    return names


def _assignments(file: Path) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.parse(file.read_text(encoding="utf-8"), str(file)).body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=False)
                    yield from ((one.id, value) for one, value in pairs if isinstance(one, ast.Name))


def _told(file: Path) -> Told | None:
    said = constants(file)
    if not isinstance(said.get("ID"), str):
        return None
    verdicts, unattested = said.get("VERDICTS", {}), said.get("UNATTESTED", {})
    return Told(said["ID"], file, verdicts, str(said.get("STUBS", "")), unattested)
