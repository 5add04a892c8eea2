"""What choosing and attesting builds stand on: a pin of one file, builds that are only a manifest, metrics that tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from genesisd.errors import UnavailableError
from genesisd.patches.model import Patch
from genesisd.patches.stack import plan_all
from genesisd.pins.build_manifest import FORMAT, Build, BuildManifest
from genesisd.pins.layout import build_name
from genesisd.wiring.assemble import notes

VERSION = "0.32.0"
TREE = {"vllm/core.py": "LIMIT = 1\n\n\ndef steps():\n    return 1\n\n\ndef size():\n    return 10\n"}


class FakeMetrics:
    """Keeps what it was told last, and how often."""

    def __init__(self) -> None:
        self.started: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {}
        self.attested: list[tuple[str, str, dict[str, int], dict[str, str]]] = []

    def patches(self, worker: str, verdicts: Mapping[str, str], lost: Sequence[str]) -> None:
        self.started[worker] = (dict(verdicts), tuple(lost))

    def attestation(self, worker: str, state: str, hits: Mapping[str, int], never: Mapping[str, str]) -> None:
        self.attested.append((worker, state, dict(hits), dict(never)))


class FakePins:
    """As ``PinEngines`` looks from the wiring of patches: one pin, ``cpu``, whose tree is ``tree``."""

    def __init__(self, cache: Path) -> None:
        self.cache, self.pins_file = cache, Path("/etc/genesisd/pins.yaml")
        self.version, self.tree = VERSION, dict(TREE)
        self.is_built, self.built_at = True, 1.0

    def pin(self, _name: str) -> Any:
        return SimpleNamespace(version=self.version)

    def environment(self, name: str) -> Any:
        if not self.is_built:
            raise UnavailableError(f"pin {name} is not built", hint=f"genesisctl pins build {name}")
        named = f"{name}-{self.version}-0123456789ab"
        return SimpleNamespace(name=named, identity=f"{named}@{self.built_at}")


class FakeBuilders:
    """As ``Builders``: a build goes on until the test says how it ended."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, Any]] = []
        self.building: set[str] = set()
        self.failed: dict[str, str] = {}
        self.is_closed = False

    def is_building(self, name: str) -> bool:
        return name in self.building

    def progress(self, _name: str) -> str:
        return "linking 40 %"

    def recent_failure(self, name: str) -> str | None:
        return self.failed.get(name)

    def begin(self, name: str, command: Any) -> None:
        self.begun.append((name, command))
        self.building.add(name)

    def forget_failures(self) -> None:
        self.failed.clear()

    async def close(self) -> None:
        self.is_closed = True
        await asyncio.sleep(0)


def build_of(
    pins: FakePins, environment: str, key: str, patches: Sequence[Patch], attest: Mapping[str, Any] | None = None
) -> Build:
    """The build that the patches come to on the pin's tree, as far as its manifest says."""
    name = build_name(environment, key)
    kept = notes(patches, plan_all(pins.tree, patches))
    nothing = {"format": 1, "items": [], "unattestable": []}
    told = nothing if attest is None else attest
    versions = {"vllm": f"{pins.version}+genesis.{key}"}
    manifest = BuildManifest(FORMAT, name, key, environment, versions, kept, {}, "d", told, "hard", 1.0, 2.0)
    return Build(name, pins.cache / "builds" / name, key, environment, manifest)
