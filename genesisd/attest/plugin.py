"""What the processes of an engine really run. Copied into every build as ``genesisd_attest.py``.

One file, the standard library alone, for Python 3.10 and later: it runs in the engine, beside nothing of genesisd.
It has two lives:

- ``PYTHON -I plugin.py prepare JOB``, when a build is made: compiles the patched files to checked-hash bytecode and
  prints what must be attested, with digests;
- ``register()``, the entry point that vLLM calls in each of its processes: finds the same things alive, and writes
  their digests to a file that the daemon reads. It never judges.

It guards against accidents (a second plugin that swaps a function, a process that loads another tree, bytecode that
is not its source's), not against somebody who rewrites this file.
"""

from __future__ import annotations

import ast
import dis
import functools
import gc
import hashlib
import importlib.util
import json
import logging
import multiprocessing
import os
import py_compile
import re
import sys
import textwrap
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.machinery import PathFinder, SourceFileLoader
from typing import Any, TypeGuard

FORMAT = 1
HITS = "_genesis_hits"
SKIPS = "_genesis_skips"
_COUNTERS = frozenset({HITS, SKIPS})
_UNWRAPPED = 0x100
"""CO_ITERABLE_COROUTINE: types.coroutine puts it into a copy of the code."""
_FUNCTION = 0x1
"""CO_OPTIMIZED: set for functions, not for modules and bodies of classes."""


# Digests: of what a thing does, never of where it stands.


def digest_of(value: object) -> str:
    """SHA-256 of a constant or a code object, without file names, line numbers and addresses."""
    return _digest(value).hex()


def _sha(tag: str, *parts: bytes) -> bytes:
    found = hashlib.sha256(tag.encode())
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()


def _digest(value: object) -> bytes:
    kind = type(value)
    if isinstance(value, types.CodeType):
        return _code(value)
    if isinstance(value, str) and kind is str:
        return _sha("str", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes) and kind is bytes:
        return _sha("bytes", value)
    if isinstance(value, complex) and kind is complex:
        return _sha("complex", repr(value.real).encode(), repr(value.imag).encode())
    if kind in {int, float, bool, type(None), type(...)}:
        return _sha(kind.__name__, repr(value).encode())
    if isinstance(value, slice):
        return _sha("slice", _digest(value.start), _digest(value.stop), _digest(value.step))
    return _container(value)


def _container(value: object) -> bytes:
    kind = type(value)
    if isinstance(value, (tuple, list)) and kind in {tuple, list}:
        return _sha(kind.__name__, *map(_digest, value))
    if isinstance(value, (set, frozenset)) and kind in {set, frozenset}:
        return _sha(kind.__name__, *sorted(map(_digest, value)))  # their order changes with each process
    if isinstance(value, dict) and kind is dict:
        return _sha("dict", *sorted(_digest(key) + _digest(one) for key, one in value.items()))
    return _sha("object", f"{kind.__module__}.{kind.__qualname__}".encode())  # no literal, so no constant's digest


def _code(code: types.CodeType, keep: Callable[[types.CodeType], bool] = lambda _: True) -> bytes:
    """Digest of a code object; of nested ones that ``keep`` turns down, the name alone counts."""
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_UNWRAPPED)
    if "__firstlineno__" in code.co_names:
        body = _body_of_class(code, keep)
    else:
        handlers = getattr(code, "co_exceptiontable", b"")
        body = (code.co_code, handlers, *(_constant(one, keep) for one in code.co_consts))
    return _sha("code", _digest(names), _digest(counts), *body)


def _constant(value: object, keep: Callable[[types.CodeType], bool]) -> bytes:
    if not isinstance(value, types.CodeType):
        return _digest(value)
    if not keep(value):
        return _sha("elsewhere", value.co_name.encode())
    return _code(value, keep)


def _body_of_class(code: types.CodeType, keep: Callable[[types.CodeType], bool]) -> tuple[bytes, ...]:
    """Python 3.13 and later store a class's line number, and names in a random order, by the class's own code."""
    steps = list(dis.get_instructions(code))
    found = []
    for step, after in zip(steps, [*steps[1:], None]):  # noqa: B905 - equally long
        target = after.argval if after is not None and after.opname == "STORE_NAME" else None
        value: object = step.argval
        name = step.opname
        if target == "__firstlineno__":
            name, value = "LINE", None
        elif target == "__static_attributes__" and isinstance(value, tuple):
            value = tuple(sorted(value))
        found.append(_sha(name, _constant(value, keep)))
    return tuple(found)


def _is_definition(code: types.CodeType) -> bool:
    """A function that has a name of its own; lambdas, comprehensions and annotations belong to what holds them."""
    return bool(code.co_flags & _FUNCTION) and not code.co_name.startswith("<") and code.co_name != "__annotate__"


def outline_of(code: types.CodeType) -> str:
    """Digest of what a module executes when it is loaded: all but the insides of functions."""
    return _code(code, lambda nested: not _is_definition(nested)).hex()


def digest_of_source(text: str) -> str:
    """Digest of a kernel's source: what is compiled is its tree, whatever its layout, comments and decorators."""
    tree = ast.parse(textwrap.dedent(text))
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    return _digest_of_kernel(functions[0])


def _digest_of_kernel(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    returns = [] if node.returns is None else [node.returns]
    text = "\n".join([node.name, *map(ast.dump, [node.args, *returns, *body])])
    return _sha("kernel", text.encode("utf-8", "surrogatepass")).hex()


# What a source defines, by name.


@dataclass(frozen=True)
class Definition:
    """One thing that has a name and can be found alive.

    Attributes:
        name: how it is reached from the module, attribute by attribute.
        kind: function, property, class_constant, module_constant or triton.
        digests: of each form that may be alive: of an ``if`` and its ``else`` either may have run.
        basis: what it is written as; tells whether a patch changed it.
        wrappers: how many decorators may stand between the name and the function.
        written: what the compiler calls the code, where that is not the name: ``<lambda>``.
        optional: it may be absent: it stands where not every machine comes by.
        why: why its value cannot be foretold, if so.
    """

    name: str
    kind: str
    digests: tuple[str, ...]
    basis: tuple[str, ...]
    wrappers: int = 0
    written: str = ""
    optional: bool = False
    why: str = ""


_BARE = frozenset({
    "staticmethod", "classmethod", "property", "abstractmethod", "abstractproperty", "final", "override", "overload",
    "setter", "getter", "deleter",
})  # fmt: skip
"""Decorators that leave the function itself where it is looked for."""
_ACCESSORS = {"property": "fget", "abstractproperty": "fget", "getter": "fget", "setter": "fset", "deleter": "fdel"}
_BLOCKS = (ast.If, ast.For, ast.While, ast.Try, ast.With, getattr(ast, "TryStar", ast.Try))


class Reading:
    """Collects the definitions of one module, in the order of its text: the last one of a name wins."""

    def __init__(self, source: bytes, path: str) -> None:
        self.tree = ast.parse(source, path)
        self.code = compile(source, path, "exec", dont_inherit=True, optimize=0)
        self.found: dict[tuple[str, str], Definition] = {}
        self._bound: dict[str, set[str]] = {}
        self._enums: set[str] = set()
        self._block(self.tree.body, self.code, "", 0, certain=True)

    # Both look at the whole tree, which is much: most files are read without either.

    @functools.cached_property
    def _imports(self) -> dict[str, str]:
        return dict(_imported(self.tree))

    @functools.cached_property
    def _rebound(self) -> frozenset[str]:
        return frozenset(_rebound(self.tree))

    def _block(
        self, body: Sequence[ast.stmt], code: types.CodeType, inside: str, wrappers: int, *, certain: bool
    ) -> None:
        for one in body:
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(one, code, inside, wrappers, certain)
            elif isinstance(one, ast.ClassDef):
                self._class(one, code, inside, wrappers, certain)
            elif isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                self._assigned(one, code, inside, certain)
            elif isinstance(one, _BLOCKS) and not _for_types_only(one):
                for part in _parts(one):
                    self._block(part, code, inside, wrappers, certain=certain and isinstance(one, ast.With))
            for name in _otherwise_bound(one):
                self._bind(inside + name, "other", certain)

    def _bind(self, name: str, how: str, certain: bool) -> None:
        """Note by what a name is bound; what is bound for sure makes what was bound before forgotten."""
        self._bound[name] = {how} if certain else {*self._bound.get(name, ()), how}

    def settled(self, one: Definition) -> Definition:
        """``one`` of ``found`` without its digests, if the rest of the module tells that they cannot be foretold.

        Where an import, a loop or another kind of thing may have taken the name, or functions assign to it.
        """
        name = _plain(one.name)
        if one.kind.endswith("_constant") and name == one.name and name.rpartition(".")[2] in self._rebound:
            one = replace(one, digests=(), why=one.why or "functions of its file assign to it")
        ways = self._bound.get(name, set())
        parts = name.split(".")
        around = {way for i in range(1, len(parts)) for way in self._bound.get(".".join(parts[:i]), ())}
        if len(ways) > 1 or "other" in ways | around:
            return replace(one, digests=(), why=one.why or "what is bound to its name depends on the machine")
        return one

    def _class(self, node: ast.ClassDef, code: types.CodeType, inside: str, wrappers: int, certain: bool) -> None:
        body = _nested(code, node.name, _first_line(node))
        self._bind(inside + node.name, "class", certain)
        if any(re.search(r"(Enum|Flag)$", _dotted(one)) for one in node.bases):
            self._enums.add(f"{inside}{node.name}.")
        if body is not None:
            self._block(node.body, body, f"{inside}{node.name}.", wrappers + len(node.decorator_list), certain=certain)

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        code: types.CodeType,
        inside: str,
        wrappers: int,
        certain: bool,
    ) -> None:
        decorators = [_dotted(one) for one in node.decorator_list]
        last = [one.rpartition(".")[2] for one in decorators]
        body = _nested(code, node.name, _first_line(node))
        if body is None or "overload" in last:
            return
        self._bind(inside + node.name, "function", certain)
        wrappers += sum(one not in _BARE for one in last)
        name, digest = inside + node.name, digest_of(body)
        accessor = next((_ACCESSORS[one] for one in last if one in _ACCESSORS), None)
        if any(self._is_triton(one) for one in decorators):
            digests = (_digest_of_kernel(node), digest)
            self._add(Definition(name, "triton", digests, (ast.dump(node),), wrappers), certain)
        elif accessor:
            self._add(Definition(f"{name}.{accessor}", "property", (digest,), (digest,), wrappers), certain)
        else:
            kind = "property" if "cached_property" in last else "function"
            self._add(Definition(name, kind, (digest,), (digest,), wrappers), certain)
            self._defaults(node.args, name, inside, wrappers, certain)

    def _defaults(self, args: ast.arguments, name: str, inside: str, wrappers: int, certain: bool) -> None:
        """Constant defaults are looked at alive; others are part of the module's code."""
        named = {arg.arg: one for arg, one in zip(args.kwonlyargs, args.kw_defaults) if one}  # noqa: B905 - equally long
        groups: dict[str, list[ast.expr]] = {"__defaults__": args.defaults, "__kwdefaults__": list(named.values())}
        for attribute, nodes in groups.items():
            values = [_folded(one) for one in nodes]
            if not nodes or any(one is _COMPUTED for one in values):
                continue
            value = tuple(values) if attribute == "__defaults__" else dict(zip(named, values))  # noqa: B905
            kind, digest = _kind_of_constant(inside), digest_of(value)
            self._add(Definition(f"{name}.{attribute}", kind, (digest,), (digest,), wrappers), certain)

    def _assigned(
        self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, code: types.CodeType, inside: str, certain: bool
    ) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None and target.id not in _COUNTERS:
                self._name(inside + target.id, node, code, inside, certain)

    def _name(self, name: str, node: Any, code: types.CodeType, inside: str, certain: bool) -> None:
        before = self.found.get((name, "function"))
        if before is not None and name.rpartition(".")[2] in _names_in(node.value):  # f = wrap(f)
            self.found[name, "function"] = replace(before, wrappers=before.wrappers + 1)
        elif isinstance(node.value, ast.Lambda):
            self._lambda(name, node.value, code, certain)
        else:
            self._constant(name, node, inside, certain)

    def _lambda(self, name: str, node: ast.Lambda, code: types.CodeType, certain: bool) -> None:
        codes = [one for one in code.co_consts if isinstance(one, types.CodeType) and one.co_name == "<lambda>"]
        digests = {digest_of(one) for one in codes if one.co_firstlineno == node.lineno}
        why = "" if len(digests) == 1 else "several lambdas stand on its line"
        self._bind(name, "function", certain)
        known, basis = tuple(digests) if not why else (), (ast.dump(node),)
        self._add(Definition(name, "function", known, basis, written="<lambda>", why=why), certain)

    def _constant(self, name: str, node: Any, inside: str, certain: bool) -> None:
        value = _COMPUTED if isinstance(node, ast.AugAssign) else _folded(node.value)
        basis = (ast.dump(node.value),)
        self._bind(name, "other" if value is _COMPUTED and not certain else "constant", certain)
        if value is _COMPUTED and _is_container(node.value):
            return  # it is there to be changed; how it begins is part of the module's code
        why = ""
        if value is _COMPUTED or (inside in self._enums and isinstance(value, tuple)):
            why = "its value is computed when the module is loaded"
        digests = () if why else (digest_of(value),)
        self._add(Definition(name, _kind_of_constant(inside), digests, basis, why=why), certain)

    def _add(self, one: Definition, certain: bool) -> None:
        one = replace(one, optional=not certain)
        before = None if certain else self.found.get((one.name, one.kind))
        if before is not None:
            one = replace(
                one,
                digests=tuple(dict.fromkeys(before.digests + one.digests)),
                basis=before.basis + one.basis,
                optional=before.optional and one.optional,
                wrappers=max(before.wrappers, one.wrappers),
                why=before.why or one.why,
            )
        self.found[one.name, one.kind] = one

    def _is_triton(self, decorator: str) -> bool:
        if decorator.rpartition(".")[2] != "jit":
            return False
        first, _, _ = decorator.partition(".")
        origin = self._imports.get(first, first)
        return "triton" in origin or "gluon" in origin


def _plain(name: str) -> str:
    """The name as the source has it."""
    return re.sub(r"\.(fget|fset|fdel|__defaults__|__kwdefaults__)$", "", name)


def _names_in(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _otherwise_bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement binds itself, other than to a definition or by a plain assignment."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (one.asname or one.name.partition(".")[0] for one in node.names)
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [one for one in node.targets if not isinstance(one, ast.Name)]
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        targets = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        targets = [one.optional_vars for one in node.items if one.optional_vars is not None]
    elif isinstance(node, ast.Delete):
        targets = node.targets
    for target in targets:
        yield from (
            one.id for one in ast.walk(target) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
        )
    yield from (one.name for one in getattr(node, "handlers", ()) if one.name)


def _kind_of_constant(inside: str) -> str:
    return "class_constant" if inside else "module_constant"


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name -> what it was imported as."""
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from ((one.asname or one.name.partition(".")[0], one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """All of them, in the order of ``ast.walk``, which looks into expressions too."""
    row: list[Any] = [tree]
    for node in row:
        if isinstance(node, ast.stmt):
            yield node
        for parts in ("body", "handlers", "orelse", "finalbody", "cases"):
            found = getattr(node, parts, ())
            row += found if isinstance(found, list) else ()


def _rebound(tree: ast.Module) -> Iterator[str]:
    """Names that functions assign to: ``global x``, ``cls.x = ``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and not _is_self(node.value):
            yield node.attr


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _for_types_only(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and _dotted(node.test).rpartition(".")[2] == "TYPE_CHECKING" and not node.orelse


def _parts(node: Any) -> Iterator[list[ast.stmt]]:
    yield node.body
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    yield getattr(node, "orelse", [])
    yield getattr(node, "finalbody", [])


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """Where the compiler says that it begins: at its first decorator."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _nested(code: types.CodeType, name: str, line: int) -> types.CodeType | None:
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            if one.co_name == name and one.co_firstlineno == line:
                return one
            if one.co_name == f"<generic parameters of {name}>":
                return _nested(one, name, line)
    return None


_COMPUTED = object()
_NEVER_FOLDED = (ast.Call, ast.Attribute, ast.Dict, ast.List, ast.Set, ast.Lambda)
"""The compiler need not be asked about them."""


def _folded(node: ast.expr) -> object:
    """The value that the compiler puts in the place of an expression; ``_COMPUTED`` where it puts none."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, _NEVER_FOLDED):
        return _COMPUTED
    code = compile(ast.Expression(node), "<constant>", "eval", dont_inherit=True, optimize=0)
    idle = {"RESUME", "RETURN_VALUE", "CACHE", "NOP"}
    steps = [one for one in dis.get_instructions(code) if one.opname not in idle]
    loads = {"LOAD_CONST", "RETURN_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL"}
    return steps[0].argval if len(steps) == 1 and steps[0].opname in loads else _COMPUTED


def _is_container(node: ast.expr) -> bool:
    return isinstance(node, (ast.Dict, ast.List, ast.Set))


# What is to be attested of a build.


def prepare(job: dict[str, Any]) -> dict[str, Any]:
    """Compile the patched files and list what must be found alive.

    Args:
        job: ``pristine`` and ``build`` (folders that hold ``vllm``), ``files`` (paths in them), ``scopes`` (by patch,
            path and qualified name of each scope it changed) and, optionally, ``whole`` (files that are replaced) and
            ``beside`` (files that are compiled, and no part of the engine).

    Raises:
        OSError: a file cannot be read or its bytecode not be written.
        SyntaxError: a file of the build is not Python.
    """
    items: list[dict[str, Any]] = []
    blind: list[dict[str, Any]] = []
    for path in sorted(job["files"]):
        scopes = {patch: [name for where, name in pairs if where == path] for patch, pairs in job["scopes"].items()}
        change = Change(path, {patch: names for patch, names in scopes.items() if names})
        if path.endswith(".py"):
            _compile(job["build"], path)
            change.compare(job["pristine"], job["build"], whole=path in job.get("whole", {}))
        else:
            change.blind("", "it is not Python", change.everyone())
        items += change.items
        blind += change.unattestable
    for path in job.get("beside", ()):
        _compile(job["build"], path)
    python = ".".join(map(str, sys.version_info[:3]))
    return {"format": FORMAT, "python": python, "items": items, "unattestable": blind}


def _compile(build: str, path: str) -> None:
    """``path`` is the file's name in the code, until an import puts the true one there: places leave no trace."""
    how = py_compile.PycInvalidationMode.CHECKED_HASH
    source = os.path.join(build, path)
    target = importlib.util.cache_from_source(source)
    try:
        py_compile.compile(source, target, dfile=path, doraise=True, invalidation_mode=how)
    except py_compile.PyCompileError as error:
        raise SyntaxError(error.msg) from error


@dataclass
class Change:
    """One file of a build against the pristine one.

    Attributes:
        path: of the file, relative to the build.
        scopes: by patch, the qualified names that it changed.
    """

    path: str
    scopes: dict[str, list[str]]
    items: list[dict[str, Any]] = field(default_factory=list)
    unattestable: list[dict[str, Any]] = field(default_factory=list)

    def compare(self, pristine: str, build: str, *, whole: bool = False) -> None:
        """Fill ``items`` and ``unattestable``."""
        after = _read(os.path.join(build, self.path))
        before = _read(os.path.join(pristine, self.path))
        if after is None:
            raise FileNotFoundError(f"the build has no {self.path}")
        known = {} if whole or before is None else before.found
        for key, one in sorted(after.found.items()):
            if key not in known or known[key].basis != one.basis:
                self._definition(after.settled(one), key in known)
        outside = before is None or outline_of(before.code) != outline_of(after.code)
        if outside or whole:
            self._item(Definition("", "module", (), ()), digest_of(after.code), self._of_module())
        told = {patch for one in (*self.items, *self.unattestable) for patch in one["patches"]}
        if silent := [patch for patch in self.everyone() if patch not in told]:
            self.blind("", "nothing that it changed is compiled", silent, covered=True)

    def everyone(self) -> list[str]:
        """Each patch of the file."""
        return sorted(self.scopes)

    def blind(self, name: str, why: str, patches: list[str], *, covered: bool = False) -> None:
        """Note what cannot be attested; ``covered``: the module's code is, which says how it came to be."""
        where = {"path": self.path, "name": name}
        self.unattestable.append({"patches": patches, **where, "why": why, "covered": covered})

    def _definition(self, one: Definition, known: bool) -> None:
        patches = self._patches(one, known)
        if one.why:
            self.blind(one.name, one.why, patches, covered=True)
        for digest in one.digests:
            self._item(one, digest, patches)

    def _item(self, one: Definition, digest: str, patches: list[str]) -> None:
        where = {"path": self.path, "module": _module_of(self.path), "name": one.name, "kind": one.kind}
        how: dict[str, Any] = {"wrappers": one.wrappers, "optional": one.optional}
        if one.written:
            how["written"] = one.written
        self.items.append({"patches": patches, **where, **how, "digest": digest})

    def _patches(self, one: Definition, known: bool) -> list[str]:
        """Whose scopes are the definition or lie inside; for new ones, and constants, those around it."""
        name = _plain(one.name)
        own = self._where(lambda scope: scope == name or scope.startswith(f"{name}."))
        holder = name.rpartition(".")[0]
        around = self._where(lambda scope: scope == holder)
        if own and (known or not around):
            return own
        if not around:
            around = self._where(lambda scope: not scope or name.startswith(f"{scope}."))
        return sorted({*own, *around}) or self.everyone()

    def _of_module(self) -> list[str]:
        functions = {scope for scope in self._all() if self._is_function(scope)}
        return self._where(lambda scope: scope not in functions) or self.everyone()

    def _is_function(self, scope: str) -> bool:
        return any(one["name"] in {scope, f"{scope}.fget"} for one in self.items) or "<locals>" in scope

    def _all(self) -> set[str]:
        return {scope for names in self.scopes.values() for scope in names}

    def _where(self, fits: Callable[[str], bool]) -> list[str]:
        return sorted(patch for patch, names in self.scopes.items() if any(fits(one) for one in names))


def _read(path: str) -> Reading | None:
    try:
        with open(path, "rb") as file:
            return Reading(file.read(), path)
    except FileNotFoundError:
        return None


def _module_of(path: str) -> str:
    parts = path[: -len(".py")].split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# What is alive.


class AbsentError(LookupError):
    """There is nothing of that name, or nothing that could be what is looked for."""


_INNER = ("__wrapped__", "__func__", "func", "fn", "py_func", "fget", "_torchdynamo_orig_callable")
"""Where decorators keep what they decorate: functools, classes, partial, Triton, numba, torch."""


def find(module: types.ModuleType, item: dict[str, Any]) -> object:
    """The code object, kernel source or value that an item names. Raises ``AbsentError``."""
    name, kind, wrappers = item["name"], item["kind"], int(item.get("wrappers", 0))
    holder, _, last = name.rpartition(".")
    if last in {"__defaults__", "__kwdefaults__"}:
        return getattr(_function(_reach(module, holder), holder, wrappers), last)
    if kind.endswith("_constant"):
        return _value(_reach(module, holder), last)
    thing = _reach(module, name)
    if kind == "triton":
        for one, _ in _layers(thing, wrappers):
            source = getattr(one, "src", None)
            if isinstance(source, str):
                return Source(source)
    name = re.sub(r"\.f(get|set|del)$", "", name)
    if "written" in item:
        name = re.sub(r"[^.]+$", item["written"], name)
    return _function(thing, name, wrappers).__code__


class Source(str):
    """The text of a kernel."""

    __slots__ = ()


def _reach(module: types.ModuleType, name: str) -> Any:
    thing: Any = module
    for part in name.split(".") if name else ():
        thing = _member(thing, part)
    return thing


def _member(owner: Any, name: str) -> Any:
    """Without inheritance and without running anybody's code: the name as it was bound there."""
    if isinstance(owner, property):
        return getattr(owner, name)
    while not isinstance(owner, (type, types.ModuleType)):
        owner = getattr(owner, "__wrapped__", None)
        if owner is None:
            raise AbsentError
    if isinstance(owner, type) and name.startswith("__") and not name.endswith("__"):
        name = f"_{owner.__name__.lstrip('_')}{name}"
    try:
        return vars(owner)[name]
    except KeyError:
        raise AbsentError from None


def _layers(thing: object, wrappers: int) -> Iterator[tuple[object, tuple[object, ...]]]:
    """The thing, then what it wraps, and so on, each with what is around it.

    It goes ``wrappers`` levels down and no further: one more would be nobody's decorator.
    """
    level: list[tuple[object, tuple[object, ...]]] = [(_bare(thing), ())]
    for depth in range(wrappers + 1):
        yield from level
        if depth < wrappers:
            level = [(_bare(inner), (*around, one)) for one, around in level for inner in _inside(one)]


def _bare(thing: object) -> object:
    return thing.__func__ if isinstance(thing, (staticmethod, classmethod)) else thing


def _inside(thing: object) -> Iterator[object]:
    for name in _INNER:
        try:
            inner = getattr(thing, name, None)
        except Exception:  # noqa: BLE001, S112 - a stranger's descriptor; there is nothing in there for us
            continue
        if inner is not None:  # a kernel is not even callable
            yield inner
    if not isinstance(thing, (types.FunctionType, type, types.ModuleType)):
        yield from [one for one in getattr(thing, "__dict__", {}).values() if isinstance(one, types.FunctionType)]
    for cell in getattr(thing, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if callable(content) and not isinstance(content, type):
            yield content


def _function(thing: object, name: str, wrappers: int) -> types.FunctionType:
    """The innermost that a decorator may hide; if none bears the name, what stands there instead of it."""
    first = None
    for one, around in _layers(thing, wrappers):
        if isinstance(one, types.FunctionType):
            first = first or one
            qualified = getattr(one.__code__, "co_qualname", one.__qualname__)  # a code's cannot be copied; 3.11 on
            if qualified == name and one.__code__.co_name == name.rpartition(".")[2]:
                return next((outer for outer in around if _is_stranger(outer)), one)
    if first is None:
        raise AbsentError
    return first


_AT_HOME = tuple(
    os.path.realpath(one) + os.sep for one in (os.path.dirname(__file__), sys.prefix, os.path.dirname(os.__file__))
)
"""Where the code of decorators may stand: in the build, in the environment, in the standard library."""


def _is_stranger(thing: object) -> TypeGuard[types.FunctionType]:
    """Whether it is a function from elsewhere: decorators come from what the engine was built with."""
    if not isinstance(thing, types.FunctionType):
        return False
    place = thing.__code__.co_filename
    return not place.startswith("<") and not _real(place).startswith(_AT_HOME)


@functools.lru_cache(maxsize=4096)
def _real(path: str) -> str:
    return os.path.realpath(path)


def _value(owner: Any, name: str) -> object:
    """What a class or module binds to a name, or what stands for it where the class is built by a library."""
    if isinstance(owner, type):
        members = getattr(owner, "__members__", None)
        if members is not None and name in members:
            return members[name].value
        bound = vars(owner).get(name)
        for table in ("__pydantic_fields__", "__dataclass_fields__"):
            one = vars(owner).get(table, {}).get(name)
            if one is not None and (bound is None or isinstance(bound, types.MemberDescriptorType)):
                return one.default
        fields = getattr(owner, "_field_defaults", {})
        if name in fields:
            return fields[name]
        names, defaults = getattr(owner, "__struct_fields__", ()), getattr(owner, "__struct_defaults__", ())
        if name in names and len(names) - names.index(name) <= len(defaults):
            return defaults[names.index(name) - len(names)]
    return _member(owner, name)


def _live_module(name: str) -> types.ModuleType | None:
    """The module, once it is loaded."""
    module = sys.modules.get(name)
    if module is None:
        main = sys.modules.get("__main__")
        if getattr(getattr(main, "__spec__", None), "name", None) != name:
            return None
        module = main
    lazy = type(module).__name__ == "_LazyModule"
    return None if lazy or getattr(getattr(module, "__spec__", None), "_initializing", False) else module


def _origin(module: types.ModuleType) -> str:
    spec = getattr(module, "__spec__", None)
    found = getattr(spec, "origin", None) or getattr(module, "__file__", None) or ""
    return os.path.realpath(found) if found else ""


def _would_come_from(name: str) -> str:
    """Where a module would be loaded from; '' while its package is not loaded itself."""
    parent = sys.modules.get(name.rpartition(".")[0])
    path = getattr(parent, "__path__", None)
    spec = PathFinder.find_spec(name, list(path)) if path is not None else None
    return os.path.realpath(spec.origin) if spec is not None and spec.origin else ""


# The report.

PERIOD = 1.0
"""Seconds between two looks."""
_AFTER_FORK = 0.2
"""Seconds in which a forked process takes its name."""


class Ear(logging.Handler):
    """Counts records that prove that a patch lives."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        super().__init__(logging.NOTSET)
        self.texts = texts
        self.counts: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        try:
            said = record.getMessage()
        except Exception:  # noqa: BLE001 - a record that cannot be formatted is its writer's fault
            return
        for patch, text in self.texts:
            if text in said:
                self.counts[patch] = self.counts.get(patch, 0) + 1


class Watch:
    """What one process knows of itself, and the file in which it says so."""

    def __init__(self, folder: str, root: str, plan: dict[str, Any]) -> None:
        self.folder = folder
        self.root = root
        self.pid = os.getpid()
        self.born = _start_ticks()
        self.leads = True
        self.items = _distinct(plan["items"])
        self.counters = {item["module"]: (HITS, SKIPS) for item in self.items}
        self.faults: list[str] = []
        self.began = _began()
        self.ear: Ear | None = None
        self._proofs(plan.get("proofs", {}))
        self._known: dict[tuple[str, str, str], tuple[object, str, str]] = {}
        self._elsewhere: tuple[int, dict[str, str]] = (-1, {})
        self._written: dict[str, Any] = {}
        self._seq = 0

    def _proofs(self, proofs: dict[str, list[dict[str, str]]]) -> None:
        texts = []
        for patch, declared in proofs.items():
            for one in declared:
                if one.get("log"):
                    texts.append((patch, one["log"]))
                elif one.get("counter"):
                    self.counters.setdefault(one["counter"].partition(":")[0], (HITS, SKIPS))
        if texts:
            self.ear = Ear(texts)

    def start(self, delay: float = 0.0) -> None:
        """Look now and then, in the background, until the process ends."""
        threading.Thread(target=self._run, args=(delay,), name="genesisd-attest", daemon=True).start()

    def forked(self) -> None:
        """Begin anew in a child: it inherits what was loaded, but neither the thread nor the file."""
        self.pid = os.getpid()
        self.born = _start_ticks()
        self.leads = False
        self._written, self._seq = {}, 0
        self.start(_AFTER_FORK)

    def _run(self, delay: float) -> None:
        time.sleep(delay)
        while True:
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - the engine must not suffer from being looked at
                self.fault(error)
            time.sleep(PERIOD)

    def fault(self, error: Exception) -> None:
        """Remember what went wrong here, once."""
        text = f"{type(error).__name__}: {error}"
        if text not in self.faults:
            self.faults = [*self.faults, text][-20:]

    def look(self) -> None:
        """Look at everything, and write if anything is new, or what was written is gone."""
        if self.ear is not None and self.ear not in (logger := logging.getLogger("vllm")).handlers:
            logger.addHandler(self.ear)
        found = self.report()
        if found != self._written or not os.path.exists(_place(self.folder, self.pid)):
            self._seq += 1
            _write(self.folder, self.pid, {**found, "seq": self._seq, "at": time.time()})
            self._written = found

    def report(self) -> dict[str, Any]:
        """All but the number and the time of the report."""
        items = [self._sight(item) for item in self.items]
        hits, skips = self._counted()
        title = _title()
        vllm = sys.modules.get("vllm")
        return {
            "format": FORMAT,
            "pid": self.pid,
            "start_ticks": self.born,
            "role": role_of(multiprocessing.current_process().name, title, leads=self.leads),
            "title": title,
            "build": os.path.basename(self.root),
            "python": ".".join(map(str, sys.version_info[:3])),
            "optimize": sys.flags.optimize,
            "vllm": _origin(vllm) if vllm is not None else "",
            "items": items,
            "hits": hits,
            "skips": skips,
            "faults": self.faults,
        }

    def _sight(self, item: dict[str, Any]) -> dict[str, Any]:
        named = {"module": item["module"], "name": item["name"], "kind": item["kind"]}
        module = _live_module(item["module"])
        if module is None:
            return {**named, "state": "not_loaded", "digest": "", "origin": self._absent(item["module"])}
        try:
            digest, note = self._digest(module, item)
        except AbsentError:
            return {**named, "state": "missing", "digest": "", "origin": _origin(module)}
        except Exception as error:  # noqa: BLE001 - one item must not hide the others
            digest, note = "", f"{type(error).__name__}: {error}"
        found = {**named, "state": "live", "digest": digest, "origin": _origin(module)}
        return {**found, "note": note} if note else found

    def _digest(self, module: types.ModuleType, item: dict[str, Any]) -> tuple[str, str]:
        """The digest, and where the code stands if that is another file than the module's."""
        key = (item["module"], item["name"], item["kind"])
        if item["kind"] == "module":
            return self._of_file(module, key), ""
        thing = find(module, item)
        if not isinstance(thing, (types.CodeType, Source)):
            return digest_of(thing), ""
        known = self._known.get(key)
        if known is None or known[0] is not thing:
            known = self._known[key] = (thing, *_examine(thing, _origin(module)))
        return known[1], known[2]

    def _of_file(self, module: types.ModuleType, key: tuple[str, str, str]) -> str:
        """Digest of the code from which the module was loaded: its files have not changed since the process began."""
        loader = getattr(module.__spec__, "loader", None)
        if type(loader) is not SourceFileLoader:
            raise TypeError(f"it was loaded by {type(loader).__name__}, which is not Python's own loader of files")
        bytecode = importlib.util.cache_from_source(loader.path)
        marks = tuple(_mark(path) for path in (loader.path, bytecode))
        known = self._known.get(key)
        if known is None or known[0] != marks:
            # Asked of new marks alone: a clock that was set back would let those seen long ago come to be too late.
            if any(self.began < mark[0] <= time.time() for mark in marks):
                raise OSError("its file was changed after the process began")
            code = loader.get_code(loader.name)
            known = self._known[key] = (marks, digest_of(code), "")
        return known[1]

    def _absent(self, name: str) -> str:
        """The place is asked for again only when something was loaded."""
        if self._elsewhere[0] != len(sys.modules):
            self._elsewhere = (len(sys.modules), {})
        known = self._elsewhere[1]
        if name not in known:
            known[name] = _would_come_from(name)
        return known[name]

    def _counted(self) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        hits = dict(self.ear.counts) if self.ear is not None else {}
        skips: dict[str, dict[str, int]] = {}
        for name, (counter, skipped) in self.counters.items():
            module = _live_module(name)
            for patch, count in _table(module, counter).items():
                hits[patch] = hits.get(patch, 0) + int(count)
            for patch, reasons in _table(module, skipped).items():
                told = skips.setdefault(patch, {})
                for reason, count in dict(reasons).items():
                    told[str(reason)] = told.get(str(reason), 0) + int(count)
        return hits, skips


def _examine(thing: types.CodeType | Source, origin: str) -> tuple[str, str]:
    if isinstance(thing, Source):
        return digest_of_source(thing), ""
    place = _real(thing.co_filename)
    return digest_of(thing), "" if place == origin else f"the code stands in {place}"


def _distinct(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """An item stands once for each form that it may have; it is looked at once."""
    found = {(one["module"], one["name"], one["kind"]): one for one in items}
    return list(found.values())


def _table(module: types.ModuleType | None, name: str) -> dict[str, Any]:
    found = vars(module).get(name) if module is not None else None
    return dict(found) if isinstance(found, dict) else {}


def _mark(path: str) -> tuple[float, int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return (0.0, 0, 0)
    return (found.st_ctime, found.st_size, found.st_ino)


_ROLES = (
    (re.compile(r"(DP)?EngineCore"), "engine"),
    (re.compile(r"(Vllm)?Worker|RayWorker"), "worker"),
    (re.compile(r"A(PI|pi)Server"), "api"),
)


def role_of(name: str, title: str, *, leads: bool) -> str:
    """api, engine, worker or other.

    Args:
        name: what multiprocessing calls the process.
        title: its command line, which vLLM rewrites to ``<prefix>::<role>``.
        leads: whether it is no fork of another process that had this plugin.
    """
    label = title.rpartition("::")[2] if "::" in title.partition(" ")[0] else name
    for pattern, role in _ROLES:
        if pattern.match(label):
            return role
    begun = sys.orig_argv[:4]
    serves = "serve" in sys.argv[1:2] or any("api_server" in one for one in begun)
    return "api" if name == "MainProcess" and leads and serves else "other"


def _title() -> str:
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return file.read(4096).rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")[:300]
    except OSError:
        return ""


def _start_ticks() -> int:
    try:
        with open("/proc/self/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def _began() -> float:
    """Wall time at which the process had begun: the kernel cuts its ticks off, and nothing is loaded in the first one."""
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - (_start_ticks() + 1) / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def _place(folder: str, pid: int) -> str:
    return os.path.join(folder, f"{pid}.json")


def _write(folder: str, pid: int, report: dict[str, Any]) -> None:
    path = _place(folder, pid)
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(report, file)
    os.replace(f"{path}.new", path)


_watch: Watch | None = None
_forks_are_seen = False


def register() -> None:
    """What vLLM calls, once or more in each of its processes. Never raises."""
    global _watch, _forks_are_seen  # noqa: PLW0603 - one watch a process, whoever calls
    folder = os.environ.get("GENESIS_ATTEST_DIR")
    if not folder or (_watch is not None and _watch.pid == os.getpid()):
        return
    try:
        root = os.path.dirname(os.path.realpath(__file__))
        with open(os.path.join(root, "genesisd_attest.json"), encoding="utf-8") as file:
            _watch = Watch(folder, root, json.load(file))
        _watch.start()
        if not _forks_are_seen:
            os.register_at_fork(after_in_child=_forked)
            _forks_are_seen = True
    except Exception as error:  # noqa: BLE001 - an engine that cannot be attested is the daemon's to judge
        _confess(folder, error)


def _forked() -> None:
    if _watch is not None:
        try:
            _watch.forked()
        except Exception as error:  # noqa: BLE001 - as above
            _watch.fault(error)


def _confess(folder: str, error: Exception) -> None:
    """A report without items, so that the daemon can say why there is nothing."""
    empty: dict[str, Any] = {"items": []}
    try:
        watch = Watch(folder, os.path.dirname(os.path.realpath(__file__)), empty)
        watch.fault(error)
        watch.look()
    except Exception:  # noqa: BLE001, S110 - no report is a finding too
        pass


def main(argv: Sequence[str]) -> int:
    """``prepare JOB``."""
    if len(argv) != 2 or argv[0] != "prepare":
        sys.stderr.write("usage: python -I plugin.py prepare JOB.json\n")
        return 2
    gc.disable()  # trees by the million nodes: the collector would walk them again and again, and find nothing
    with open(argv[1], encoding="utf-8") as file:
        job = json.load(file)
    try:
        answer = prepare(job)
    except (OSError, SyntaxError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
