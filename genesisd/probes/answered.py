"""What an engine said, read from its answer: whole or streamed, chat or completion. Pure.

Read tolerantly where clients are tolerant too (no space after ``data:``, comments, empty choices, a chunk that only
counts), so that an odd engine is not called wrong; what a client could not read either is remembered as ``garbled``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from genesisd.probes.model import EXCHANGE_LIMIT, Exchange

_BOILERPLATE = frozenset({"id", "object", "created", "model", "system_fingerprint"})
"""Left out of kept events: the same in each, and a stream of two hundred tokens would not fit with them."""


@dataclass(frozen=True, slots=True)
class Token:
    """A generated token with its logprob in nats, and the best ones that it was chosen from, best first."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer. What did not come, or was not asked for, is None or empty.

    Attributes:
        exchange: what was asked and what came, for an incident.
        status: HTTP status; 0 before a head came.
        stream: whether it was asked as a stream.
        content: the words, or None. A stream that sent none has None, as it cannot tell none from empty.
        reasoning: the thoughts, by either of the two names that engines use.
        calls: name and arguments (as text) of each tool call, by index.
        call_ids: the id of each, None where it has none.
        finish: the finish reason.
        chunks: events that carried a choice.
        prompt_tokens, completion_tokens, cached_tokens: by the engine's count; None where it told none.
        tokens: the generated tokens, where logprobs were asked for.
        token_ids: ids of the generated tokens, where ``return_token_ids`` was asked for.
        prompt_logprobs: logprob of each token of the prompt; the first has none.
        ended: the answer is complete: ``[DONE]`` came, or the body is whole JSON.
        error: message of an error object, in the body or among the events; ``code`` is what it says of itself.
        garbled: what could not be read, in words.
    """

    exchange: Exchange
    status: int = 0
    stream: bool = False
    content: str | None = None
    reasoning: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    call_ids: tuple[str | None, ...] = ()
    finish: str | None = None
    chunks: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    tokens: tuple[Token, ...] = ()
    token_ids: tuple[int, ...] | None = None
    prompt_logprobs: tuple[float | None, ...] | None = None
    ended: bool = False
    error: str | None = None
    code: int | None = None
    garbled: str | None = None


@dataclass(slots=True)
class Reading:
    """Puts an answer together as it comes. ``kept`` is its text for the exchange, ``document`` the JSON of a whole one."""

    said: dict[str, str | None] = field(default_factory=lambda: {"content": None, "reasoning": None})
    calls: dict[int, list[str]] = field(default_factory=dict)
    call_ids: dict[int, str] = field(default_factory=dict)
    finish: str | None = None
    chunks: int = 0
    usage: dict[str, int] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    token_ids: list[int] | None = None
    prompt_logprobs: tuple[float | None, ...] | None = None
    ended: bool = False
    error: str | None = None
    code: int | None = None
    garbled: str | None = None
    kept: str = ""
    document: Any = None

    def take_whole(self, body: bytes) -> None:
        """A complete body."""
        self.kept = body[: 4 * EXCHANGE_LIMIT].decode(errors="replace")[:EXCHANGE_LIMIT]
        try:
            event = json.loads(body)
        except ValueError as error:
            self.garbled = f"the answer is no JSON ({error}): {_short(self.kept)}" if body else "the answer is empty"
            return
        self.ended, self.document = True, event
        self._event(event)

    def take_line(self, line: bytes) -> None:
        """One line of an event stream; lines other than ``data:`` mean nothing here."""
        if not line.startswith(b"data:") or self.ended:
            return
        text = line[5:].strip()
        if text == b"[DONE]":
            self.ended = True
            return
        try:
            event = json.loads(text)
        except ValueError as error:
            self._keep(text.decode(errors="replace"))
            self.garbled = self.garbled or f"an event is no JSON ({error}): {_short(text.decode(errors='replace'))}"
            return
        self._keep(_trimmed(event))
        self._event(event)

    def _keep(self, text: str) -> None:
        if len(self.kept) < EXCHANGE_LIMIT:
            self.kept = f"{self.kept}{text}\n"[:EXCHANGE_LIMIT]

    def _event(self, event: object) -> None:
        try:
            self._read(event)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            self.garbled = self.garbled or f"the answer has another shape than an engine's ({error}): {_short(event)}"

    def _read(self, event: Any) -> None:
        if event.get("error") or event.get("object") == "error":
            self._fault(event.get("error") or event)
            return
        if usage := event.get("usage"):
            self._count(usage)
        if (logprobs := event.get("prompt_logprobs")) is not None:
            self.prompt_logprobs = _of_prompt(logprobs)
        for choice in event.get("choices") or ():
            if choice.get("index", 0) == 0:
                self._choice(choice)

    def _fault(self, fault: Any) -> None:
        told = fault if isinstance(fault, dict) else {"message": fault}
        self.error = str(told.get("message") or fault)
        code = told.get("code")
        self.code = code if isinstance(code, int) else None

    def _count(self, usage: Mapping[str, Any]) -> None:
        for name in ("prompt_tokens", "completion_tokens"):
            if usage.get(name) is not None:
                self.usage[name] = int(usage[name])
        details = usage.get("prompt_tokens_details") or {}
        if details.get("cached_tokens") is not None:
            self.usage["cached_tokens"] = int(details["cached_tokens"])

    def _choice(self, choice: Mapping[str, Any]) -> None:
        self.chunks += 1
        self.finish = choice.get("finish_reason") or self.finish
        part = choice.get("delta") or choice.get("message") or {}
        self._say("content", part.get("content", choice.get("text")), whole="message" in choice)
        self._say("reasoning", part.get("reasoning") or part.get("reasoning_content"), whole="message" in choice)
        for place, call in enumerate(part.get("tool_calls") or ()):
            index = call.get("index")
            self._call(place if index is None else int(index), call.get("id"), call.get("function") or {})
        if ids := choice.get("token_ids"):
            self.token_ids = [*(self.token_ids or []), *(int(one) for one in ids)]
        if (logprobs := choice.get("prompt_logprobs")) is not None:
            self.prompt_logprobs = _of_prompt(logprobs)
        self.tokens += _tokens(choice.get("logprobs") or {})

    def _say(self, what: str, text: str | None, *, whole: bool) -> None:
        """A stream's empty words say nothing: they come with the role, before anything is known."""
        if text or (whole and text is not None):
            self.said[what] = (self.said[what] or "") + text

    def _call(self, index: int, known_as: str | None, function: Mapping[str, Any]) -> None:
        if known_as:
            self.call_ids.setdefault(index, known_as)
        call = self.calls.setdefault(index, ["", ""])
        call[0] += function.get("name") or ""
        call[1] += function.get("arguments") or ""

    def answered(self, exchange: Exchange, status: int, *, stream: bool) -> Answered:
        """What has come by now."""
        return Answered(
            exchange=exchange, status=status, stream=stream, content=self.said["content"],
            reasoning=self.said["reasoning"], calls=tuple((name, text) for _, (name, text) in sorted(self.calls.items())),
            call_ids=tuple(self.call_ids.get(index) for index in sorted(self.calls)), finish=self.finish, chunks=self.chunks, prompt_tokens=self.usage.get("prompt_tokens"),
            completion_tokens=self.usage.get("completion_tokens"), cached_tokens=self.usage.get("cached_tokens"),
            tokens=tuple(self.tokens), token_ids=None if self.token_ids is None else tuple(self.token_ids),
            prompt_logprobs=self.prompt_logprobs, ended=self.ended, error=self.error, code=self.code,
            garbled=self.garbled,
        )  # fmt: skip


def again(exchange: Exchange) -> Answered:
    """An answer read once more from what was kept of it; one that was cut is read as far as it goes."""
    stream, reading = exchange.request.get("stream") is True, Reading()
    if stream:
        for line in exchange.text.splitlines():
            reading.take_line(b"data: " + line.encode())
    elif exchange.text:
        reading.take_whole(exchange.text.encode())
    return reading.answered(exchange, exchange.status, stream=stream)


def _trimmed(event: object) -> str:
    kept = {key: value for key, value in event.items() if key not in _BOILERPLATE} if isinstance(event, dict) else event
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def _of_prompt(positions: list[Mapping[str, Any] | None]) -> tuple[float | None, ...]:
    """The prompt's own token stands first at each position."""
    return tuple(None if not one else float(next(iter(one.values()))["logprob"]) for one in positions)


def _tokens(logprobs: Mapping[str, Any]) -> Iterator[Token]:
    """Chat has a list of objects, completions have parallel lists."""
    for one in logprobs.get("content") or ():
        top = [(str(other["token"]), float(other["logprob"])) for other in one.get("top_logprobs") or ()]
        yield Token(str(one["token"]), float(one["logprob"]), _ranked(top))
    texts, values = logprobs.get("tokens") or (), logprobs.get("token_logprobs") or ()
    best = logprobs.get("top_logprobs") or [None] * len(texts)
    for text, value, others in zip(texts, values, best, strict=True):
        top = [(str(name), float(number)) for name, number in (others or {}).items()]
        yield Token(str(text), float("nan") if value is None else float(value), _ranked(top))


def _ranked(top: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(top, key=lambda one: -one[1]))


def _short(value: object, limit: int = 80) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."
