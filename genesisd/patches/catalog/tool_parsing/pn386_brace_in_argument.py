"""PN386: a brace in an argument ends the call in a stream of forced tool calls.

Under ``tool_choice: required`` the stream is cut by counting braces, those within strings too, and a delta that
brings the end of one call and the start of the next is told apart by its last element alone. A client gets arguments
with text of the array around them, or without their end, or calls that miss. Here the array is read as JSON: what is
new of each call is what the text has now and had not before.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/tool_parsers/streaming.py"

READING = '''

def _structure(text):
    """Each sign of JSON outside of strings, as (place, sign, number of brackets around it)."""
    depth, quoted, escaped = 0, False, False
    for place, sign in enumerate(text):
        if quoted:
            quoted = escaped or sign != '"'
            escaped = sign == "\\\\" and not escaped
        elif sign == '"':
            quoted = True
        elif sign in "{[":
            yield place, sign, depth
            depth += 1
        elif sign in "}]":
            depth -= 1
            yield place, sign, depth
        elif sign in ",:":
            yield place, sign, depth


def _required_calls(text):
    """The members of each call in the array, as raw text; of one that is still coming only arguments are shown."""
    calls, key, start = [], None, 0
    for place, sign, depth in _structure(text):
        if depth == 0:
            if sign != "[":
                break
        elif sign == "{" and depth == 1:
            calls.append({})
            key, start = None, place + 1
        elif sign == ":" and depth == 2 and key is None:
            key, start = text[start:place].strip(), place + 1
        elif (sign, depth) in ((",", 2), ("}", 1)):
            if key is not None:
                calls[-1][key] = text[start:place].strip()
            key, start = None, place + 1
    if key == '"parameters"' and text[start:].strip():
        calls[-1][key] = text[start:].strip()
    return calls


def _is_announced(call):
    return '"parameters"' in call and _name(call) is not None


def _name(call):
    """The name, or None where none has come, or something that is none: no reason to end the stream."""
    try:
        name = json.loads(call.get('"name"', ""))
    except ValueError:
        return None
    return name if isinstance(name, str) else None


def _required_delta(previous_text, current_text, tool_call_idx, tool_call_id_type):
    """What is new of the calls, and whether one has been announced."""
    before, now = _required_calls(previous_text), _required_calls(current_text)
    deltas, begun = [], 0
    for index, call in enumerate(now):
        if not _is_announced(call):
            break
        arguments, sent = call['"parameters"'], before[index] if index < len(before) else {}
        if _is_announced(sent):
            new = arguments[len(sent['"parameters"']) :]
            if new:
                function = DeltaFunctionCall(name=None, arguments=new)
                deltas.append(DeltaToolCall(index=index, function=function))
            continue
        name = _name(call)
        call_id = make_tool_call_id(
            id_type=tool_call_id_type,
            func_name=name,
            idx=None if tool_call_idx is None else tool_call_idx + begun,
        )
        begun += 1
        function = DeltaFunctionCall(name=name, arguments=arguments)
        deltas.append(DeltaToolCall(id=call_id, type="function", index=index, function=function))
    announced = bool(now) and _is_announced(now[0])
    return (DeltaMessage(tool_calls=deltas) if deltas else None), announced
'''

EMPTY = (
    '    if current_text is None or current_text == "":\n'
    "        # if the current text is empty, we cannot parse it\n"
    "        return None, function_name_returned\n"
)

PATCH = Patch(
    id="PN386",
    title="Ignore braces inside strings of streamed tool arguments",
    family="tool_parsing",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN386_BRACE_IN_ARGUMENT"),
    upstream=(45389,),
    credit="vLLM contributors",
    applied_upstream="0.32.0",
    versions=">=0.23.0",
    edits=(
        AnchorEdit(
            "reading",
            FILE,
            "",
            (Variant("else:\n    TokenizerLike = object\n", READING),),
            Placement.AFTER,
        ),
        AnchorEdit(
            "detour",
            FILE,
            "extract_required_tool_call_streaming",
            (
                Variant(
                    EMPTY, "    return _required_delta(previous_text, current_text, tool_call_idx, tool_call_id_type)\n"
                ),
            ),
            Placement.AFTER,
        ),
    ),
    markers=(Marker(FILE, "def _scan_required_tool_calls("),),
    study=Study(
        upstream="taught the counting about strings in 0.25.1, which did not mend it, and rewrote it as a scan in 0.32",
        ours="a scan as well, in the place of the counting; no state beyond the two texts",
        tests="braces, brackets, quotes and backslashes in strings, nested values, several calls, in every cut",
    ),
)
