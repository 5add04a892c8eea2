"""Diffs of small texts as git writes them, with the line at the margin behind each @@."""

from __future__ import annotations

import difflib

FILE = "vllm/core/sched.py"


def diff(before, after, path=FILE, heading=True):
    """The change from one text to the other, as git writes it: with the line at the margin over each hunk."""
    old, new = ((text or "").splitlines(keepends=True) for text in (before, after))
    names = "/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}"
    out = []
    for line in difflib.unified_diff(old, new, *names):
        shown = ""
        if line.startswith("@@") and heading:
            start = int(line.split("-")[1].split(",")[0].split(" ")[0])
            shown = next((f" {one.strip()}" for one in reversed(old[: max(0, start - 1)]) if one[:1].isalpha()), "")
        out.append(f"{line.rstrip()}{shown}\n" if line.startswith("@@") else line)
    return "".join(out)
