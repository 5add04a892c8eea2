"""``genesisctl config``: look at a configuration before the daemon does."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import LateGroup, Verb
from genesisd.cli.session import Session
from genesisd.cli.text import clean

config = LateGroup(
    "config",
    help="Check a configuration.",
    examples="genesisctl config check /etc/genesisd/genesisd.yaml\ngenesisctl config check",
)


@config.command("check", cls=Verb, examples="genesisctl config check genesisd.yaml\ngenesisctl config check")
@click.argument("file", required=False, type=click.Path())
@click.pass_obj
def check(session: Session, file: str | None) -> int:
    """Look for faults in a configuration, without using it.

    With FILE it works without the daemon; without, the daemon looks at its own. Exits with 10 when there
    are faults.
    """
    told = _ask_daemon(session) if file is None else _look(file)
    if session.json:
        session.answer_json(told)
    elif told["ok"]:
        session.note(f"{told['path']} is fine: {_count(len(told['workers']))}")
    else:
        for fault in told["faults"]:
            session.answer(fault_text(told["path"], fault))
    return exits.OK if told["ok"] else exits.FOUND


def _ask_daemon(session: Session) -> dict[str, Any]:
    with session.client() as client:
        return client.check_config(None)


def _look(file: str) -> dict[str, Any]:
    """The same look as the daemon's. It needs pydantic, so it is loaded by name and only here."""
    found = importlib.import_module("genesisd.wiring.checking").check_file(Path(file).absolute())
    return {
        "path": found.path,
        "ok": found.ok,
        "workers": list(found.workers),
        "faults": [asdict(fault) for fault in found.faults],
    }


def _count(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"


def fault_text(path: str, fault: dict[str, Any]) -> str:
    """``file:line: field: message``, as compilers write it; the place is left out where the message has it."""
    message = fault["message"]
    if not message.startswith(f"{fault['file'] or path}:"):
        place = fault["file"] or path
        place += f":{fault['line']}" if fault["line"] is not None else ""
        named = f"{fault['field']}: " if fault["field"] else ""
        message = f"{place}: {named}{message}"
    lines = [clean(line) for line in message.splitlines()]
    return "\n".join([*lines, *([f"  hint: {clean(fault['hint'])}"] if fault["hint"] else [])])
