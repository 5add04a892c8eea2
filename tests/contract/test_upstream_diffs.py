"""Diffs: of the commit that was asked for and no other, whole or said not to be, and asked for once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.model import State
from genesisd.watch.refs import UPSTREAM, Ref
from tests.helpers.fakegithub import Fact, Status, Truncated, World, synthetic
from tests.helpers.upstream import asking

ONE = Ref(UPSTREAM, 40001)
HEADS = ("a" * 40, "b" * 40)
TEXT = """diff --git a/vllm/a.py b/vllm/a.py
index 1111111..2222222 100644
--- a/vllm/a.py
+++ b/vllm/a.py
@@ -1,3 +1,3 @@ def f():
 one
-two
+zwei
 three
diff --git a/vllm/new.py b/vllm/new.py
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/vllm/new.py
@@ -0,0 +1,2 @@
+one
+two
\\ No newline at end of file
diff --git a/vllm/old.py b/vllm/old.py
deleted file mode 100644
index 1111111..0000000
--- a/vllm/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/vllm/b.py b/vllm/c.py
similarity index 90%
rename from vllm/b.py
rename to vllm/c.py
index 1111111..2222222 100644
--- a/vllm/b.py
+++ b/vllm/c.py
@@ -5 +5 @@
-five
+fuenf
"""


def world(**changes) -> World:
    return World.of(replace(Fact(ONE, head=HEADS[0], diff=TEXT), **changes))


async def pull_of(around):
    return (await around.sweep().pulls([ONE]))[ONE]


@pytest.mark.parametrize("state", ["open", "closed", "merged"])
@pytest.mark.parametrize("token", [True, False])
async def test_a_diff_costs_one_request_and_the_next_none(tmp_path, state, token):
    """The diff arrives as upstream has it, and is kept for all sweeps."""
    async with asking(world(state=state), tmp_path, token=token) as around:
        pull, github = await pull_of(around), around.sweep()
        diff = await github.diff(pull)
        assert diff.path.read_text() == TEXT
        assert (diff.ref, diff.head, diff.complete) == (ONE, HEADS[0], True)
        assert github.asked().requests == {"diff": 1}
        again = around.sweep()
        assert await again.diff(pull) == diff
        assert again.asked().requests == {}


async def test_a_force_push_is_another_diff(tmp_path):
    """What was pushed over has another head, thus another diff; the old one goes."""
    async with asking(world(), tmp_path) as around:
        old = await around.sweep().diff(await pull_of(around))
        around.double.world.force_push(ONE, diff=TEXT.replace("zwei", "deux"))
        new = await around.sweep().diff(await pull_of(around))
        assert "deux" in new.path.read_text()
        assert not old.path.exists()


async def test_a_push_between_question_and_diff(tmp_path):
    """A diff is of the head that was told, even when something was pushed over it a moment ago."""
    async with asking(world(), tmp_path) as around:
        pull = await pull_of(around)
        around.double.world.force_push(ONE, diff=TEXT.replace("zwei", "deux"))
        diff = await around.sweep().diff(pull)
        assert diff.path.read_text() == TEXT


async def test_a_push_between_where_nothing_can_be_compared(tmp_path):
    """Where only the newest diff can be had, it is not taken for that of an older head."""
    async with asking(world(), tmp_path) as around:
        around.double.faults.compare = False
        pull = await pull_of(around)
        assert (await around.sweep().diff(pull)).path.read_text() == TEXT
        around.double.world.force_push(ONE, diff=TEXT.replace("zwei", "deux"))
        stranger = replace(pull, head="c" * 40)
        assert await around.sweep().diff(stranger) is None


@pytest.mark.parametrize("status", [406, 422])
@pytest.mark.parametrize("state", ["open", "merged"])
async def test_a_diff_that_is_too_large_comes_in_pieces(tmp_path, status, state):
    """Where the whole is refused, the list of files makes the same changes."""
    async with asking(world(state=state, too_large=status), tmp_path) as around:
        diff = await around.sweep().diff(await pull_of(around))
        assert diff.complete
        whole = [line for line in TEXT.splitlines() if not line.startswith(("index ", "similarity ", "\\"))]
        pieces = [line for line in diff.path.read_text().splitlines() if not line.startswith("\\")]
        assert pieces == whole


async def test_pieces_without_their_lines_are_said_to_be_missing(tmp_path):
    """A file whose change is not told makes the diff incomplete; it is tried again, and then whole."""
    async with asking(world(too_large=406, unpatched=frozenset({"vllm/a.py"})), tmp_path) as around:
        pull = await pull_of(around)
        diff = await around.sweep().diff(pull)
        assert not diff.complete
        assert "zwei" not in diff.path.read_text()
        assert await around.sweep().diff(pull) == diff
        around.double.faults.down = True
        assert await around.sweep().diff(pull) == diff
        around.double.faults.down = False
        around.double.world.change(ONE, too_large=0)
        assert (await around.sweep().diff(pull)).complete


async def test_pieces_of_another_head_are_not_taken(tmp_path):
    """The list of files names the commit that it is of."""
    async with asking(world(too_large=406), tmp_path) as around:
        pull = await pull_of(around)
        around.double.world.force_push(ONE, diff=TEXT.replace("zwei", "deux"))
        assert await around.sweep().diff(replace(pull, state=State.MERGED)) is None


async def test_more_files_than_are_listed(tmp_path):
    """A change of more files than are read is incomplete."""
    files = tuple(f"vllm/part_{number}.py" for number in range(620))
    async with asking(world(diff=None, files=files, too_large=406), tmp_path) as around:
        github = around.sweep()
        diff = await github.diff(await pull_of(around))
        assert not diff.complete
        assert diff.path.read_text().count("diff --git") == 500


@pytest.mark.parametrize("fault", [Truncated(quietly=True), Truncated(), Status(500), Status(404)])
async def test_a_broken_diff_is_not_kept(tmp_path, fault):
    """A diff that breaks off, or does not come, leaves nothing behind, and is asked for the next time."""
    async with asking(world(), tmp_path) as around:
        pull = await pull_of(around)
        around.double.faults.next = [fault, fault]
        while around.double.faults.next:
            diff = await around.sweep().diff(pull)
            assert diff is None or diff.path.read_text() == TEXT
        assert (await around.sweep().diff(pull)).path.read_text() == TEXT


@pytest.mark.parametrize(
    "body", ["5", "[5]", '[{"status": "added"}]', "{}", "<html>", '[{"filename": "x", "status": "added"}]']
)
async def test_pieces_that_make_no_sense(tmp_path, body):
    """A list of files that cannot be read is none."""
    async with asking(world(too_large=406), tmp_path) as around:
        pull = await pull_of(around)
        around.double.faults.next = [None, Status(200, body)]
        assert await around.sweep().diff(pull) is None


@pytest.mark.parametrize("body", ["5", "{}", "<html>", '{"head": {"sha": 5}}'])
async def test_a_head_that_cannot_be_read(tmp_path, body):
    """A diff whose head cannot be told is not taken."""
    async with asking(world(), tmp_path) as around:
        pull = await pull_of(around)
        around.double.faults.compare = False
        around.double.faults.next = [None, None, Status(200, body)]
        assert await around.sweep().diff(pull) is None


@pytest.mark.parametrize("text", ["<html>\n", "{}\n"])
async def test_something_else_with_a_good_status(tmp_path, text):
    """What does not begin as a diff is none."""
    async with asking(world(), tmp_path) as around:
        pull = await pull_of(around)
        around.double.faults.next = [Status(200, text)]
        assert await around.sweep().diff(pull) is None


async def test_what_has_no_diff(tmp_path):
    """An issue, a pull request without a head, and one whose name could leave the folder are not asked for."""
    async with asking(synthetic(5), tmp_path) as around:
        answers = await around.sweep().pulls(around.refs)
        github = around.sweep()
        issue = next(answer for answer in answers.values() if answer.is_issue)
        pull = answers[ONE]
        for one in (issue, replace(pull, head=None), replace(pull, head="../../x"), replace(pull, ref=Ref("../x", 1))):
            assert await github.diff(one) is None
        assert github.asked().requests == {}


async def test_a_disk_that_takes_nothing(tmp_path):
    """Where nothing can be kept there is no diff, and no error either."""
    (tmp_path / "diffs").write_text("a file in the way")
    async with asking(world(), tmp_path) as around:
        assert await around.sweep().diff(await pull_of(around)) is None


async def test_diffs_are_fetched_anew_where_that_is_wanted(tmp_path):
    """Each once, so that a wrong one does not stay for ever; where it cannot be had, the kept one serves."""
    async with asking(world(), tmp_path) as around:
        pull = await pull_of(around)
        kept = await around.sweep().diff(pull)
        kept.path.write_bytes(b"diff --git a/x b/x\nwrong\n")
        around.settings["anew"] = True
        around.double.faults.down = True
        assert await around.sweep().diff(pull) == kept
        around.double.faults.down = False
        github = around.sweep()
        assert (await github.diff(pull)).path.read_text() == TEXT
        asked = github.asked().requests
        await github.diff(pull)
        assert github.asked().requests == asked
