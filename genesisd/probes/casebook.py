"""What correctness probes ask: questions with what makes an answer right. Pure; ``casebooks`` reads them from files.

A case belongs to a model: a small one need not know what a large one does. The general casebook asks what any
instruct model can do; what a model of one's own should say is written into a casebook of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Body = Mapping[str, object]
"""A request's JSON body without ``model``, ``stream`` and ``temperature``, which the probe sets."""


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """A question whose greedy answer is recorded. ``path`` is where it is asked."""

    id: str
    body: Body
    path: Literal["/v1/chat/completions", "/v1/completions"] = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is expected: arguments are compared as JSON values."""

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolCase:
    """A question that calls for tools. ``body`` has ``messages`` and ``tools``.

    Attributes:
        calls: in order; empty for a question that must be answered without a call.
        choices: the values of ``tool_choice`` under which it is asked.
        text: whether words beside the calls are right (None: either way).
    """

    id: str
    body: Body
    calls: tuple[Call, ...]
    choices: tuple[str, ...] = ("auto", "required", "named")
    text: bool | None = None


@dataclass(frozen=True, slots=True)
class StructuredCase:
    """A question with a constraint: ``constraint`` is the schema, the expression, or the list of choices."""

    id: str
    body: Body
    form: Literal["json_schema", "regex", "choice"]
    constraint: object


@dataclass(frozen=True, slots=True)
class ReasoningCase:
    """A dialogue that is thought about: ``turns`` are the user's words, asked one after the other."""

    id: str
    turns: tuple[str, ...]
    body: Body = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Needle:
    """How a long text with a fact in it is made.

    Attributes:
        filler: sentences that are repeated in turn until the text is long enough.
        fact: the sentence to find.
        question: asked at the end.
        answer: regular expression that the answer has to match somewhere.
        places: where the fact stands, as shares of the text.
    """

    filler: tuple[str, ...]
    fact: str
    question: str
    answer: str
    places: tuple[float, ...] = (0.1, 0.5, 0.9)


@dataclass(frozen=True, slots=True)
class Casebook:
    """Everything that is asked of one worker. A kind whose part is empty is skipped.

    ``vouched``: its author knows that the model can answer all of it. Where nobody does, a case counts against a worker
    only once the worker has answered it right.
    """

    name: str = ""
    vouched: bool = True
    golden: tuple[AnswerCase, ...] = ()
    drift: str = ""
    """The text whose ``prompt_logprobs`` are compared."""
    tools: tuple[ToolCase, ...] = ()
    structured: tuple[StructuredCase, ...] = ()
    reasoning: tuple[ReasoningCase, ...] = ()
    prefix: AnswerCase | None = None
    """A question whose prompt is longer than several KV blocks."""
    needle: Needle | None = None
    texts: tuple[str, ...] = ()
    """What the tokenizer's fingerprint is taken of."""
