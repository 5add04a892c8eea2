"""Changes of files as git writes them. Pure.

Lines end at a newline alone, as git has it: a form feed or U+2028 inside a line is part of it.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator, Mapping

_NO_FILE = "0" * 40
_MODE = "100644"


def git_diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """The difference, by paths, of the files in ``after``; one that ``before`` lacks is new."""
    return "".join(_file(path, before.get(path), text) for path, text in sorted(after.items()))


def blob(text: str | None) -> str:
    """The name that git gives to the content."""
    if text is None:
        return _NO_FILE
    content = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _file(path: str, before: str | None, after: str) -> str:
    if before == after:
        return ""
    head = [f"diff --git a/{path} b/{path}"]
    if before is None:
        head += [f"new file mode {_MODE}", f"index {blob(None)}..{blob(after)}"]
    else:
        head += [f"index {blob(before)}..{blob(after)} {_MODE}"]
    head += [f"--- {'/dev/null' if before is None else f'a/{path}'}", f"+++ b/{path}"]
    return "".join(f"{line}\n" for line in head) + "".join(_hunks(_lines(before or ""), _lines(after)))


def _hunks(before: list[str], after: list[str]) -> Iterator[str]:
    """Difflib's hunks, less its own two lines of heading; what both begin and end with is not compared."""
    start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    # The tail may not reach into what the start took.
    room = min(len(before), len(after)) - start
    end = next((i for i in range(room) if before[-1 - i] != after[-1 - i]), room)
    lead, trail = max(0, start - 3), max(0, end - 3)
    old, new = before[lead : len(before) - trail], after[lead : len(after) - trail]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1] + lead, last[2] + lead)} +{_range(first[3] + lead, last[4] + lead)} @@\n"
        for tag, i1, i2, j1, j2 in group:
            signs = {"equal": ((" ", old[i1:i2]),), "delete": (("-", old[i1:i2]),), "insert": (("+", new[j1:j2]),)}
            for sign, lines in signs.get(tag, (("-", old[i1:i2]), ("+", new[j1:j2]))):
                yield from (_line(sign, line) for line in lines)


def _range(start: int, stop: int) -> str:
    length = stop - start
    return f"{start + 1 if length else start},{length}" if length != 1 else f"{start + 1}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
