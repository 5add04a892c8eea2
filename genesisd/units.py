"""Human units in configuration: ``90s``, ``5m``, ``64MiB``, ``127.0.0.1:8000``."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB)?")
_BYTES = {"B": 1, None: 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class SpecModel(BaseModel):
    """Base of every declared spec: unknown fields are errors and values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def parse_duration(value: object) -> object:
    """Seconds from ``90``, ``"90s"``, ``"1.5m"``; raises ValueError on anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("expected a duration such as 500ms, 90s, 5m, 2h")
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError("a duration cannot be negative")
        return float(value)
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ValueError(f"expected a duration such as 500ms, 90s, 5m, 2h, not {value!r}")
    return float(found[1]) * _SECONDS[found[2]]


def parse_size(value: object) -> object:
    """Bytes from ``1048576`` or ``"64MiB"``; raises ValueError on anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("expected a size such as 64MiB or 2GiB")
    if isinstance(value, int):
        if value < 0:
            raise ValueError("a size cannot be negative")
        return value
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise ValueError(f"expected a size such as 64MiB or 2GiB, not {value!r}")
    return int(float(found[1]) * _BYTES[found[2]])


class Address(BaseModel):
    """A TCP address, written ``host:port`` (IPv6 as ``[::1]:8000``)."""

    model_config = ConfigDict(frozen=True)
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(value: object) -> object:
    """An Address from ``host:port``; raises ValueError on anything else."""
    if isinstance(value, Address | dict):
        return value
    if not isinstance(value, str):
        raise ValueError("expected an address written host:port, such as 127.0.0.1:8000")
    host, colon, port = value.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"expected an address written host:port, such as 127.0.0.1:8000, not {value!r}")
    return {"host": host, "port": int(port)}


Duration = Annotated[float, BeforeValidator(parse_duration)]
ByteSize = Annotated[int, BeforeValidator(parse_size)]
HostPort = Annotated[Address, BeforeValidator(parse_address)]
