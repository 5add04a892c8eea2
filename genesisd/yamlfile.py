"""YAML that people write, read strictly: every complaint names the file, the line and the field.

Read with libyaml's parser into nodes, since only nodes carry positions; the plain values that pydantic needs
are built from them here. Twice the same key is an error, which YAML leaves open and most loaders hide.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from genesisd.errors import ConfigError
from genesisd.yamlfields import describe

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 4 << 20
MAX_DEPTH = 100
"""Far above any sane file, and far below what this recursion can stand; libyaml itself stops at 1000."""
MAX_NODES = 200_000
"""Values after aliases are expanded: a few nested aliases can stand for billions."""

Location = tuple[str | int, ...]
MERGE = "tag:yaml.org,2002:merge"
PLAIN = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Document:
    """One YAML document: its plain content, and where each part of it stands.

    Attributes:
        path: the file.
        content: plain values.
        lines: of each part, from 1.
        origins: parts that were taken over from elsewhere, with the document and the location there.
    """

    path: Path
    content: object
    lines: dict[Location, int]
    origins: Mapping[Location, tuple[Document, Location]] = field(default_factory=dict)

    def home(self, path: Location) -> tuple[Document, Location]:
        """The document that ``path`` was written in, and its path there."""
        for depth in range(len(path), 0, -1):
            if (origin := self.origins.get(path[:depth])) is not None:
                document, location = origin
                return document.home((*location, *path[depth:]))
        return self, path

    def locate(self, path: Location) -> int:
        """The line (from 1) of the deepest part of ``path`` that is in this file."""
        return self.lines[self.resolve(path)]

    def resolve(self, path: Location) -> Location:
        """``path`` less the steps that are not in the file, such as the union tags in pydantic's locations."""
        here: Location = ()
        for step in path:
            here = (*here, step) if (*here, step) in self.lines else here
        return here


def load(path: Path) -> Document:
    """Read the file at ``path``.

    Raises:
        ConfigError: unreadable, too large, not UTF-8, not YAML, a key twice, or aliases out of bounds.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", file=str(path)) from error
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES >> 20} MiB", file=str(path))
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _fault(path, raw[: error.start].count(b"\n") + 1, "not UTF-8 text") from error
    return parse(text, path)


def parse(text: str, path: Path) -> Document:
    """A Document from ``text``; ``path`` serves only to name it. Raises ConfigError as ``load`` does."""
    try:
        loader = yaml.CSafeLoader(text)
        try:
            root = loader.get_single_node()
            builder = _Builder(path, loader)
            content = builder.build(root, (), ()) if root is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = " ".join(part for part in (error.context, error.problem) if part)
        raise _fault(path, mark.line + 1 if mark else 1, f"not valid YAML: {said}") from error
    except yaml.YAMLError as error:
        raise _fault(path, _line_of_reader_error(text, error), f"not valid YAML: {error}") from error
    return Document(path, content, {(): 1} | builder.lines)


def validate(model: type[Model], document: Document, path: Location = ()) -> Model:
    """The part of ``document`` at ``path`` as a ``model``.

    Raises:
        ConfigError: ``fields`` holds file, line and field of the first fault (by line), and ``problems``,
            a list of all of them as {line, field, problem}.
    """
    content = document.content
    for step in path:
        content = cast("Any", content)[step]
    try:
        return model.model_validate({} if content is None else content)
    except ValidationError as error:
        raise _invalid(model, document, path, error) from error


def fault(document: Document, path: Location, problem: str, *, hint: str | None = None) -> ConfigError:
    """A ConfigError about ``path``, for rules that a single model cannot check (references between parts)."""
    home, at = document.home(path)
    return _fault(home.path, home.locate(at), problem, field=dotted(at), hint=hint)


def _invalid(model: type[BaseModel], document: Document, path: Location, error: ValidationError) -> ConfigError:
    found: dict[tuple[str, int, str, str], None] = {}
    for detail in error.errors(include_url=False):
        home, at = document.home((*path, *detail["loc"]))
        shown = dotted(home.resolve(at) + (at[-1:] if detail["type"] == "missing" else ()))
        # What several parts took over from one place is wrong once.
        found[str(home.path), home.locate(at), shown, describe(model, detail)] = None
    ordered = sorted(found, key=lambda one: (one[0] != str(document.path), one[0], one[1]))
    problems = [{"line": line, "field": shown, "problem": problem} for _, line, shown, problem in ordered]
    text = "\n".join(f"{file}:{line}: {shown}: {problem}" for file, line, shown, problem in ordered)
    file, line, shown, _ = ordered[0]
    return ConfigError(text, file=file, line=line, field=shown, problems=problems)


def _fault(path: Path, line: int, problem: str, *, field: str | None = None, hint: str | None = None) -> ConfigError:
    problems = [{"line": line, "field": field, "problem": problem}]
    named = f"{field}: {problem}" if field else problem
    text = f"{path}:{line}: {named}"
    return ConfigError(text, hint=hint, file=str(path), line=line, field=field, problems=problems)


def dotted(path: Location) -> str:
    """``workers.main.args[2]``; the whole file is ``(top level)``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "(top level)"


def _line_of_reader_error(text: str, error: yaml.YAMLError) -> int:
    position = getattr(error, "position", None)
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else 1


class _Builder:
    """Plain values from nodes, noting the line of each."""

    def __init__(self, path: Path, loader: yaml.CSafeLoader) -> None:
        self.lines: dict[Location, int] = {}
        self._path = path
        self._loader = loader
        self._nodes = 0

    def build(self, node: yaml.Node, at: Location, above: tuple[yaml.Node, ...]) -> object:
        """The value of ``node``, which stands at ``at`` below the nodes ``above``."""
        self._bound(node, above)
        value: object
        if isinstance(node, yaml.MappingNode):
            value = self._mapping(node, at, (*above, node))
        elif isinstance(node, yaml.SequenceNode):
            value = [self.build(item, (*at, n), (*above, node)) for n, item in enumerate(node.value)]
        else:
            value = self._scalar(node)
        self.lines[at] = node.start_mark.line + 1
        return value

    def _bound(self, node: yaml.Node, above: tuple[yaml.Node, ...]) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._complain(node, f"aliases expand to more than {MAX_NODES} values")
        if any(node is one for one in above):
            raise self._complain(node, "an alias that contains itself")
        if len(above) > MAX_DEPTH:
            raise self._complain(node, f"nested more than {MAX_DEPTH} deep")
        if isinstance(node, yaml.CollectionNode) and node.tag not in PLAIN:
            raise self._complain(node, f"a plain mapping or list takes no tag, not {node.tag!r}")

    def _mapping(self, node: yaml.MappingNode, at: Location, above: tuple[yaml.Node, ...]) -> dict[Any, object]:
        merged: dict[Any, object] = {}
        for value_node in (value for key, value in node.value if key.tag == MERGE):
            merged = self._merge(value_node, at, above) | merged
        own: dict[Any, object] = {}
        for key_node, value_node in node.value:
            if key_node.tag == MERGE:
                continue
            key = self._key(key_node)
            if key in own:
                raise self._complain(key_node, f"{key!r} is set twice, first at line {self.lines[*at, key]}")
            own[key] = self.build(value_node, (*at, key), above)
            # A fault in a value is sought at its key, also when the value starts a line below.
            self.lines[*at, key] = key_node.start_mark.line + 1
        return merged | own

    def _merge(self, node: yaml.Node, at: Location, above: tuple[yaml.Node, ...]) -> dict[Any, object]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[Any, object] = {}
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise self._complain(source, "'<<' takes a mapping or a list of mappings")
            merged = cast("dict[Any, object]", self.build(source, at, above)) | merged
        return merged

    def _key(self, node: yaml.Node) -> str | int:
        key = self._scalar(node) if isinstance(node, yaml.ScalarNode) else None
        if not isinstance(key, Hashable) or not isinstance(key, str | int) or isinstance(key, bool):
            raise self._complain(node, "a key must be plain text; quote it if it is a word such as on, off, yes, no")
        return key

    def _scalar(self, node: yaml.Node) -> object:
        try:
            return self._loader.construct_object(node)
        except (ValueError, OverflowError) as error:
            raise self._complain(node, f"{node.value!r} is not a value: {error}") from error

    def _complain(self, node: yaml.Node, problem: str) -> ConfigError:
        return _fault(self._path, node.start_mark.line + 1, problem)
