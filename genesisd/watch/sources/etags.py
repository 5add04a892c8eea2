"""ETags that outlive the daemon, each with what it stands for. Pure.

An answer of 304 means "as it was when you got this tag". It may be taken for an answer only while what is kept is
what came with the tag: a daemon that died between keeping the one and the other would call old facts fresh for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genesisd.watch.model import Pull

NOTE = "etag"
"""Kind of the notes that hold them, by path."""


def note(etag: str | None, pull: Pull) -> dict[str, Any] | None:
    """What to keep with the answer ``pull``; None: nothing, and forget what was kept."""
    return {"etag": etag, "stands_for": _stands_for(pull)} if etag else None


def usable(kept: Any, pull: Pull | None) -> str | None:
    """The tag to send, given what is kept of the ref."""
    if pull is None or not isinstance(kept, Mapping) or kept.get("stands_for") != _stands_for(pull):
        return None
    etag = kept.get("etag")
    return etag if isinstance(etag, str) and etag.isprintable() else None


def _stands_for(pull: Pull) -> list[Any]:
    return [pull.state.value, pull.updated_at, pull.head, pull.merge_commit, pull.is_issue]
