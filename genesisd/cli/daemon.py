"""Commands about the daemon itself."""

from __future__ import annotations

from typing import Any

import click

import genesisd
from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import Session
from genesisd.control.protocol import PROTOCOL_MAX, PROTOCOL_MIN
from genesisd.errors import GenesisError


@click.command(cls=Verb, examples="genesisctl reload")
@click.pass_obj
def reload(session: Session) -> int:
    """Read the configuration again; only workers whose own part changed are touched."""
    with session.client() as client:
        told = client.reload()
    if session.json:
        session.answer_json(told)
        return exits.OK
    for warning in told["warnings"]:
        session.note(f"warning: {warning}")
    for word in ("added", "removed", "changed", "restarted"):
        if told[word]:
            session.answer(f"{word}: {', '.join(told[word])}")
    if not any(told[word] for word in ("added", "removed", "changed")):
        session.note("nothing changed")
    return exits.OK


@click.command(cls=Verb, examples="genesisctl shutdown\ngenesisctl shutdown --drain")
@click.option("--drain", is_flag=True, help="Stop the workers too, after the requests in flight.")
@click.pass_obj
def shutdown(session: Session, *, drain: bool) -> int:
    """End the daemon. Without --drain its workers go on, and the next daemon adopts them."""
    with session.client() as client:
        told = client.shutdown(drain=drain)
    if session.json:
        session.answer_json(told)
    else:
        session.note("the daemon is draining its workers" if drain else "the daemon ends; its workers go on")
    return exits.OK


@click.command(cls=Verb, examples="genesisctl version --json")
@click.pass_obj
def version(session: Session) -> int:
    """Versions of genesisctl and, if it runs, of the daemon."""
    daemon: dict[str, Any] | None = None
    try:
        with session.client() as client:
            daemon = client.version()
    except GenesisError as problem:
        if problem.code != "not_running":
            raise
        session.note(problem.message)
    if session.json:
        own = {"version": genesisd.__version__, "protocol": {"min": PROTOCOL_MIN, "max": PROTOCOL_MAX}}
        told = daemon and {key: daemon[key] for key in ("version", "python", "protocol")}
        session.answer_json({"genesisctl": own, "daemon": told})
    else:
        session.answer(f"genesisctl {genesisd.__version__}")
        if daemon is not None:
            session.answer(f"genesisd {daemon['version']} (Python {daemon['python']})")
    return exits.OK
