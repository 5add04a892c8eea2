"""The prefix-cache kind against an engine whose cache is right but for one thing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from genesisd.probes.model import Verdict
from genesisd.probes.ports import Abilities
from genesisd.probes.spec import PrefixCacheProbe
from tests.helpers.honest import SEQUENCE, Honest, Say
from tests.helpers.judged import judging


def on_hit(change):
    return {"say": lambda asked, say: change(say) if asked.hit else say}


def word(say):
    return replace(say, tokens=[*say.tokens[:-2], "9", say.tokens[-1]])


WRONG = {
    "another-word": on_hit(word),
    "another-first-word": on_hit(lambda say: replace(say, tokens=["We ", *say.tokens[1:]])),
    "cut-short": on_hit(lambda say: replace(say, tokens=say.tokens[:2], finish="length")),
    "over-and-over": on_hit(lambda say: Say(["said "] * 20, finish="length")),
    "nothing": on_hit(lambda say: replace(say, tokens=[".", "."])),
    "thought-lost": on_hit(lambda say: replace(say, thought="Something else.")),
    "other-words-of-the-same-tokens": on_hit(lambda say: replace(say, text="...")),
    "fails": {"refuse": lambda asked: (500, "illegal memory access") if asked.hit else None},
    "empty-200": {"whole": lambda asked, document: b"" if asked.hit else document},
    "another-word-where-salts-are-not-known": {**on_hit(word), "salts": False},
    "another-word-where-no-ids-are-told": {**on_hit(word), "ids": False},
    "another-word-where-no-logprobs-are-told": {**on_hit(word), "logprobs": False},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_cache_is_caught(change):
    """What a hit makes otherwise turns the probe bad, with the answer of the hit first."""
    honest = Honest()
    async with judging(honest, PrefixCacheProbe(), Abilities(prefix_caching=True)) as judged:
        assert (await judged.asks(2)).good is True, list(judged.told())
        vars(honest).update(change)
        assert (await judged.asks(3)).good is False, list(judged.told())
        assert judged.outcomes[-1].exchanges


def tie(say):
    return replace(say, tokens=[SEQUENCE[1] if token == SEQUENCE[0] else token for token in say.tokens])


def no_salt(asked):
    return (400, "cache_salt is not supported") if "cache_salt" in asked.body else None


RIGHT = {
    "the-same": {},
    "near-tie-on-a-hit": on_hit(tie),
    "salts-are-refused": {"refuse": no_salt},
    "salts-are-not-known": {"salts": False},
    "hits-are-not-told": {"tells_cached": False},
    "no-token-ids": {"ids": False},
    "otherwise-once-in-a-while": {"say": lambda a, s: word(s) if a.turn % 12 == 11 else s},
}


@pytest.mark.parametrize("change", RIGHT.values(), ids=RIGHT.keys())
async def test_an_odd_but_right_cache_passes(change):
    """Near ties and other habits of engines are no fault of the cache."""
    honest = Honest()
    async with judging(honest, PrefixCacheProbe()) as judged:
        vars(honest).update(change)
        await judged.asks(12)
        assert set(judged.verdicts) == {Verdict.SUCCESS}, list(judged.told())


@pytest.mark.parametrize("tells", [True, False], ids=["told-in-the-answer", "told-by-the-counter"])
async def test_no_hit_proves_nothing(tells):
    """Where the second ask was shown to be no hit, the probe claims nothing of the cache."""
    honest = Honest(caches=False)
    if not tells:
        honest.whole = lambda asked, document: document | {"usage": {"prompt_tokens": 3, "completion_tokens": 3}}
    async with judging(honest, PrefixCacheProbe(), Abilities(prefix_caching=True)) as judged:
        assert (await judged.probe.ask(judged.target, 0.0)).verdict is Verdict.UNKNOWN
        unsure = replace(judged.target, abilities=Abilities())
        assert (await judged.probe.ask(unsure, 0.0)).verdict is Verdict.SKIPPED
        off = replace(judged.target, abilities=Abilities(prefix_caching=False))
        assert (await judged.probe.ask(off, 0.0)).exchanges == ()


async def test_each_ask_begins_cold():
    """No two asks share a prompt under the same salt, and where salts are not known, none at all."""
    honest = Honest()
    async with judging(honest, PrefixCacheProbe()) as judged:
        await judged.asks(3)
        assert [one.evidence["cached_tokens"] for one in judged.outcomes] == [100] * 3
        honest.salts = False
        await judged.asks(3)
        assert [one.evidence["cached_tokens"] for one in judged.outcomes[3:]] == [100] * 3
        for outcome in judged.outcomes:
            told = [
                again["usage"]["prompt_tokens_details"]["cached_tokens"] for again in map(_document, outcome.exchanges)
            ]
            assert 0 in told


def _document(exchange):
    return json.loads(exchange.text)
