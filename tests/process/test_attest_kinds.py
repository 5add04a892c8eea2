"""Each kind of thing that a patch may change: found alive as the build has it, and refused once it is swapped."""

from __future__ import annotations

import py_compile
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from genesisd.attest.model import State
from tests.helpers.attested import Build


class Kind(NamedTuple):
    """A module before and after the patch, what is found in it, and how to swap that at run time."""

    id: str
    before: str
    after: str
    name: str
    kind: str
    swap: str


FUNCTION = "function"
KINDS = (
    Kind("function", "def f(x): return x", "def f(x): return x + 1", "f", FUNCTION, "m.f = lambda x: x"),
    Kind("code of a function", "def f(x): return x", "def f(x): return 2", "f", FUNCTION, "m.f.__code__ = (lambda x: x).__code__"),
    Kind("method", "class C:\n def f(self): return 1", "class C:\n def f(self): return 2", "C.f", FUNCTION, "m.C.f = lambda self: 3"),
    Kind("method of a nested class", "class C:\n class D:\n  def f(self): return 1", "class C:\n class D:\n  def f(self): return 2", "C.D.f", FUNCTION, "m.C.D.f = print"),
    Kind("private method", "class C:\n def __f(self): return 1", "class C:\n def __f(self): return 2", "C.__f", FUNCTION, "m.C._C__f = m.C.__init__"),
    Kind("static method", "class C:\n @staticmethod\n def f(): return 1", "class C:\n @staticmethod\n def f(): return 2", "C.f", FUNCTION, "m.C.f = staticmethod(lambda: 3)"),
    Kind("class method", "class C:\n @classmethod\n def f(cls): return 1", "class C:\n @classmethod\n def f(cls): return 2", "C.f", FUNCTION, "m.C.f = classmethod(lambda cls: 3)"),
    Kind("coroutine", "async def f(): return 1", "async def f(): return 2", "f", FUNCTION, "m.f = None"),
    Kind("generator", "def f(): yield 1", "def f(): yield 2", "f", FUNCTION, "del m.f"),
    Kind("lambda", "f = lambda x: x", "f = lambda x: x + 1", "f", FUNCTION, "m.f = lambda x: x"),
    Kind("lambda of a class", "class C:\n f = lambda self: 1", "class C:\n f = lambda self: 2", "C.f", FUNCTION, "m.C.f = lambda self: 3"),
    Kind("inner function", "def f():\n def g(): return 1\n return g", "def f():\n def g(): return 2\n return g", "f", FUNCTION, "m.f = lambda: 1"),
    Kind("comprehension", "def f(x): return [i for i in x]", "def f(x): return [i + 1 for i in x]", "f", FUNCTION, "m.f = lambda: 1"),
    Kind("set of constants", "def f(x): return x in {'a', 'b'}", "def f(x): return x in {'a', 'b', 'c', 'd', 'e'}", "f", FUNCTION, "m.f = lambda: 1"),
    Kind("cached", "import functools\n@functools.lru_cache\ndef f(): return 1", "import functools\n@functools.lru_cache\ndef f(): return 2", "f", FUNCTION, "import functools; m.f = functools.lru_cache(lambda: 2)"),
    Kind("context manager", "from contextlib import contextmanager as c\n@c\ndef f(): yield 1", "from contextlib import contextmanager as c\n@c\ndef f(): yield 2", "f", FUNCTION, "m.f = m.c(lambda: 2)"),
    Kind("wrapped without a trace", "def d(g):\n def w(): return g()\n return w\n@d\ndef f(): return 1", "def d(g):\n def w(): return g()\n return w\n@d\ndef f(): return 2", "f", FUNCTION, "m.f = m.d(lambda: 2)"),
    Kind("decorated twice", "import functools as t\ndef d(n): return lambda g: t.wraps(g)(lambda: n + g())\n@d(1)\n@d(2)\ndef f(): return 1", "import functools as t\ndef d(n): return lambda g: t.wraps(g)(lambda: n + g())\n@d(1)\n@d(2)\ndef f(): return 2", "f", FUNCTION, "m.f = m.d(1)(m.f)"),
    Kind("wrapped by hand", "import functools\ndef f(): return 1\nf = functools.cache(f)", "import functools\ndef f(): return 2\nf = functools.cache(f)", "f", FUNCTION, "import functools; m.f = functools.cache(m.f)"),
    Kind("wrapped by its class's decorator", "def d(c):\n old = c.f\n def f(self): return old(self)\n c.f = f\n return c\n@d\nclass C:\n def f(self): return 1", "def d(c):\n old = c.f\n def f(self): return old(self)\n c.f = f\n return c\n@d\nclass C:\n def f(self): return 2", "C.f", FUNCTION, "m.C.f = lambda self: 2"),
    Kind("abstract", "import abc\nclass C(abc.ABC):\n @abc.abstractmethod\n def f(self): return 1", "import abc\nclass C(abc.ABC):\n @abc.abstractmethod\n def f(self): return 2", "C.f", FUNCTION, "m.C.f = lambda self: 2"),
    Kind("overloaded", "from typing import overload\n@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x): return 1", "from typing import overload\n@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x): return 2", "f", FUNCTION, "m.f = lambda x: 2"),
    Kind("either branch", "import sys\nif sys.argv:\n def f(): return 1\nelse:\n def f(): return 2", "import sys\nif sys.argv:\n def f(): return 3\nelse:\n def f(): return 4", "f", FUNCTION, "m.f = lambda: 3"),
    Kind("after a failed import", "try:\n import nosuch\nexcept ImportError:\n def f(): return 1", "try:\n import nosuch\nexcept ImportError:\n def f(): return 2", "f", FUNCTION, "m.f = lambda: 1"),
    Kind("getter", "class C:\n @property\n def p(self): return 1", "class C:\n @property\n def p(self): return 2", "C.p.fget", "property", "m.C.p = property(lambda self: 2)"),
    Kind("setter", "class C:\n @property\n def p(self): return 1\n @p.setter\n def p(self, v): self.q = v", "class C:\n @property\n def p(self): return 1\n @p.setter\n def p(self, v): self.r = v", "C.p.fset", "property", "m.C.p = property(m.C.p.fget)"),
    Kind("cached property", "import functools\nclass C:\n @functools.cached_property\n def p(self): return 1", "import functools\nclass C:\n @functools.cached_property\n def p(self): return 2", "C.p", "property", "m.C.p.func = lambda self: 2"),
    Kind("module constant", "X = 1", "X = 64 << 20", "X", "module_constant", "m.X = 1"),
    Kind("tuple", "X = ('a', 1.5)", "X = ('a', -1.5, None, b'c')", "X", "module_constant", "m.X = ('a', -1.5, None, 'c')"),
    Kind("annotated constant", "X: int = 1", "X: int = 2", "X", "module_constant", "m.X = True + 1.0"),
    Kind("class constant", "class C:\n X = 'a'", "class C:\n X = 'b'", "C.X", "class_constant", "m.C.X = 'a'"),
    Kind("private constant", "class C:\n __X = 'a'", "class C:\n __X = 'b'", "C.__X", "class_constant", "m.C._C__X = 'a'"),
    Kind("field of a dataclass", "import dataclasses as d\n@d.dataclass(slots=True)\nclass C:\n x: int = 1", "import dataclasses as d\n@d.dataclass(slots=True)\nclass C:\n x: int = 2", "C.x", "class_constant", "m.C.__dataclass_fields__['x'].default = 1"),
    Kind("member of an enumeration", "import enum\nclass C(enum.Enum):\n X = 'a'", "import enum\nclass C(enum.Enum):\n X = 'b'", "C.X", "class_constant", "m.C.X._value_ = 'a'"),
    Kind("default of a named tuple", "import typing\nclass C(typing.NamedTuple):\n x: int = 1", "import typing\nclass C(typing.NamedTuple):\n x: int = 2", "C.x", "class_constant", "m.C._field_defaults['x'] = 1"),
    Kind("default argument", "def f(x=1): return x", "def f(x=2): return x", "f.__defaults__", "module_constant", "m.f.__defaults__ = (1,)"),
    Kind("keyword default", "class C:\n def f(self, *, x=1): return x", "class C:\n def f(self, *, x=2): return x", "C.f.__kwdefaults__", "class_constant", "m.C.f.__kwdefaults__['x'] = 1"),
    Kind("import", "import os", "import os, json", "", "module", "m.__spec__.loader = None"),
    Kind("condition of the module", "X = []\nif not X: Y = [1]", "X = []\nif not X: Y = [2]", "", "module", "import os; os.utime(m.__file__); os.utime(m.__cached__)"),
)  # fmt: skip


@pytest.mark.parametrize("kind", [pytest.param(one, id=one.id) for one in KINDS])
def test_alive_as_in_the_build_and_refused_once_swapped(kind: Kind, tmp_path: Path):
    """The live thing has the digest that was compiled; another in its place is told by name and process."""
    path = "vllm/thing.py"
    build = Build(tmp_path, {path: kind.before + "\n"}, {path: kind.after + "\n"}, {"P1": [[path, ""]]})
    assert (kind.name, kind.kind) in build.names("P1")
    first, second = build.reports("import vllm.thing as m", kind.swap)
    assert build.judge(first).state is State.ATTESTED, build.judge(first).summary
    refused = build.judge(second)
    full = f"vllm.thing.{kind.name}" if kind.name else "module vllm.thing"
    assert [one.item for one in refused.findings if one.item == full] == [full], refused
    assert f"(pid {second.pid})" in refused.summary


@pytest.mark.parametrize("kind", [pytest.param(one, id=one.id) for one in KINDS if one.kind != "module"])
def test_only_what_changed_is_listed(kind: Kind, tmp_path: Path):
    """What stands beside the change, and where it stands, is of no account: two lines more are no change."""
    path, beside = "vllm/thing.py", "# one\n\ndef beside(x=5): return 1\nclass Beside:\n X = 1\n"
    before = f"{beside}{kind.before}\n"
    moved = f"# nought\n\n\n{beside}\n\n\n{kind.after}\n"
    build = Build(tmp_path, {path: before}, {path: moved}, {"P1": [[path, ""]]})
    assert build.names() - {("", "module")} == {(kind.name, kind.kind)}


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13", "3.14"])
def test_every_kind_on_other_pythons(version: str, tmp_path: Path):
    """Pins bring their own Python, and each compiles differently."""
    python = _python(version)
    files = [{f"vllm/k{i}.py": text + "\n" for i, text in enumerate(texts)} for texts in zip(*TEXTS, strict=True)]
    scopes = {"P1": [[path, ""] for path in files[0]]}
    build = Build(tmp_path, files[0], files[1], scopes, python=python)
    assert len(build.expected.items) >= len(KINDS)
    first, second = build.reports(
        "".join(f"import vllm.k{i}\n" for i in range(len(KINDS))),
        "".join(f"import vllm.k{i} as m\n{kind.swap}\n" for i, kind in enumerate(KINDS)),
    )
    assert build.judge(first).state is State.ATTESTED, build.judge(first).findings
    named = {one.item for one in build.judge(second).findings}
    assert {f"vllm.k{i}.{kind.name}" for i, kind in enumerate(KINDS) if kind.name} <= named


TEXTS = [(kind.before, kind.after) for kind in KINDS]


def _python(version: str) -> str:
    """An interpreter of that version; one that a shim names and does not have counts as absent."""
    found = shutil.which(f"python{version}") or ""
    if found:
        done = subprocess.run(
            [found, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False
        )
        found = done.stdout.strip() if done.returncode == 0 else ""
    if not found:
        pytest.skip(f"there is no Python {version} here")
    return found


TRITON = """
class Kernel:
    def __init__(self, fn):
        import inspect, re, textwrap
        self.fn = fn
        text = textwrap.dedent(inspect.getsource(fn))
        self.src = text[re.search(r"^def", text, re.M).start():]

def jit(fn): return Kernel(fn)

class Tuner:
    def __init__(self, fn): self.fn = fn

def autotune(**configs): return Tuner
"""
KERNEL = """
from vllm import triton

if True:
    {}
    @triton.jit
    def k(x_ptr, n: int):
        '''Adds.

            Much.'''
        return x_ptr + {}  # a comment
"""


@pytest.mark.parametrize("above", ["", "@triton.autotune(n=1)"])
def test_source_of_a_kernel(above: str, tmp_path: Path):
    """A kernel is known by the source that is compiled from it, not by the Python function of its name."""
    path, files = "vllm/ops.py", {"vllm/triton.py": TRITON}
    build = Build(
        tmp_path, {**files, path: KERNEL.format(above, 1)}, {path: KERNEL.format(above, 2)}, {"P1": [[path, "k"]]}
    )
    assert build.names("P1") == {("k", "triton")}
    swap = "k = getattr(m.k, 'fn') if type(m.k).__name__ == 'Tuner' else m.k; k.src = k.src.replace('2', '3')"
    first, second = build.reports("import vllm.ops as m", swap)
    assert build.judge(first).state is State.ATTESTED, build.judge(first).summary
    assert "vllm.ops.k is not the code of the build" in build.judge(second).summary


def test_kernel_where_triton_is_absent(tmp_path: Path):
    """On a machine without Triton the decorator leaves a plain function; its code is compared then."""
    path, files = "vllm/ops.py", {"vllm/triton.py": "def jit(fn): return fn\n"}
    build = Build(tmp_path, {**files, path: KERNEL.format("", 1)}, {path: KERNEL.format("", 2)}, {"P1": [[path, "k"]]})
    first, second = build.reports("import vllm.ops as m", "m.k = lambda x, n: 1")
    assert build.judge(first).state is State.ATTESTED
    assert build.judge(second).state is State.REFUSED


def test_new_and_replaced_files(tmp_path: Path):
    """Of a file that is new, or put in the place of another, everything is attested."""
    text = "import os\nX = 1\ndef f(): return 1\nclass C:\n def g(self): return 2\n"
    new, old = "vllm/new/thing.py", "vllm/old.py"
    build = Build(
        tmp_path,
        {old: text},
        {"vllm/new/__init__.py": "", new: text, old: text + "Y = 2\n"},
        {"P1": [[new, ""], ["vllm/new/__init__.py", ""]], "P2": [[old, ""]]},
        whole={new: "new", "vllm/new/__init__.py": "new", old: "replaced"},
    )
    everything = {("X", "module_constant"), ("f", "function"), ("C.g", "function"), ("", "module")}
    assert build.names("P1") == everything
    assert build.names("P2") == everything | {("Y", "module_constant")}
    assert {one["module"] for one in build.answer["items"]} == {"vllm.new", "vllm.new.thing", "vllm.old"}
    (report,) = build.reports("import vllm.new.thing, vllm.old")
    assert build.judge(report).state is State.ATTESTED


def test_patches_are_named_by_their_scopes(tmp_path: Path):
    """A changed function is the patch's whose scope it is; what the module gained is the module's patch's."""
    path = "vllm/thing.py"
    before = "class A:\n def f(self): return 1\nclass B:\n def f(self): return 1\n"
    after = (
        "import os\nX = 1\nclass A:\n def f(self): return 2\n def g(self): return 3\nclass B:\n def f(self): return 4\n"
    )
    scopes = {"PA": [[path, "A.f"]], "PB": [[path, "B.f"]], "PC": [[path, "A"]], "PM": [[path, ""]]}
    build = Build(tmp_path, {path: before}, {path: after}, scopes)
    module = ("", "module")
    assert build.names("PA") == {("A.f", "function")}
    assert build.names("PB") == {("B.f", "function")}
    assert build.names("PC") == {("A.g", "function"), module}
    assert build.names("PM") == {("X", "module_constant"), module}


def test_a_stranger_around_a_decorated_function_is_found(tmp_path: Path):
    """A decorator that adds nothing leaves room for one layer; code from outside of the build may not take it."""
    path = "vllm/thing.py"
    text = "def same(g): return g\n@same\ndef f(): return {}\n"
    build = Build(tmp_path, {path: text.format(1)}, {path: text.format(2)}, {"P1": [[path, "f"]]})
    (tmp_path / "stranger.py").write_text("import functools\ndef around(g): return functools.wraps(g)(lambda: g())\n")
    wrap = f"sys.path.append({str(tmp_path)!r}); import stranger; m.f = stranger.around(m.f)"
    first, second = build.reports("import vllm.thing as m", wrap)
    assert build.judge(first).state is State.ATTESTED
    told = f"vllm.thing.f is not the code of the build: the code stands in {tmp_path}/stranger.py"
    assert build.judge(second).summary.endswith(told)


def test_twins_are_told_apart(tmp_path: Path):
    """A function that became its twin of another class is refused, though that code is the build's as well."""
    path = "vllm/thing.py"
    text = "class A:\n def f(self): return {}\nclass B:\n def f(self): return {}\n"
    build = Build(tmp_path, {path: text.format(1, 2)}, {path: text.format(3, 4)}, {"P1": [[path, "A.f"]]})
    (report,) = build.reports("import vllm.thing as m; m.A.f = m.B.f")
    assert build.judge(report).summary.endswith("vllm.thing.A.f is not the code of the build")


def test_what_cannot_be_attested_is_listed(tmp_path: Path):
    """A computed value, one that functions assign to, two lambdas of one line, and a file that is not Python."""
    path = "vllm/thing.py"
    text = """
        import os
        COMPUTED = os.getpid()
        state = None
        def begin():
            global state
            state = 1
        a, b = 1, 2
        f = lambda: 1; g = lambda: 2
        TABLE = {"a": 1}
        _genesis_hits = {"P1": 0}
    """
    files = {path: text, "vllm/config.json": "{}"}
    build = Build(tmp_path, {path: ""}, files, {"P1": [[one, ""] for one in files]})
    blind = {one["name"] or one["path"]: one["why"] for one in build.answer["unattestable"]}
    assert blind.keys() == {"COMPUTED", "state", "f", "g", "vllm/config.json"}
    assert blind["COMPUTED"] == "its value is computed when the module is loaded"
    assert build.names("P1") == {("begin", "function"), ("", "module")}
    assert all(one["covered"] == one["path"].endswith(".py") for one in build.answer["unattestable"])


def test_digest_does_not_depend_on_how_often_code_ran(tmp_path: Path):
    """The interpreter rewrites code that runs often; the digest is of what was compiled."""
    path = "vllm/thing.py"
    text = "def f(n):\n t = {}\n for i in range(n): t += i * 2 if i % 2 else len(str(i))\n return t\n"
    build = Build(tmp_path, {path: text.format(1)}, {path: text.format(0)}, {"P1": [[path, "f"]]})
    cold, warm = build.reports("import vllm.thing as m", "for _ in range(50): m.f(5000)")
    assert cold.items == warm.items
    assert build.judge(warm).state is State.ATTESTED


def test_digest_is_the_same_in_every_process(tmp_path: Path):
    """Hash seeds, which change the order of sets, do not change digests."""
    path = "vllm/thing.py"
    names = ", ".join(repr(f"name{i}") for i in range(30))
    build = Build(tmp_path, {}, {path: f"def f(x): return x in {{{names}}}\n"}, {"P1": [[path, ""]]})
    digests = {
        build.run("import sys, vllm.thing as m, genesisd_attest as a; print(a.digest_of(m.f.__code__))", {"PYTHONHASHSEED": seed})
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(digests) == 1


def test_optimised_python_is_refused(tmp_path: Path):
    """Under -O other code is compiled than was attested; the reason is said rather than a list of functions."""
    path = "vllm/thing.py"
    build = Build(tmp_path, {path: "def f(): assert 1"}, {path: "def f(): assert 2"}, {"P1": [[path, "f"]]})
    (report,) = build.reports("import vllm.thing", python=("-O",))
    assert "runs Python with -O" in build.judge(report).summary


def test_stale_bytecode_is_found(tmp_path: Path):
    """Bytecode that is not its source's, and claims to be, is found by what it made of the functions."""
    path = "vllm/thing.py"
    build = Build(tmp_path, {path: "def f(): return 1"}, {path: "def f(): return 2"}, {"P1": [[path, "f"]]})
    cached = build.root / "vllm" / "__pycache__" / f"thing.{sys.implementation.cache_tag}.pyc"
    bytecode = cached.read_bytes()
    forged = tmp_path / "forged.py"
    forged.write_text("def f(): return 1")
    other = py_compile.compile(str(forged), str(tmp_path / "forged.pyc"), doraise=True)
    assert other is not None
    cached.write_bytes(bytecode[:16] + Path(other).read_bytes()[16:])
    (report,) = build.reports("import vllm.thing")
    assert "vllm.thing.f is not the code of the build" in build.judge(report).summary


def test_a_module_that_is_not_loaded_is_fine_if_it_would_come_from_the_build(tmp_path: Path):
    """Nothing is imported to look at it; where it would come from is asked without that."""
    path = "vllm/sub/thing.py"
    files = {"vllm/sub/__init__.py": ""}
    build = Build(tmp_path, {path: "X = 1", **files}, {path: "X = 2"}, {"P1": [[path, ""]]})
    none, parent, elsewhere = build.reports(
        "", "import vllm.sub", f"sys.modules['vllm.sub'].__path__[:] = [{str(tmp_path / 'pristine/vllm/sub')!r}]; import re, json.tool"
    )  # fmt: skip
    assert {one.state for one in none.items.values()} == {"not_loaded"}
    assert {one.origin for one in parent.items.values()} == {str(build.root / path)}
    assert build.judge(parent).state is State.ATTESTED
    assert "would come from" in build.judge(elsewhere).summary
