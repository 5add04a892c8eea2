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
    """Hunks with three lines around each change, as git wants them: fewer mean to it that the file begins or ends."""
    for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, old, old_end, new, new_end in group:
            if tag == "equal":
                yield from (_line(" ", line) for line in before[old:old_end])
                continue
            yield from (_line("-", line) for line in before[old:old_end])
            yield from (_line("+", line) for line in after[new:new_end])


def _range(start: int, stop: int) -> str:
    length = stop - start
    return f"{start + 1 if length else start},{length}" if length != 1 else f"{start + 1}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
