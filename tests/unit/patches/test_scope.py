"""Where definitions begin and end, in characters of the text as it is."""

import argparse
import dataclasses
import inspect
import types
from collections.abc import Iterator

import pytest

from genesisd.patches import scope
from genesisd.patches.scope import Span, compiler_fault, read


def parts(text: str) -> dict[str, str]:
    return {d.name: text[d.span.start : d.span.end] for d in read(text).definitions}


def compiled(code: types.CodeType) -> Iterator[tuple[str, int]]:
    """Qualified name and first line of each definition, as the compiler has them."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            if "<" not in inner.co_qualname.replace("<locals>", ""):
                yield inner.co_qualname, inner.co_firstlineno
            yield from compiled(inner)


@pytest.mark.parametrize("module", [argparse, dataclasses, inspect, scope], ids=lambda module: module.__name__)
def test_the_compiler_agrees(module):
    """Names and first lines are those of the code objects that Python makes of the same text."""
    text = inspect.getsource(module)
    found = {(d.name, text.count("\n", 0, d.head) + 1) for d in read(text).definitions}
    assert found == set(compiled(compile(text, "module", "exec", dont_inherit=True)))


PLAIN = "x = 1\n\n\ndef f():\n    return 1\n\n\nclass C:\n    def m(self):\n        pass\n"


def test_names_are_qualified():
    """Names are those that Python gives."""
    text = "class A:\n    class B:\n        async def m(self):\n            def inner():\n                pass\n"
    assert list(parts(text)) == ["A", "A.B", "A.B.m", "A.B.m.<locals>.inner"]


def test_spans_are_whole_lines():
    """A definition owns its lines, indentation and line end included."""
    assert parts(PLAIN) == {
        "f": "def f():\n    return 1\n",
        "C": "class C:\n    def m(self):\n        pass\n",
        "C.m": "    def m(self):\n        pass\n",
    }


@pytest.mark.parametrize(
    "decorators",
    ["@a\n", "@a\n@b(1)\n", "@(\n    a\n)\n", "@a(\n    1,\n)\n", "@a @ b\n", "@a  # @home\n"],
    ids=["one", "two", "in brackets", "several lines", "matrix product", "comment"],
)
def test_decorators_belong_to_what_they_decorate(decorators):
    """A definition begins at the '@' of its first decorator."""
    text = f"x = 1\n{decorators}def f():\n    pass\n"
    assert parts(text) == {"f": text.removeprefix("x = 1\n")}
    assert text[read(text).definitions[0].head] == "@"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("final", [True, False])
def test_positions_hold_in_any_encoding_of_lines(ending, mark, final):
    """Line ending, byte order mark and final newline do not shift a span."""
    body = "ä = '€𝄞'\n@ä\ndef größe():\n    return '𝄞'".replace("\n", ending) + (ending if final else "")
    text = mark + body
    (found,) = read(text).definitions
    assert text[found.span.start : found.span.end] == body.removeprefix("ä = '€𝄞'" + ending)
    assert text[found.head] == "@"


def test_a_first_line_after_a_mark():
    """A definition in the first line begins after the mark, and its lines with it."""
    (found,) = read("\ufeffdef f(): return 1\n").definitions
    assert (found.head, found.span) == (1, Span(0, 19))


def test_lines_end_where_python_ends_them():
    """Form feeds and Unicode separators are no line ends, though str.splitlines thinks so."""
    text = "x = '\u2028\x85'\n\x0c\ndef f():\n    return '\x0b'\n"
    assert parts(text) == {"f": "def f():\n    return '\x0b'\n"}


def test_tabs_are_one_character():
    """A tab is one character of the text."""
    text = "class C:\n\tdef m(self):\n\t\treturn 1\n"
    assert parts(text)["C.m"] == "\tdef m(self):\n\t\treturn 1\n"


def test_one_name_may_be_defined_twice():
    """A property's getter and setter share their qualified name."""
    text = "class C:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n"
    assert [text[d.head : d.head + 5] for d in read(text).named("C.x")] == ["@prop", "@x.se"]


def test_comments_at_the_end_belong_by_their_indentation():
    """A comment after the last statement is part of every definition that it is indented deeper than."""
    text = "class C:\n    def m(self):\n        x()\n\n        # of m\n    # of C\n# of nobody\ny = 1\n"
    assert parts(text) == {
        "C": text.removesuffix("# of nobody\ny = 1\n"),
        "C.m": "    def m(self):\n        x()\n\n        # of m\n",
    }


NESTS = [
    "if x:\n",
    "if x: pass\nelif y:\n",
    "if x: pass\nelse:\n",
    "try:\n",
    "try: pass\nexcept E:\n",
    "try: pass\nexcept* E:\n",
    "try: pass\nexcept E: pass\nelse:\n",
    "try: pass\nfinally:\n",
    "with x:\n",
    "async def g():\n  async with x:\n",
    "for x in y:\n",
    "for x in y: pass\nelse:\n",
    "while x:\n",
    "while x: pass\nelse:\n",
    "match x:\n    case 1:\n    ",
]


@pytest.mark.parametrize("nested", NESTS)
def test_definitions_inside_statements_are_found(nested):
    """A definition under a condition is one all the same, in each block that a statement can have."""
    tail = "\nexcept E: pass\n" if nested == "try:\n" else "\n"
    name = "g.<locals>.f" if "def g" in nested else "f"
    assert list(parts(f"{nested}    def f(): pass{tail}"))[-1] == name


@pytest.mark.parametrize("text", ["def f(:\n", "x = 'a\n", "if 1:\nx\n", "x = 1\0\n", "\ufeff\ufeffx = 1\n"])
def test_what_is_not_python_says_why(text):
    """A file that does not parse has no definitions and a fault."""
    assert read(text).definitions == ()
    assert read(text).fault


@pytest.mark.parametrize("text", ["return 1\n", "def f(a, a): pass\n", "x = 1\nnonlocal x\n", "break\n"])
def test_the_compiler_sees_more_than_the_parser(text):
    """What parses and cannot be compiled is found as well."""
    assert read(text).fault is None
    assert compiler_fault(text)


@pytest.mark.parametrize("text", [r"x = '\d'" + "\n", "x = 1 is 1\n", "\ufeffx = 1\r\n", ""])
def test_warnings_are_not_faults(text):
    """What Python only warns of is not held against a file."""
    assert (read(text).fault, compiler_fault(text)) == (None, None)


OWNERS = [
    ("x = 1", None),
    ("return 1", "f"),
    ("def f():\n    return", None),
    ("ef f()", "f"),
    ("    def m(self)", "C"),
    ("def m(self)", "C"),
    ("pass", "C.m"),
    ("return 1\n\n\nclass", None),
]


@pytest.mark.parametrize(("wanted", "owner"), OWNERS)
def test_text_belongs_to_the_innermost_body_that_holds_it(wanted, owner):
    """Text that shows a definition from its first word belongs to what surrounds it."""
    at = PLAIN.index(wanted)
    found = read(PLAIN).owner(Span(at, at + len(wanted)))
    assert (found.name if found else None) == owner


def test_deep_nesting_is_a_fault_or_a_result_but_no_crash():
    """Text that exhausts the parser is a file that cannot be read."""
    assert read("(" * 3000 + ")" * 3000).fault
