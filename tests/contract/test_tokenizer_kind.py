"""The tokenizer kind against an engine that cuts texts right but for one thing."""

from __future__ import annotations

import pytest

from genesisd.probes.model import Verdict
from genesisd.probes.spec import TokenizerProbe
from tests.helpers.honest import Honest, chunked, crc
from tests.helpers.judged import judging


def right(text):
    return [crc(part) for part in text.split(" ")]


WRONG = {
    "one-text-otherwise": {"tokenize": lambda text: [*right(text), 7] if "def" in text else right(text)},
    "one-more-at-the-head": {"tokenize": lambda text: [1, *right(text)]},
    "the-last-one-lost": {"tokenize": lambda text: right(text)[:-1]},
    "two-spaces-taken-for-one": {"tokenize": lambda text: right(" ".join(text.split()))},
    "capitals-lost": {"tokenize": lambda text: right(text.lower())},
    "all-ids-moved": {"tokenize": lambda text: [one + 1 for one in right(text)]},
    "turned-around": {"tokenize": lambda text: right(text)[::-1]},
    "no-ids": {"tokenize": lambda text: None},
    "words-for-ids": {"tokenize": lambda text: text.split(" ")},
    "fails": {"refuse": lambda asked: (500, "boom") if asked.path == "/tokenize" else None},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_tokenizer_is_caught(change):
    """Two asks in a row are enough to turn the probe bad."""
    honest = Honest()
    async with judging(honest, TokenizerProbe()) as judged:
        assert (await judged.asks(2)).good is True
        vars(honest).update(change)
        assert (await judged.asks(2)).good is False, list(judged.told())
        assert judged.outcomes[-1].exchanges[0].path == "/tokenize"


RIGHT = {
    "the-same": ({}, Verdict.SUCCESS),
    "more-fields": (
        {"whole": lambda a, document: document | {"token_strs": ["a"], "max_model_len": 9}},
        Verdict.SUCCESS,
    ),
    "no-count": ({"whole": lambda asked, document: {"tokens": document["tokens"]}}, Verdict.SUCCESS),
    "in-chunks": ({"send": lambda asked, body, stream: [chunked(body, 3)]}, Verdict.SUCCESS),
    "no-such-path": ({"refuse": lambda asked: (404, "Not Found")}, Verdict.SKIPPED),
    "too-busy": ({"refuse": lambda asked: (429, "later")}, Verdict.UNKNOWN),
    "wants-a-key": ({"refuse": lambda asked: (401, "Unauthorized")}, Verdict.UNKNOWN),
}


@pytest.mark.parametrize(("change", "verdict"), RIGHT.values(), ids=RIGHT.keys())
async def test_an_odd_but_right_server_passes(change, verdict):
    """Other fields, and a server that cannot or may not be asked, are no fault of the tokenizer."""
    honest = Honest()
    async with judging(honest, TokenizerProbe()) as judged:
        vars(honest).update(change)
        await judged.asks(4)
        assert set(judged.verdicts) == {verdict}, list(judged.told())


async def test_the_text_that_differs_is_named():
    """The fingerprint tells which text has other tokens."""
    honest = Honest()
    async with judging(honest, TokenizerProbe()) as judged:
        honest.tokenize = WRONG["one-text-otherwise"]["tokenize"]
        await judged.asks(1)
        assert "1 of 4 texts" in judged.outcomes[0].summary
        assert "def f()" in judged.outcomes[0].summary
