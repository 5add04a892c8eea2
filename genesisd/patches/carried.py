"""Code of this program that a patch carries into the engine: new files, of the modules as they stand.

``genesisd.x.y`` becomes ``vllm.genesis.x.y``: imports are led to the copies, so that the engine needs nothing of this
program. What a module imports of it comes along, and so does device code that it names. The texts are the patch's
edits, so the key of a build changes with them, and they are attested like any other code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import genesisd
from genesisd.patches.edits import NewFile

_ROOT = Path(genesisd.__file__).parent
_IMPORT = re.compile(r"^(\s*(?:from|import) )genesisd\b", re.MULTILINE)


def carried(*modules: str) -> tuple[NewFile, ...]:
    """The modules, all that they import of this program, and the packages in which they lie.

    Args:
        modules: names after ``genesisd.``, such as ``carried.turboquant``.

    Raises:
        ValueError: a module imports in a way that its copy could not.
    """
    wanted, found = list(modules), dict[str, NewFile]()
    while wanted:
        name = wanted.pop()
        if name not in found:
            text = _read(_path(name))
            found[name] = _copy(name, _path(name), _IMPORT.sub(r"\1vllm.genesis", text))
            found |= {beside: _copy(beside, path, _read(path)) for beside, path in _beside(name, text)}
            wanted += [*_parent(name), *_imports(name, text)]
    return tuple(found[name] for name in sorted(found))


def _copy(name: str, path: Path, text: str) -> NewFile:
    target = Path("vllm/genesis") / path.relative_to(_ROOT)
    return NewFile(f"carry_{name or 'genesis'}", target.as_posix(), text)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _beside(name: str, text: str) -> Iterator[tuple[str, Path]]:
    """Files of device code that a module names: they lie beside it. Two folders may have one of the same name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".cu"):
            path = _path(name).with_name(node.value)
            yield ".".join(path.relative_to(_ROOT).parts), path


def _path(name: str) -> Path:
    place = _ROOT.joinpath(*name.split(".")) if name else _ROOT
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _parent(name: str) -> Iterator[str]:
    if name:
        yield name.rpartition(".")[0]


def _imports(name: str, text: str) -> Iterator[str]:
    """Modules of this program, by name after its own; ``from package import module`` included."""
    for node in ast.walk(ast.parse(text)):
        if (isinstance(node, ast.ImportFrom) and node.level) or (isinstance(node, ast.Import) and _ours(node)):
            raise ValueError(
                f"genesisd.{name}, line {node.lineno}: carried code names what it imports of this program in full, as "
                "'from genesisd.kernels import bench': of anything else the copy would not find its own"
            )
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "genesisd":
            module = (node.module or "").partition(".")[2]
            yield module
            yield from (part for one in node.names if _path(part := f"{module}.{one.name}".lstrip(".")).is_file())


def _ours(node: ast.Import) -> bool:
    return any(one.name.partition(".")[0] == "genesisd" for one in node.names)
