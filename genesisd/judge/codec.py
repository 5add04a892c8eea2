"""JudgeState to JSON and back, and over a reboot. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from pydantic import TypeAdapter

from genesisd.judge.model import JudgeState

_ADAPTER = TypeAdapter(JudgeState)


def to_json(state: JudgeState) -> str:
    """The state as one line of JSON; what UTF-8 cannot hold (a probe quotes what came) becomes a question mark."""
    text = json.dumps(_ADAPTER.dump_python(state), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


def from_json(text: str) -> JudgeState:
    """The state back. Raises ValueError on anything that ``to_json`` cannot have written."""
    return _ADAPTER.validate_json(text)


def rebase(state: JudgeState, past: Callable[[float], float]) -> JudgeState:
    """The state with each of its times moved by ``past``, onto the clock of another boot.

    The life that it speaks of is over: it is not ready, whatever it was.
    """
    complaints = {kind: replace(one, at=past(one.at)) for kind, one in state.complaints.items()}
    taken = tuple((past(at), step) for at, step in state.taken)
    return replace(state, ready_at=None, cured_at=None, complaints=complaints, taken=taken)
