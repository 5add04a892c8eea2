"""What the daemon asks the appraising child, and what the child says: one JSON object in, one a line out."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import TypeAdapter

from genesisd.watch.decisions import Dossier
from genesisd.watch.model import AnchorFact, Collision, ContentFact, Pin, Pull
from genesisd.watch.ports import Diff
from genesisd.watch.refs import Ref


@dataclass(frozen=True, slots=True)
class Question:
    """One pull request, with its diff where there is one."""

    pull: Pull
    diff: Diff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be looked at.

    Attributes:
        parent: process id of whoever asks; the child ends with it.
        pins: each with its tree.
        questions: pull requests.
        patches: ids whose edits may collide.
        markers: the markers file; None: the project's.
        dossier: id of the patch of which a dossier is wanted, against the one question on the first pin; else None.
            The other pins are where its test may be run with ours.
        now: wall time, for the dossier.
    """

    parent: int
    pins: tuple[Pin, ...]
    questions: tuple[Question, ...]
    patches: tuple[str, ...] = ()
    markers: str | None = None
    dossier: str | None = None
    now: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One pull request on one pin; ``collisions`` is None where there was no diff to look with."""

    ref: Ref
    pin: str
    content: ContentFact
    collisions: tuple[Collision, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One line of the child: one of these. ``done`` is the last of a child that came to its end."""

    anchor: AnchorFact | None = None
    seen: Seen | None = None
    dossier: Dossier | None = None
    trouble: str | None = None
    """What could not be looked at; the rest was."""
    failed: str | None = None
    hint: str | None = None
    done: bool = False


_JOB = TypeAdapter(Job)
_SAID = TypeAdapter(Said)


def job_text(job: Job) -> bytes:
    """The child's standard input."""
    return _JOB.dump_json(job)


def read_job(text: bytes) -> Job:
    """The same, read; raises ValueError."""
    return _JOB.validate_json(text)


def said_text(said: Said) -> str:
    """A line, its end included. Diffs and trees need not be text: what UTF-8 cannot hold becomes a question mark."""
    line = json.dumps(_SAID.dump_python(said, exclude_defaults=True), ensure_ascii=False)
    return line.encode("utf-8", "replace").decode() + "\n"


def read_said(line: bytes) -> Said:
    """The same, read; raises ValueError."""
    return _SAID.validate_json(line)
