"""Pretended logprobs: they follow from the context and the token, so that equal requests get equal numbers."""

from typing import Any

from fakevllm.answers import seed
from fakevllm.vocab import vocab

Entry = list[tuple[int, float, int]]
"""(token, logprob, rank): the token itself first, then the likeliest that differ from it."""
_CONTEXT = 4


class Logprobs:
    """``faults``: what is wrong with them, names from the control file's ``answer``. ``turn`` counts requests."""

    def __init__(self, faults: frozenset[str], turn: int) -> None:
        self.faults, self.turn = faults, turn
        self.salt = "other weights" if "swapped-weights" in faults else ""

    def said(self, before: list[int], token: int, top: int) -> Entry:
        """Of a generated token: greedy, so it ranks first, by a margin."""
        number = seed("said", self.salt, before[-_CONTEXT:], token)
        own = self._bend(-0.3 * _share(number, 0) ** 4 - 1e-6, number)
        return [(token, own, 1), *self._others(number, token, own - 3.5, top - 1, 2)]

    def read(self, before: list[int], token: int, top: int) -> Entry:
        """Of a prompt's token, which need not be the likeliest."""
        number = seed("read", self.salt, before[-_CONTEXT:], token)
        if _share(number, 1) < 0.6:
            own = self._bend(-0.4 * _share(number, 0) - 1e-6, number)
            return [(token, own, 1), *self._others(number, token, own - 3.5, top - 1, 2)]
        own = self._bend(-2.0 - 14 * _share(number, 0), number)
        return [(token, own, 2 + top + number % 90), *self._others(number, token, -0.05, top, 1)]

    def _bend(self, value: float, number: int) -> float:
        if "nan-logprobs" in self.faults:
            return float("nan")
        if "shifted-logprobs" in self.faults:
            value -= 0.4 + 0.6 * _share(number, 2)
        if self.faults & {"near-tie", "near-tie-golden"}:
            value += 0.01 * (_share(seed(number, self.turn), 3) - 0.5)
        return min(value, -1e-7)

    def _others(self, number: int, token: int, start: float, count: int, rank: int) -> Entry:
        found: Entry = []
        for at in range(max(0, count)):
            other = (token + 1 + seed(number, at) % 900) % 928
            start -= 0.1 + _share(seed(number, at, "gap"), 0)
            found.append((other, start, rank + at))
        return found


def _share(number: int, part: int) -> float:
    return (number >> (16 * part) & 0xFFFF) / 0x10000


def name(token: int) -> str:
    """A token as replies show it."""
    return vocab().decode([token], skip_special=False)


def of_chat(entries: list[Entry], top: int) -> dict[str, Any]:
    """A chat choice's ``logprobs``."""
    return {"content": [_word(one[0]) | {"top_logprobs": [_word(it) for it in one[:top]]} for one in entries]}


def _word(one: tuple[int, float, int]) -> dict[str, Any]:
    text = name(one[0])
    return {"token": text, "logprob": one[1], "bytes": list(text.encode())}


def of_text(entries: list[tuple[Entry | None, int]], offset: int = 0) -> dict[str, Any]:
    """A completion choice's ``logprobs`` of tokens, None for a prompt's first; ``offset``: letters that came before."""
    found: dict[str, Any] = {"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []}
    for entry, token in entries:
        found["text_offset"].append(offset)
        found["tokens"].append(name(token))
        found["token_logprobs"].append(entry and entry[0][1])
        found["top_logprobs"].append(entry and {name(one[0]): one[1] for one in entry})
        offset += len(name(token))
    return found


def of_prompt(ids: list[int], top: int, numbers: Logprobs) -> list[dict[str, Any] | None]:
    """``prompt_logprobs``: nothing for the first token."""
    found: list[dict[str, Any] | None] = [None]
    for at in range(1, len(ids)):
        entry = numbers.read(ids[:at][-_CONTEXT:], ids[at], top)
        found.append({str(one[0]): {"logprob": one[1], "rank": one[2], "decoded_token": name(one[0])} for one in entry})
    return found
