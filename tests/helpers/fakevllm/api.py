"""The endpoints of ``vllm serve``, with their faults."""

import itertools
import threading
import time
from typing import Any

from fakevllm.control import Control
from fakevllm.generation import Generation
from fakevllm.link import Link
from fakevllm.metrics import FROZEN, render
from fakevllm.prefix import PrefixCache
from fakevllm.server import Exchange

VERSION = "0.32.0"


class Api:
    """Answers one exchange; called from many threads."""

    def __init__(self, args: Any, control: Control, link: Link) -> None:
        self.args, self.control, self.link = args, control, link
        self.in_flight = 0
        self._lock = threading.Lock()
        self.cache = PrefixCache(args.prefix_caching)
        self.turns = itertools.count()
        self._frozen: dict[str, Any] | None = None
        self._leaking_since: float | None = None
        self._connection = threading.local()  # a connection has a thread of its own

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
            "/tokenize": self._tokens,
            "/detokenize": self._tokens,
        }.get(exchange.path)
        if route is None:
            exchange.answer_json(404, {"detail": "Not Found"})
        elif self.args.demo and (exchange.method == "POST") != (route in (self._generate, self._tokens)):
            exchange.answer_json(405, {"detail": "Method Not Allowed"})
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
        cards = [_card(name, self.args) for name in ([self.args.served_model_name] if names is None else names)]
        exchange.answer_json(200, {"object": "list", "data": cards})

    def _metrics(self, exchange: Exchange) -> None:
        faults = self.control.read()
        time.sleep(faults["metrics_delay"])
        if faults["metrics"] != 200:
            exchange.answer(faults["metrics"])
            return
        stats = self.link.snapshot()
        if not faults["freeze_counters"]:
            self._frozen = None
        else:
            self._frozen = self._frozen or stats
            stats |= {key: self._frozen[key] for key in FROZEN if key in self._frozen}
        stats |= {key: faults[key] for key in ("running", "waiting", "kv") if faults[key] is not None}
        stats["kv"] = min(1.0, stats["kv"] + self._leaked(faults["kv_leak"]))
        exchange.answer(200, render(stats, self.args.served_model_name), "text/plain; version=1.0.0; charset=utf-8")

    def _generate(self, exchange: Exchange) -> None:
        with self._lock:
            self.in_flight += 1
        try:
            self._generation(exchange, exchange.path.endswith("chat/completions")).run()
        finally:
            with self._lock:
                self.in_flight -= 1

    def _generation(self, exchange: Exchange, chat: bool) -> Generation:
        if not self.args.demo:
            return Generation(self, exchange, chat)
        from fakevllm.demo import DemoGeneration  # at first use: most fakes never say anything by heart

        return DemoGeneration(self, exchange, chat)

    def _tokens(self, exchange: Exchange) -> None:
        from fakevllm.tokens import answer

        answer(exchange, self.args, self.control.read()["tokenizer"])

    def other_answer(self, text: str) -> str:
        """What this connection was to be told before, if it was told something."""
        before = getattr(self._connection, "text", text)
        self._connection.text = text
        return before

    def _leaked(self, rate: float) -> float:
        if not rate:
            self._leaking_since = None
            return 0.0
        self._leaking_since = self._leaking_since or time.monotonic()
        return rate * (time.monotonic() - self._leaking_since)


def _card(name: str, args: Any) -> dict[str, Any]:
    now = int(time.time())
    allowed = {f"allow_{one}": True for one in ("sampling", "logprobs", "view")}
    barred = {f"allow_{one}": False for one in ("create_engine", "search_indices", "fine_tuning")}
    permission = {"id": "modelperm-0", "object": "model_permission", "created": now, **allowed, **barred,
                  "organization": "*", "group": None, "is_blocking": False}  # fmt: skip
    return {
        "id": name, "object": "model", "created": now, "owned_by": "vllm", "root": args.words[-1] if args.words else name,
        "parent": None, "max_model_len": args.max_model_len, "permission": [permission],
    }  # fmt: skip
