"""Casebooks are read strictly, and those that ship are good ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.demo.locate import CASEBOOK
from genesisd.errors import ConfigError
from genesisd.probes.casebooks import digest, general, label, load

GOOD = """\
name: mine
golden:
  - id: one
    body: {messages: [{role: user, content: hello}]}
tools:
  - id: call
    body:
      messages: [{role: user, content: hello}]
      tools: [{type: function, function: {name: f}}]
    calls: [{name: f, arguments: {a: 1}}]
structured:
  - {id: way, form: choice, constraint: [a, b], body: {messages: [{role: user, content: a}]}}
needle: {filler: [so], fact: f, question: q, answer: "f+"}
"""


def read(tmp_path, text):
    path = tmp_path / "book.yaml"
    path.write_text(text)
    return load(path)


def test_a_good_one(tmp_path):
    """Every part arrives where it belongs."""
    book = read(tmp_path, GOOD)
    assert book.golden[0].path == "/v1/chat/completions"
    assert book.tools[0].choices == ("auto", "required", "named")
    assert book.structured[0].constraint == ["a", "b"]
    assert book.needle is not None
    assert book.prefix is None


BAD = {
    "unknown-field": ("    body: {messages: [{role", "    boddy: 1\n    body: {messages: [{role", 4, "boddy"),
    "id-twice": ("tools:\n", "  - {id: one, body: {messages: [{}]}}\ntools:\n", 5, "golden[1].id"),
    "model-set": ("body: {messages: [{role: user, content: hello}]}", "body: {model: x, messages: [1]}", 4, "body"),
    "no-messages": ("    body: {messages: [{role: user, content: hello}]}", "    body: {n: 1}", 3, "golden[0]"),
    "call-of-no-tool": ("calls: [{name: f,", "calls: [{name: g,", 6, "tools[0]"),
    "bad-expression": ('answer: "f+"', 'answer: "f("', 13, "needle.answer"),
    "bad-form": ("form: choice", "form: chance", 12, "structured[0].form"),
    "choice-of-nothing": ("constraint: [a, b]", "constraint: []", 12, "structured[0]"),
    "upper-case-id": ("id: one", "id: One", 3, "golden[0].id"),
    "no-name": ("name: mine\n", "", 1, "name"),
    "number-for-text": ("fact: f", "fact: 7", 13, "needle.fact"),
}


@pytest.mark.parametrize(("old", "new", "line", "field"), BAD.values(), ids=BAD.keys())
def test_a_fault_is_told_with_its_line_and_field(tmp_path, old, new, line, field):
    """A person finds what to mend."""
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert caught.value.fields["line"] == line, caught.value.message
    assert field in str(caught.value.fields["field"]), caught.value.message


def test_named_cannot_force_two_calls(tmp_path):
    """A choice that cannot give the calls is refused, and left out where choices are not written down."""
    twice = GOOD.replace("calls: [{name: f, arguments: {a: 1}}]", "calls: [{name: f}, {name: f}]")
    assert read(tmp_path, twice).tools[0].choices == ("auto", "required")
    with pytest.raises(ConfigError, match="exactly one call"):
        read(tmp_path, twice.replace("    calls:", "    choices: [named]\n    calls:"))


def test_the_general_one_asks_enough():
    """Every kind has its part, with the sorts of cases that break engines."""
    book = general()
    assert len(book.golden) >= 8
    assert len(book.tools) >= 8
    assert {len(case.calls) for case in book.tools} == {0, 1, 2}
    assert {case.form for case in book.structured} == {"json_schema", "regex", "choice"}
    assert max(len(case.turns) for case in book.reasoning) > 1
    assert len(book.texts) >= 14
    assert book.prefix is not None
    assert book.needle is not None
    assert 150 <= len(book.drift.split()) <= 250


@pytest.mark.parametrize("book", [general(), load(CASEBOOK)], ids=lambda book: book.name)
def test_golden_answers_are_short(book):
    """A round of the golden kind fits its budget: answers are bounded in every case."""
    assert all(case.body["max_tokens"] <= 160 for case in book.golden)


def test_the_digest_follows_what_is_asked():
    """Another question makes another digest, another name does not."""
    book = general()
    assert digest(replace(book, name="other")) == digest(book)
    assert digest(replace(book, drift="other")) != digest(book)
    assert label(book).startswith("general@")
