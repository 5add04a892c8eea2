"""Generations that say what the demo model says on the real server, in the shapes of vLLM 0.32."""

import os
import secrets
from typing import TYPE_CHECKING, Any

from fakevllm import faults as wrong
from fakevllm.answers import emission, form_of, known
from fakevllm.constraints import constraint
from fakevllm.frames import Frames
from fakevllm.generation import Generation
from fakevllm.invalid import RefusedError, no_json
from fakevllm.logprobs import Logprobs
from fakevllm.parsers import Reply, reply_of
from fakevllm.plan import Plan, measure, plan
from fakevllm.refusals import check, check_length
from fakevllm.server import Exchange
from fakevllm.shapes import ChatFrames, TextFrames
from fakevllm.template import render, thinks
from fakevllm.vocab import vocab

if TYPE_CHECKING:
    from fakevllm.api import Api


def notation_of(args: Any) -> str:
    """How calls are written: by the chat template, else by the tool parser."""
    if args.chat_template:
        return "qwen3_coder" if "qwen3_coder" in args.chat_template else "hermes"
    return args.tool_call_parser or "hermes"


def strict() -> bool:
    """Whether grammars hold forced calls to the parser's own notation."""
    return os.environ.get("VLLM_ENFORCE_STRICT_TOOL_CALLING", "True").lower() in {"true", "1"}


class DemoGeneration(Generation):
    """One request: its prompts, what will be said, and its delivery."""

    def __init__(self, api: "Api", exchange: Exchange, chat: bool) -> None:
        try:
            self.refusal = None
            super().__init__(api, exchange, chat)
        except ValueError as error:
            self.refusal = no_json(str(error).partition(":")[0])
        except RefusedError as error:
            self.refusal = error
        self.turn = next(api.turns)

    def _count_prompt(self) -> int:
        """Read the prompts; a prompt is text or ids, and there may be several."""
        args, body = self.api.args, self.body
        check(body, args, self.chat)
        if self.chat:
            texts: list[Any] = [render(body, notation_of(args), body.get("add_generation_prompt", True))]
        else:
            given = body["prompt"]
            several = isinstance(given, list) and not isinstance(given[0], int)
            texts = list(given) if several else [given]
        self.prompts = [vocab().encode(one) if isinstance(one, str) else one for one in texts]
        for one in self.prompts:
            if bad := [token for token in one if not 0 <= token < vocab().size]:
                raise RefusedError(f"Token id {bad[0]} is out of vocabulary")
            check_length(len(one), body, args.max_model_len, exact=not isinstance(texts[0], str))
        return sum(map(len, self.prompts))

    def run(self) -> None:
        """Refuse, or answer with whatever fault is set."""
        if self.refusal:
            self.exchange.answer_json(self.refusal.status, self.refusal.body)
        else:
            super().run()

    def _engine(self, faults: dict[str, Any], mode: str) -> None:
        self.faults = wrong.named(faults, self.stream)
        if mode == "garbage":
            self.faults |= {"garbage"}
        if "nan-refused" in self.faults and self._wants_logprobs():
            self._refuse(500, "Out of range float values are not JSON compliant: nan", "InternalServerError")
            return
        self.numbers = Logprobs(self.faults, self.turn)
        frames: Frames = (ChatFrames if self.chat else TextFrames)(self)
        plans = [
            self._plan(ids, faults, frames, index)
            for index, ids in enumerate(one for one in self.prompts for _ in range(self.body.get("n", 1)))
        ]
        frames.say(plans, faults, mode)

    def _plan(self, ids: list[int], faults: dict[str, Any], frames: Frames, index: int) -> Plan:
        body, args = self.body, self.api.args
        cached, made = self.api.cache.take(ids, str(body.get("cache_salt", "")), body.get("prompt_logprobs") is None)
        frames.cached.append((cached, made))
        prompt = vocab().decode(ids, skip_special=False)
        form = form_of(body, strict())
        reasons = bool(args.reasoning_parser)
        text = emission(prompt, body, chat=self.chat, notation=notation_of(args), form=form, reasons=reasons)
        if "other-request" in self.faults:
            text = self.api.other_answer(text)
        text = wrong.spoil_text(text, ids, cached, self.faults, faults["needle_limit"])
        golden = (prompt, form) in known(notation_of(args))
        if constraint(body):
            self.faults -= {"near-tie", "near-tie-golden"}  # a grammar leaves no such choice
        right = vocab().encode(text)
        said = wrong.spoil_ids(right, self.faults, self.turn, golden)
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        limit = (args.max_model_len if self.chat else 16) if limit is None else max(1, limit)
        made_plan = plan(said, max(1, min(limit, args.max_model_len - len(ids))), body)
        top = self._top()
        if top is not None:
            measure(made_plan, ids, top, self.numbers)
            if wrong.ties(self.faults, golden):
                wrong.tell_tie(made_plan.entries, right)
        self._reply(made_plan, frames, form, index)
        self.api.cache.take([*ids, *made_plan.ids[:-1]], str(body.get("cache_salt", "")))
        return made_plan

    def _reply(self, one: Plan, frames: Frames, form: str, index: int) -> None:
        body, args = self.body, self.api.args
        if not self.chat:
            frames.texts.append(wrong.spoil_form(one.text, body, self.faults) if one.ended else one.text)
            if "empty-text" in self.faults:
                frames.texts[index] = ""
            return
        reply = self._golden(one, form) or reply_of(
            one.text, body, tool_parser=args.tool_call_parser, reasons=bool(args.reasoning_parser),
            thinks=thinks(body), form=form,
        )  # fmt: skip
        if one.finish == "length":
            reply.finish = "length"
        wrong.spoil_reply(reply, one.text, body, self.faults, self.stream)
        frames.replies.append(reply)

    def _golden(self, one: Plan, form: str) -> Any:
        """Where the released parsers make another reply of a right text than one would think."""
        args = self.api.args
        prompt = vocab().decode(self.prompts[0], skip_special=False)
        form = "none" if self.body.get("tool_choice") == "none" else form
        case = known(notation_of(args)).get((prompt, form))
        if not case or case["emits"] != one.text or not args.reasoning_parser:
            return None
        for other in case["differs"]:
            if (other["tool_parser"], other["stream"]) == (args.tool_call_parser, self.stream):
                said = other["reply"]
                calls = [[call["name"], call["arguments"]] for call in said["tool_calls"]]
                return Reply(said["content"], said["reasoning"], calls, said["finish_reason"])
        return None

    def _top(self) -> int | None:
        """How many alternatives each token's logprobs name; None where none are asked for."""
        asked = self.body.get("logprobs")
        if self.chat:
            return max(1, self.body.get("top_logprobs") or 0) if asked else None
        return None if asked is None else max(1, asked)

    def _wants_logprobs(self) -> bool:
        """Of the answer or of the prompt; 0 of the prompt asks for those of its own tokens."""
        return bool(self.body.get("logprobs")) or self.body.get("prompt_logprobs") is not None

    def call_id(self) -> str:
        """A new call's id."""
        return f"chatcmpl-tool-{secrets.token_hex(8)}"
