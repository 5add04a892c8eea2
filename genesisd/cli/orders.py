"""The five orders to workers. All are idempotent, take several names, and can wait for the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.names import choose, complete_worker, suggest
from genesisd.cli.session import Session, error_facts
from genesisd.cli.text import clean
from genesisd.control.client import Client
from genesisd.errors import GenesisError

_SETTLED_UP = ("ready", "failed", "stopped")
_SETTLED_DOWN = ("stopped", "failed")


class Order(NamedTuple):
    """An order: what it is called, what it does, where it should end, and whether ``--now`` makes sense."""

    verb: str
    text: str
    goal: str
    can_hurry: bool = False


VERBS = (
    Order("start", "Want workers up.", "ready"),
    Order("stop", "Want workers down, for good. Requests in flight may finish first.", "stopped", can_hurry=True),
    Order("restart", "Stop and start again; does not count as a failure.", "ready", can_hurry=True),
    Order("drain", "Take no new requests, finish those in flight, then stay down.", "stopped"),
    Order("reset", "Forget failures; workers that are wanted start again.", "ready"),
)


def command(order: Order) -> click.Command:
    """The click command of an order."""
    examples = f"genesisctl workers {order.verb} main\ngenesisctl workers {order.verb} --all --wait --timeout 300"
    params: list[click.Parameter] = [
        click.Argument(["names"], nargs=-1, metavar="[NAME]...", shell_complete=complete_worker),
        click.Option(["--all", "everyone"], is_flag=True, help="All workers."),
        click.Option(["--wait/--no-wait"], default=False, help=f"Return only when they are {order.goal}, or failed."),
        click.Option(["--timeout"], type=click.FloatRange(min=0, max=86400), default=600.0, show_default=True, help="Seconds to wait, for all together."),
    ]  # fmt: skip
    if order.can_hurry:
        params.append(click.Option(["--now"], is_flag=True, help="Cut off the requests in flight."))

    @click.pass_obj
    def callback(session: Session, /, names: tuple[str, ...], *, now: bool = False, **options: Any) -> int:
        drain = not now if order.can_hurry else None
        return _carry_out(session, order, names, drain=drain, **options)

    return Verb(order.verb, callback=callback, params=params, help=order.text, examples=examples)


def _carry_out(
    session: Session,
    order: Order,
    names: tuple[str, ...],
    *,
    drain: bool | None,
    everyone: bool,
    wait: bool,
    timeout: float,
) -> int:
    """Order first and wait afterwards, so that the workers move at the same time."""
    outcome = _Outcome(session, order)
    with session.client() as client:
        chosen = choose(client, names, everyone=everyone)
        accepted = [
            name for name in chosen if outcome.attempt(client, name, partial(client.order, order.verb, drain=drain))
        ]
        end = time.monotonic() + timeout
        for name in accepted if wait else ():
            outcome.wait(client, name, end)
    return outcome.tell(waited=wait)


class _Outcome:
    """What became of each worker."""

    def __init__(self, session: Session, order: Order) -> None:
        self._session = session
        self._order = order
        self._workers: dict[str, dict[str, Any]] = {}
        self._errors: dict[str, GenesisError] = {}

    def attempt(self, client: Client, name: str, ask: Callable[[str], dict[str, Any]]) -> bool:
        """Keep the answer or the refusal; a daemon that is not there ends everything."""
        try:
            self._workers[name] = ask(name)
        except GenesisError as problem:
            if problem.code in {"not_running", "protocol"}:
                raise
            suggest(client, problem, name)
            self._errors[name] = problem
            return False
        return True

    def wait(self, client: Client, name: str, end: float) -> None:
        """Wait for the goal, until monotonic ``end``."""
        goal = self._order.goal
        if goal == "ready" and not self._workers[name]["wanted"]:
            return  # a reset of a worker that nobody wants up
        self._session.note(f"{name}: waiting until it is {goal}")
        phases = _SETTLED_UP if goal == "ready" else _SETTLED_DOWN
        left = max(0.0, end - time.monotonic())
        if self.attempt(client, name, partial(client.wait, phases=phases, timeout=left)):
            self._judge(name, goal)

    def _judge(self, name: str, goal: str) -> None:
        worker = self._workers[name]
        if worker["phase"] != goal:
            problem = GenesisError(
                f"{name} is {worker['phase']}: {worker['reason']['text']}",
                hint=f"genesisctl workers show {name}; genesisctl logs {name}",
                worker=name,
            )
            self._errors[name] = problem

    def tell(self, *, waited: bool) -> int:
        """Print it all; the exit status is that of the first failure."""
        if self._session.json:
            errors = [{"worker": name, **error_facts(problem)} for name, problem in self._errors.items()]
            self._session.answer_json({"workers": list(self._workers.values()), "errors": errors})
        else:
            self._tell_people(waited=waited)
        first = next(iter(self._errors.values()), None)
        return exits.OK if first is None else exits.exit_status(first.code)

    def _tell_people(self, *, waited: bool) -> None:
        for name, worker in self._workers.items():
            if name not in self._errors and not self._session.quiet:
                why = "" if waited else f" ({worker['reason']['text']})"
                self._session.answer(clean(f"{name}: {worker['phase']}{why}"))
        for problem in self._errors.values():
            self._session.complain(problem)
