"""How the kinds that judge answers ask: one request, one parsed answer, one exchange kept of it.

A question that got no whole answer raises ``NoAnswerError``; ``verdict_of`` says what that means, the same for every
kind. Whatever happens, also a cancellation, the exchange is kept and the connection is closed.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp

from genesisd.probes.answered import Answered, Reading
from genesisd.probes.completion import MODELS, first_model
from genesisd.probes.http_client import read
from genesisd.probes.model import EXCHANGE_LIMIT, Exchange, Outcome, unknown
from genesisd.probes.ports import Target
from genesisd.probes.trouble import NoAnswerError, Trouble, trouble_of, verdict_of

__all__ = ["CHAT", "COMPLETIONS", "SEED", "Answered", "Asking", "NoAnswerError", "Trouble", "verdict_of"]

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
TOKENIZE = "/tokenize"
SEED = 1
"""Sent with every greedy question, of which it changes nothing: the same question is the same to whoever reads a log.

A sampled question goes without: vLLM keeps a generator for each request that has a seed, and its CPU engine dies
(``CPU Generator does not use offset``) where the prompt of such a one is read in more than one step.
"""
MAX_TOKENS = 512
"""Completion tokens of a question that names no bound: an answer that never ends must not hold the engine."""
ANSWER_LIMIT = 8 << 20
"""Bytes of an answer that are read; one that is longer is no answer to such a question."""


@dataclass(slots=True)
class Asking:
    """One kind's way to ask. Keep one per probe, call ``begin`` at the start of each ask.

    Attributes:
        session: shared by all probes; not closed here.
        kind: the probe's kind, for what people read.
        exchanges: what was asked since ``begin``, oldest first.
    """

    session: aiohttp.ClientSession
    kind: str
    exchanges: list[Exchange] = field(default_factory=list)
    clock: Callable[[], float] = time.monotonic
    _model: str | None = None

    def begin(self) -> None:
        """A new ask: what was kept of the last one goes."""
        self.exchanges.clear()

    async def chat(self, target: Target, body: Mapping[str, object], *, stream: bool = False) -> Answered:
        """Ask for a chat completion. Raises NoAnswerError."""
        return await self.ask(target, CHAT, body, stream=stream)

    async def complete(self, target: Target, body: Mapping[str, object], *, stream: bool = False) -> Answered:
        """Ask for a completion of ``body["prompt"]``. Raises NoAnswerError."""
        return await self.ask(target, COMPLETIONS, body, stream=stream)

    async def ask(self, target: Target, path: str, body: Mapping[str, object], *, stream: bool = False) -> Answered:
        """Ask at ``path``, greedily unless ``body`` says otherwise. Raises NoAnswerError."""
        sent = await self.request(target, body, stream=stream)
        reading = Reading()
        status, exchange = await self._send(target, path, sent, reading)
        return whole(reading.answered(exchange, status, stream=stream))

    async def request(self, target: Target, body: Mapping[str, object], *, stream: bool = False) -> dict[str, object]:
        """The body that is sent: with the model, the seed and the bounds. Raises NoAnswerError."""
        sent: dict[str, object] = {"model": await self._name(target), "temperature": 0}
        if not body.get("temperature"):
            sent["seed"] = SEED
        if "max_completion_tokens" not in body:
            sent["max_tokens"] = MAX_TOKENS
        sent |= {**body, "stream": stream}
        return sent | ({"stream_options": {"include_usage": True}} if stream else {})

    async def tokenize(self, target: Target, text: str) -> tuple[int, ...]:
        """Ids of the tokens of ``text``, special ones included. Raises NoAnswerError."""
        sent: dict[str, object] = {"model": await self._name(target), "prompt": text}
        reading = Reading()
        status, exchange = await self._send(target, TOKENIZE, sent, reading)
        answered = replace(reading.answered(exchange, status, stream=False), chunks=1, finish="stop")
        whole(answered)
        try:
            return tuple(int(one) for one in reading.document["tokens"])
        except (ValueError, KeyError, TypeError) as error:
            text = f"{TOKENIZE} answered without token ids: {exchange.text[:80]}"
            raise NoAnswerError(Trouble.MALFORMED, text, exchange, answered) from error

    def outcome(self, outcome: Outcome, first: Exchange | None = None) -> Outcome:
        """The outcome with everything that was asked, ``first`` (or what it already has) before the rest."""
        lead = (first,) if first is not None else outcome.exchanges
        rest = tuple(one for one in self.exchanges if not any(one is other for other in lead))
        return replace(outcome, exchanges=(*lead, *rest))

    def could_not(self, problem: NoAnswerError) -> Outcome:
        """What a missing answer means, with everything that was asked."""
        return self.outcome(verdict_of(problem))

    def late(self, seconds: float) -> Outcome:
        """The deadline passed before an answer: that says nothing about what is right."""
        text = f"no whole answer within {seconds:g} s, so nothing is known of {self.kind}"
        return self.outcome(unknown(text, asked=len(self.exchanges)))

    def keep(self, target: Target, exchange: Exchange) -> None:
        """Remember an exchange, here and for the probe that looks at all answers."""
        self.exchanges.append(exchange)
        target.seen.add(exchange)

    async def _name(self, target: Target) -> str:
        if self._model is None:
            self._model = target.model or await self._first_model(target)
        return self._model

    async def _first_model(self, target: Target) -> str:
        try:
            status, name = await first_model(self.session, target)
        except (aiohttp.ClientError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unreached(error, Exchange(MODELS, {})) from error
        if name is None:
            denied = status in {401, 403}
            text = f"{MODELS} {'names no model' if status == 200 else f'answered {status}'}"
            raise NoAnswerError(Trouble.DENIED if denied else Trouble.UNREACHED, text, Exchange(MODELS, {}, status))
        return name

    async def _send(
        self, target: Target, path: str, sent: Mapping[str, object], reading: Reading
    ) -> tuple[int, Exchange]:
        status, begun, stream, problem = 0, self.clock(), sent.get("stream") is True, None
        try:
            with target.seen.using(feature := _compiled(sent)):
                async with self.session.post(
                    target.base_url + path, json=sent, headers=target.headers, allow_redirects=False
                ) as response:
                    status = response.status
                    if stream and status == 200:
                        await _read_events(response, reading)
                    else:
                        reading.take_whole(await read(response, ANSWER_LIMIT))
            if feature is not None and status == 200:
                target.seen.used.add(feature)
        except (aiohttp.ClientError, OSError) as error:
            problem = error
        finally:
            exchange = _exchange(path, sent, status, reading, self.clock() - begun)
            self.keep(target, exchange)
        if problem is not None:
            raise _unreached(problem, exchange) from problem
        return status, exchange


def _compiled(sent: Mapping[str, object]) -> str | None:
    """The feature that an engine compiles at its first use: ranks of logprobs took it 10 to 35 s where nothing was cached."""
    return "logprobs" if sent.get("logprobs") or sent.get("prompt_logprobs") is not None else None


def whole(answered: Answered) -> Answered:
    """The answer itself. Raises NoAnswerError where it is none that could be judged."""
    if (problem := trouble_of(answered)) is not None:
        raise problem
    return answered


def _exchange(path: str, sent: Mapping[str, object], status: int, reading: Reading, seconds: float) -> Exchange:
    return Exchange(
        path, sent, status, reading.kept[:EXCHANGE_LIMIT], seconds,
        reading.usage.get("prompt_tokens", 0), reading.usage.get("completion_tokens", 0) or reading.chunks,
    )  # fmt: skip


def _unreached(error: Exception, exchange: Exchange) -> NoAnswerError:
    """Bytes that are no HTTP are an answer that nobody can read; everything else is none."""
    garbled = isinstance(error, aiohttp.ClientResponseError)
    said = " ".join((str(error) or type(error).__name__).split())
    text = f"{exchange.path} {'answered what is no HTTP' if garbled else 'gave no answer'}: {said[:160]}"
    return NoAnswerError(Trouble.MALFORMED if garbled else Trouble.UNREACHED, text, exchange)


async def _read_events(response: aiohttp.ClientResponse, reading: Reading) -> None:
    async for line in _lines(response.content):
        reading.take_line(line)
        if reading.ended or reading.error is not None or reading.garbled is not None:
            return


async def _lines(content: Any) -> AsyncIterator[bytes]:
    """Lines, wherever the bytes are cut; an answer that does not end is cut here."""
    rest, size = b"", 0
    async for part in content.iter_any():
        size += len(part)
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line.rstrip(b"\r")
        if size > ANSWER_LIMIT:
            return
    if rest:
        yield rest.rstrip(b"\r")
