"""The values that are secret in this daemon: of its own environment, and of the specs of its workers."""

from __future__ import annotations

from collections.abc import Mapping

from genesisd.incidents.redact import secret_values, secret_words
from genesisd.supervisor.spec import WorkerSpec


def known_secrets(environ: Mapping[str, str], specs: Mapping[str, WorkerSpec]) -> set[str]:
    """What no bundle may hold."""
    found = set(secret_values(environ))
    for spec in list(specs.values()):  # bundles are written by threads, and workers come and go meanwhile
        found.update(secret_values(spec.env), secret_words(spec.args), secret_words(spec.command or ()))
    return found
