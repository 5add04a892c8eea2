"""Where things lie in the cache folder.

``envs/<pin>-<hash>/`` environments, ``wheels/<sha256>/`` downloads that all pins share, ``work/<env>/`` an
unfinished build, ``locks/<env>`` who builds or uses it. An environment counts only once its manifest exists.
``pristine/<env>.json`` is the record of what an environment holds of the engine, ``builds/<env>+<key>/`` a patched
copy of that; a build counts only once ``builds/<env>+<key>.json``, its manifest, exists.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genesisd.pins.spec import PinSpec

FORMAT = 1
"""Raised when the way of building changes, so that environments of the old way are built again."""
_SHAPES_THE_ENVIRONMENT = {"package", "version", "source", "python", "requirements", "constraints", "drop", "shim"}


def spec_hash(pin: PinSpec) -> str:
    """Twelve hex digits over what shapes the environment: a note or a slot changes nothing."""
    shaping = pin.model_dump(mode="json", include=_SHAPES_THE_ENVIRONMENT) | {"format": FORMAT}
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:12]


def environment_name(pin: PinSpec) -> str:
    """Name of the pin's environment folder."""
    return f"{pin.id}-{spec_hash(pin)}"


def build_name(env_name: str, key: str) -> str:
    """Name of the build of ``key`` in that environment."""
    return f"{env_name}+{key}"


@dataclass(frozen=True)
class Cache:
    """The folders of one cache."""

    root: Path

    @property
    def envs(self) -> Path:
        """All environments, finished or not."""
        return self.root / "envs"

    @property
    def wheels(self) -> Path:
        """Downloads by content."""
        return self.root / "wheels"

    @property
    def works(self) -> Path:
        """Unfinished builds."""
        return self.root / "work"

    def env(self, name: str) -> Path:
        """The environment's folder."""
        return self.envs / name

    def manifest(self, name: str) -> Path:
        """Its existence makes the environment usable."""
        return self.env(name) / "manifest.json"

    def work(self, name: str) -> Path:
        """What an interrupted build goes on from."""
        return self.works / name

    def lock(self, name: str) -> Path:
        """Held exclusively by a builder or remover, shared by users."""
        return self.root / "locks" / name

    @property
    def builds(self) -> Path:
        """Patched builds and their manifests."""
        return self.root / "builds"

    @property
    def pristines(self) -> Path:
        """Records of pristine trees."""
        return self.root / "pristine"

    def build(self, name: str) -> Path:
        """The build's folder; its name comes from ``build_name``."""
        return self.builds / name

    def build_manifest(self, name: str) -> Path:
        """Its existence makes the build count. Beside the folder, so that the folder holds nothing but the engine."""
        return self.builds / f"{name}.json"

    def pristine(self, env_name: str) -> Path:
        """The record of the environment's pristine tree."""
        return self.pristines / f"{env_name}.json"

    def pristine_bytecode(self, env_name: str) -> Path:
        """Bytecode that the environment lacks or holds stale, made anew; laid out as site-packages is."""
        return self.pristines / env_name

    def wheel(self, sha256: str, filename: str) -> Path:
        """One download."""
        return self.wheels / sha256 / filename
