"""A front counts as wedged by the length of its silence, and not by how many asked at the same time."""

from genesisd.front.silence import SILENT, Silence


def test_questions_of_one_moment_are_one_silence():
    """A hundred that were put and given up together prove no more than one."""
    one = Silence()
    assert not any(one.unanswered(7, 100.0, 105.0) for _ in range(100))


def test_a_long_silence_is_a_wedge():
    """Two questions at least, and the whole time without a word."""
    one = Silence()
    assert not one.unanswered(7, 100.0, 105.0)
    assert not one.unanswered(7, 105.0, 110.0)
    assert one.unanswered(7, 110.0, 100.0 + SILENT)


def test_one_question_is_not_enough():
    """However late it was given up: the daemon itself may have stood still."""
    assert not Silence().unanswered(7, 100.0, 100.0 + 10 * SILENT)


def test_a_word_begins_anew():
    """A late answer counts as one, though the question it belongs to was given up."""
    one = Silence()
    one.unanswered(7, 100.0, 105.0)
    assert not one.unanswered(8, 110.0, 116.0)
    assert not one.unanswered(8, 116.0, 121.0)
    assert one.unanswered(8, 121.0, 110.0 + SILENT)


def test_an_answer_ends_it():
    """What was left unanswered before is forgotten."""
    one = Silence()
    one.unanswered(7, 100.0, 105.0)
    one.broken()
    assert not one.unanswered(7, 110.0, 116.0)
