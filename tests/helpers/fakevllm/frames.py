"""The JSON of replies and chunks, for chats and for plain completions."""

import queue
import time
from typing import TYPE_CHECKING, Any

from fakevllm.logprobs import of_prompt
from fakevllm.parsers import Reply
from fakevllm.plan import Plan

if TYPE_CHECKING:
    from fakevllm.demo import DemoGeneration

FINGERPRINT = "vllm-0.32.0-fake"


class Frames:
    """Delivers the choices of one request. ``cached``: tokens read from and written to the cache, for each."""

    kind = whole_kind = "text_completion"

    def __init__(self, asked: "DemoGeneration") -> None:
        self.asked, self.body, self.args = asked, asked.body, asked.api.args
        self.cached: list[tuple[int, int]] = []
        self.replies: list[Reply] = []
        self.texts: list[str] = []
        self.created = int(time.time())
        options = self.body.get("stream_options") or {}
        self.usage_at_end = bool(options.get("include_usage"))
        self.usage_always = bool(options.get("continuous_usage_stats"))

    def say(self, plans: list[Plan], faults: dict[str, Any], mode: str) -> None:
        """Pace the choices through the engine, one after the other, and end."""
        for index, one in enumerate(plans):
            if not self._pace(index, one, plans, faults, mode):
                return
        if self.asked.stream:
            self._end_stream(plans)
        else:
            choices = [self.choice(index, one, mode == "no-finish") for index, one in enumerate(plans)]
            self.asked.exchange.answer_json(200, self._frame(self.whole_kind, choices) | self._tail(plans))

    def _pace(self, index: int, one: Plan, plans: list[Plan], faults: dict[str, Any], mode: str) -> bool:
        asked, args = self.asked, self.args
        prompt = asked.prompts[index // self.body.get("n", 1)]
        slow = args.prefill_blocks if faults["prefill_seconds"] is None else faults["prefill_seconds"]
        number, box = asked.api.link.submit(
            prompt=len(prompt),
            answer=[""] * len(one.ids),
            max_tokens=len(one.ids),
            prefill=slow if len(prompt) >= args.prefill_min_tokens else 0.0,
            delay=args.token_delay if faults["token_delay"] is None else faults["token_delay"],
            queried=len(prompt) if args.prefix_caching and self.body.get("prompt_logprobs") is None else 0,
            cached=self.cached[index][0],
            finish_as=one.finish,
            acceptance=faults["acceptance"],
            born=asked.born,
        )
        finished = False
        try:
            finished = self._follow(index, one, plans, box, mode)
        finally:
            asked.api.link.drop(number, finished)
        return finished and not asked.failed

    def _follow(self, index: int, one: Plan, plans: list[Plan], box: "queue.SimpleQueue[Any]", mode: str) -> bool:
        asked, at = self.asked, 0
        chunks = self.chunks(index, one) if asked.stream else []
        while at < len(one.ids):
            try:
                item = box.get(timeout=0.1)
            except queue.Empty:
                if asked.exchange.gone():
                    return False
                continue
            if item is None:
                asked.engine_died()
                return True
            if asked.stream:
                self._open(index)
                for chunk in chunks[at]:
                    self._chunk(chunk, plans, index, at + 1, mode)
            at += 1
            if mode == "error-chunk" and asked.stream:
                asked.fail_stream("injected error")
                return True
            if mode == "stall-after-1" and not asked.wait_while(mode):
                return False
        return True

    def _open(self, index: int) -> None:
        asked = self.asked
        if asked.sent == 0:
            asked.exchange.begin_stream()
        while asked.sent <= index:
            asked.sent += 1
            if first := self.first(asked.sent - 1):
                chunk = self._frame(self.kind, [first]) | {"prompt_token_ids": None, "prompt_text": None}
                asked.exchange.event(chunk | (self._running_usage(0) if self.usage_always else {}))

    def _chunk(self, choice: dict[str, Any], plans: list[Plan], index: int, count: int, mode: str) -> None:
        if mode == "no-finish":
            choice = choice | {"finish_reason": None}
        extra = self._running_usage(sum(len(one.ids) for one in plans[:index]) + count) if self.usage_always else {}
        if choice["finish_reason"] and not self.usage_at_end and index == len(plans) - 1:
            extra |= {"system_fingerprint": FINGERPRINT}  # it stands in the last chunk
        self.asked.exchange.event(self._frame(self.kind, [choice]) | extra)

    def _end_stream(self, plans: list[Plan]) -> None:
        exchange = self.asked.exchange
        if self.usage_at_end:
            usage = {key: value for key, value in self.usage(plans).items() if value is not None}
            usage = {key: {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value
                     for key, value in usage.items()}  # fmt: skip
            exchange.event(self._frame(self.kind, []) | {"usage": usage, "system_fingerprint": FINGERPRINT})
        exchange.event("[DONE]")
        exchange.end_stream()

    def _frame(self, kind: str, choices: list[Any]) -> dict[str, Any]:
        model = self.args.served_model_name
        return {"id": self.asked.id, "object": kind, "created": self.created, "model": model, "choices": choices}

    def _tail(self, plans: list[Plan]) -> dict[str, Any]:
        usage = self.usage(plans)
        return {
            "service_tier": None, "system_fingerprint": FINGERPRINT, "usage": usage, **self.prompt_fields(),
            "kv_transfer_params": None, "ec_transfer_params": None, "metrics": None,
        }  # fmt: skip

    def _running_usage(self, count: int) -> dict[str, Any]:
        prompt = self.asked.prompt_tokens
        return {
            "usage": {
                "prompt_tokens": prompt,
                "total_tokens": prompt + count,
                "completion_tokens": count,
                **self.running_details(),
            }
        }

    def usage(self, plans: list[Plan]) -> dict[str, Any]:
        """The counts of the whole request."""
        prompt, said = self.asked.prompt_tokens, sum(len(one.ids) for one in plans)
        details = None
        if self.args.enable_prompt_tokens_details:
            read, made = (sum(one[part] for one in self.cached) for part in (0, 1))
            details = {"cached_tokens": read, "created_cache_tokens": self.made(made), "multimodal_tokens": None}
        return {
            "prompt_tokens": prompt, "total_tokens": prompt + said, "completion_tokens": said,
            "prompt_tokens_details": details, "completion_tokens_details": self.said_details(plans),
        }  # fmt: skip

    def ids(self, ids: list[int]) -> list[int] | None:
        """Token ids, where they are asked for."""
        return ids if self.body.get("return_token_ids") else None

    def prompt_logprobs(self, prompt: list[int]) -> Any:
        """The prompt's logprobs, where they are asked for."""
        top = self.body.get("prompt_logprobs")
        if not self.asked.chat and self.body.get("echo") and top is None:
            top = self.body.get("logprobs")
        return None if top is None else of_prompt(prompt, top, self.asked.numbers)

    def first(self, index: int) -> dict[str, Any] | None:
        """The chunk before the first token, if there is one."""

    def made(self, count: int) -> int | None:
        """Tokens written to the cache, as usage tells them."""

    def said_details(self, plans: list[Plan]) -> dict[str, Any] | None:
        """What usage tells of the completion."""

    def running_details(self) -> dict[str, Any]:
        """The same, in each chunk."""
        return {}

    def prompt_fields(self) -> dict[str, Any]:
        """What a whole reply tells of its prompt."""
        return {}

    def choice(self, index: int, one: Plan, endless: bool) -> dict[str, Any]:
        """A choice of a whole reply."""
        raise NotImplementedError

    def chunks(self, index: int, one: Plan) -> list[list[dict[str, Any]]]:
        """The choices to send with each token."""
        raise NotImplementedError
