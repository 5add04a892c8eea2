"""Which new pull requests are worth a person's minute: by what they touch, and by what this box runs. Pure.

The score only orders them. Every point has a reason that a reader can check, and nothing is decided by it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from genesisd.watch.model import PatchFact, Pull, State
from genesisd.watch.result import NewPull

_WORD = re.compile(r"[a-z]+|\d+")
_FIX = re.compile(
    r"\b(bug ?fix|fix(es|ed)?|revert|regression|crash|corrupt\w*|wrong|garbage|hang|leak|oom)\b", re.IGNORECASE
)
_SHIPPED = re.compile(r"^vllm/.+\.(py|pyi)$")
_ELSEWHERE = re.compile(
    r"\b(rocm|amd|hip|aiter|xpu|tpu|hpu|gaudi|intel|arm|riscv|s390x|power|macos|apple|metal|cpu)\b", re.IGNORECASE
)
_NO_CODE = re.compile(
    r"^\W*(doc|docs|ci|build|test|tests|ci/build|doc/.*|release|benchmark|benchmarks|misc|typing|chore)\b",
    re.IGNORECASE,
)

FILE, NEIGHBOUR, INTEREST, LABEL, MENDS = 3.0, 1.0, 2.0, 2.0, 0.5
DRAFT, OTHER_HARDWARE, NO_CODE = -0.5, -2.0, -3.0
MOST_INTERESTS = 3
"""More words of one title are no more reason than this many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interests:
    """What this box runs, in words that titles and paths use.

    Attributes:
        models: families, such as ``qwen3``, ``gemma4``.
        features: what the configuration switches on: kernels, formats, parsers, speculation (``turboquant``, ``mtp``).
        labels: names of upstream's labels that the operator asked for.
        hardware: words for what the box has; pull requests for other hardware sink.
    """

    models: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    hardware: frozenset[str] = frozenset({"cuda", "nvidia"})


def score(pull: Pull, patches: Iterable[PatchFact], interests: Interests) -> NewPull:
    """What speaks for ``pull``, strongest first, and the sum."""
    ours = tuple(patch for patch in patches if patch.active)
    files = frozenset(name for name in pull.files or () if _SHIPPED.match(name))
    met = {patch.id: files.intersection(patch.files) for patch in ours}
    touched = tuple(name for name, shared in met.items() if shared)
    points = dict(_points(pull, files, met, ours, interests))
    reasons = sorted(points, key=lambda reason: -abs(points[reason]))
    return NewPull(pull=pull, score=sum(points.values()), reasons=tuple(reasons), patches=touched)


def ranked(
    pulls: Iterable[Pull], patches: Collection[PatchFact], interests: Interests, *, most: int, least: float = 1.0
) -> tuple[NewPull, ...]:
    """The best ``most`` that reach ``least``; of equals the newest change first. What was closed unmerged is left out."""
    alive = (pull for pull in pulls if not pull.is_issue and pull.state is not State.CLOSED)
    scored = (score(pull, patches, interests) for pull in alive)
    worth = [one for one in scored if one.score >= least]
    return tuple(sorted(worth, key=lambda one: (-one.score, -(one.pull.updated_at or 0.0), one.pull.ref))[:most])


def _points(
    pull: Pull,
    files: frozenset[str],
    met: Mapping[str, frozenset[str]],
    ours: Collection[PatchFact],
    interests: Interests,
) -> Iterable[tuple[str, float]]:
    for name in sorted({name for shared in met.values() for name in shared}):
        by = ", ".join(patch for patch, shared in met.items() if name in shared)
        yield f"touches {name}, which {by} changes", FILE
    near = {_folder(name) for patch in ours for name in patch.files}
    beside = sorted(
        {_folder(name) for name in files if _folder(name) in near and not any(name in s for s in met.values())}
    )
    if beside:
        yield f"changes files beside those of our patches ({beside[0]})", NEIGHBOUR
    said = _words(" ".join((pull.title, *files, *pull.labels)))
    for kind, wanted in (("model", interests.models), ("feature", interests.features)):
        for word in [word for word in sorted(wanted) if _says(said, word)][:MOST_INTERESTS]:
            yield f"is about {word}, a {kind} that runs here", INTEREST
    for label in sorted(interests.labels.intersection(pull.labels)):
        yield f"has the label {label}", LABEL
    yield from _bearings(pull, files, interests)


def _bearings(pull: Pull, files: frozenset[str], interests: Interests) -> Iterable[tuple[str, float]]:
    if _FIX.search(pull.title):
        yield "mends something", MENDS
    if pull.draft:
        yield "is a draft", DRAFT
    elsewhere = {word.lower() for word in _ELSEWHERE.findall(pull.title)} - interests.hardware
    if elsewhere:
        yield f"is for {', '.join(sorted(elsewhere))}", OTHER_HARDWARE
    if _NO_CODE.match(pull.title) or (pull.files is not None and not files):
        yield "changes nothing that is shipped", NO_CODE


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _words(text: str) -> str:
    """Letters and numbers apart, so that ``Qwen3.5``, ``qwen3_5`` and ``Qwen 3.5`` read alike."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _says(said: str, wanted: str) -> bool:
    return f" {' '.join(_WORD.findall(wanted.lower()))} " in said
