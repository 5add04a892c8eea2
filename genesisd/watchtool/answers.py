"""What the daemon was told by upstream, for checks that are held against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from genesisd.control.client import Client, ControlError
from genesisd.watch.model import Known, Pull, State, Unanswered, WhyUnknown
from genesisd.watch.refs import Ref, parse_ref


def known_to(client: Client, refs: Iterable[Ref]) -> dict[Ref, Known]:
    """The newest answer about each of ``refs``; one that the daemon never asked about is left out.

    Raises:
        ControlError: the daemon cannot be reached, or watches nothing.
    """
    found = ((ref, _asked(client, ref)) for ref in refs)
    return {ref: known for ref, known in found if known is not None}


def _asked(client: Client, ref: Ref) -> Known | None:
    try:
        told = client.watched(str(ref))
    except ControlError as problem:
        if problem.code == "not_found":
            return None
        raise
    return Known(ref, _pull(ref, told["pull"]), _unanswered(ref, told))


def _pull(ref: Ref, told: Mapping[str, Any] | None) -> Pull | None:
    if told is None:
        return None
    same = ("checked_at", "is_issue", "title", "draft", "base", "head", "merge_commit", "merged_at", "closed_at", "updated_at")  # fmt: skip
    return Pull(
        ref=ref,
        state=State(told["state"]),
        labels=tuple(told["labels"]),
        files=None if told["files"] is None else tuple(told["files"]),
        now_at=None if told["now_at"] is None else parse_ref(told["now_at"]),
        **{name: told[name] for name in same},
    )


def _unanswered(ref: Ref, told: Mapping[str, Any]) -> Unanswered | None:
    if not told["unknown"]:
        return None
    return Unanswered(ref, WhyUnknown(told["unknown"]), told["unknown_at"] or 0.0, told["unknown_text"])
