"""The base of every error that genesisd raises on purpose.

An error carries fields, not only prose: the control API sends ``code`` for programs, the message for
people and ``hint`` for what to do next, and the CLI derives its exit status from ``code``.
"""

from __future__ import annotations


class GenesisError(Exception):
    """Something that a person can act on.

    Attributes:
        code: stable identifier, part of the wire contract.
        hint: how to mend it, or None.
        fields: the facts behind the message (worker, path, pid, ...).
    """

    code = "error"

    def __init__(self, message: str, *, hint: str | None = None, **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fields = fields


class ConfigError(GenesisError):
    """A configuration that cannot be used; ``fields`` holds file, line and field where they are known."""

    code = "config"


class NotFoundError(GenesisError):
    """A name that does not exist."""

    code = "not_found"


class ConflictError(GenesisError):
    """The request contradicts the present state."""

    code = "conflict"


class PermissionDeniedError(GenesisError):
    """The caller may not do that."""

    code = "permission"


class UnavailableError(GenesisError):
    """Something outside (a registry, a card, a shim) did not answer: not a 'no'."""

    code = "unavailable"
