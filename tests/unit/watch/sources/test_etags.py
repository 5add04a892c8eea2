"""A tag is good for what came with it, and for nothing else."""

import json
from dataclasses import replace

import pytest

from genesisd.watch.model import Pull, State
from genesisd.watch.refs import Ref
from genesisd.watch.sources.etags import note, usable

PULL = Pull(ref=Ref("a/b", 1), state=State.OPEN, checked_at=5.0, updated_at=3.0, head="a" * 40)


def kept(pull=PULL, etag='W/"x"'):
    return json.loads(json.dumps(note(etag, pull)))


def test_it_is_sent_for_what_it_stands_for():
    """Kept and read again, it is sent; when the answer was seen, and its title, do not matter."""
    assert usable(kept(), PULL) == 'W/"x"'
    assert usable(kept(), replace(PULL, checked_at=9.0, title="other")) == 'W/"x"'


@pytest.mark.parametrize(
    "other",
    [
        None,
        replace(PULL, state=State.CLOSED),
        replace(PULL, updated_at=4.0),
        replace(PULL, head="b" * 40),
        replace(PULL, merge_commit="c" * 40),
        replace(PULL, is_issue=True),
    ],
)
def test_it_is_not_sent_for_anything_else(other):
    """What is kept of the ref is not what came with the tag: then 304 would be taken for another answer."""
    assert usable(kept(), other) is None


@pytest.mark.parametrize("note_", [None, "x", {}, {"etag": None}, {"etag": 'W/"x"'}, [1]])
def test_odd_notes_are_no_tags(note_):
    """A note that cannot be read is none."""
    assert usable(note_, PULL) is None


def test_a_tag_that_would_break_the_header():
    """A tag with a line end is not sent."""
    assert usable(kept(etag='W/"x"\r\nX: y'), PULL) is None


def test_an_answer_without_a_tag():
    """It takes the old tag away."""
    assert note(None, PULL) is None
