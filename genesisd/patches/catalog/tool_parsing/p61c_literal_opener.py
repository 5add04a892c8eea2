"""P61c: a ``<tool_call>`` that a model merely writes about ends the answer.

The opener alone is taken for a call. No call follows, so the rest of the text is held back for it and never shown: in
streams with ``hermes``, and with ``qwen3_coder`` always, tools or no tools. In a thought it ends the thought as well.
Here the opener opens nothing until the header of a call has come: ``<function=``, or a JSON object that begins with
``name`` or ``arguments``.
"""

from __future__ import annotations

from genesisd.patches.conditions import AnyOf, Fact, Is
from genesisd.patches.edits import AnchorEdit, Marker, NewFile, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Proof, Study

TAGS = "vllm/tool_parsers/genesis_literal_tags.py"
HELD = "vllm/parser/genesis_held_calls.py"
HERMES = "vllm/tool_parsers/hermes_tool_parser.py"
QWEN3 = "vllm/parser/qwen3.py"
ENGINE = "vllm/parser/engine/parser_engine.py"
PARSER = "vllm/parser/abstract_parser.py"
CODER = "vllm/tool_parsers/qwen3coder_tool_parser.py"
XML = "vllm/tool_parsers/qwen3xml_tool_parser.py"

TAGS_TEXT = r'''"""Tells an opener of a tool call from the same letters in prose, for parsers that read the whole text anew each time."""

import regex as re

_genesis_hits = {"P61c": 0}

OPENER, CLOSER = "<tool_call>", "</tool_call>"
TAG = re.compile("</?tool_call>")
# In place of the first letter of a tag that is prose: a private-use character, so that no parser knows it.
MASK = "\ue61c"


class Settled(str):
    """Text in which every opener opens a call."""


def settle_whole(parser, header, text, request):
    """What ``parser`` finds in a complete answer, in which ``header`` tells calls from prose."""
    masked, held = _masked(header, text)
    found = parser.extract_tool_calls(Settled(masked + held.replace("<", MASK)), request)
    if found.content:
        found.content = found.content.replace(MASK, "<")
    return found


def settle_stream(parser, header, previous, text, ids, request):
    """The same for an answer that still comes. What is undecided waits for ``last_words``."""
    known = getattr(parser, "_genesis_known", "") if previous else ""
    masked, parser._genesis_held = _masked(header, text)
    parser._genesis_known = masked
    new = masked[len(known) :]
    if parser._genesis_held and not new:
        return None
    found = parser.extract_tool_calls_streaming(known, Settled(masked), new, [], [], [] if new else ids, request)
    if found is not None and found.content:
        found.content = found.content.replace(MASK, "<")
    return found


def last_words(parser):
    """What was still undecided when the answer ended: no call came of it."""
    return getattr(parser, "_genesis_held", "")


def _masked(header, text):
    """The text with each tag in prose masked, up to the first that nothing can be said about yet, and the rest."""
    call = re.compile(rf"{OPENER}\s{{0,64}}(?:{header})")
    settled, at = "", 0
    while tag := TAG.search(text, at):
        start = tag.start()
        found = call.match(text, start, partial=True)
        if found is None:
            _genesis_hits["P61c"] += text.startswith(OPENER, start)
            settled += text[at:start] + MASK
            at = start + 1
        elif found.partial:
            return settled + text[at:start], text[start:]
        else:
            end = text.find(CLOSER, start)
            if end < 0:
                return settled + text[at:], ""
            settled += text[at : end + len(CLOSER)]
            at = end + len(CLOSER)
    last = text.rfind("<", at)
    whole = last if last >= 0 and TAG.fullmatch(text, last, partial=True) else len(text)
    return settled + text[at:whole], text[whole:]
'''

HELD_TEXT = r'''"""Opens a tool call only once its header has come; until then what looks like one is held, and given back if it is not."""

from collections.abc import Sequence

import regex as re

from vllm.parser.engine.events import SemanticEvent
from vllm.parser.engine.parser_engine_config import ParserState
from vllm.parser.engine.streaming_parser_engine import StreamingParserEngine
from vllm.tool_parsers.genesis_literal_tags import _genesis_hits

CALL = r"<function="
# A reasoning parser does not know which tool parser follows, and some take JSON.
JSON_CALL = r'\{\s*"(?:name|arguments)"\s*:'


def _header(opener: str, bodies: str) -> re.Pattern:
    return re.compile(rf"{opener}\s{{0,64}}(?:{bodies})")


class HeldCallEngine(StreamingParserEngine):
    """The engine of ``parser``, with openers held back."""

    def __init__(self, parser) -> None:
        self._parser = parser
        opener = re.escape(parser.parser_engine_config.terminals["TOOL_START"])
        self._tool_header = _header(opener, CALL)
        self._reasoning_header = _header(opener, f"{CALL}|{JSON_CALL}")
        super().__init__(parser.parser_engine_config, parser.model_tokenizer, vocab=parser.vocab)

    def reset(self, initial_state: ParserState | None = None) -> None:
        self._held: list[tuple] = []  # (terminal or None, text, further arguments)
        self._seen = ""
        self._line_is_blank = True
        self._window: list[int] = []
        self._openers = 0
        self.released_ids: list[int] = []
        super().reset(initial_state=initial_state)

    def feed(self, delta_text: str, delta_token_ids: Sequence[int]) -> list[SemanticEvent]:
        if not self._held and not self._scanner._deferred_terminals:
            self._window, self._openers = [], 0
        self._window += delta_token_ids
        self.released_ids = []
        return super().feed(delta_text, delta_token_ids)

    def finish(self) -> list[SemanticEvent]:
        events = self._process_scanner_items(self._scanner.flush_pending())
        events += self._process_lex_tokens(self._lexer.flush())
        while self._held:
            events += self._give_up()
        if hasattr(self, "_record_reasoning_tokens"):
            self._record_reasoning_tokens(events)
        return events + super().finish()

    def _on_terminal(self, terminal: str, value: str, *rest) -> list[SemanticEvent]:
        if terminal == "__DROP__":
            return super()._on_terminal(terminal, value, *rest)
        if terminal == "TOOL_START":
            self._openers += 1
        return self._take((terminal, value, rest))

    def _emit_for_state(self, text: str, *rest, **named) -> list[SemanticEvent]:
        if self._held:
            return self._hold((None, text, (*rest, *named.values())))
        self._line_is_blank = not text.rpartition("\n")[2].strip() and ("\n" in text or self._line_is_blank)
        return super()._emit_for_state(text, *rest, **named)

    def _take(self, item: tuple) -> list[SemanticEvent]:
        terminal, text, rest = item
        if self._held or self._is_opener(terminal):
            return self._hold(item)
        if terminal is None:
            return self._emit_for_state(text, *rest)
        return self._apply(item)

    def _apply(self, item: tuple) -> list[SemanticEvent]:
        terminal, text, rest = item
        if terminal is None:
            return self._emit_for_state(text, *rest)
        before = self.state
        events = super()._on_terminal(terminal, text, *rest)
        if self.state is not before:
            self._line_is_blank = True
        return events

    def _is_opener(self, terminal: str | None) -> bool:
        if self.skip_tool_parsing:
            return terminal == "TOOL_START" and self.state is ParserState.REASONING
        between = (ParserState.CONTENT, ParserState.REASONING, ParserState.TOOL_BETWEEN)
        return terminal == "TOOL_START" and self.state in between

    def _hold(self, item: tuple) -> list[SemanticEvent]:
        self._held.append(item)
        self._seen += item[1]
        header = self._reasoning_header if self.skip_tool_parsing else self._tool_header
        found = header.match(self._seen, partial=True)
        if found is None:
            return self._release()
        return [] if found.partial else self._open()

    def _open(self) -> list[SemanticEvent]:
        """It is a call: all that was held happens now."""
        was_reasoning = self.state is ParserState.REASONING
        held = self._let_go()
        events = []
        for item in held:
            events += self._apply(item)
        if was_reasoning:
            self.released_ids = self._ids_from_opener()
        return events

    def _release(self) -> list[SemanticEvent]:
        """It is prose: the opener is text, and what came after it is looked at anew."""
        _genesis_hits["P61c"] += 1
        (_, text, rest), *others = self._let_go()
        if self.state is ParserState.TOOL_BETWEEN:
            self.state = ParserState.CONTENT
        events = self._emit_for_state(text, *rest)
        for item in others:
            events += self._take(item)
        return events

    def _give_up(self) -> list[SemanticEvent]:
        """The answer ended: half a call is dropped, as ever; an opener within a sentence was one of its words."""
        if self._seen.strip() in self._held[0][1] and not self._line_is_blank:
            return self._release()
        self._let_go()
        return []

    def _let_go(self) -> list[tuple]:
        held, self._held, self._seen = self._held, [], ""
        return held

    def _ids_from_opener(self) -> list[int]:
        """What the tool parser must be given: the opener's own token may have come many deltas ago."""
        wanted = {number for number, name in self._resolved_token_ids.items() if name == "TOOL_START"}
        places = [place for place, number in enumerate(self._window) if number in wanted]
        return self._window[places[self._openers - 1] :] if self._openers <= len(places) else []
'''

IMPORT_HERE = "        from vllm.tool_parsers.genesis_literal_tags import "
XML_HEADER = '"<function="'
JSON_HEADER = "r'\\{\\s*\"(?:name|arguments)\"\\s*:'"


def settled_whole(header: str) -> str:
    """The detour of a complete answer."""
    return (
        f"{IMPORT_HERE}Settled, settle_whole\n\n"
        "        if not isinstance(model_output, Settled):\n"
        f"            return settle_whole(self, {header}, model_output, request)\n"
    )


def settled_stream(header: str) -> str:
    """The detour of a delta."""
    return (
        f"{IMPORT_HERE}Settled, settle_stream\n\n"
        "        if not isinstance(current_text, Settled):\n"
        f"            return settle_stream(self, {header}, previous_text, current_text, delta_token_ids, request)\n"
    )


# What shows which of the two a release has. With neither, or with one whose places have changed, half a patch would
# leave the Qwen3 models as they are and still be told as applied.
OWN_PARSERS = Marker(CODER, "class Qwen3CoderToolParser(")
ONE_ENGINE = Marker(QWEN3, "class Qwen3Parser(")


def before(id: str, path: str, scope: str, anchor: str, text: str, unless: Marker | None = None) -> AnchorEdit:  # noqa: A002 - the field's name
    """An insertion in front of the anchor."""
    return AnchorEdit(
        id, path, scope, (Variant(anchor, text),), Placement.BEFORE, required=unless is None, unless=unless
    )


PATCH = Patch(
    id="P61c",
    title="Begin a tool call only once its header confirms",
    family="tool_parsing",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.ORIGINAL,
    flag=Flag("P61C_QWEN3CODER_DEFERRED_COMMIT"),
    credit="troymroberts reported it",
    versions=">=0.23.0",
    applies_to=AnyOf(
        (
            Is(
                Fact.TOOL_CALL_PARSER,
                ("hermes", "mimo", "qwen3_coder", "qwen3_json", "qwen3_xml", "seed_oss", "step3p5", "step5"),
            ),
            Is(
                Fact.REASONING_PARSER,
                ("granite_thinking_parser", "mimo", "minicpmv", "nemotron_v3", "qwen3", "seed_oss", "step3p5"),
            ),
        )
    ),
    edits=(
        NewFile("tags", TAGS, TAGS_TEXT),
        NewFile("held", HELD, HELD_TEXT),
        before(
            "hermes_whole",
            HERMES,
            "Hermes2ProToolParser.extract_tool_calls",
            "        # sanity check; avoid unnecessary processing\n",
            settled_whole(JSON_HEADER),
        ),
        before(
            "hermes_stream",
            HERMES,
            "Hermes2ProToolParser.extract_tool_calls_streaming",
            "        try:\n            # Extract any content before tool calls.\n",
            settled_stream(JSON_HEADER),
        ),
        AnchorEdit(
            "last_words",
            PARSER,
            "DelegatingParser.parse_delta",
            (
                Variant(
                    "        if finished:\n",
                    "            from vllm.tool_parsers.genesis_literal_tags import last_words\n\n"
                    "            if held := last_words(self._tool_parser):\n"
                    "                delta_message = delta_message or DeltaMessage()\n"
                    '                delta_message.content = (delta_message.content or "") + held\n',
                ),
            ),
            Placement.AFTER,
        ),
        AnchorEdit(
            "qwen3_engine",
            QWEN3,
            "Qwen3Parser.__init__",
            (
                Variant(
                    "        super().__init__(\n            tokenizer,\n            tools,\n            **kwargs,\n        )\n",
                    "        from vllm.parser.genesis_held_calls import HeldCallEngine\n\n"
                    "        self._engine = HeldCallEngine(self)\n",
                ),
            ),
            Placement.AFTER,
            required=False,
            unless=OWN_PARSERS,
        ),
        AnchorEdit(
            "reasoning_ids",
            ENGINE,
            "ParserEngine.extract_content_ids",
            (
                Variant(
                    "    def extract_content_ids(self, input_ids: list[int]) -> list[int]:\n",
                    '        if released := getattr(self._engine, "released_ids", None):\n'
                    "            return list(released)\n",
                ),
            ),
            Placement.AFTER,
            required=False,
            unless=OWN_PARSERS,
        ),
        # The two parsers that 0.23 has in the engine's place.
        before(
            "coder_whole",
            CODER,
            "Qwen3CoderToolParser.extract_tool_calls",
            "        # Quick check to avoid unnecessary processing\n",
            settled_whole(XML_HEADER),
            ONE_ENGINE,
        ),
        before(
            "coder_stream",
            CODER,
            "Qwen3CoderToolParser.extract_tool_calls_streaming",
            "        # Store request for type conversion\n",
            settled_stream(XML_HEADER),
            ONE_ENGINE,
        ),
        before(
            "xml_whole",
            XML,
            "Qwen3XMLToolParser.extract_tool_calls",
            "        self.parser.reset_streaming_state()\n        # Reset tool call tracking arrays for new extraction\n",
            settled_whole(XML_HEADER),
            ONE_ENGINE,
        ),
        before(
            "xml_stream",
            XML,
            "Qwen3XMLToolParser.extract_tool_calls_streaming",
            "        if not previous_text:\n            self.parser.reset_streaming_state()\n",
            settled_stream(XML_HEADER),
            ONE_ENGINE,
        ),
    ),
    proofs=(Proof("api", counter="vllm.tool_parsers.genesis_literal_tags:_genesis_hits"),),
    study=Study(
        upstream="nothing: an opener is a call, and what an opener without a call held back is dropped on purpose",
        ours="decides by the header instead of by a number of characters, holds no more than it must, and gives back the text",
        tests="none upstream; each answer is parsed whole and streamed in every cut",
    ),
)
