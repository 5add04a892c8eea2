"""How long upstream wants to be left alone, from what it answered."""

import pytest

from genesisd.watch.cost import Budget
from genesisd.watch.sources.limits import budget, refusal, retry_after, spent

NOW = 1_780_000_000.0
DATE = "Thu, 28 May 2026 20:26:40 GMT"
SPENT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 90)}


@pytest.mark.parametrize(
    ("status", "headers", "before", "seconds", "named"),
    [
        (403, {"retry-after": "7"}, 0, 7, True),
        (429, {"retry-after": "7"}, 3, 7, True),
        (403, {"retry-after": "7", "x-ratelimit-remaining": "4000"}, 0, 7, True),
        (429, {"retry-after": "0"}, 0, 1, True),
        (403, {"retry-after": "Thu, 28 May 2026 20:27:40 GMT"}, 0, 60, True),
        (403, {"retry-after": "Thu, 28 May 2026 20:20:00 GMT"}, 0, 1, True),
        (429, SPENT, 0, 91, True),
        (403, SPENT, 2, 91, True),
        (403, SPENT | {"x-ratelimit-reset": str(int(NOW) - 5)}, 0, 1, True),
        (403, {}, 0, 60, False),
        (403, {}, 1, 120, False),
        (403, {}, 3, 480, False),
        (429, {}, 0, 60, True),
        (403, {"x-ratelimit-remaining": "17", "x-ratelimit-reset": "99"}, 0, 60, False),
        (403, {"x-ratelimit-remaining": "0"}, 0, 60, False),
        (403, {"retry-after": "soon"}, 0, 60, False),
        (503, {"retry-after": "5"}, 0, 5, True),
        (403, {"retry-after": "999999999999"}, 0, 86400, True),
        (403, {"retry-after": "Fri, 31 Dec 9999 23:59:59 -2359"}, 0, 86400, True),
        (429, SPENT | {"x-ratelimit-reset": "999999999999"}, 0, 86401, True),
    ],
)
def test_a_refusal_is_waited_for(status, headers, before, seconds, named):
    """The time that is named, else the hour's end, else a minute and then twice as much."""
    found = refusal(status, headers, "", wall=NOW, before=before)
    assert (found.seconds, found.named) == (seconds, named)


@pytest.mark.parametrize(
    ("status", "headers"), [(200, SPENT), (404, {}), (500, {}), (503, {}), (401, {}), (304, SPENT)]
)
def test_what_is_no_refusal(status, headers):
    """Other answers ask for no wait."""
    assert refusal(status, headers, "rate limit", wall=NOW, before=0) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("You have exceeded a secondary rate limit.", True),
        ("You have triggered an abuse detection mechanism.", True),
        ("API rate limit exceeded for 127.0.0.1.", True),
        ("Resource not accessible by integration", False),
        ("", False),
    ],
)
def test_the_wording_tells_a_limit_from_a_permission(text, named):
    """Both are waited for; the words say whether a second one is still a limit."""
    found = refusal(403, {}, text, wall=NOW, before=0)
    assert found.seconds >= 60
    assert found.named is named


def test_the_last_answer_of_the_hour():
    """A good answer that was the last shuts the gate, by upstream's own clock."""
    assert spent(SPENT, NOW) == 91
    assert spent(SPENT | {"date": DATE}, NOW - 5000) == 91
    assert spent({"x-ratelimit-remaining": "0"}, NOW) is None
    assert spent({"x-ratelimit-remaining": "1", "x-ratelimit-reset": "5"}, NOW) is None
    assert spent({}, NOW) is None


def test_our_own_clock_may_be_wrong():
    """A reset is a moment of upstream's clock, so that the wait is told by upstream's clock where it is told."""
    for wrong in (-7200, 7200):
        assert refusal(403, SPENT | {"date": DATE}, "", wall=NOW + wrong, before=0).seconds == 91
    assert retry_after({"retry-after": "Thu, 28 May 2026 20:27:40 GMT", "date": DATE}, NOW - 7200) == 60


@pytest.mark.parametrize("value", ["", "never", "-5", "9" * 40, "nan", "1e9", "Thu, 99 Foo 2026"])
def test_odd_waits_are_none(value):
    """What is neither seconds nor a date is no time."""
    assert retry_after({"retry-after": value}, NOW) is None


def test_the_budget():
    """What is left is read from the headers, and nothing where there are none."""
    assert budget({"x-ratelimit-limit": "60", "x-ratelimit-remaining": "7", "x-ratelimit-reset": "5"}) == Budget(
        limit=60, remaining=7, resets_at=5.0
    )
    assert budget({"x-ratelimit-remaining": "7"}) == Budget(remaining=7)
    assert budget({"x-ratelimit-limit": "60"}) is None
