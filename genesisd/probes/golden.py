"""What was recorded of a build that is right: greedy answers, logprobs, the tokenizer. Pure.

Recorded only from a worker that was attested and that every other probe found good, and held against the same pin
without patches: a difference between the two has to be a patch's doing, and the patch is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reply:
    """One greedy answer. Calls are (name, arguments as text)."""

    content: str | None
    reasoning: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"


@dataclass(frozen=True, slots=True)
class Drift:
    """Logprobs of a fixed text in nats (the first token has none and is left out), and how far repeats lay apart."""

    text: str
    logprobs: tuple[float, ...]
    bound: float


@dataclass(frozen=True, slots=True)
class Golden:
    """One recording.

    Attributes:
        model: as the configuration names it.
        pin: id of the pin.
        build: name of the build, or None for the plain pin.
        casebook: name and digest of what was asked.
        replies: by id of the case.
        drift: None where the engine gave no logprobs.
        tokenizer: digest of the token ids of the casebook's texts, or None.
        differs: cases that the plain pin answers otherwise, with the patch that is named for it.
        reference: name of the recording of the plain pin that it was held against; None for the plain pin itself.
        weights: digest of the model's files by name and size, or None.
        recorded: wall time in seconds.
    """

    model: str
    pin: str
    build: str | None
    casebook: str
    replies: Mapping[str, Reply] = field(default_factory=dict)
    drift: Drift | None = None
    tokenizer: str | None = None
    differs: Mapping[str, str] = field(default_factory=dict)
    reference: str | None = None
    weights: str | None = None
    recorded: float = 0.0
