"""The API token: read from a file or a systemd credential, read again when that changes, and shown to nobody."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from genesisd.watch.spec import TokenSpec

_FORM = re.compile(r"[\x21-\x7e]{8,512}")
"""Printable and in one piece: anything else would end the header, or be told in an error about it."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Token:
    """Where the token comes from. Its value leaves by ``value`` alone, for the one header that it is meant for.

    Args:
        spec: where it is.
        api: address of the API; a token is sent over TLS or within this machine only.
        environ: has ``CREDENTIALS_DIRECTORY`` where systemd passes credentials.

    Attributes:
        problem: why there is no token although one was declared, or what is wrong with its file; else "".
    """

    def __init__(self, spec: TokenSpec, api: str, environ: Mapping[str, str] = os.environ) -> None:
        self._path, self.problem = _place(spec, environ)
        # Of a credential the mode tells nothing: systemd lets the service's user in by an access list, and the mode then
        # shows the list's mask as rights of the group. Its folder lets nobody else in.
        self._guarded = spec.file is None
        address = urlsplit(api)
        if self._path and address.scheme != "https" and address.hostname not in _LOOPBACK:
            self._path, self.problem = None, f"the token is not sent to {address.hostname} without TLS: use https"
        self._seen: tuple[int, ...] | None = None
        self.__value: str | None = None

    def __repr__(self) -> str:
        return f"Token({self._path}, {'there' if self.__value else 'none'})"

    def value(self) -> str | None:
        """The token as it is now, or None; ``problem`` then says why."""
        if self._path is None:
            return None
        try:
            found = self._path.stat()
            signature = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            if signature != self._seen:
                self._read(self._path, found.st_mode)
                self._seen = signature
        except (OSError, UnicodeDecodeError) as error:
            # Nothing is chained to what is told: a decoding error holds the bytes.
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            self._seen, self.__value = None, None
            self.problem = f"{self._path}: the token cannot be read: {reason}"
        return self.__value

    def _read(self, path: Path, mode: int) -> None:
        text = path.read_text("ascii").strip()
        self.__value = text if _FORM.fullmatch(text) else None
        if self.__value is None:
            self.problem = (
                f"{path}: expected one token on one line, found {'nothing' if not text else 'something else'}"
            )
        elif stat.S_IMODE(mode) & 0o077 and not self._guarded:
            self.problem = f"{path}: others may read the token: chmod 600 {path}"
        else:
            self.problem = ""


def _place(spec: TokenSpec, environ: Mapping[str, str]) -> tuple[Path | None, str]:
    if spec.file is not None:
        return spec.file, ""
    if spec.credential is None:
        return None, ""
    folder = environ.get("CREDENTIALS_DIRECTORY")
    if not folder:
        return None, f"credential {spec.credential}: none were passed; add LoadCredential={spec.credential} to the unit"
    if "/" in spec.credential or spec.credential in {".", ".."}:
        return None, f"credential {spec.credential}: expected a name without a slash"
    return Path(folder) / spec.credential, ""
