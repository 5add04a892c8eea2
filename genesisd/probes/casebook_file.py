"""What a casebook's file may hold, checked field by field, and the casebook made of it. Pure."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from genesisd.probes.casebook import (
    AnswerCase,
    Call,
    Casebook,
    Needle,
    ReasoningCase,
    StructuredCase,
    ToolCase,
)
from genesisd.units import SpecModel

_OURS = {"model": "the worker's", "stream": "asked both ways", "temperature": "0"}
Body = dict[str, JsonValue]


def _checked_body(body: Body) -> Body:
    if taken := [name for name in _OURS if name in body]:
        raise ValueError(f"{taken[0]!r} is set by the probe ({_OURS[taken[0]]}): leave it out")
    return body


def _checked_id(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._/-]{0,63}", name):
        raise ValueError("expected lower-case letters, digits, '.', '_', '-' and '/', 64 at most")
    return name


def _checked_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


Id = Annotated[str, AfterValidator(_checked_id)]
CheckedBody = Annotated[Body, AfterValidator(_checked_body)]
Expression = Annotated[str, AfterValidator(_checked_expression)]


class _Answer(SpecModel):
    id: Id
    body: CheckedBody
    path: Literal["/v1/chat/completions", "/v1/completions"] = "/v1/chat/completions"

    @model_validator(mode="after")
    def _asks(self) -> Self:
        wanted = "prompt" if self.path == "/v1/completions" else "messages"
        if not self.body.get(wanted):
            raise ValueError(f"the body of a question to {self.path} needs {wanted!r}")
        return self

    def made(self) -> AnswerCase:
        return AnswerCase(self.id, self.body, self.path)


class _Call(SpecModel):
    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class _Tool(SpecModel):
    id: Id
    body: CheckedBody
    calls: tuple[_Call, ...] = ()
    choices: tuple[Literal["auto", "required", "named"], ...] = ("auto", "required", "named")
    text: bool | None = None

    @model_validator(mode="after")
    def _calls_what_is_offered(self) -> Self:
        _need_messages(self.body)
        offered = set(_tool_names(self.body))
        if unknown := [call.name for call in self.calls if call.name not in offered]:
            raise ValueError(f"no tool {unknown[0]!r} in the body; offered are: {', '.join(sorted(offered)) or 'none'}")
        if "named" in self.choices and len(self.calls) != 1 and "choices" in self.model_fields_set:
            raise ValueError("'named' forces exactly one call: leave it out of choices")
        return self

    def made(self) -> ToolCase:
        """Choices that were not written down are those that can give these calls."""
        choices: tuple[str, ...] = self.choices
        if "choices" not in self.model_fields_set and len(self.calls) != 1:
            choices = ("auto", "required") if self.calls else ("auto",)
        calls = tuple(Call(one.name, one.arguments) for one in self.calls)
        return ToolCase(self.id, self.body, calls, choices, self.text)


class _Structured(SpecModel):
    id: Id
    body: CheckedBody
    form: Literal["json_schema", "regex", "choice"]
    constraint: JsonValue

    @model_validator(mode="after")
    def _fits_its_form(self) -> Self:
        _need_messages(self.body)
        found: Any = self.constraint
        if self.form == "json_schema" and not isinstance(found, dict):
            raise ValueError("the constraint of json_schema is the schema, a mapping")
        if self.form == "regex" and not isinstance(found, str):
            raise ValueError("the constraint of regex is one expression, a text")
        if self.form == "regex":
            _checked_expression(found)
        if self.form == "choice" and not (isinstance(found, list) and found and all(isinstance(x, str) for x in found)):
            raise ValueError("the constraint of choice is a list of texts")
        return self

    def made(self) -> StructuredCase:
        return StructuredCase(self.id, self.body, self.form, self.constraint)


class _Reasoning(SpecModel):
    id: Id
    turns: tuple[str, ...] = Field(min_length=1)
    body: CheckedBody = Field(default_factory=dict)

    def made(self) -> ReasoningCase:
        return ReasoningCase(self.id, self.turns, self.body)


class _Needle(SpecModel):
    filler: tuple[str, ...] = Field(min_length=1)
    fact: str
    question: str
    answer: Expression
    places: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(default=(0.1, 0.5, 0.9), min_length=1)

    def made(self) -> Needle:
        return Needle(self.filler, self.fact, self.question, self.answer, self.places)


class CasebookFile(SpecModel):
    """The whole file."""

    name: Id
    golden: tuple[_Answer, ...] = ()
    drift: str = ""
    tools: tuple[_Tool, ...] = ()
    structured: tuple[_Structured, ...] = ()
    reasoning: tuple[_Reasoning, ...] = ()
    prefix: _Answer | None = None
    needle: _Needle | None = None
    texts: tuple[str, ...] = ()

    def made(self) -> Casebook:
        """The casebook."""
        return Casebook(
            name=self.name,
            golden=tuple(one.made() for one in self.golden),
            drift=self.drift.strip(),
            tools=tuple(one.made() for one in self.tools),
            structured=tuple(one.made() for one in self.structured),
            reasoning=tuple(one.made() for one in self.reasoning),
            prefix=self.prefix.made() if self.prefix else None,
            needle=self.needle.made() if self.needle else None,
            texts=self.texts,
        )


def _need_messages(body: Body) -> None:
    if not body.get("messages"):
        raise ValueError("the body needs 'messages'")


def _tool_names(body: Body) -> list[str]:
    tools: Any = body.get("tools")
    if not isinstance(tools, list) or not tools:
        raise ValueError("the body needs 'tools', a list")
    try:
        return [str(one["function"]["name"]) for one in tools]
    except (KeyError, TypeError) as error:
        raise ValueError("each of 'tools' is {type: function, function: {name, description, parameters}}") from error
