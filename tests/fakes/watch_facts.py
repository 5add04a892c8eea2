"""The watch's facts in memory. What goes in comes out as JSON would have it, as from the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from genesisd.watch.model import Answer, Known, Pull
from genesisd.watch.refs import Ref


class MemoryFacts:
    """Implements ``watch.ports.Facts``."""

    def __init__(self) -> None:
        self.rows: dict[Ref, Known] = {}
        self.notes: dict[tuple[str, str], str] = {}

    async def known(self, refs: Sequence[Ref] | None = None) -> Mapping[Ref, Known]:
        return {ref: known for ref, known in self.rows.items() if refs is None or ref in refs}

    async def learn(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            old = self.rows.get(answer.ref, Known(answer.ref))
            self.rows[answer.ref] = (
                Known(answer.ref, answer) if isinstance(answer, Pull) else Known(answer.ref, old.pull, answer)
            )

    async def recall(self, kind: str, keys: Sequence[str] | None = None) -> Mapping[str, Any]:
        found = {key: json.loads(value) for (of, key), value in self.notes.items() if of == kind}
        return found if keys is None else {key: found[key] for key in keys if key in found}

    async def note(self, kind: str, values: Mapping[str, Any]) -> None:
        for key, value in values.items():
            if value is None:
                self.notes.pop((kind, key), None)
            else:
                self.notes[kind, key] = json.dumps(value)
