"""PN528: text after a tool call is lost without streaming, and comes in the wrong place with it.

The engine puts such text aside until the next delta. A whole answer has no next delta, so its text is never seen. In
a stream the text waits while a delta brings both newer text and a call, and then comes after text that it precedes.
Here it comes with the next delta whatever that holds, and before the end at the latest.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Variant, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/parser/engine/parser_engine.py"
SCOPE = "ParserEngine._events_to_delta"

BEGIN = "        content_parts: list[str] = []\n        reasoning_parts: list[str] = []\n\n"
WAITED = """        if self._deferred_content:
            content_parts += [self._deferred_content]
            self._deferred_content = ""
"""

PATCH = Patch(
    id="PN528",
    title="Keep text after a tool call, in its place",
    family="tool_parsing",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.ORIGINAL,
    flag=Flag("PN528_TEXT_AFTER_CALL"),
    credit="Genesis",
    versions=">=0.24.0",
    edits=(
        AnchorEdit(
            "waited",
            FILE,
            SCOPE,
            (
                Variant(
                    BEGIN + "        seen_tool_event = False\n",
                    BEGIN + WAITED + "        seen_tool_event = False\n",
                    "0.24",
                ),
                Variant(
                    BEGIN + "        carried_deferred = self._deferred_content\n",
                    BEGIN + WAITED + "        carried_deferred = self._deferred_content\n",
                    "0.30",
                ),
            ),
        ),
        replacing(
            "at_the_end",
            FILE,
            SCOPE,
            "        if self._deferred_content and (not seen_tool_event or not tool_call_deltas):\n",
            "        if self._deferred_content and (\n"
            "            finished or not seen_tool_event or not tool_call_deltas\n"
            "        ):\n",
        ),
        AnchorEdit(
            "after_what_precedes",
            FILE,
            SCOPE,
            (
                Variant(
                    "            content_parts.insert(0, self._deferred_content)\n",
                    "            content_parts.append(self._deferred_content)\n",
                ),
            ),
            required=False,
            unless=Marker(FILE, "                content_parts.insert(0, carried_deferred)\n", SCOPE),
        ),
        AnchorEdit(
            "whole_answer_ends",
            FILE,
            "ParserEngine._single_pass_parse",
            (
                Variant(
                    "        delta = self._events_to_delta(events)\n",
                    "        delta = self._events_to_delta(events, finished=True)\n",
                ),
            ),
            required=False,
            unless=Marker(FILE, "self._events_to_delta(events, finished=True)", "ParserEngine._single_pass_parse"),
        ),
    ),
    study=Study(
        upstream="0.30 put in order what is set aside within one delta; what waits over several is as it was",
        ours="nothing waits longer than one delta",
        tests="none upstream; each answer is parsed whole and streamed in every cut",
    ),
)
