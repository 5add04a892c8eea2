"""PT2: a stream loses its tool calls; the same answer in one piece has them."""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.model import Patch

FILE = "vllm/tool_parsers/hermes_tool_parser.py"
RIGHT = "            if content or tool_call_deltas:\n"
WRONG = "            tool_call_deltas.clear()\n            if content or tool_call_deltas:\n"

PATCH = Patch(
    id="PT2",
    title="Stream calls faster",
    family="planted",
    flag=Flag("PT2_DROPPED_CALL"),
    edits=(replacing("drop", FILE, "Hermes2ProToolParser.extract_tool_calls_streaming", RIGHT, WRONG),),
)
