"""One child of the pin's Python per build: it compiles the patched files and says what must be attested."""

from __future__ import annotations

import _imp
import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genesisd.pins import child, disk
from genesisd.pins.build_dist import PLUGIN_FILE
from genesisd.pins.errors import BuildError
from genesisd.pins.pip import tool_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from genesisd.pins.pristine import Pristine
    from genesisd.pins.recipe import Recipe

FORMAT = 1
_CHECKED_HASH = b"\x03\x00\x00\x00"


def prepare(python: Path, pristine: Pristine, target: Path, recipe: Recipe, keep_fd: int) -> dict[str, Any]:
    """What the plugin in ``target`` answers; the bytecode of the recipe's sources is there then, and checked.

    Raises:
        BuildError: the child failed, or what it answered or made is not what was asked for.
        NoSpaceError: the disk is full.
    """
    sources = [name for name in sorted(recipe.files) if name.endswith(".py")]
    work = target / ".work"
    work.mkdir()
    ask = _Ask(python, target, work, keep_fd)
    scopes = {patch: [list(scope) for scope in scopes] for patch, scopes in recipe.scopes.items()}
    trees = {"pristine": str(pristine.packages), "build": str(target)}
    files = {"files": sorted(recipe.files), "whole": dict(recipe.whole), "beside": [PLUGIN_FILE]}
    answer = _answer(ask((str(target / PLUGIN_FILE), "prepare"), trees | files | {"scopes": scopes}), recipe)
    for name in (*sources, PLUGIN_FILE):
        _check_bytecode(target, name, pristine)
    shutil.rmtree(work)
    return answer


def bytecode_of(source: str, tag: str) -> str:
    """Path of the bytecode of ``source``, both relative to the same folder."""
    folder, slash, name = source.rpartition("/")
    return f"{folder}{slash}__pycache__/{name.removesuffix('.py')}.{tag}.pyc"


def without_digests(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the plugin is told to look at: digests stay with whoever compares them; each once."""
    named = {json.dumps({key: value for key, value in item.items() if key != "digest"}): None for item in items}
    return [json.loads(one) for one in named]


@dataclass(frozen=True)
class _Ask:
    """Children of the pin's Python, which see nothing of whoever started the builder."""

    python: Path
    target: Path
    work: Path
    keep_fd: int

    def __call__(self, argv: tuple[str, ...], job: object) -> tuple[str, ...]:
        path = self.work / "job.json"
        path.write_text(json.dumps(job))
        command = (str(self.python), "-I", *argv, str(path))
        ended = child.run(command, env=tool_environment(self.work), keep_fd=self.keep_fd)
        if ended.code == 0:
            return ended.lines
        if any("No space left" in line for line in ended.lines):
            raise disk.no_space(self.target.parent, "a build")
        said = "\n".join(ended.lines[-8:]) or f"exit status {ended.code}"
        raise BuildError(f"the pin's Python could not prepare the patched files: {said}", status=ended.code)


def _answer(lines: Sequence[str], recipe: Recipe) -> dict[str, Any]:
    """Warnings of the compiler may stand before it."""
    try:
        answer = json.loads(lines[-1])
        told = {patch for kind in ("items", "unattestable") for one in answer[kind] for patch in one["patches"]}
        known = answer["format"] == FORMAT
    except (IndexError, ValueError, KeyError, TypeError) as error:
        said = lines[-1] if lines else "nothing"
        raise BuildError(f"the plugin did not answer in the form that is known here, but {said:.200}") from error
    if not known:
        raise BuildError(f"the plugin's answer has format {answer['format']!r}, expected {FORMAT}")
    silent = sorted(patch for patch, scopes in recipe.scopes.items() if scopes and patch not in told)
    if silent:
        raise BuildError(f"the plugin says neither how {', '.join(silent)} is attested, nor why not", patches=silent)
    return answer  # type: ignore[no-any-return]


def _check_bytecode(target: Path, source: str, pristine: Pristine) -> None:
    """Python must find bytecode of this very text, or it would load whatever lies there, or write its own."""
    name = bytecode_of(source, pristine.tag)
    magic = bytes.fromhex(pristine.magic)
    wanted = magic + _CHECKED_HASH
    wanted += _imp.source_hash(int.from_bytes(magic, "little"), (target / source).read_bytes())
    try:
        found = (target / name).read_bytes()[:16]
    except FileNotFoundError:
        raise BuildError(f"the plugin made no bytecode of {source}: expected {name}", path=source) from None
    if found != wanted:
        message = (
            f"{name} begins with {found.hex()}, expected {wanted.hex()} (Python, checked hash, hash of the source)"
        )
        raise BuildError(message, path=name)
