"""A patched build of a vLLM that lies in a folder: by the daemon's own code, around an environment made by hand."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from genesisd.patches.build_key import build_key
from genesisd.patches.catalog import catalog
from genesisd.patches.conditions import Fact
from genesisd.patches.resolve import Request, resolve
from genesisd.pins import atomic
from genesisd.pins.build_manifest import Build
from genesisd.pins.builds import make_build
from genesisd.pins.environment import Environment
from genesisd.pins.manifest import Distribution, Manifest
from genesisd.versions import parse_version
from genesisd.wiring.assemble import recipe

CACHES = {"turboquant_k8v4": ("P67", "PN530"), "turboquant_4bit_nc": ("P67",), "turboquant_k3v4_nc": ("P67",)}
"""The patches that apply to each, by the engine's name for it; the usual one first."""
FLAGS = {"P67": "GENESIS_ENABLE_P67_TQ_MULTI_QUERY_KERNEL", "PN530": "GENESIS_ENABLE_PN530_TQ_STORE"}


def made(site: Path, work: Path, notes, wanted: tuple[str, ...], cache: str) -> Build:
    """The build; ``notes`` hear what the gates say of the flags, what was planned, and what can be attested."""
    environment = around(site, work)
    version = parse_version(environment.manifest.pin["version"])
    patches = {patch.id: patch for patch in catalog()}
    for value in "01":
        flags = {FLAGS[name]: value for name in wanted}
        asked = Request(version, flags, "0.1", {Fact.KV_CACHE_DTYPE: cache})
        rulings = resolve(list(patches.values()), asked).rulings
        notes.say(**{f"{name}_gate_at_flag_{value}": str(rulings[name].gate) for name in wanted})
    began, chosen, begin = time.monotonic(), [patches[name] for name in wanted], "_".join(wanted)
    key = build_key(environment.name, chosen, "benchmark")
    build = make_build(work, environment, recipe(key, chosen, environment))
    told = {
        "build": build.name,
        "build_seconds": round(time.monotonic() - began, 1),
        "planned": build.manifest.notes["patches"],
        "attestable": len(build.attest["items"]),
        "blind": [f"{one['path']} {one['name']}: {one['why']}" for one in build.attest["unattestable"]],
    }
    notes.say(**{f"{begin}_{name}": one for name, one in told.items()})
    return build


def around(site: Path, work: Path) -> Environment:
    """What a pin's builder would have made of the folder."""
    packages = work / "env" / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    packages.parent.mkdir(parents=True, exist_ok=True)
    if not packages.is_symlink():
        packages.symlink_to(site)
    info = next(site.glob("vllm-*.dist-info"))
    record = info / "RECORD"
    rows = [row for row in record.read_text().splitlines() if (site / row.partition(",")[0].strip('"')).is_file()]
    record.write_text("\n".join(rows) + "\n")  # a folder that was thinned out lacks some of its files
    version = info.name.removesuffix(".dist-info").partition("-")[2]
    pin = {"package": "vllm", "version": version.partition("+")[0]}
    engine = Distribution("vllm", version, info.name, atomic.sha256_of(record))
    manifest = Manifest(1, "benchmark", pin, sys.version.split()[0], 1.0, 0.0, 0, (engine,))
    return Environment("benchmark", work / "env", Path(sys.executable), work / "env/bin/vllm", manifest)
