"""The logprob-drift kind against an engine that computes right but for one thing."""

from __future__ import annotations

import math

import pytest

from genesisd.probes.model import Verdict
from genesisd.probes.spec import LogprobDriftProbe
from tests.helpers.honest import Honest, crc
from tests.helpers.judged import judging


def right(place, word):
    return -1.0 - (crc(word) % 700) / 100


def prompt_logprobs(change):
    """Change the list before it is sent."""

    def whole(asked, document):
        if asked.body.get("prompt_logprobs") is not None:
            document["choices"][0]["prompt_logprobs"] = change(document["choices"][0]["prompt_logprobs"])
        return document

    return {"whole": whole}


def wobble(size):
    """Noise that is the same each time, either way."""
    return lambda place, word: right(place, word) + (size if place % 2 else -size)


WRONG = {
    "all-shifted": {"logprob": lambda place, word: right(place, word) - 0.3},
    "coarse": {"logprob": wobble(0.2)},
    "one-layer-lost": {"logprob": lambda place, word: right(place, word[::-1])},
    "a-tail-that-is-wrong": {"logprob": lambda place, word: right(place, word) - (2.0 if place > 100 else 0)},
    "one-token-at-minus-thousand": {"logprob": lambda place, word: -1000.0 if place == 5 else right(place, word)},
    "not-a-number": {"logprob": lambda place, word: math.nan if place == 7 else right(place, word)},
    "minus-infinity": {"logprob": lambda place, word: -math.inf if place == 7 else right(place, word)},
    "a-token-less": prompt_logprobs(lambda found: found[:-1]),
    "none-at-all": prompt_logprobs(lambda found: None),
    "holes": prompt_logprobs(lambda found: [None if place % 5 == 0 else one for place, one in enumerate(found)]),
    "of-another-shape": prompt_logprobs(lambda found: [1, 2, 3]),
    "refused-as-not-json": {"refuse": lambda asked: (500, "Out of range float values are not JSON compliant")},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_engine_is_caught(change):
    """Two asks in a row are enough to turn the probe bad."""
    honest = Honest()
    async with judging(honest, LogprobDriftProbe()) as judged:
        assert (await judged.asks(2)).good is True
        vars(honest).update(change)
        assert (await judged.asks(2)).good is False, list(judged.told())
        assert judged.outcomes[-1].exchanges[0].request["prompt_logprobs"] == 0


def with_others(found):
    """Alternatives behind each token, as engines send that read 0 as 1."""
    return [one and {**one, "99999": {"logprob": -0.01, "rank": 1}} for one in found]


def at_the_top(asked, document):
    """Where chat answers have them."""
    found = document["choices"][0].pop("prompt_logprobs", None)
    return document | {"prompt_logprobs": found}


RIGHT = {
    "the-same": {},
    "noise-of-two-hundredths": {"logprob": wobble(0.02)},
    "noise-that-changes": {"logprob": lambda p, w: right(p, w) + 0.03 * math.sin(p)},
    "one-token-off-by-two-nats": {"logprob": lambda place, word: right(place, word) + (2.0 if place == 9 else 0.0)},
    "alternatives-beside": prompt_logprobs(with_others),
    "at-the-top-of-the-answer": {"whole": at_the_top},
    "integers": {"logprob": lambda place, word: right(place, word) if place % 7 else round(right(place, word), 3)},
}


@pytest.mark.parametrize("change", RIGHT.values(), ids=RIGHT.keys())
async def test_an_odd_but_right_engine_passes(change):
    """Noise as batches make it, and other forms of the same numbers, are no drift."""
    honest = Honest()
    async with judging(honest, LogprobDriftProbe()) as judged:
        vars(honest).update(change)
        await judged.asks(8)
        assert set(judged.verdicts) == {Verdict.SUCCESS}, list(judged.told())


async def test_the_operators_bound_comes_first():
    """A bound of the configuration takes the place of the calibrated one."""
    honest = Honest()
    async with judging(honest, LogprobDriftProbe(bound=0.01)) as judged:
        honest.logprob = wobble(0.02)
        assert (await judged.asks(2)).good is False
        assert "bound 0.0100" in judged.outcomes[0].summary


async def test_an_engine_without_logprobs_is_skipped():
    """Where none came at the recording, and where the engine says that it has none, nothing is judged."""
    honest = Honest(logprobs=False)
    async with judging(honest, LogprobDriftProbe()) as judged:
        assert judged.golden is not None
        assert judged.golden.drift is None
        assert (await judged.probe.ask(judged.target, 0.0)).verdict is Verdict.SKIPPED
    honest = Honest()
    async with judging(honest, LogprobDriftProbe()) as judged:
        honest.refuse = lambda asked: (400, "prompt_logprobs are not supported with speculative decoding")
        assert (await judged.probe.ask(judged.target, 0.0)).verdict is Verdict.SKIPPED
        honest.refuse = lambda asked: (503, "shutting down")
        assert (await judged.probe.ask(judged.target, 0.0)).verdict is Verdict.UNKNOWN
