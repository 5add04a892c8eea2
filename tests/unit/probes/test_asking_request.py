"""What goes along with every question, and what must not."""

import pytest

from genesisd.probes.asking import MAX_TOKENS, SEED, Asking


class Target:
    """Serves under a name."""

    model = "tiny"


@pytest.fixture
def asking(monkeypatch):
    async def named(self, target):
        return target.model

    monkeypatch.setattr(Asking, "_name", named)
    return Asking(None, "golden")


async def test_a_greedy_question_is_the_same_each_time(asking):
    """Temperature nought, the seed and a bound are sent unless the body has its own."""
    sent = await asking.request(Target(), {"prompt": "a"})
    assert sent == {
        "model": "tiny", "temperature": 0, "seed": SEED, "max_tokens": MAX_TOKENS, "prompt": "a", "stream": False,
    }  # fmt: skip
    assert (await asking.request(Target(), {"prompt": "a", "max_tokens": 3}))["max_tokens"] == 3


@pytest.mark.parametrize("temperature", [0.01, 0.8, 1.5])
async def test_a_sampled_question_has_no_seed(asking, temperature):
    """An engine that keeps a generator for it may die of it when the prompt is read in pieces."""
    assert "seed" not in await asking.request(Target(), {"prompt": "a", "temperature": temperature})
