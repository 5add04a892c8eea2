"""Where recordings of right answers are kept: a folder a model, a file a build.

Files, not rows: people read them, compare them, copy them to the next box, and delete one that they do not believe.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from genesisd.errors import GenesisError
from genesisd.pins.atomic import sync_folder, write_bytes
from genesisd.probes.golden import Golden
from genesisd.probes.golden_json import from_json, to_json

_PLAIN = re.compile(r"[^A-Za-z0-9._+-]+")


class Goldens:
    """All recordings of a box, in memory; reads its folder once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[tuple[str, str, str | None], Golden] = {}
        self.faults: list[str] = []
        """Files that are no recordings, each with what is wrong with it."""

    def load(self) -> None:
        """Read the folder. Blocks."""
        for path in sorted(self._folder.glob("*/*.json")):
            try:
                found = from_json(path.read_bytes())
            except (GenesisError, OSError) as error:
                self.faults.append(f"{path}: {error}")
            else:
                self._held[found.model, found.pin, found.build] = found

    def of(self, model: str, pin: str, build: str | None) -> Golden | None:
        """What was recorded of exactly this."""
        return self._held.get((model, pin, build))

    def expected(self, model: str, pin: str, build: str | None) -> Golden | None:
        """What the answers of this build are held against.

        Its own recording; without one that of the plain pin, less the cases that some build of the pin is known to
        answer otherwise: a set of patches that nobody recorded yet is not thereby right in all it says.
        """
        own = self._held.get((model, pin, build))
        if own is not None or build is None:
            return own
        plain = self._held.get((model, pin, None))
        if plain is None:
            return None
        differs = {case for one in self._of_pin(model, pin) for case in one.differs}
        return replace(plain, replies={name: reply for name, reply in plain.replies.items() if name not in differs})

    def keep(self, golden: Golden) -> Path:
        """Keep one, in the place of an earlier one of the same build; returns its file. Blocks. Raises OSError."""
        path = self.path(golden.model, golden.pin, golden.build)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, to_json(golden).encode(), mode=0o640)
        sync_folder(path.parent)
        self._held[golden.model, golden.pin, golden.build] = golden
        return path

    def path(self, model: str, pin: str, build: str | None) -> Path:
        """Where one is kept."""
        return self._folder / _slug(model) / f"{_slug(build or pin)}.json"

    def _of_pin(self, model: str, pin: str) -> Iterator[Golden]:
        return (one for key, one in self._held.items() if key[:2] == (model, pin))


def _slug(name: str) -> str:
    """A file name that people recognise; what had to be changed is told apart by a digest."""
    plain = _PLAIN.sub("-", name).strip("-.")[-80:]
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
