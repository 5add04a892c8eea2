"""Users of a worker on kept connections: how many there are at once, what they ask, and what they were served."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self

PATIENCE = 300
"""Seconds that a user waits for an answer."""


@dataclass(frozen=True, slots=True)
class Served:
    """One answer to a user, on the monotonic clock."""

    began: float
    ended: float
    tokens: int

    def within(self, begin: float, end: float) -> float:
        """How many of its tokens count for a span: as if they came evenly."""
        inside = min(end, self.ended) - max(begin, self.began)
        return self.tokens * max(0.0, inside) / (self.ended - self.began)


def always(_user: int) -> bool:
    """Users who never pause."""
    return True


class Users:
    """Users of one worker, each of whom asks again as soon as it was answered, while ``busy`` says so."""

    def __init__(
        self,
        address: str,
        count: int,
        question: Callable[[int], Mapping[str, Any]],
        busy: Callable[[int], bool] = always,
    ) -> None:
        self.served: list[Served] = []
        self.faults: list[str] = []
        self._address, self._question, self._busy = address, question, busy
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._use, args=(n,), daemon=True) for n in range(count)]

    @property
    def answered(self) -> int:
        """Answers so far, of all users."""
        return len(self.served)

    def __enter__(self) -> Self:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for one in self._threads:
            one.join(PATIENCE)

    def _use(self, number: int) -> None:
        line = http.client.HTTPConnection(self._address, timeout=PATIENCE)
        turn = number
        while not self._over.is_set():
            if not self._busy(number):
                self._over.wait(0.2)
                continue
            turn += len(self._threads)
            self._ask(line, {"model": "tiny"} | dict(self._question(turn)))
        line.close()

    def _ask(self, line: http.client.HTTPConnection, body: dict[str, Any]) -> None:
        path = "/v1/chat/completions" if "messages" in body else "/v1/completions"
        began, content = time.monotonic(), b""
        try:
            line.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            content = line.getresponse().read()
            tokens = json.loads(content)["usage"]["total_tokens"]  # a refusal has none
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            self.faults.append(f"{error!r} {content[:200]!r}")
            line.close()
            self._over.wait(0.5)
        else:
            self.served.append(Served(began, time.monotonic(), tokens))


def tides(seconds: float, shares: Sequence[float]) -> Callable[[int], bool]:
    """Whether user ``n`` is there: each for a share of every ``seconds``, so that it is full, busy and quiet in turn."""
    began = time.monotonic()
    return lambda n: (time.monotonic() - began) % seconds < seconds * shares[n % len(shares)]


@contextmanager
def all_of(*parts: Any) -> Iterator[None]:
    """Everyone at once."""
    with ExitStack() as stack:
        for one in parts:
            stack.enter_context(one)
        yield
