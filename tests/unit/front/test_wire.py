import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.front import answers
from genesisd.front.backoff import Backoff
from genesisd.front.decide import Closed, Held, Open, Refuse
from genesisd.front.wire import FrontStats, WireError, agree, decode, encode, order, stats_message, stats_of, target_of

TARGETS = st.one_of(
    st.builds(Open, st.text(), st.integers(1, 65535), st.integers(0)), st.builds(Held), st.builds(Closed, st.text())
)


@given(TARGETS)
def test_orders_round_trip(target):
    """What the daemon orders is what the front points at."""
    assert target_of(decode(encode(order(target)))) == target


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"\xff\n", b"1\n"])
def test_garbage_is_an_error(line):
    """A line that is no JSON object is refused in words."""
    with pytest.raises(WireError):
        decode(line)


@pytest.mark.parametrize(
    "message", [{"op": "open"}, {"op": "open", "host": "h", "port": "x", "incarnation": 1}, {"op": "close"}]
)
def test_half_an_order_is_an_error(message):
    """An order without its fields is refused, never half obeyed."""
    with pytest.raises(WireError):
        target_of(message)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [((1, 1), (1, 1), 1), ((1, 3), (2, 5), 3), ((2, 3), (1, 2), 2), ((3, 4), (1, 2), None), ((1, 2), (3, 4), None)],
)
def test_versions(ours, theirs, expected):
    """Both sides settle on the newest version that both speak."""
    assert agree(ours, theirs) == expected


def test_stats_of_an_older_front():
    """Fields that a front does not know are zero, and unknown ones are ignored."""
    assert stats_of({"open": 3, "novelty": 1}) == FrontStats(open=3)
    stats = FrontStats(1, 2, 3, 4, 5, 6, 7.0)
    assert stats_of(stats_message(stats)) == stats


def test_refusal_is_what_openai_clients_show():
    """The body has the shape of an OpenAI error, and Retry-After stands beside it."""
    raw = answers.refusal(Refuse("worker_unavailable", "no worker", 7)).encode(close=True)
    head, _, body = raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"Retry-After: 7" in head
    assert b"Connection: close" in head
    assert b"Content-Length: %d" % len(body) in head
    assert json.loads(body)["error"] == {
        "message": "no worker",
        "type": "worker_unavailable",
        "param": None,
        "code": 503,
    }


def test_final_refusal_asks_for_no_retry():
    """Where no worker is coming, clients are told not to retry by themselves."""
    head = answers.refusal(Refuse("worker_closed", "stopped", None)).encode(close=False)
    assert b"x-should-retry: false" in head
    assert b"Retry-After" not in head


def test_head_gets_no_body():
    """The refusal of a HEAD ends with its head."""
    assert answers.lost(1).encode(close=False, head=True).endswith(b"\r\n\r\n")


def test_backoff_is_immediate_once_then_bounded():
    """The first restart does not wait, a loop of deaths does, and a steady life forgives."""
    backoff, delays = Backoff(), []
    for _ in range(12):
        backoff = backoff.after(0.0)
        delays.append(backoff.delay)
    assert delays[0] == 0.0
    assert delays[1:4] == [0.1, 0.2, 0.4]
    assert delays[-1] == 5.0
    assert backoff.after(60.0).delay == 0.0
