"""Whether the tool calls that came are those that were expected. Pure.

Arguments are compared as JSON values: their order and white space are nobody's business, and neither is whether a
whole number is written ``1`` or ``1.0``; a number in quotation marks is another value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from genesisd.probes.answered import Answered
from genesisd.probes.casebook import Call, ToolCase
from genesisd.probes.judging.leaks import leaked_beside_calls, leaked_in_prose

Made = tuple[str, str]
"""A call that came: its name, and its arguments as text."""
FINISH = {"auto": ("tool_calls",), "required": ("tool_calls",), "named": ("stop", "tool_calls")}
"""A forced tool's answer ends with ``stop`` in the engines of today, and with ``tool_calls`` in others."""


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal; true and 1 are not, as they are in Python."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return one == other


def wrong(case: ToolCase, choice: str, said: Answered) -> str | None:
    """What is wrong with an answer to a case that was asked under ``choice``."""
    if not case.calls:
        return _wrong_prose(case, said)
    return (
        leaks(case, said)
        or wrong_calls(case.calls, said.calls)
        or wrong_identities(said.call_ids, len(said.calls))
        or _wrong_finish(choice, said.finish)
        or _wrong_text(case, said.content)
    )


def leaks(case: ToolCase, said: Answered) -> str | None:
    """A call that came as text, or a piece of one."""
    if case.calls and (tag := leaked_beside_calls(said.content, _asked(case))):
        return f"{tag} leaked into the content {_cut(said.content)}, which the tool parser had to eat"
    if tag := leaked_in_prose(said.content) or leaked_in_prose(said.reasoning):
        return f"a call stands in the text ({tag})"
    return None


def wrong_calls(expected: Sequence[Call], came: Sequence[Made]) -> str | None:
    """Number, order, names and arguments."""
    if len(came) != len(expected):
        return f"{_named([name for name, _ in came])} came, expected {_named([call.name for call in expected])}"
    values = [_parsed(text) for _, text in came]
    for (name, text), value in zip(came, values, strict=True):
        if not isinstance(value, dict):
            return f"the arguments of {name} are no JSON object: {_cut(text)}"
    faults = [_difference(*pair) for pair in zip(expected, came, values, strict=True)]
    fault = next((one for one in faults if one), None)
    if fault and len(expected) > 1 and _reordered(expected, came, values):
        return f"the calls came in another order: {', '.join(f'{name} {_cut(text)}' for name, text in came)}"
    return fault


def wrong_identities(ids: Sequence[str | None], calls: int) -> str | None:
    """Each call has an id of its own: a client answers by it."""
    if len(ids) != calls or not all(ids):
        return f"{calls - sum(map(bool, ids))} of {calls} calls came without an id"
    if len(set(ids)) != len(ids):
        return f"{calls} calls share the id {ids[0]!r}"
    return None


def _wrong_prose(case: ToolCase, said: Answered) -> str | None:
    if said.calls:
        return f"{_named([name for name, _ in said.calls])} came, though no call is wanted"
    if fault := leaks(case, said):
        return fault
    if said.finish not in {"stop", "length"}:
        return f"finish reason {said.finish!r} without a call, expected 'stop'"
    return _wrong_text(case, said.content)


def _wrong_finish(choice: str, finish: str | None) -> str | None:
    right = FINISH.get(choice, FINISH["auto"])
    return None if finish in right else f"finish reason {finish!r} after the calls, expected {right[0]!r}"


def _wrong_text(case: ToolCase, content: str | None) -> str | None:
    has = bool((content or "").strip())
    if case.text is None or has is case.text:
        return None
    return f"{_cut(content)} came beside the calls" if has else "no words came, expected some"


def _difference(expected: Call, came: Made, value: object) -> str | None:
    name, text = came
    if name != expected.name:
        return f"a call of {name or 'nothing'} came, expected {expected.name}"
    if not same(value, dict(expected.arguments)):
        return f"{name} got {_cut(text)}, expected {_cut(json.dumps(dict(expected.arguments)))}"
    return None


def _reordered(expected: Sequence[Call], came: Sequence[Made], values: Sequence[object]) -> bool:
    left = list(zip(came, values, strict=True))
    for call in expected:
        match = next((one for one in left if _difference(call, *one) is None), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _parsed(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refused)
    except ValueError:
        return None


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _asked(case: ToolCase) -> str:
    return json.dumps(dict(case.body), default=str)


def _named(names: Sequence[str]) -> str:
    if not names:
        return "no call"
    return f"{len(names)} call{'s' if len(names) > 1 else ''} ({', '.join(name or 'nameless' for name in names)})"


def _cut(text: str | None, limit: int = 70) -> str:
    shown = text or "nothing"
    return shown if len(shown) <= limit else f"{shown[:limit]}..."
