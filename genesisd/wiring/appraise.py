"""``python -m genesisd.wiring.appraise``: look into pins' trees for what pull requests bring and break.

A process of its own, since it parses the engine's files for seconds and holds their texts; the daemon's memory stays
as it is. It ends with the daemon: nobody would read its answer. A ``Job`` comes in, ``Said`` goes out a line, the last
of them ``done``. Exit status: 0 done, 1 not.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from genesisd.errors import GenesisError, NotFoundError
from genesisd.patches.catalog import catalog
from genesisd.patches.model import Patch
from genesisd.patches.reading import read_texts
from genesisd.patches.survey import Texts
from genesisd.watch.collide import Anchors, collide
from genesisd.watch.content import judge
from genesisd.watch.decisions import Dossier
from genesisd.watch.diffs import FileChange, read_diff
from genesisd.watch.dossier import compare
from genesisd.watch.markers import Markers, load
from genesisd.watch.model import Collision, Content, ContentFact, Pin, State
from genesisd.watch.text import Names
from genesisd.wiring.anchors import CatalogAnchors, in_range
from genesisd.wiring.appraisal import Job, Question, Said, Seen, read_job, said_text
from genesisd.wiring.case_trial import tried
from genesisd.wiring.our_edits import our_edits
from genesisd.wiring.patch_facts import CHECKOUT, patch_facts
from genesisd.wiring.standing_anchors import standing
from genesisd.wiring.tree_texts import TreeTexts

_PR_SET_PDEATHSIG = 1
LONGEST = 20.0
"""Seconds of the processor for one pull request on one pin: a thousand times what the largest took."""
_NICENESS = 10
"""Workers are served by the same cores, and nobody waits for this."""


def answer(job: Job) -> Iterator[Said]:
    """All that is asked, one pin after another. A pin that cannot be looked at is left out, and told.

    Raises:
        ConfigError: the markers file cannot be used.
        NotFoundError: no such patch is implemented, or the pin of a dossier has no tree.
    """
    markers = load(Path(job.markers) if job.markers else None)
    every = {patch.id: patch for patch in catalog()}
    if job.dossier is not None:
        yield Said(dossier=_dossier(job, every, markers))
        return
    for pin in job.pins:
        try:
            yield from _on_pin(job, pin, every, markers)
        except Exception as error:  # noqa: BLE001 - the other pins can be looked at, and are not to wait for this one
            yield _complain(f"pin {pin.id}: {_reason(error)}")


def _on_pin(job: Job, pin: Pin, every: Mapping[str, Patch], markers: Markers) -> Iterator[Said]:
    root = Path(pin.tree)
    if not pin.tree or not root.is_dir():
        return
    asked = [every[name] for name in dict.fromkeys(job.patches) if name in every]
    ours = read_texts(root, list(every.values()))
    yield from (Said(anchor=fact) for fact in standing(asked, every, ours, pin))
    anchors = CatalogAnchors([patch for patch in asked if in_range(patch, pin.version)], every, ours)
    tree = TreeTexts(root)
    names = Names(tree)
    for question in job.questions:
        if question.pull.is_issue:
            continue
        try:
            with _bounded():
                seen = _seen(question, pin, markers, tree, names, ours, anchors)
            yield Said(seen=seen)
        except Exception as error:  # noqa: BLE001 - one diff that we cannot cope with must not hide all the others
            yield _complain(f"{question.pull.ref} on pin {pin.id}: {_reason(error)}")
            unseen = ContentFact(evidence=f"it could not be looked for: {_reason(error)}")
            yield Said(seen=Seen(ref=question.pull.ref, pin=pin.id, content=unseen))


class TooLong(Exception):  # noqa: N818 - caught where it is told
    """One question took more of the processor than all of a night's should."""


@contextmanager
def _bounded() -> Iterator[None]:
    """A marker whose expression never ends, or a diff made to be slow, costs itself and not all the others."""

    def end(_signal: int, _frame: object) -> None:
        raise TooLong(
            f"it took more than {LONGEST:g} s of the processor: a marker's expression, or a diff that is too much"
        )

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _seen(
    question: Question, pin: Pin, markers: Markers, tree: TreeTexts, names: Names, ours: Texts, anchors: Anchors
) -> Seen:
    ref = question.pull.ref
    changes, trouble = _changes(question)
    content = _content(question, changes, trouble, markers, tree, names)
    return Seen(ref=ref, pin=pin.id, content=content, collisions=_collisions(question, changes, content, ours, anchors))


def _collisions(
    question: Question,
    changes: tuple[FileChange, ...] | None,
    content: ContentFact,
    ours: Texts,
    anchors: Anchors,
) -> tuple[Collision, ...] | None:
    if changes is None:
        return None
    if content.content is Content.PRESENT:
        return ()  # the pin has it, and our edits were looked for with it
    in_part = content.content is Content.CHANGED and question.pull.state is not State.OPEN
    found = collide(changes, ours, anchors, in_part=in_part)
    if question.diff is not None and not question.diff.complete:
        # What upstream did not tell may break the rest: half a diff never shows that an anchor holds.
        return tuple(one for one in found if one.breaks) or None
    return found


def _content(
    question: Question,
    changes: tuple[FileChange, ...] | None,
    trouble: str,
    markers: Markers,
    tree: TreeTexts,
    names: Names,
) -> ContentFact:
    complete = question.diff is not None and question.diff.complete
    fact = judge(changes or (), tree, markers.of(question.pull.ref), complete=complete, names=names)
    if fact.content is Content.UNKNOWN and trouble:
        return ContentFact(fact.content, fact.rung, trouble)
    return fact


def _changes(question: Question) -> tuple[tuple[FileChange, ...] | None, str]:
    """The diff, or None and why there is none to look at."""
    if question.diff is None:
        return None, "there is no diff of it"
    try:
        # What is no UTF-8 is text of no file that we patch; it must not take the rest with it.
        return read_diff(question.diff.path.read_bytes().decode(errors="surrogateescape")), ""
    except (OSError, ValueError) as error:
        return None, f"its diff cannot be read: {error}"


def _dossier(job: Job, every: Mapping[str, Patch], markers: Markers) -> Dossier:
    patch = every.get(job.dossier or "")
    if patch is None:
        raise NotFoundError(f"no patch {job.dossier} is implemented", hint="genesisctl patches list")
    question, pin = job.questions[0], job.pins[0]
    if not pin.tree or not Path(pin.tree).is_dir():
        raise NotFoundError(f"pin {pin.id} has no tree of untouched files", hint=f"genesisctl pins build {pin.id}")
    tree = TreeTexts(Path(pin.tree))
    changes, trouble = _changes(question)
    case = patch_facts()[patch.id].proven_by
    return compare(
        patch.id,
        our_edits(patch),
        question.pull.ref,
        pin.id,
        changes=changes or (),
        texts=tree,
        content=_content(question, changes, trouble, markers, tree, Names(tree)),
        tests=(tried(patch, every, case, CHECKOUT, job.pins),) if case else (),
        now=job.now,
    )


def main() -> int:
    """Read a job, do it, tell it; the exit status."""
    job = read_job(sys.stdin.buffer.read())
    _end_with(job.parent)
    os.nice(_NICENESS)
    try:
        for said in answer(job):
            _say(said)
    except GenesisError as error:
        _say(Said(failed=error.message, hint=error.hint))
        return 1
    except Exception as error:
        _say(Said(failed=f"{type(error).__name__}: {error}", hint="the daemon's log has the rest"))
        raise
    _say(Said(done=True))
    return 0


def _end_with(parent: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above
        sys.exit(1)


def _say(said: Said) -> None:
    sys.stdout.write(said_text(said))
    sys.stdout.flush()


def _complain(text: str) -> Said:
    sys.stderr.write(f"appraise: {text}\n")
    return Said(trouble=text)


def _reason(error: Exception) -> str:
    return (
        str(error)
        if isinstance(error, GenesisError | OSError | ValueError | TooLong)
        else f"{type(error).__name__}: {error}"
    )


if __name__ == "__main__":
    sys.exit(main())
