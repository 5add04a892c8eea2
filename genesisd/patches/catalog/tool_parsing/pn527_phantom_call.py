"""PN527: prose that quotes ``<function=foo>`` calls a tool.

The engine of the Qwen3 parsers takes the header alone for a call, and any name: a client gets a call of a tool that it
never declared, without a name at all where it declared none, and the rest of the sentence is gone. On 0.33 a header
that stands in the argument of a real call ends that call as well.
Here a header opens a call if its name is one of the request's tools and parameters or the call's end follow.
"""

from __future__ import annotations

from genesisd.patches.catalog.tool_parsing.p61c_literal_opener import HELD
from genesisd.patches.edits import AnchorEdit, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Proof, Study

CALL = r"""NAME = r"<function=(?P<name>[^<>\n]{1,256})"
# A name whose ">" is missing is ended by the call's end, which upstream tolerates.
CALL = NAME + r"(?:>\s{0,64}(?:<\s?parameter\s?=|</function>|</tool_call>|\{)|</function>)"
"""

OPENER = """        between = (ParserState.CONTENT, ParserState.REASONING, ParserState.TOOL_BETWEEN)
        if terminal == "FUNC_PREFIX" and (self.state, terminal) in self.config.transitions:
            return self.state in (*between, ParserState.TOOL_ARGS)
        return terminal == "TOOL_START" and self.state in between
"""

DECLARED = '''
    def _is_declared(self, name: str | None) -> bool:
        """Whether the request has such a tool. A reasoning parser is not told, nor can a tool of another kind be asked."""
        tools = self._parser._tools or ()
        if name is None or self.skip_tool_parsing:
            return True
        if any(getattr(tool, "type", "function") not in ("function", "custom", "namespace") for tool in tools):
            return True
        return find_tool_name(tools, name.strip())
'''

GIVE_UP = """        bare = re.search(NAME + r">\\s*$", self._seen)
        if bare and not self.skip_tool_parsing:
            enveloped = self._held[0][0] == "TOOL_START"
            is_call = (enveloped or self._line_is_blank) and self._is_declared(bare["name"])
            return self._open() if is_call else self._release()
        if self._held[0][0] == "FUNC_PREFIX":
            return self._release()
"""


def on_held(id: str, scope: str, anchor: str, text: str, placement: Placement = Placement.REPLACE) -> AnchorEdit:  # noqa: A002 - the field's name
    """An edit of the file that P61c brings."""
    return AnchorEdit(id, HELD, scope, (Variant(anchor, text),), placement, after="P61c")


PATCH = Patch(
    id="PN527",
    title="Call only tools that the request declares, and never from a quoted header",
    family="tool_parsing",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.ORIGINAL,
    flag=Flag("PN527_PHANTOM_CALL"),
    credit="Genesis",
    versions=">=0.24.0",
    requires=("P61c",),
    edits=(
        on_held("call", "", 'CALL = r"<function="\n', CALL),
        on_held(
            "lookup",
            "",
            "from vllm.tool_parsers.genesis_literal_tags import _genesis_hits\n",
            'from vllm.tool_parsers.utils import find_tool_name\n\n_genesis_hits["PN527"] = 0\n',
            Placement.AFTER,
        ),
        on_held(
            "bare",
            "HeldCallEngine.__init__",
            "_header(opener, CALL)\n",
            '_header(f"(?:{opener})?", CALL)\n',
        ),
        on_held(
            "opener",
            "HeldCallEngine._is_opener",
            "        between = (ParserState.CONTENT, ParserState.REASONING, ParserState.TOOL_BETWEEN)\n"
            '        return terminal == "TOOL_START" and self.state in between\n',
            OPENER,
        ),
        on_held(
            "declared",
            "HeldCallEngine",
            '    """The engine of ``parser``, with openers held back."""\n',
            DECLARED,
            Placement.AFTER,
        ),
        on_held(
            "judge",
            "HeldCallEngine._hold",
            "        if found is None:\n",
            '        if found is None or not (found.partial or self._is_declared(found["name"])):\n',
        ),
        on_held(
            "count",
            "HeldCallEngine._release",
            '        _genesis_hits["P61c"] += 1\n',
            '        _genesis_hits["PN527" if "<function=" in self._seen else "P61c"] += 1\n',
        ),
        on_held(
            "give_up",
            "HeldCallEngine._give_up",
            "        if self._seen.strip() in self._held[0][1] and not self._line_is_blank:\n",
            GIVE_UP,
            Placement.BEFORE,
        ),
    ),
    proofs=(Proof("api", counter="vllm.tool_parsers.genesis_literal_tags:_genesis_hits"),),
    study=Study(
        upstream="passes on whatever name comes; a switch that refuses unknown names exists and drops their text",
        ours="asks for the shape of a call and for a declared name, and gives back the text of what is none",
        tests="none upstream; each answer is parsed whole and streamed in every cut",
    ),
)
