"""Asks the appraising child: ``watch.ports.Appraiser`` for the daemon, whose memory the trees' texts never enter."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from genesisd.clock import Clock
from genesisd.errors import UnavailableError
from genesisd.watch.decisions import Dossier
from genesisd.watch.model import AnchorFact, Collision, ContentFact, Pin, Pull
from genesisd.watch.ports import Appraisal, Diff
from genesisd.watch.refs import Ref
from genesisd.wiring.appraisal import Job, Question, Said, job_text, read_said

ARGV = (sys.executable, "-P", "-m", "genesisd.wiring.appraise")
DEADLINE = 900.0
"""Seconds for all pins and pull requests together: a hundred times what a night takes."""
_LONGEST_LINE = 4 << 20
"""Bytes: a dossier quotes whole functions."""


class ChildAppraiser:
    """One child at a time, for all that share ``alone``: it may use a core and hundreds of megabytes.

    Args:
        clock: for the date of a dossier.
        markers: the markers file; None: the project's.
        argv: what is run.
        deadline: seconds that it may take.
        alone: held while a child runs; None: one of its own.
    """

    def __init__(
        self,
        clock: Clock,
        markers: Path | None = None,
        *,
        argv: Sequence[str] = ARGV,
        deadline: float = DEADLINE,
        alone: asyncio.Lock | None = None,
    ) -> None:
        self._clock = clock
        self._markers = markers
        self._argv = argv
        self._deadline = deadline
        self._alone = alone or asyncio.Lock()

    async def appraise(
        self, pins: Sequence[Pin], pulls: Sequence[Pull], diffs: Mapping[Ref, Diff], patches: Sequence[str]
    ) -> Appraisal:
        """Content of each pull request and its collisions with ``patches`` on each pin that has a tree.

        Raises:
            UnavailableError: the child came to nothing; half of what it told is not used.
        """
        questions = tuple(Question(pull, diffs.get(pull.ref)) for pull in pulls)
        job = self._job(tuple(pin for pin in pins if pin.tree), questions, patches=tuple(patches))
        content: dict[tuple[Ref, str], ContentFact] = {}
        collisions: dict[tuple[Ref, str], tuple[Collision, ...]] = {}
        anchors: list[AnchorFact] = []
        troubles: list[str] = []
        for said in await self._ask(job):
            if said.anchor is not None:
                anchors.append(said.anchor)
            if said.trouble is not None:
                troubles.append(f"could not be looked at: {said.trouble}")
            if said.seen is not None:
                key = (said.seen.ref, said.seen.pin)
                content[key] = said.seen.content
                if said.seen.collisions is not None:
                    collisions[key] = said.seen.collisions
        return Appraisal(content=content, collisions=collisions, anchors=tuple(anchors), troubles=tuple(troubles))

    async def dossier(self, patch: str, pull: Pull, diff: Diff | None, pin: Pin, others: Sequence[Pin] = ()) -> Dossier:
        """Ours beside upstream's, edit by edit, and its test on both. Raises UnavailableError."""
        job = self._job((pin, *others), (Question(pull, diff),), dossier=patch)
        found = [said.dossier for said in await self._ask(job) if said.dossier is not None]
        if not found:
            raise UnavailableError(f"no dossier of {patch} came about", hint="the daemon's log has what was said")
        return found[0]

    def _job(
        self,
        pins: tuple[Pin, ...],
        questions: tuple[Question, ...],
        *,
        patches: tuple[str, ...] = (),
        dossier: str | None = None,
    ) -> Job:
        return Job(
            parent=os.getpid(),
            pins=pins,
            questions=questions,
            patches=patches,
            markers=None if self._markers is None else str(self._markers),
            dossier=dossier,
            now=self._clock.wall(),
        )

    async def _ask(self, job: Job) -> list[Said]:
        """All that the child says, to its ``done``. Raises UnavailableError where that does not come."""
        async with self._alone:
            child = await _begin(self._argv)
            try:
                async with asyncio.timeout(self._deadline):
                    said = [one async for one in _conversation(child, job)]
                    code = await child.wait()
            except TimeoutError:
                raise _nothing(f"it was not done after {self._deadline:.0f} s") from None
            except ValueError as error:
                raise _nothing(f"it said what cannot be read: {error}") from None
            finally:
                await _end(child)
        failed = next((one for one in said if one.failed is not None), None)
        if failed is not None:
            raise UnavailableError(f"pins' trees could not be looked into: {failed.failed}", hint=failed.hint)
        if code != 0 or not said or not said[-1].done:
            raise _nothing(f"it ended with status {code}")
        return said


def _nothing(why: str) -> UnavailableError:
    return UnavailableError(f"the process that looks into pins' trees came to nothing: {why}", hint=_LOG)


_LOG = "the daemon's log has what it said; the next sweep tries again"


async def _begin(argv: Sequence[str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    try:
        return await asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, start_new_session=True, limit=_LONGEST_LINE
        )
    except OSError as error:
        raise _nothing(f"it could not be started: {error.strerror}") from None


async def _conversation(child: asyncio.subprocess.Process, job: Job) -> AsyncIterator[Said]:
    assert child.stdin is not None and child.stdout is not None  # noqa: S101, PT018 - both asked for
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # its end tells why
        child.stdin.write(job_text(job))
        await child.stdin.drain()
    child.stdin.close()
    async for line in child.stdout:
        yield read_said(line)


async def _end(child: asyncio.subprocess.Process) -> None:
    """It writes nothing and has no children: nothing is lost by the hard way."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    await child.wait()
