"""The forms in which a known secret may stand in a text: its lines, quoted for a URL or for JSON, in base64. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

LINE = 8
"""Characters of a line that is worth masking by itself: the rest of a file of credentials is braces."""


def forms(value: str) -> frozenset[str]:
    """All of them, the value itself among them."""
    return frozenset(_forms(value))


def _forms(value: str) -> Iterator[str]:
    for text in {value, value.strip()}:
        yield text
        yield from (quote(text, safe="", errors="replace"), quote_plus(text, errors="replace"))
        yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
        content = text.encode("utf-8", "replace")
        if len(content) >= LINE:  # of less, base64 is common words
            yield from (
                one.decode().rstrip("=") for one in (base64.b64encode(content), base64.urlsafe_b64encode(content))
            )
    if "\n" in value:  # logs are masked line by line
        yield from (line for one in value.splitlines() if len(line := one.strip().strip("',\"")) >= LINE)
