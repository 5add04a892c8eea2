"""One generation, streamed or not, with the words of ``--answer`` and the faults of its delivery."""

import itertools
import queue
import time
from typing import TYPE_CHECKING, Any

from fakevllm.link import DEAD
from fakevllm.server import Exchange

if TYPE_CHECKING:
    from fakevllm.api import Api

_IDS = itertools.count(1)


class Generation:
    """One completion or chat completion, streamed or not."""

    def __init__(self, api: "Api", exchange: Exchange, chat: bool) -> None:
        self.api, self.exchange, self.chat = api, exchange, chat
        self.born = time.monotonic()
        self.sent = 0
        self.failed = False
        self.id = f"{'chatcmpl' if chat else 'cmpl'}-{next(_IDS):08x}"
        self.body = exchange.json()
        self.stream = bool(self.body.get("stream"))
        self.prompt_tokens = self._count_prompt()

    def run(self) -> None:
        """Answer, with whatever fault is set right now."""
        faults = self.api.control.read()
        model = self.body.get("model")
        if model is not None and model != self.api.args.served_model_name:
            self._refuse(404, f"The model `{model}` does not exist.", "NotFoundError")
            return
        if faults["refuse"]:
            kind = {429: "TooManyRequests", 503: "ServiceUnavailableError"}.get(faults["refuse"], "InternalServerError")
            self._refuse(faults["refuse"], "injected refusal", kind)
            return
        if faults["first_request_kills"]:
            self.api.link.kill_engine()
        if not self._wait(faults["latency"]) or not self.wait_while("hang"):
            return
        match self.api.control.read()["generate"]:
            case "error" if self.stream:
                self.exchange.begin_stream()
                self.fail_stream("injected error")
            case "error" | "error-chunk" if not self.stream:
                self._refuse(500, "injected error", "InternalServerError")
            case "empty":
                self.exchange.answer(200, b"")
            case mode:
                self._engine(faults, mode)

    def _count_prompt(self) -> int:
        if self.chat:
            return max(1, sum(len(str(one.get("content")).split()) for one in self.body.get("messages", [])))
        prompt = self.body.get("prompt", "")
        return max(1, len(prompt if isinstance(prompt, list) else prompt.split()))

    def _engine(self, faults: dict[str, Any], mode: str) -> None:
        args = self.api.args
        limit = self.body.get("max_completion_tokens") or self.body.get("max_tokens") or (4096 if self.chat else 16)
        seconds = args.prefill_blocks if faults["prefill_seconds"] is None else faults["prefill_seconds"]
        number, box = self.api.link.submit(
            prompt=self.prompt_tokens,
            queried=self.prompt_tokens if args.prefix_caching else 0,
            born=self.born,
            acceptance=faults["acceptance"],
            answer=["!"] if mode == "garbage" else args.answer.split(),
            max_tokens=limit,
            prefill=seconds if self.prompt_tokens >= args.prefill_min_tokens else 0.0,
            delay=args.token_delay if faults["token_delay"] is None else faults["token_delay"],
            endless=bool(self.body.get("ignore_eos")),
        )
        finished = False
        try:
            finished = self._deliver(box, mode)
        finally:
            self.api.link.drop(number, finished)

    def _deliver(self, box: "queue.SimpleQueue[Any]", mode: str) -> bool:
        words: list[str] = []
        finish = None
        while finish is None:
            try:
                item = box.get(timeout=0.1)
            except queue.Empty:
                if self.exchange.gone():
                    return False
                continue
            if item is None:
                self.engine_died()
                return True
            word, finish = item
            words.append(word)
            if self.stream:
                self._chunk(word, None if mode == "no-finish" else finish)
            if self.stream and mode == "error-chunk":
                self.fail_stream("injected error")
                return True
            if mode == "stall-after-1" and not self.wait_while(mode):
                return False
        self._conclude(words, None if mode == "no-finish" else finish)
        return True

    def _chunk(self, word: str, finish: str | None) -> None:
        text = word if self.sent == 0 else f" {word}"
        if self.sent == 0:
            self.exchange.begin_stream()
            if self.chat:
                self.exchange.event(self._frame([self._choice({"role": "assistant", "content": ""}, None)]))
        self.sent += 1
        self.exchange.event(self._frame([self._choice({"content": text} if self.chat else text, finish)]))

    def _choice(self, part: Any, finish: str | None) -> dict[str, Any]:
        key = ("delta" if self.stream else "message") if self.chat else "text"
        choice = {"index": 0, key: part, "logprobs": None, "finish_reason": finish}
        return choice | ({} if self.chat and self.stream and not finish else {"stop_reason": None})

    def _frame(self, choices: list[Any], **more: Any) -> dict[str, Any]:
        kind = ("chat.completion" if self.chat else "text_completion") + (".chunk" if self.chat and self.stream else "")
        model = self.api.args.served_model_name
        return {"id": self.id, "object": kind, "created": int(time.time()), "model": model, "choices": choices, **more}

    def _conclude(self, words: list[str], finish: str | None) -> None:
        counts = {"prompt_tokens": self.prompt_tokens, "completion_tokens": len(words)}
        usage = counts | {"total_tokens": self.prompt_tokens + len(words), "prompt_tokens_details": None}
        if self.stream:
            if (self.body.get("stream_options") or {}).get("include_usage"):
                self.exchange.event(self._frame([], usage=usage))
            self.exchange.event("[DONE]")
            self.exchange.end_stream()
            return
        text = " ".join(words)
        part = {"role": "assistant", "content": text, "tool_calls": []} if self.chat else text
        self.exchange.answer_json(200, self._frame([self._choice(part, finish)], usage=usage))

    def engine_died(self) -> None:
        """Say so, in the way that is still open."""
        self.failed = True
        if self.sent:
            self.fail_stream(DEAD)
        else:
            self._refuse(500, DEAD, "InternalServerError")

    def _refuse(self, status: int, message: str, kind: str) -> None:
        self.exchange.answer_json(status, {"error": {"message": message, "type": kind, "param": None, "code": status}})

    def fail_stream(self, message: str) -> None:
        """An error object as a chunk, and the end."""
        self.failed = True
        self.exchange.event({"error": {"message": message, "type": "InternalServerError", "param": None, "code": 500}})
        self.exchange.event("[DONE]")
        self.exchange.end_stream()

    def _wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.exchange.gone():
                return False
            time.sleep(min(0.05, left))
        return True

    def wait_while(self, mode: str) -> bool:
        """Stand still while the fault is set; False once the client has gone."""
        while self.api.control.read()["generate"] == mode:
            if not self._wait(0.05):
                return False
            if self.api.link.dead:
                return True
        return True
