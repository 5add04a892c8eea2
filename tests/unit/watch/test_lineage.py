"""What commit messages say of other commits, and what follows from it."""

from __future__ import annotations

import pytest

from genesisd.watch.lineage import (
    Copies,
    History,
    Question,
    Seen,
    judge,
    lands,
    number_at_end,
    patch_fingerprint,
    read_message,
)
from genesisd.watch.model import Lineage

HOME = "vllm-project/vllm"
A, B, C, D, E = (letter * 40 for letter in "abcde")


@pytest.mark.parametrize(
    ("subject", "number"),
    [
        ("Fix (#12)", 12),
        ("Fix (#12) ", 12),
        ('Revert "Fix (#12)" (#13)', 13),
        ("Fix (#12) in models", None),
        ("Fix #12", None),
        ("Fix (12)", None),
        ("Fix (#0)", None),
        ("Fix (#12))", None),
        ("(#12)", 12),
        ("", None),
    ],
)
def test_the_number_at_the_end(subject, number):
    """Only what a forge appended counts, not what the author mentions."""
    assert number_at_end(subject) == number


@pytest.mark.parametrize(
    ("subject", "body", "numbers", "commits", "title"),
    [
        ('Revert "Fix (#1)" (#2)', "", {1}, (), ""),
        ('Revert "Fix (#1)"', f"This reverts commit {A}.", {1}, (A,), ""),
        ('[Bugfix][CI] Revert "Fix (#1)" (#2)', "", {1}, (), ""),
        ('Revert "Fix"', f"This reverts commit {A[:9]}.", set(), (A[:9],), ""),
        ('Revert "Fix" (#2)', "", set(), (), "Fix"),
        ('Revert "Fix" (#2)', "Reverts vllm-project/vllm#1", {1}, (), ""),
        ("Take it back (#2)", "Reverts #1\n", {1}, (), ""),
        ("Revert #1 (#2)", "", {1}, (), ""),
        ("Revert PR #1 and #3 (#4)", "", {1, 3}, (), ""),
        ("[Revert] Revert pull requests #1, #3 & #5", "", {1, 3, 5}, (), ""),
        ('Revert "Revert "Fix (#1)" (#2)" (#3)', "", {2}, (), ""),
        ("Merge", f"This reverts commit {A}, reversing\nchanges made to {B}.", set(), (A,), ""),
        ("Many", f"This reverts commits {A[:8]} and {B[:8]}.", set(), (A[:8], B[:8]), ""),
    ],
)
def test_it_says_to_undo(subject, body, numbers, commits, title):
    """By title, by pull request, by commit."""
    said = read_message(D, subject, body, HOME)
    assert (said.undoes_numbers, said.undoes, said.undoes_title) == (frozenset(numbers), commits, title)
    assert said.reverts


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("Fix what the revert of #1 broke (#2)", ""),
        ("Partially revert #1 (#2)", ""),
        ("Do not revert to defaults (#2)", "It reverts #1 in part"),
        ("Reverse the order of #1", ""),
        ("Revert (#2)", ""),
        ("Take it back (#2)", "Reverts ada/fork#1"),
        ("Say how to revert (#2)", "See `This reverts commit` in the log"),
    ],
)
def test_it_only_speaks_of_undoing(subject, body):
    """A part, a mention, a number of its own."""
    assert not read_message(D, subject, body, HOME).reverts


def test_what_a_message_copies_and_brings_back():
    """Each trailer on a line of its own; a title that is applied again."""
    body = (
        f"Text (cherry picked from commit {B})\n\n(cherry picked from commit {A})\n(cherry-picked from commit {C[:12]})"
    )
    assert read_message(D, "Pick several (#9)", body, HOME).copies == (A, C[:12])
    assert read_message(D, 'Reapply "Fix (#1)" (#3)', "", HOME).brings_back == frozenset({1})
    assert not read_message(D, 'Reapply "Fix (#1)" (#3)', "", HOME).reverts


def history(*commits):
    """Newest first: (oid, subject, body)."""
    seen = {oid: Seen(oid, at, subject) for at, (oid, subject, _) in enumerate(commits)}
    return History(seen, {oid: read_message(oid, subject, body, HOME) for oid, subject, body in commits})


def of(question, *commits):
    fact = judge(question, history(*commits))
    return fact.lineage, fact.how


FIX = (A, "Fix (#1)", "")


def test_merged_and_in_the_history():
    """By the merge commit alone: its title may say anything."""
    assert of(Question(1, A), (A, "Whatever", "")) == (Lineage.ANCESTOR, "merge-base")
    assert of(Question(1, A)) == (Lineage.ABSENT, "merge-base")
    assert of(Question(1)) == (Lineage.ABSENT, "subject")


def test_copies_strongest_first():
    """A trailer says more than equal lines, those more than a title."""
    trailer = (B, "Backport", f"(cherry picked from commit {A})")
    subject = (C, "Fix (#1)", "")
    assert of(Question(1, A), subject, trailer) == (Lineage.CHERRY_PICKED, "trailer")
    assert of(Question(1, A, same_patch=C), subject) == (Lineage.CHERRY_PICKED, "patch-id")
    assert of(Question(1, A), subject) == (Lineage.CHERRY_PICKED, "subject")
    assert of(Question(1), subject) == (Lineage.ANCESTOR, "subject")
    assert of(Question(1, A), (B, 'Reapply "Fix (#1)" (#3)', "")) == (Lineage.CHERRY_PICKED, "subject")


def test_reverts_count_for_what_is_older():
    """A landing after the revert is not undone by it."""
    revert = (B, 'Revert "Fix (#1)" (#2)', "")
    assert of(Question(1, A), revert, FIX) == (Lineage.REVERTED, "revert")
    assert of(Question(1, A), FIX, revert) == (Lineage.ANCESTOR, "merge-base")
    assert of(Question(1, A), (C, "Fix (#1)", ""), revert, FIX) == (Lineage.CHERRY_PICKED, "subject")


def test_a_chain_of_reverts():
    """Each undoes the one before it."""
    chain = [FIX]
    for n, oid in enumerate((B, C, D), 2):
        chain.insert(0, (oid, f'Revert "{chain[0][1]}" (#{n})', ""))
    expected = [Lineage.ANCESTOR, Lineage.REVERTED, Lineage.ANCESTOR, Lineage.REVERTED]
    assert [of(Question(1, A), *chain[-n:])[0] for n in (1, 2, 3, 4)] == expected


def test_reverts_that_name_each_other_are_judged_once_each():
    """Nonsense in messages costs no more than it is long: sixty of them would take for ever one by one."""
    odd = [(f"{n:040x}", f"Odd (#{7 + n % 2})", f"Reverts #{8 - n % 2}") for n in range(60)]
    # The newest stands; what it names does not, so what that names stands, unless the newest undoes it too.
    assert of(Question(8, A), *odd, (A, "Odd (#8)", ""))[0] is Lineage.REVERTED
    assert of(Question(9, A), *odd, (A, "Odd (#9)", ""))[0] is Lineage.ANCESTOR


def test_on_a_branch_with_a_copy_people_name_the_original():
    """The revert on the release names the commit on main, which the release has not."""
    copy = (B, "Fix (#1)", "")
    revert = (C, "Take it back", f"This reverts commit {A}.")
    assert of(Question(1, A), revert, copy) == (Lineage.REVERTED, "revert")
    # Where the original is there too, it is the original that is meant.
    assert (
        of(Question(1, A), revert, (B, "Backport", f"(cherry picked from commit {A})"), FIX)[0] is Lineage.CHERRY_PICKED
    )


def test_a_title_without_a_number():
    """The quoted title must be the whole title."""
    commit, revert = (A, "Fix it", ""), (B, 'Revert "Fix it"', "")
    assert of(Question(1, A), revert, commit)[0] is Lineage.REVERTED
    assert of(Question(1, A), revert, (A, "Fix it (#1)", ""))[0] is Lineage.REVERTED
    assert of(Question(1, A), revert, (A, "Fix it all (#1)", ""))[0] is Lineage.ANCESTOR


def test_abbreviated_names():
    """In messages, and of a merge that the mirror lacks."""
    trailer = (B, "Backport", f"(cherry picked from commit {A[:8]})")
    assert of(Question(1, A), trailer) == (Lineage.CHERRY_PICKED, "trailer")
    assert of(Question(1, A[:10], lacking=True), (B, "x", f"(cherry picked from commit {A})"))[1] == "trailer"
    assert of(Question(1, A), (B, "Back", f"This reverts commit {A[:8]}."), FIX)[0] is Lineage.REVERTED
    assert of(Question(1, A), (B, "Back", f"This reverts commit {C[:8]}."), FIX)[0] is Lineage.ANCESTOR
    other = (B, "Backport", f"(cherry picked from commit {C[:8]})")
    assert of(Question(1, A), other)[0] is Lineage.ABSENT


def test_the_evidence_shows_what_decided():
    """Commits by ten letters and their titles, so that a person can look."""
    copy, again = (B, "Backport", f"(cherry picked from commit {A})"), (C, "Fix (#1)", "")
    revert = (D, "Take it back", "Reverts #1")
    lacks = "the mirror has no commit aaaaaaaaaa, and no commit of the history names it"
    told = [
        (Question(1, A), (FIX,), 'aaaaaaaaaa "Fix (#1)" is in the history'),
        (Question(1, A), (copy,), 'bbbbbbbbbb "Backport" says that it is a copy of aaaaaaaaaa'),
        (Question(1, A, same_patch=C), (again,), 'cccccccccc "Fix (#1)" changes the same lines as aaaaaaaaaa'),
        (Question(1, A), (again,), 'cccccccccc "Fix (#1)" names it'),
        (Question(1, A), (revert, FIX), 'dddddddddd "Take it back" undoes aaaaaaaaaa "Fix (#1)"'),
        (Question(1, A), (), "neither aaaaaaaaaa nor a copy of it is in the history"),
        (Question(1), (), "no commit that names it is in the history"),
        (Question(1, A, lacking=True), (), lacks),
        (Question(1, A, same_patch=Copies.UNTOLD), (), "copies of it could not be looked for"),
    ]
    for question, commits, evidence in told:
        assert judge(question, history(*commits)).evidence == evidence
    long = judge(Question(1, A), history((A, "x" * 300, ""))).evidence
    assert len(long) < 150


def test_what_cannot_be_told_is_unknown():
    """An absence is concluded only where all was looked at."""
    assert of(Question(1, A, lacking=True))[0] is Lineage.UNKNOWN
    assert of(Question(1, A, lacking=True), (B, "Fix (#1)", "")) == (Lineage.CHERRY_PICKED, "subject")
    untold = Question(1, A, same_patch=Copies.UNTOLD, why_untold="no blobs")
    assert judge(untold, history()).evidence == "no blobs"
    assert of(untold) == of(Question(1, A, lacking=True)) == (Lineage.UNKNOWN, "")
    assert of(untold, (B, "Fix (#1)", "")) == (Lineage.CHERRY_PICKED, "subject")


def test_when_patches_need_not_be_compared():
    """Only a standing landing that tells the commit saves the work."""
    revert = (B, 'Revert "Fix (#1)" (#2)', "")
    assert lands(Question(1, A), history(FIX))
    assert not lands(Question(1, A), history(revert, FIX))
    assert not lands(Question(1, A), history((C, "Fix (#1)", "")))


DIFF = b"""diff --git a/x.py b/x.py
index 1111111..2222222 100644
--- a/x.py
+++ b/x.py
@@ -10,3 +10,4 @@ def a():
 one
+two
 three
"""


def test_diffs_that_change_the_same_lines():
    """Wherever they stand and whatever the file was before; but blanks, context and names count."""
    moved = DIFF.replace(b"-10,3 +10,4 @@ def a()", b"-70,3 +71,4 @@ def b()").replace(b"1111111..2222222", b"3..4")
    assert patch_fingerprint(moved) == patch_fingerprint(DIFF)
    for other in (DIFF.replace(b"+two", b"+ two"), DIFF.replace(b" one", b" eins"), DIFF.replace(b"x.py", b"y.py")):
        assert patch_fingerprint(other) != patch_fingerprint(DIFF)
    assert patch_fingerprint(b"") is None
    assert patch_fingerprint(b"\n") is None


def test_diffs_of_binary_files_are_told_apart_by_their_contents():
    """Nothing else is shown of them; and the next file's line of that kind is left out again."""
    binary = b"diff --git a/x.bin b/x.bin\nindex 111..%s 100644\nBinary files a/x.bin and b/x.bin differ\n"
    assert patch_fingerprint(binary % b"222") != patch_fingerprint(binary % b"333")
    both = binary % b"222" + DIFF
    assert patch_fingerprint(both) == patch_fingerprint(both.replace(b"1111111", b"7"))
    after = DIFF + binary % b"222"
    assert patch_fingerprint(after) != patch_fingerprint(after.replace(b"+two", b"+zwei"))


def test_a_trailer_is_found_in_a_long_message():
    """Indented, with the line ends of another system, behind tens of thousands of empty lines: a daemon reads it too."""
    body = "\n" * 60_000 + f"  (cherry picked from commit {A})\r\n"
    assert read_message(B, "x", body, HOME).copies == (A,)
