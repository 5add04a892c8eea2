"""Keeping what a sweep changed in the watchlist: saved, and recorded in git where the operator wants that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from genesisd.watch.commit import Committed, NotCommitted, commit, unfit
from genesisd.watch.save import save


async def keep(
    path: Path, content: bytes, *, seen: str, evidence: Sequence[str], record: bool
) -> Committed | NotCommitted | None:
    """Save ``content`` at ``path``, and commit it where ``record`` says so; None where it does not.

    Args:
        path: the watchlist.
        content: all of it.
        seen: ``Watchlist.digest`` of what it was made from.
        evidence: a line for each row that changed; they become the message of the commit.
        record: commit it.

    Raises:
        ConflictError, PermissionDeniedError, UnavailableError: as ``save``; then nothing changed. What git says never
            raises: a list that is right and not recorded is better than one that is wrong.
    """
    # Asked before: afterwards a person's changes could not be told from ours.
    why = await unfit(path) if record else None
    await asyncio.to_thread(save, path, content, seen=seen)
    if not record or why is not None:
        return why
    rows = "one row" if len(evidence) == 1 else f"{len(evidence)} rows"
    return await commit(path, f"Bring the upstream watchlist up to date: {rows}", tuple(evidence))
