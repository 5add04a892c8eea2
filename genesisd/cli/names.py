"""Names of workers on the command line: completed, checked, and guessed when mistyped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from genesisd.cli.commands import nearest
from genesisd.cli.session import Session, usage
from genesisd.control.client import Client
from genesisd.errors import GenesisError

_COMPLETION_DEADLINE = 0.5
"""Seconds that a press of the tab key may wait for the daemon."""


def complete_worker(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Workers that begin so; nothing when the daemon does not answer at once."""
    return known_words(ctx, incomplete, lambda client: [worker["name"] for worker in client.workers()])


def complete_kind(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Kinds of the correctness probes of the worker that was named before."""
    worker = ctx.params.get("worker")
    return known_words(
        ctx,
        incomplete,
        lambda client: [one["kind"] for one in client.probes(worker) if one["stage"] == "correctness"],
    )


def complete_incident(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The newest incidents."""
    return known_words(
        ctx, incomplete, lambda client: [str(one["id"]) for one in client.incidents(None, 50, open_only=False)]
    )


def complete_quarantined(what: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Completes patches, or cards, that are quarantined."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        return known_words(
            ctx, incomplete, lambda client: [one["name"] for one in client.quarantine() if one["what"] == what]
        )

    return complete


def known_words(ctx: click.Context, incomplete: str, ask: Callable[[Client], list[str]]) -> list[str]:
    """Words that begin so, each once; nothing when the daemon does not answer at once."""
    session = ctx.find_object(Session) or Session()
    try:
        with session.client(_COMPLETION_DEADLINE) as client:
            return [word for word in dict.fromkeys(ask(client)) if word.startswith(incomplete)]
    except GenesisError:
        return []


@contextmanager
def suggesting(client: Client, worker: str | None) -> Iterator[None]:
    """Whatever is asked of a worker within: an unknown name is answered with the nearest known one."""
    try:
        yield
    except GenesisError as problem:
        if worker is not None and set(problem.fields) <= {"worker"}:  # else it is about a kind, or an incident
            suggest(client, problem, worker)
        raise


def choose(client: Client, names: Sequence[str], *, everyone: bool) -> list[str]:
    """The workers that are meant, each once.

    Raises:
        ControlError: none or too much was said.
    """
    if everyone and names:
        raise usage("--all and names contradict each other")
    if everyone:
        return [worker["name"] for worker in client.workers()]
    if not names:
        raise usage("which worker? Name one or more, or say --all", "genesisctl workers list")
    return list(dict.fromkeys(names))


def suggest(client: Client, problem: GenesisError, name: str) -> None:
    """Give an error about an unknown worker a hint that names the nearest known one."""
    if problem.code != "not_found" or problem.hint:
        return
    try:
        known: list[Any] = [worker["name"] for worker in client.workers()]
    except GenesisError:
        return
    near = nearest(name, known)
    problem.hint = f"did you mean {near}?" if near else f"workers: {', '.join(known) or 'none'}"
