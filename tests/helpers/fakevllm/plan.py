"""What one choice of a reply will be, worked out before its first token: the engine only paces it."""

from dataclasses import dataclass, field
from typing import Any

from fakevllm.logprobs import Entry, Logprobs
from fakevllm.vocab import EOS, vocab


@dataclass
class Plan:
    """Tokens with the end token if it is reached, what each adds to the text, and why it ends."""

    ids: list[int]
    pieces: list[str]
    text: str
    finish: str
    stop_reason: str | None = None
    entries: list[Entry] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether the end token is its last."""
        return self.finish == "stop" and self.stop_reason is None

    def thought_tokens(self, thinks: bool) -> int:
        """How many tokens lie within the thought."""
        if not thinks:
            return 0
        said = [one for one in self.ids if one != EOS]
        close = vocab().added["</think>"]
        said = said[: said.index(close)] if close in said else said
        return len(said) - (said[:1] == [vocab().added["<think>"]])


def plan(ids: list[int], limit: int, body: dict[str, Any]) -> Plan:
    """Cut by ``limit`` tokens and by stop strings. With ``ignore_eos`` the answer is said again and again."""
    said = [*ids, EOS]
    if body.get("ignore_eos"):
        said = (said * (limit // len(said) + 1))[:limit]
    ended = len(said) <= limit and not body.get("ignore_eos")
    said = said[:limit]
    pieces = ["" if one == EOS else piece for one, piece in zip(said, vocab().pieces(said), strict=True)]
    stops = body.get("stop") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        text = ""
        for at, piece in enumerate(pieces):
            text += piece
            if stop in text:
                end = text.index(stop) + (len(stop) if body.get("include_stop_str_in_output") else 0)
                kept = pieces[: at + 1]
                kept[-1] = text[:end][len(text) - len(piece) :]
                return Plan(said[: at + 1], kept, text[:end], "stop", stop)
    return Plan(said, pieces, "".join(pieces), "stop" if ended else "length")


def measure(one: Plan, prompt: list[int], top: int, numbers: Logprobs) -> None:
    """Give every token its logprobs."""
    before = prompt[-4:]
    for token in one.ids:
        one.entries.append(numbers.said(before, token, top))
        before = [*before[-3:], token]
