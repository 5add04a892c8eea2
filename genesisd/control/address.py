"""How names and wishes are written into an address. Standard library only, as all that genesisctl starts with."""

from __future__ import annotations

from urllib.parse import quote, urlencode


def part(name: str) -> str:
    """A name as one part of an address; ``..`` and ``.`` would be taken for folders."""
    return quote(name, safe="") if name.strip(".") else "%20"


def query(**said: object) -> str:
    """What stands behind an address, without what is None."""
    told = {name: value for name, value in said.items() if value is not None}
    return f"?{urlencode(told)}" if told else ""
