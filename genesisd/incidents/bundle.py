"""The files of one bundle of evidence: what was gathered, with secrets masked and without what users wrote. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from genesisd.incidents.model import Recorded
from genesisd.incidents.redact import Redactor

METRICS_LIMIT = 4 << 20


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was found at the moment of a fault.

    Attributes:
        summary: worker, incarnation, cause and sentence.
        processes: of the tree, each with its argv.
        stacks: of all its threads.
        log: last lines.
        metrics: the engine's page, or a comment that says why not.
        asks: of probes that failed.
        spec: of the worker.
        versions: of all that runs.
    """

    summary: Mapping[str, Any]
    processes: Sequence[Mapping[str, Any]] = ()
    stacks: str = ""
    log: Sequence[str] = ()
    metrics: str = ""
    asks: Sequence[Recorded] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)


def files(found: Gathered, redact: Redactor) -> dict[str, bytes]:
    """Contents by name, what says most first: a full disk takes only those."""
    summary = {
        **{name: redact.text(one) if isinstance(one, str) else one for name, one in found.summary.items()},
        "versions": redact.tree(dict(found.versions)),
        "processes": [_process(one, redact) for one in found.processes],
    }
    contents = {
        "summary.json": _json(summary),
        "log.txt": "\n".join(redact.lines(found.log)),
        "stacks.txt": redact.page(found.stacks),
        "probes.json": _json([redact.tree(asdict(one)) for one in found.asks]),
        "spec.json": _json(redact.tree(dict(found.spec))),
        "metrics.txt": redact.page(found.metrics[:METRICS_LIMIT]),
    }
    return {name: text.encode("utf-8", "replace") for name, text in contents.items()}


def _process(one: Mapping[str, Any], redact: Redactor) -> dict[str, Any]:
    command = " ".join(redact.argv(one.get("argv", ())))
    rest = {name: redact.secrets(value) if isinstance(value, str) else value for name, value in one.items()}
    rest.pop("argv", None)
    return {**rest, "command": redact.secrets(command)}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, default=str, ensure_ascii=False)
