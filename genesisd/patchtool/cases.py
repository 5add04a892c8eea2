"""The behaviour cases of a clone, as far as they are data: which verdict each tells of each release."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = "tests/catalog/cases"


@dataclass(frozen=True, slots=True)
class Told:
    """What one case file says: of which patch, its verdicts by release, and what is not the real thing in it."""

    patch: str
    file: Path
    verdicts: dict[str, str]
    stubs: str


@cache
def cases(checkout: Path) -> dict[str, Told]:
    """By id of the patch; nothing where the project is installed without its tests.

    The files are read and not run: a case imports the engine.
    """
    found = (_read(file) for file in sorted((checkout / FOLDER).glob("*.py")) if file.name != "__init__.py")
    return {told.patch: told for told in found if told is not None}


def verdicts_on(checkout: Path, release: str) -> dict[str, str]:
    """The verdict that each case tells of ``release``, where it tells one."""
    return {name: told.verdicts[release] for name, told in cases(checkout).items() if release in told.verdicts}


def _read(file: Path) -> Told | None:
    try:
        parsed = ast.parse(file.read_text(encoding="utf-8"))
    except SyntaxError:
        return None
    constants = {
        target.id: node.value
        for node in parsed.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    values = {name: _literal(constants.get(name)) for name in ("ID", "VERDICTS", "STUBS")}
    if not isinstance(values["ID"], str):
        return None
    verdicts = values["VERDICTS"] if isinstance(values["VERDICTS"], dict) else {}
    return Told(values["ID"], file, {str(k): str(v) for k, v in verdicts.items()}, str(values["STUBS"] or ""))


def _literal(node: ast.expr | None) -> object:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None
