"""PN525: an answer that ends within a tool call shows the torn markup when it is not streamed.

A stream holds the markup back and drops it at the end, as a whole answer should. It needs P61c: where every opener
counts as a call, dropping what has no call also drops prose that merely quotes one, which is how releases that have
this change cut such answers.
"""

from __future__ import annotations

from genesisd.patches.edits import Marker, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/parser/abstract_parser.py"

PATCH = Patch(
    id="PN525",
    title="Drop half a tool call from a whole answer too",
    family="tool_parsing",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN525_HALF_A_CALL_AT_THE_END"),
    upstream=(47562,),
    credit="vLLM contributors",
    applied_upstream="0.30.0",
    versions=">=0.24.0",
    requires=("P61c",),
    edits=(
        replacing(
            "parsed_content",
            FILE,
            "DelegatingParser._extract_tool_calls",
            "                # No tool calls.\n                return None, content\n",
            "                # No tool calls.\n"
            "                if self._engine_based and tool_call_info is not None:\n"
            "                    content = tool_call_info.content or None\n"
            "                return None, content\n",
        ),
    ),
    markers=(Marker(FILE, "the tool parser's content, which drops incomplete"),),
    study=Study(
        upstream="takes the content from the tool parser where that is one of the engine's, and keeps the raw text elsewhere",
        ours="the same, and not without P61c",
        tests="half a call whole and streamed, and the prose that upstream cuts by it",
    ),
)
