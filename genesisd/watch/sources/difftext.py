"""Diffs as bytes: whether one is whole, and one made of the pieces that upstream lists a file each. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEAD_IN_ADDRESS = re.compile(r"[?&]ref=([0-9a-f]{7,64})\b")


def whole(text: bytes) -> bool:
    """Every hunk has as many lines as it promises: an answer that broke off inside one has not."""
    old = new = 0
    for line in map(_bare, BytesIO(text)):
        if old > 0 or new > 0:
            # An empty line is a blank context line whose one blank was lost on the way.
            mark = line[:1] or b" "
            if mark == b"\\":
                continue
            old -= mark in b" -"
            new -= mark in b" +"
            if mark not in b" +-" or old < 0 or new < 0:
                return False
        elif (found := _HUNK.match(line)) is not None:
            old, new = (int(count) if count is not None else 1 for count in found.groups())
    return old == 0 and new == 0 and (not text or text.endswith(b"\n"))


def joined(files: Sequence[Mapping[str, Any]]) -> tuple[bytes, bool]:
    """A git diff of what ``/pulls/N/files`` lists, and whether every change is in it.

    Raises:
        KeyError: an entry lacks its name or status.
    """
    parts, complete = [], True
    for told in files:
        part, there = _file(told)
        parts.append(part)
        complete = complete and there
    return "".join(parts).encode(), complete


def heads(files: Sequence[Mapping[str, Any]]) -> set[str]:
    """The commits that the entries are of, by the addresses of their contents."""
    found = (_HEAD_IN_ADDRESS.search(str(told.get("contents_url", ""))) for told in files)
    return {match[1] for match in found if match}


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\n")


def _file(told: Mapping[str, Any]) -> tuple[str, bool]:
    name, status = str(told["filename"]), str(told["status"])
    before = str(told.get("previous_filename") or name)
    lines = [f"diff --git a/{before} b/{name}"]
    if status == "added":
        lines.append("new file mode 100644")
    elif status == "removed":
        lines.append("deleted file mode 100644")
    elif before != name:
        lines += [f"rename from {before}", f"rename to {name}"]
    patch = told.get("patch")
    if not patch:
        # A rename alone has no lines; anything else without them is binary, or was too much to be told.
        bare = told.get("changes") == 0 and status in {"renamed", "added", "removed"}
        return "\n".join([*lines, ""]), bare
    lines.append("--- /dev/null" if status == "added" else f"--- a/{before}")
    lines.append("+++ /dev/null" if status == "removed" else f"+++ b/{name}")
    return "\n".join([*lines, str(patch).removesuffix("\n"), ""]), True
