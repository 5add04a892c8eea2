"""Names of workers on the command line: completed, checked, and guessed when mistyped."""

from __future__ import annotations

from collections.abc import Sequence
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
    session = ctx.find_object(Session) or Session()
    try:
        with session.client(_COMPLETION_DEADLINE) as client:
            return [worker["name"] for worker in client.workers() if worker["name"].startswith(incomplete)]
    except GenesisError:
        return []


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
