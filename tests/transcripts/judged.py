"""Which judges a recorded answer is held against.

Any answer of any temperature: degeneration. What a grammar held at any temperature, once it was finished: its constraint.
Calls and thoughts only where the demo model was asked what it knows by heart and took its best guess each time: a model
that draws at random writes tags at random too, and no parser is to blame. Left out are the golden cases that the
released vLLM is known to answer wrong (``differs``), as its answer is no good one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from genesisd.probes.answered import Answered
from genesisd.probes.casebook import Call, ToolCase
from genesisd.probes.judging import calls, constraints, degeneration, thoughts
from genesisd.probes.judging.cutting import was_cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.transcripts.corpus import Transcript


def judges(one: Transcript) -> dict[str, Callable[[Answered], str | None]]:
    """Name of a kind -> what it says to an answer to this question."""
    found: dict[str, Callable[[Answered], str | None]] = {}
    if one.path == "/v1/chat/completions":
        found["degeneration"] = degeneration.wrong
    case = one.case
    if case is None or was_cut(one.said()):
        return found
    if constraint := _constraint(case["request"]):
        form, wanted = constraint
        found["structured-output"] = lambda said: constraints.broken(form, wanted, said.content or "")
    if not one.greedy or one.parser is None or any(_matches(one, other) for other in case["differs"]):
        return found
    if case["request"].get("tools"):
        asked, choice = _tool_case(case)
        found["tool-calls"] = lambda said: calls.wrong(asked, choice, said)
    elif not case["kind"].startswith("literal"):
        thinks = case["expect"]["reasoning"] is not None
        asked_ = json.dumps(case["request"]["messages"])
        found["reasoning"] = lambda said: thoughts.wrong(said, thinks=thinks, asked=asked_)
    return found


def _matches(one: Transcript, other: dict[str, Any]) -> bool:
    return (other["tool_parser"], other["stream"]) == (one.parser, one.knobs["stream"])


def _constraint(request: dict[str, Any]) -> tuple[str, Any] | None:
    form = request.get("response_format")
    if form is not None:
        schema = form["json_schema"]["schema"] if form["type"] == "json_schema" else {"type": "object"}
        return "json_schema", schema
    for name, wanted in request.get("structured_outputs", {}).items():
        return name, wanted
    return None


def _tool_case(case: dict[str, Any]) -> tuple[ToolCase, str]:
    request = case["request"]
    expected = tuple(Call(one["name"], json.loads(one["arguments"])) for one in case["expect"]["tool_calls"])
    choice = request["tool_choice"]
    asked = ToolCase(case["id"], request, expected, text=None if expected else True)
    return asked, choice if isinstance(choice, str) else "named"
