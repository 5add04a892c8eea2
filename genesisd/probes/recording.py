"""Recording what a right build answers: asked of a worker that was found good, when nobody else uses it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import aiohttp

from genesisd.errors import ConflictError
from genesisd.probes.asking import Asking, NoAnswerError, Trouble
from genesisd.probes.casebook import AnswerCase, Casebook
from genesisd.probes.casebooks import label
from genesisd.probes.golden import Drift, Golden, Reply, difference, distance
from genesisd.probes.kinds.logprob_drift import logprobs_of, question
from genesisd.probes.ports import Target
from genesisd.probes.replies import fingerprint, plain, reply_of, with_margins

REPEATS = 4
"""How often the text of the drift is asked alone, and then as often at once: batches are what makes noise."""
MARGIN = 4.0
FLOOR = 0.05
"""Nats. The bound is ``MARGIN`` times the largest mean distance that repeats had, and at least this.

Repeats of a quiet worker are mostly equal to the bit, and would give a bound of nothing. What they cannot show is users'
traffic, which puts the text into batches of other shapes: with activations in bf16 the logprob of a token then moves by
some hundredths of a nat either way. The mean over a text of two hundred tokens that lost a bit of precision everywhere
stays below 0.05; a wrong scale, a wrong layer, a damaged weight moves it by tenths and more.
"""
_WITHOUT = frozenset({Trouble.LACKING, Trouble.REJECTED})


async def record(
    target: Target, casebook: Casebook, session: aiohttp.ClientSession,
    *, model: str, pin: str, build: str | None, weights: str | None = None, recorded: float = 0.0,
) -> Golden:  # fmt: skip
    """Ask everything whose answer is recorded. ``recorded`` is the wall time to write down.

    Raises:
        ConflictError: a case was answered otherwise the second time, so that it could never be compared.
        NoAnswerError: a case was not answered, or every one was refused.
    """
    asking = Asking(session, "recording")
    return Golden(
        model=model, pin=pin, build=build, casebook=label(casebook), weights=weights, recorded=recorded,
        replies=await _replies(asking, target, casebook.golden),
        drift=await _drift(asking, target, casebook.drift),
        tokenizer=await _tokenizer(asking, target, casebook.texts),
    )  # fmt: skip


async def _replies(asking: Asking, target: Target, cases: Sequence[AnswerCase]) -> dict[str, Reply]:
    """A case that the worker refuses is left out: templates without a system's role, models that only complete."""
    replies: dict[str, Reply] = {}
    refused: NoAnswerError | None = None
    for case in cases:
        try:
            replies[case.id] = await _reply(asking, target, case)
        except NoAnswerError as problem:
            if problem.trouble not in _WITHOUT:
                raise
            refused = problem
    if refused is not None and not replies:
        raise refused
    return replies


async def _reply(asking: Asking, target: Target, case: AnswerCase) -> Reply:
    """Three asks: with margins, as users ask, and as a stream."""
    whole = reply_of(await asking.ask(target, case.path, plain(case)))
    try:
        first = reply_of(await asking.ask(target, case.path, with_margins(case)))
    except NoAnswerError as problem:
        if problem.trouble not in _WITHOUT:
            raise
        first = reply_of(await asking.ask(target, case.path, plain(case)))
    unlike = difference(first, whole)
    if unlike is not None and not unlike.tie:
        raise ConflictError(
            f"{case.id} is not answered the same twice: {unlike.text}",
            hint="record when nobody else uses the worker, or take the case out of the casebook",
            case=case.id,
        )
    stream = difference(first, reply_of(await asking.ask(target, case.path, plain(case), stream=True)))
    return Reply(
        first.content, first.reasoning, first.calls, first.finish, first.ids, first.margins,
        streamed=stream is None or stream.tie,
    )  # fmt: skip


async def _drift(asking: Asking, target: Target, text: str) -> Drift | None:
    if not text:
        return None
    try:
        alone = [await _logprobs(asking, target, text) for _ in range(REPEATS)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_logprobs(asking, target, text)) for _ in range(REPEATS)]
    except NoAnswerError as problem:
        if problem.trouble in _WITHOUT:
            return None
        raise
    except BaseExceptionGroup as group_error:
        raise group_error.exceptions[0] from group_error
    return calibrated(text, [*alone, *(task.result() for task in tasks)])


def calibrated(text: str, repeats: list[tuple[float, ...] | None]) -> Drift | None:
    """The first of the repeats, with a bound by how far the others lie from it; None where there were no logprobs.

    Raises:
        ConflictError: the repeats are of different lengths, or hold what is no number.
    """
    first = repeats[0]
    if first is None or not first:
        return None
    apart = [math.inf if one is None else distance(first, one) for one in repeats]
    worst = max((math.inf if one is None else one for one in apart), default=0.0)
    if not math.isfinite(worst):
        raise ConflictError("the logprobs of the same text cannot be compared from one ask to the next", text=text[:80])
    return Drift(text, first, max(MARGIN * worst, FLOOR))


async def _logprobs(asking: Asking, target: Target, text: str) -> tuple[float, ...] | None:
    return logprobs_of(await asking.complete(target, question(text)))


async def _tokenizer(asking: Asking, target: Target, texts: tuple[str, ...]) -> str | None:
    if not texts:
        return None
    try:
        return fingerprint([await asking.tokenize(target, text) for text in texts])
    except NoAnswerError as problem:
        if problem.trouble in _WITHOUT:
            return None
        raise
