"""The comment at the end of a changed line: a person's words stay, and the machine's evidence stands behind them. Pure.

The evidence is in brackets that name the machine, so that the next change replaces it instead of adding to it. A line
that grew with every sweep would soon be read by nobody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from genesisd.watch.parts import Mapping, scalars
from genesisd.watch.source import Place
from genesisd.watch.splices import Splice, line_end

LONGEST = 200
"""Characters of evidence in one line."""
_SIGN = re.compile(rb"(?<=[ \t])#")
_OURS = re.compile(rb"\[genesisd: [^\[\]]*\]")


def evidence_splice(raw: bytes, root: Mapping, after: int, evidence: str) -> Splice | None:
    """Evidence at the end of the line of ``after``, or None where no comment can stand there."""
    written = bracketed(evidence)
    end = line_end(raw, after)
    spans = [one.place for one in scalars(root) if one.place.start < end and one.place.end > after]
    if not written or any(span.start < end < span.end for span in spans):
        return None
    comment = _comment(raw, after, end, spans)
    if comment is None:
        return Splice(end, end, (b"# " if raw[end - 1 : end].isspace() else b"  # ") + written)
    earlier = list(_OURS.finditer(raw, comment, end))
    if earlier:
        return Splice(*earlier[-1].span(), written)
    return Splice(end, end, (b"" if raw[end - 1 : end].isspace() else b" ") + written)


def bracketed(evidence: str) -> bytes:
    """Evidence as it stands in a comment: one line, without what could end the comment or its brackets."""
    shown = "".join(sign if sign.isprintable() else " " for sign in evidence)
    words = " ".join(shown.replace("[", "(").replace("]", ")").split())
    if len(words) > LONGEST:
        words = f"{words[: LONGEST - 3]}..."
    return f"[genesisd: {words}]".encode() if words else b""


def _comment(raw: bytes, after: int, end: int, spans: Sequence[Place]) -> int | None:
    """Where the comment of a line begins: the first '#' behind a space that is in no value."""
    signs = (found.start() for found in _SIGN.finditer(raw, after, end))
    return next((at for at in signs if not any(span.start <= at < span.end for span in spans)), None)
