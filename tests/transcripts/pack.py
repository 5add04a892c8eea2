"""Makes the corpus of what ``record`` wrote: ``python -m tests.transcripts.pack FOLDER``."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from genesisd.probes.answered import Answered, Reading
from genesisd.probes.model import Exchange
from tests.transcripts.corpus import FOLDER, packed, read
from tests.transcripts.record import PARSERS, golden_cases, request


def main(recorded: Path) -> None:
    """Every answer must read the same packed as it was recorded."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    cases = golden_cases()
    for setting in PARSERS:
        lines = []
        for text in (recorded / f"{setting}.jsonl").open():
            one = json.loads(text)
            if one["status"] != 200:
                raise SystemExit(f"{setting}: {one['status']} {one['body'][:200]}")
            knobs = one["knobs"]
            path, body = request(knobs, cases)
            line = packed(one["body"], path, stream=knobs["stream"])
            if _told(read(line, path, body)) != _told(_recorded(one["body"], body)):
                raise SystemExit(f"{setting}: packed wrongly: {one['body'][:200]}")
            kept = {name: value for name, value in knobs.items() if name != "setting"}
            lines.append(json.dumps([kept, line], ensure_ascii=False, separators=(",", ":")))
        lines.sort(key=lambda text: (json.loads(text)[0]["stream"], str(json.loads(text)[0]["case"])))
        data = lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME)
        (FOLDER / f"{setting}.jsonl.xz").write_bytes(data)
        print(f"{setting}: {len(lines)} answers in {len(data)} bytes")


def _recorded(raw: str, body: dict[str, Any]) -> Answered:
    reading = Reading()
    if body["stream"]:
        for line in raw.splitlines():
            reading.take_line(line.encode())
    else:
        reading.take_whole(raw.encode())
    return reading.answered(Exchange("", body), 200, stream=body["stream"])


def _told(said: Answered) -> tuple[object, ...]:
    counts = (said.prompt_tokens, said.completion_tokens, len(said.call_ids), len(set(said.call_ids)), said.garbled)
    return (said.content, said.reasoning, said.calls, said.finish, said.ended, *counts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
