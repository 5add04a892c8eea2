"""The judges against thousands of answers of the real vLLM: silent on all of them, and awake when they are spoilt."""

from collections import Counter
from collections.abc import Callable

import pytest

from genesisd.probes.judging.degeneration import wrong
from tests.transcripts.corpus import transcripts
from tests.transcripts.judged import judges
from tests.transcripts.rates import FLOORS, faults, rate


def test_the_corpus_is_large_and_varied() -> None:
    """Over ten thousand answers, at all temperatures, streamed and whole, under two parsers and none."""
    told = [one for one in transcripts() if one.path == "/v1/chat/completions"]
    assert len(told) > 10_000
    for knob in ("stream", "temperature", "max_tokens", "setting"):
        assert min(Counter(one.knobs[knob] for one in told).values()) > 1000, knob
    kinds = Counter(name for one in told for name in judges(one))
    assert min(kinds[name] for name in ("tool-calls", "reasoning", "structured-output")) > 300, kinds


def test_no_good_answer_is_called_wrong() -> None:
    """Not one false alarm over all chat answers, by every judge that applies to it."""
    alarms = [f"{one.knobs}: {name}: {fault}" for one in transcripts() for name, fault in faults(one)]
    assert not alarms, "\n".join([f"{len(alarms)} false alarms", *alarms[:10]])


def test_a_model_asked_outside_its_template_may_lose_its_way() -> None:
    """A chat model that is made to go on with bare text does loop at times: true of the model, and told as garbage."""
    bare = [one for one in transcripts() if one.path == "/v1/completions"]
    lost = [one for one in bare if wrong(one.said())]
    assert (len(bare) > 500, 0 < len(lost) < 0.02 * len(bare)) == (True, True)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, floors in FLOORS.items() for name in floors], ids=str
)
def test_spoilt_answers_are_noticed(kind: str, name: str, record_property: Callable[[str, object], None]) -> None:
    """At least as often as was measured; what a judge is blind to stands here with 0, and is never seen."""
    caught, tried = rate(kind, name)
    record_property("caught", f"{caught}/{tried}")
    assert tried >= 30
    floor = FLOORS[kind][name]
    assert caught >= floor * tried if floor else caught == 0
