"""The child that looks into pins' trees: what it tells of them, and that it never outlives who asked."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from genesisd.clock import SystemClock
from genesisd.errors import UnavailableError
from genesisd.identity import process_ref
from genesisd.watch.decisions import Outcome
from genesisd.watch.model import Content, ContentFact, Pin, Place, Pull, Rung, State
from genesisd.watch.ports import Diff
from genesisd.watch.refs import Ref
from genesisd.wiring import appraise
from genesisd.wiring.appraisal import Job, Question, Said, Seen, job_text, read_job, read_said, said_text
from genesisd.wiring.appraiser import ARGV, ChildAppraiser
from tests.helpers.git_diffs import git_diff
from tests.helpers.keeper import eventually
from tests.helpers.planted_tree import plant, planted

pytestmark = pytest.mark.process
PATCH, EDIT, TEXT = planted()
ROOT = Path(__file__).parents[2]
MARKERS = """\
markers:
  - pr: vllm#9
    title: a marker alone
    present:
      - {file: %s, has: after_it}
"""


@pytest.fixture
def pin(tmp_path):
    return Pin(id="p32", version="0.32.0", tree=str(plant(tmp_path / "tree")))


@pytest.fixture
def appraiser(tmp_path):
    markers = tmp_path / "markers.yaml"
    markers.write_text(MARKERS % EDIT.path)
    return ChildAppraiser(SystemClock(), markers)


def pull(number, **more):
    return Pull(ref=Ref("vllm-project/vllm", number), state=State.OPEN, checked_at=1.0, head="abc", **more)


def diff(folder, number, old, new, *, complete=True):
    path = folder / f"{number}.diff"
    path.write_bytes(git_diff({EDIT.path: old}, {EDIT.path: new}).encode())
    return {Ref("vllm-project/vllm", number): Diff(Ref("vllm-project/vllm", number), "abc", path, complete)}


def rewritten(text=TEXT):
    return text.replace(EDIT.variants[0].anchor, "\n".join(["# gone", *EDIT.variants[0].anchor.split("\n")[1:]]))


async def test_it_tells_content_collisions_and_anchors_of_each_pin(tmp_path, pin, appraiser):
    """One that breaks, one that the pin has, one that is beside: by pull request and pin."""
    other = Pin(id="p33", version="0.33.0", tree=str(plant(tmp_path / "other")))
    later = TEXT.replace("after_it = 1", "after_it = 2")
    earlier = TEXT.replace("before_it = 1", "before_it = 0")
    diffs = diff(tmp_path, 1, TEXT, rewritten()) | diff(tmp_path, 2, earlier, TEXT) | diff(tmp_path, 3, TEXT, later)
    told = await appraiser.appraise([pin, other], [pull(1), pull(2), pull(3)], diffs, [PATCH.id, "planned"])
    refs = [Ref("vllm-project/vllm", number) for number in (1, 2, 3)]
    for name in ("p32", "p33"):
        assert [told.content[ref, name].content for ref in refs] == [Content.ABSENT, Content.PRESENT, Content.ABSENT]
        assert told.content[refs[1], name].rung is Rung.REVERSE_APPLY
        (broken,) = told.collisions[refs[0], name]
        assert (broken.patch, broken.edit, broken.place, broken.breaks) == (PATCH.id, EDIT.id, Place.OVER, True)
        assert told.collisions[refs[1], name] == ()  # that it has already cannot be made again
        assert [(one.place, one.breaks) for one in told.collisions[refs[2], name]] == [(Place.BESIDE, False)]
    assert [(one.pin, one.patch, one.verdict, one.lands) for one in told.anchors] == [
        ("p32", PATCH.id, "applied", True),
        ("p33", PATCH.id, "applied", True),
    ]


async def test_without_a_diff_markers_alone_speak_and_collisions_are_unknown(pin, appraiser):
    """Not looked at is another thing than none."""
    told = await appraiser.appraise([pin], [pull(9), pull(8)], {}, [PATCH.id])
    marked, bare = (told.content[Ref("vllm-project/vllm", number), "p32"] for number in (9, 8))
    assert (marked.content, marked.rung) == (Content.PRESENT, Rung.MARKERS)
    assert (bare.content, bare.evidence) == (Content.UNKNOWN, "there is no diff of it")
    assert told.collisions == {}


@pytest.mark.parametrize("body", [b"<html>502</html>\n", b"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n", None])
async def test_a_diff_that_cannot_be_read_is_none_at_all(tmp_path, pin, appraiser, body):
    """And says why; the others are looked at as if nothing had been."""
    good, bad = diff(tmp_path, 1, TEXT, rewritten()), diff(tmp_path, 2, TEXT, rewritten())
    path = next(iter(bad.values())).path
    path.unlink() if body is None else path.write_bytes(body)
    told = await appraiser.appraise([pin], [pull(2), pull(1)], good | bad, [PATCH.id])
    fact = told.content[Ref("vllm-project/vllm", 2), "p32"]
    assert fact.content is Content.UNKNOWN
    assert fact.evidence.startswith("its diff cannot be read: ")
    assert list(told.collisions) == [(Ref("vllm-project/vllm", 1), "p32")]


async def test_half_a_diff_never_shows_that_all_is_there(tmp_path, pin, appraiser):
    """The files that upstream did not tell may be missing."""
    half = diff(tmp_path, 1, TEXT.replace("after_it = 1", "after_it = 0"), TEXT, complete=False)
    told = await appraiser.appraise([pin], [pull(1)], half, [])
    assert told.content[Ref("vllm-project/vllm", 1), "p32"].content is Content.CHANGED
    assert told.anchors == ()


async def test_half_a_diff_never_shows_that_an_anchor_holds(tmp_path, pin, appraiser):
    """Its other half may break it: only what is seen to break is told, and else nothing."""
    aside = diff(tmp_path, 1, TEXT, TEXT + "\n\ndef another_one():\n    return 1\n")
    seen = await appraiser.appraise([pin], [pull(1)], aside, [PATCH.id])
    key = (pull(1).ref, "p32")
    assert not any(one.breaks for one in seen.collisions[key])
    half = {ref: replace(one, complete=False) for ref, one in aside.items()}
    assert key not in (await appraiser.appraise([pin], [pull(1)], half, [PATCH.id])).collisions
    anchor = EDIT.variants[0].anchor
    gone = diff(tmp_path, 1, TEXT, TEXT.replace(anchor, ""), complete=False)
    told = (await appraiser.appraise([pin], [pull(1)], gone, [PATCH.id])).collisions[key]
    assert [one.breaks for one in told] == [True]


async def test_pins_without_a_tree_and_issues_are_not_looked_at(tmp_path, pin, appraiser, capfd):
    """Unknown is what nothing was told of; a tree that cannot be read does not take the others with it."""
    torn = Pin(id="torn", version="0.32.0", tree=str(plant(tmp_path / "torn")))
    (tmp_path / "torn" / EDIT.path).write_bytes(b"\xff\n")
    pins = [Pin(id="none", version="1"), Pin(id="away", version="1", tree=str(tmp_path / "away")), torn, pin]
    told = await appraiser.appraise(pins, [pull(1), pull(2, is_issue=True)], {}, [PATCH.id])
    assert list(told.content) == [(Ref("vllm-project/vllm", 1), "p32")]
    assert {one.pin for one in told.anchors} == {"p32"}
    assert "appraise: pin torn: " in capfd.readouterr().err
    assert [one.startswith("could not be looked at: pin torn: ") for one in told.troubles] == [True]


def test_one_pull_request_that_we_cannot_cope_with_hides_no_other(tmp_path, pin, monkeypatch, capfd):
    """It is unknown and told; the others are looked at."""
    good, bad = diff(tmp_path, 1, TEXT, rewritten()), diff(tmp_path, 2, TEXT, rewritten())
    asked = tuple(Question(pull(number), {**good, **bad}[Ref("vllm-project/vllm", number)]) for number in (2, 1))
    found = appraise.collide

    def fails_once(*args, **more):
        monkeypatch.setattr(appraise, "collide", found)
        raise KeyError("vllm/new.py")

    monkeypatch.setattr(appraise, "collide", fails_once)
    told = list(appraise.answer(Job(parent=0, pins=(pin,), questions=asked, patches=(PATCH.id,))))
    seen = {one.seen.ref.number: one.seen for one in told if one.seen}
    assert (seen[2].content.content, seen[2].collisions) == (Content.UNKNOWN, None)
    assert seen[1].collisions
    assert [one.trouble for one in told if one.trouble] == ["vllm#2 on pin p32: KeyError: 'vllm/new.py'"]
    assert "vllm#2" in capfd.readouterr().err


def test_an_expression_that_never_ends_costs_its_own_question_alone(tmp_path, pin, monkeypatch, capfd):
    """Told with its pull request, so that the marker can be found; what comes behind it is looked at."""
    monkeypatch.setattr(appraise, "LONGEST", 0.3)
    file = Path(pin.tree) / EDIT.path
    file.write_text(file.read_text() + f"\n# {'a' * 60}!\n")
    markers = tmp_path / "slow.yaml"
    slow = f"  - {{pr: vllm#8, title: slow, present: [{{file: {EDIT.path}, matches: '(a+)+[$]'}}]}}\n"
    markers.write_text(MARKERS % EDIT.path + slow)
    job = Job(parent=0, pins=(pin,), questions=(Question(pull(8)), Question(pull(9))), markers=str(markers))
    said = list(appraise.answer(job))
    seen = {one.seen.ref.number: one.seen.content.content for one in said if one.seen is not None}
    assert (seen[8], seen[9] is Content.UNKNOWN) == (Content.UNKNOWN, False)
    (trouble,) = [one.trouble for one in said if one.trouble is not None]
    assert trouble.startswith("vllm#8 on pin p32: it took more than 0.3 s")
    assert "vllm#8 on pin p32" in capfd.readouterr().err


async def test_a_version_that_a_patch_is_not_for_is_no_drift(tmp_path, appraiser):
    """Somebody decided so; and nothing of it can collide there."""
    old = Pin(id="old", version="0.1.0", tree=str(plant(tmp_path / "old")))
    told = await appraiser.appraise([old], [pull(1)], diff(tmp_path, 1, TEXT, rewritten()), [PATCH.id])
    assert [(one.verdict, one.lands) for one in told.anchors] == [("version", True)]
    assert told.collisions == {(Ref("vllm-project/vllm", 1), "old"): ()}


async def test_a_dossier_holds_ours_beside_upstreams(tmp_path, pin, appraiser):
    """Of one patch, one pull request, one pin; a patch or a tree that is not there is refused with a hint."""
    made = diff(tmp_path, 1, TEXT, rewritten())[Ref("vllm-project/vllm", 1)]
    dossier = await appraiser.dossier(PATCH.id, pull(1), made, pin)
    assert (dossier.patch, dossier.pin, dossier.outcome) == (PATCH.id, "p32", Outcome.KEEP)
    assert [one.edit for one in dossier.edits] == [EDIT.id]
    assert dossier.made_at > 0
    with pytest.raises(UnavailableError, match="no patch PX is implemented") as caught:
        await appraiser.dossier("PX", pull(1), made, pin)
    assert caught.value.hint == "genesisctl patches list"
    with pytest.raises(UnavailableError, match="has no tree"):
        await appraiser.dossier(PATCH.id, pull(1), None, Pin(id="none", version="1"))


async def test_markers_that_cannot_be_read_are_told_with_their_line(tmp_path, pin):
    """Half of them would make absent what is there."""
    (tmp_path / "bad.yaml").write_text("markers:\n  - pr: nonsense\n")
    with pytest.raises(UnavailableError, match=r"bad\.yaml:2"):
        await ChildAppraiser(SystemClock(), tmp_path / "bad.yaml").appraise([pin], [pull(1)], {}, [])


def saying(*lines, then=""):
    code = f"import sys, time; sys.stdin.read(); print({chr(10).join(lines)!r}, flush=True); {then}"
    return (sys.executable, "-c", code)


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (saying("{}"), "it ended with status 0"),
        (saying('{"done": true}', then="sys.exit(3)"), "it ended with status 3"),
        (saying("what?", then="time.sleep(600)"), "it said what cannot be read"),
        (saying('{"anchor": {"patch": 1}}'), "it said what cannot be read"),
        ((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), "it ended with status -9"),
        (("/nonexistent",), "it could not be started"),
    ],
)
async def test_a_child_that_comes_to_nothing_leaves_all_unknown(pin, argv, why):
    """Half of what it told is not used: it may have ended before the half that matters."""
    with pytest.raises(UnavailableError, match=why):
        await ChildAppraiser(SystemClock(), argv=argv).appraise([pin], [pull(1)], {}, [])


async def test_a_child_that_is_not_done_in_time_is_killed(pin, tmp_path):
    """With all that it began."""
    told = tmp_path / "pid"
    code = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    for deadline in (1.0, 10.0, 60.0):  # until one lets the child say who it is
        slow = ChildAppraiser(SystemClock(), argv=(sys.executable, "-c", code), deadline=deadline)
        with pytest.raises(UnavailableError, match=f"not done after {deadline:g} s"):
            await slow.appraise([pin], [pull(1)], {}, [])
        if told.exists() and told.read_text():
            break
    assert process_ref(int(told.read_text())) is None


async def test_a_sweep_that_is_given_up_takes_its_child_along(pin, tmp_path):
    """The daemon stops: nothing stays behind."""
    told = tmp_path / "pid"
    code = f"import os, time; open({str(told)!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(600)"
    slow = ChildAppraiser(SystemClock(), argv=(sys.executable, "-c", code))
    task = asyncio.create_task(slow.appraise([pin], [pull(1)], {}, []))
    await eventually(lambda: told.exists() and told.read_text().endswith("."))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert process_ref(int(told.read_text()[:-1])) is None


DOOMED = """\
import asyncio, sys
from genesisd.wiring.appraisal import read_job
from genesisd.wiring.appraiser import ChildAppraiser
from genesisd.clock import SystemClock
argv = [sys.executable, "-c", sys.argv[1]]
async def main():
    job = read_job(sys.stdin.buffer.read())
    await ChildAppraiser(SystemClock(), argv=argv).appraise(job.pins, [one.pull for one in job.questions], {}, [])
asyncio.run(main())
"""
CHILD = """\
import os, sys, time
from genesisd.wiring import appraise
def linger(*_):
    print(os.getpid(), file=sys.stderr, flush=True)
    time.sleep(600)
appraise.load = linger
appraise.main()
"""


async def test_the_child_ends_with_a_daemon_that_is_killed(pin):
    """Nobody would read what it finds."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    daemon = subprocess.Popen(
        [sys.executable, "-c", DOOMED, CHILD], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    job = Job(parent=0, pins=(pin,), questions=(Question(pull(1)),))
    with daemon:
        daemon.stdin.write(job_text(job))
        daemon.stdin.close()
        child = process_ref(int(await asyncio.to_thread(daemon.stderr.readline)))
        assert child is not None
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        await eventually(lambda: process_ref(child.pid) != child)


def test_a_child_whose_daemon_died_before_it_began_does_nothing(pin):
    """Its parent is another one by then."""
    job = Job(parent=os.getpid() + 1, pins=(pin,), questions=())
    ended = subprocess.run(ARGV, input=job_text(job), capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, b"")


def test_what_is_said_is_read_as_it_was_said(pin):
    """Both ways, with paths, refs and what is absent."""
    made = Diff(Ref("o/r", 1), "abc", Path("/x/y.diff"), complete=False)
    job = Job(parent=1, pins=(pin,), questions=(Question(pull(1), made), Question(pull(2))), patches=("P1",), now=2.5)
    assert read_job(job_text(job)) == job
    for said in (Said(done=True), Said(failed="no", hint="yes")):
        assert read_said(said_text(said).encode()) == said


def test_what_is_no_text_is_told_all_the_same():
    """A line of a diff that is not UTF-8, in the evidence of one, would end the look at all."""
    seen = Seen(ref=Ref("a/b", 1), pin="p", content=ContentFact(Content.PRESENT, Rung.MARKERS, "as after it: \udcff"))
    assert read_said(said_text(Said(seen=seen)).encode()).seen.content.evidence == "as after it: ?"
