"""The endpoints of ``vllm serve``, with their faults."""

import itertools
import queue
import threading
import time
from typing import Any

from fakevllm.control import Control
from fakevllm.link import DEAD, Link
from fakevllm.metrics import COUNTED, render
from fakevllm.server import Exchange

VERSION = "0.32.0"
_IDS = itertools.count(1)


class Api:
    """Answers one exchange; called from many threads."""

    def __init__(self, args: Any, control: Control, link: Link) -> None:
        self.args, self.control, self.link = args, control, link
        self.in_flight = 0
        self._lock = threading.Lock()
        self._frozen: dict[str, Any] | None = None

    def handle(self, exchange: Exchange) -> None:
        """Route by path, as vLLM does: unknown paths get 404."""
        route = {
            "/health": self._health,
            "/ping": self._health,
            "/version": lambda one: one.answer_json(200, {"version": VERSION}),
            "/load": self._load,
            "/v1/models": self._models,
            "/metrics": self._metrics,
            "/v1/completions": self._generate,
            "/v1/chat/completions": self._generate,
        }.get(exchange.path)
        if route is None:
            exchange.answer_json(404, {"detail": "Not Found"})
        else:
            route(exchange)

    def _health(self, exchange: Exchange) -> None:
        faults = self.control.read()
        time.sleep(faults["health_delay"])
        dead = self.link.dead and self.args.on_engine_death != "200"
        exchange.answer(503 if dead else faults["health"])

    def _load(self, exchange: Exchange) -> None:
        forced = self.control.read()["load"]
        count = self.in_flight if self.args.load_tracking else 0
        exchange.answer_json(200, {"server_load": count if forced is None else forced})

    def _models(self, exchange: Exchange) -> None:
        names = self.control.read()["models"]
        cards = [
            {"id": name, "object": "model", "created": int(time.time()), "owned_by": "vllm", "root": name, "parent": None,
             "max_model_len": self.args.max_model_len}
            for name in ([self.args.served_model_name] if names is None else names)
        ]  # fmt: skip
        exchange.answer_json(200, {"object": "list", "data": cards})

    def _metrics(self, exchange: Exchange) -> None:
        faults = self.control.read()
        time.sleep(faults["metrics_delay"])
        if faults["metrics"] != 200:
            exchange.answer(faults["metrics"])
            return
        stats = dict(self.link.stats)
        if not faults["freeze_counters"]:
            self._frozen = None
        else:
            self._frozen = self._frozen or stats
            stats |= {key: self._frozen[key] for key in COUNTED}
        stats |= {key: faults[key] for key in ("running", "waiting", "kv") if faults[key] is not None}
        exchange.answer(200, render(stats, self.args.served_model_name), "text/plain; version=1.0.0; charset=utf-8")

    def _generate(self, exchange: Exchange) -> None:
        with self._lock:
            self.in_flight += 1
        try:
            Generation(self, exchange, exchange.path.endswith("chat/completions")).run()
        finally:
            with self._lock:
                self.in_flight -= 1


class Generation:
    """One completion or chat completion, streamed or not."""

    def __init__(self, api: Api, exchange: Exchange, chat: bool) -> None:
        self.api, self.exchange, self.chat = api, exchange, chat
        self.body = exchange.json()
        self.stream = bool(self.body.get("stream"))
        self.id = f"{'chatcmpl' if chat else 'cmpl'}-{next(_IDS):08x}"
        self.prompt_tokens = self._count_prompt()
        self.sent = 0

    def run(self) -> None:
        """Answer, with whatever fault is set right now."""
        faults = self.api.control.read()
        model = self.body.get("model")
        if model is not None and model != self.api.args.served_model_name:
            self._refuse(404, f"The model `{model}` does not exist.", "NotFoundError")
            return
        if not self._wait(faults["latency"]) or not self._wait_while("hang"):
            return
        match self.api.control.read()["generate"]:
            case "error" if self.stream:
                self.exchange.begin_stream()
                self._fail_stream("injected error")
            case "error":
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
                self._engine_died()
                return True
            word, finish = item
            words.append(word)
            if self.stream:
                self._chunk(word, None if mode == "no-finish" else finish)
            if mode == "stall-after-1" and not self._wait_while(mode):
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

    def _engine_died(self) -> None:
        if self.sent:
            self._fail_stream(DEAD)
        else:
            self._refuse(500, DEAD, "InternalServerError")

    def _refuse(self, status: int, message: str, kind: str) -> None:
        self.exchange.answer_json(status, {"error": {"message": message, "type": kind, "param": None, "code": status}})

    def _fail_stream(self, message: str) -> None:
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

    def _wait_while(self, mode: str) -> bool:
        """Stand still while the fault is set; False once the client has gone."""
        while self.api.control.read()["generate"] == mode:
            if not self._wait(0.05):
                return False
            if self.api.link.dead:
                return True
        return True
