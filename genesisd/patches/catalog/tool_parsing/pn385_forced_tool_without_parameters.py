"""PN385: a request that forces a tool without parameters is not constrained at all.

The schema of the forced tool is what the request declares as its parameters. A tool that declares none has none, the
answer is left free, and whatever the model says becomes the arguments. An empty object is what is meant.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/tool_parsers/utils.py"


def or_empty(id: str, *values: str) -> AnchorEdit:  # noqa: A002 - the field's name
    """What is returned, or the schema of an object without properties; one value a form of the place."""
    empty = '{"type": "object", "properties": {}}'
    variants = tuple(Variant(f"return {value}\n", f"return {value} or {empty}\n") for value in values)
    return AnchorEdit(id, FILE, "get_json_schema_from_tools", variants)


PATCH = Patch(
    id="PN385",
    title="Accept a forced tool that declares no parameters",
    family="tool_parsing",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN385_FORCED_TOOL_WITHOUT_PARAMETERS"),
    upstream=(45290,),
    credit="vLLM contributors",
    applied_upstream="0.32.0",
    versions=">=0.23.0",
    edits=(
        or_empty("responses", "tool_map[tool_name].parameters", "responses_tool_map[tool_name]"),
        or_empty("chat", "tool_map[tool_name].function.parameters", "chat_tool_map[tool_name].function.parameters"),
    ),
    markers=(Marker(FILE, "def _params_or_empty_object("),),
    study=Study(
        upstream="puts the schema of an object without properties in the place of what is missing or empty",
        ours="the same, in the two places that return it",
        tests="both kinds of request, with parameters, without, and with an empty schema",
    ),
)
