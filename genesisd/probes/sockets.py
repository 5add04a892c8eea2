"""Listening TCP sockets as /proc/PID/net/tcp and tcp6 tell them. Parsing is pure."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

_LISTEN = "0A"


@dataclass(frozen=True, slots=True)
class Listening:
    """One listening socket."""

    address: str
    port: int
    uid: int
    inode: int


def parse(table: str) -> list[Listening]:
    """The listeners of one table; its first line is a heading."""
    return [one for line in table.splitlines()[1:] if (one := _row(line.split()))]


def _row(fields: list[str]) -> Listening | None:
    if len(fields) < 10 or fields[3] != _LISTEN:
        return None
    address, _, port = fields[1].partition(":")
    return Listening(_address(address), int(port, 16), int(fields[7]), int(fields[9]))


def _address(text: str) -> str:
    """The kernel prints each 32-bit word in the byte order of the machine, which is little-endian here."""
    raw = bytes.fromhex(text)
    words = b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4))
    found = ipaddress.ip_address(words)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def listeners(pid: int, host: str, port: int) -> list[Listening]:
    """Sockets that may take a connection to host:port in the network namespace of ``pid``. Raises OSError."""
    found = []
    for name in ("tcp", "tcp6"):
        table = Path(f"/proc/{pid}/net/{name}")
        if table.exists():
            found += parse(table.read_text())
    return [one for one in found if one.port == port and _takes(one.address, host)]


def _takes(bound: str, host: str) -> bool:
    return bound == host or bound in ("0.0.0.0", "::") or host in ("0.0.0.0", "::", "localhost", "")
