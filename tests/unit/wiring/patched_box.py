"""One daemon's choice of patches, from switches to builds that are only manifests, and the patches there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from genesisd.patches.flags import Flag
from genesisd.patches.parameters import Kind, Parameter
from genesisd.pins.build_gc import collect_builds
from genesisd.pins.layout import Cache
from genesisd.store.store import Store
from genesisd.supervisor.ports import Card
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import patched as module
from genesisd.wiring.patched import Patched
from genesisd.wiring.starts import Start
from tests.fakes.patched import FakeBuilders, FakeMetrics, FakePins, build_of
from tests.fakes.supervision import FakeCards, FakeSink
from tests.unit.patches.made import edit, patch

STEPS = patch(
    edit("return 1", "return 2", "steps"),
    id="P1",
    flag=Flag("P1_STEPS"),
    parameters=(Parameter("GENESIS_P1_MANY", Kind.INT, 1, 1, 9),),
)
SIZE = patch(edit("return 10", "return 20", "size"), id="P2", flag=Flag("P2_SIZE"))
AWAY = patch(edit("return 99", "return 100", "size"), id="P3", flag=Flag("P3_AWAY"))
LATER = patch(edit("LIMIT = 1", "LIMIT = 2"), id="P4", flag=Flag("P4_LATER"), versions=">=0.90")
CURE = patch(edit("return 99", "return 40", "size"), id="PN346B", flag=Flag("PN346B_CURE"))
CATALOG = (STEPS, SIZE, AWAY, LATER, CURE)


def on(*names: str) -> dict[str, str]:
    return {f"GENESIS_ENABLE_{name}": "1" for name in names}


class Box:
    """One daemon's part; ``again`` is the next daemon on the same store."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.pins = FakePins(folder / "cache")
        self.store = Store.open(folder / "genesisd.db")
        self.cards = FakeCards(Card(0, 48, 48, {}, 86), Card(1, 48, 48, {}, 89))
        self.made: dict[str, object] = {}
        self.specs: dict[str, WorkerSpec] = {}
        self.catalog = CATALOG
        self.looked = 0
        monkeypatch.setattr(module, "catalog", lambda: self.catalog)
        monkeypatch.setattr(module, "find_build", self._find)
        self.again()

    def again(self) -> None:
        self.sink, self.metrics, self.builders = FakeSink(), FakeMetrics(), FakeBuilders()
        self.patched = Patched(
            lambda: self.specs, self.pins, self.store.meta, self.sink, lambda _: None, self.cards, self.metrics
        )
        self.patched.builders = self.builders
        self.gate = self.patched.gate()

    def _find(self, cache, environment, key):
        assert cache == self.pins.cache
        self.looked += 1
        return self.made.get(f"{environment}+{key}")

    def worker(self, *names, env=None, args=(), role=None, more=None, **patches):
        attribution = {name: {"role": "load_bearing", "note": "it breaks"} for name in role or ()}
        self.specs["w"] = WorkerSpec(
            pin="cpu", model="m", args=args, env={**on(*names), **(env or {})},
            patches={"attribution": attribution, **patches}, **(more or {}),
        )  # fmt: skip

    async def build(self) -> None:
        """The builder ends well."""
        choice = await self.patched.choose("w")
        assert choice is not None
        chosen = [one for one in self.catalog if one.id in choice.selection.patches]
        made = build_of(self.pins, self.pins.environment("cpu").name, choice.key, chosen)
        self.made[made.name] = made
        manifest = Cache(self.pins.cache).build_manifest(made.name)
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.touch()
        self.builders.building.clear()

    def collect(self):
        """All builds that nobody holds go."""
        return collect_builds(self.pins.cache, keep=())

    async def shut(self) -> str | None:
        reason = await self.gate("w")
        return None if reason is None else reason.code

    async def why(self) -> str:
        reason = await self.gate("w")
        assert reason is not None
        assert reason.code == "patches-refused"
        return reason.text

    async def start(self, incarnation: int, *, ready: bool = True) -> Start | None:
        """One life, from the gate to ready."""
        if await self.shut() == "build-making":
            await self.build()
        assert await self.gate("w") is None
        await self.patched.prepare("w", incarnation)
        self.patched.spawned("w", incarnation)
        if ready:
            self.patched.ready("w", incarnation)
        return self.patched.running("w", incarnation)

    async def kept(self, key):
        await self.patched.close()
        return await self.store.meta.get(key + "w")


@pytest.fixture
async def box(tmp_path, monkeypatch):
    made = Box(tmp_path, monkeypatch)
    yield made
    await made.patched.close()
    made.store.close()
