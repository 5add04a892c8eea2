"""What a daemon's answers come to for checks: what upstream said, and which tests were run where it counts."""

from __future__ import annotations

import pytest

from genesisd.control.client import ControlError
from genesisd.watch.refs import Ref
from genesisd.watchtool.answers import told_by

REFS = [Ref("vllm-project/vllm", number) for number in (1, 2)]


class Client:
    """Answers from a table; what is not in it was never asked about."""

    def __init__(self, **told):
        self._told = told

    def watched(self, ref):
        if ref not in self._told:
            raise ControlError("not_found", f"nothing is known of {ref}")
        return self._told[ref]


def answer(*dossiers, pins=(("now", ["current"]), ("next", ["candidate"]))):
    told = {"pull": None, "unknown": "", "unknown_at": None, "unknown_text": ""}
    found = [{"patch": patch, "pin": pin, **more} for patch, pin, more in dossiers]
    return {**told, "pins": [{"pin": pin, "slots": slots} for pin, slots in pins], "dossiers": found}


@pytest.mark.parametrize(
    ("dossiers", "ran"),
    [
        ([("P1", "now", {"ran": ["tests/p1.py"]})], {"P1"}),
        ([("P1", "next", {"ran": ["tests/p1.py"]})], set()),
        ([("P1", "now", {"ran": []})], set()),
        ([("P1", "now", {})], set()),
        ([], set()),
    ],
)
def test_a_test_counts_where_it_was_run_on_the_pin_that_serves(dossiers, ran):
    """On another it shows nothing of this one; a daemon of an older version does not tell at all."""
    known, found = told_by(Client(**{"vllm#1": answer(*dossiers)}), REFS)
    assert (list(known), found) == (REFS[:1], ran)


def test_where_no_pin_is_current_it_must_have_run_on_all():
    """Any of them may be the one that serves."""
    pins = (("a", []), ("b", []))
    one, both = ("P1", "a", {"ran": ["t"]}), ("P1", "b", {"ran": ["t"]})
    assert told_by(Client(**{"vllm#1": answer(one, pins=pins)}), REFS)[1] == set()
    assert told_by(Client(**{"vllm#1": answer(one, pins=pins), "vllm#2": answer(both, pins=pins)}), REFS)[1] == {"P1"}
    assert told_by(Client(**{"vllm#1": answer(pins=())}), REFS)[1] == set()


def test_another_refusal_is_no_silence():
    """A daemon that watches nothing has not been asked."""
    client = Client()
    client.watched = lambda _: (_ for _ in ()).throw(ControlError("conflict", "nothing is watched"))
    with pytest.raises(ControlError, match="nothing is watched"):
        told_by(client, REFS)
