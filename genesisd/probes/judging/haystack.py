"""A long text with one fact in it, as many tokens long as was asked for. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice

from genesisd.probes.casebook import Needle

ANSWER = 256
"""Completion tokens of an answer: a short thought and the fact."""
ROOM = ANSWER + 128
"""Tokens of the context that the text leaves free, for the answer and for what the chat template adds."""
GUESS = 3.0
"""Characters a token, where the engine does not say how it counts."""
_FEWEST, _MOST = 0.5, 8.0


@dataclass(frozen=True, slots=True)
class Haystack:
    """Where in a text of ``tokens`` the fact stands; ``salt`` makes the text one that was never asked before."""

    needle: Needle
    tokens: int
    place: float
    salt: str

    def text(self, per_token: float) -> str:
        """The whole prompt, by ``per_token`` characters a token."""
        opening, question = f"Notebook {self.salt}.", self.needle.question
        room = self.tokens * per_token - len(opening) - len(question) - len(self.needle.fact) - 4
        mean = sum(len(one) + 1 for one in self.needle.filler) / len(self.needle.filler)
        sentences = list(islice(cycle(self.needle.filler), max(1, int(room / mean))))
        sentences.insert(round(self.place * len(sentences)), self.needle.fact)
        return f"{opening} {' '.join(sentences)}\n\n{question}"


def fitting(steps: tuple[int, ...], max_model_len: int | None) -> list[int]:
    """Steps that the context has room for, from the shortest; all of them where its length is not known."""
    return sorted(step for step in set(steps) if max_model_len is None or step + ROOM <= max_model_len)


def believable(per_token: float) -> float:
    """Characters a token as texts have them: an engine that miscounts must not be sent a text of megabytes."""
    return min(max(per_token, _FEWEST), _MOST)
