"""What the daemon was told by upstream and saw of tests, for checks that are held against it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from genesisd.control.client import Client, ControlError
from genesisd.watch.model import Known, Pull, State, Unanswered, WhyUnknown
from genesisd.watch.refs import Ref, parse_ref


def told_by(client: Client, refs: Iterable[Ref]) -> tuple[dict[Ref, Known], frozenset[str]]:
    """The newest answer about each of ``refs``, and the patches whose test was run on the pin that serves.

    What the daemon never asked about is left out.

    Raises:
        ControlError: the daemon cannot be reached, or watches nothing.
    """
    told = {ref: found for ref in refs if (found := _asked(client, ref)) is not None}
    known = {ref: Known(ref, _pull(ref, one["pull"]), _unanswered(ref, one)) for ref, one in told.items()}
    return known, _ran([*told.values()])


def _asked(client: Client, ref: Ref) -> dict[str, Any] | None:
    try:
        return client.watched(str(ref))
    except ControlError as problem:
        if problem.code == "not_found":
            return None
        raise


def _ran(told: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """On each current pin; where none is called so, on each that plays a part."""
    pins = {pin["pin"]: pin["slots"] for one in told for pin in one["pins"]}
    serving = {name for name, slots in pins.items() if "current" in slots} or {*pins}
    on: dict[str, set[str]] = defaultdict(set)
    for one in told:
        for dossier in one["dossiers"]:
            if dossier.get("ran"):  # a daemon of an older version does not tell
                on[dossier["patch"]].add(dossier["pin"])
    return frozenset(patch for patch, where in on.items() if serving and serving <= where)


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
