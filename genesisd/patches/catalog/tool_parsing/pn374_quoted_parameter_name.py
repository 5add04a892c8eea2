"""PN374: a parameter whose name holds a quote or another sign of XML is lost, or makes the arguments invalid JSON.

The parser of ``qwen3_xml`` and ``mimo`` rewrites ``<parameter=NAME>`` to an attribute and feeds it to an XML parser, and writes the
name into the arguments, both without escaping it. Releases after 0.23 have another parser.
"""

from __future__ import annotations

from genesisd.patches.conditions import Fact, Is
from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/tool_parsers/qwen3xml_tool_parser.py"
CHUNK = "StreamingXMLToolCallParser._preprocess_xml_chunk"
START = "StreamingXMLToolCallParser._start_element"

PATCH = Patch(
    id="PN374",
    title="Escape quotes in Qwen3 XML parameter names",
    family="tool_parsing",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.RELATED,
    flag=Flag("PN374_QUOTED_PARAMETER_NAME"),
    upstream=(44877,),
    credit="vLLM contributors",
    versions=">=0.23.0,<0.24.0",
    applies_to=Is(Fact.TOOL_CALL_PARSER, ("mimo", "qwen3_xml")),
    edits=(
        replacing(
            "attribute",
            FILE,
            CHUNK,
            """        processed = re.sub(r"<parameter=([^>]+)>", r'<parameter name="\\1">', processed)\n""",
            '        processed = re.sub(\n            r"<parameter=([^>]+)>",\n'
            "            lambda found: f'<parameter name=\"{self._escape_xml_special_chars(found[1])}\">',\n"
            "            processed,\n        )\n",
        ),
        replacing(
            "name_for_its_type",
            FILE,
            CHUNK,
            "                self._pre_current_param_name = m.group(1)\n",
            "                from html import unescape\n\n"
            "                self._pre_current_param_name = unescape(m.group(1))\n",
        ),
        replacing(
            "first_key",
            FILE,
            START,
            """                    json_start = f'{{"{param_name}": '\n""",
            '                    json_start = f"{{{json.dumps(param_name, ensure_ascii=False)}: "\n',
        ),
        replacing(
            "next_key",
            FILE,
            START,
            """                    json_continue = f', "{param_name}": '\n""",
            '                    json_continue = f", {json.dumps(param_name, ensure_ascii=False)}: "\n',
        ),
    ),
    study=Study(
        upstream="mended the same mistake in another parser, and replaced this one",
        ours="escapes for XML where XML is fed, and for JSON where JSON is written",
        tests="none of that parser; names with quotes, ampersands and backslashes, whole and streamed",
    ),
)
