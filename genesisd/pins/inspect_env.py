"""Look at a filled environment once more before it may be used: does it hold what the pin says, and start at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import Version

from genesisd.pins import atomic, child
from genesisd.pins.complaint import redact
from genesisd.pins.errors import BuildError
from genesisd.pins.install import site_packages
from genesisd.pins.manifest import Distribution
from genesisd.pins.pip import tool_environment

if TYPE_CHECKING:
    from pathlib import Path

    from genesisd.pins.fetch import Wheel
    from genesisd.pins.spec import PinSpec

_ASK = """
import json, sys
from importlib import metadata
found = [[d.metadata["Name"], d.version, d._path.name] for d in metadata.distributions()]
print(json.dumps({"python": "%d.%d.%d" % sys.version_info[:3], "found": found}))
"""


def inspect(pin: PinSpec, env: Path, work: Path, wheels: tuple[Wheel, ...]) -> tuple[str, tuple[Distribution, ...]]:
    """Full version of the interpreter, and all distributions. Raises BuildError when the pin's are not there."""
    archives = {wheel.archive.name: wheel for wheel in wheels}
    python, found = _ask(env, work)
    distributions = tuple(sorted((_distribution(env, archives, *one) for one in found), key=lambda one: one.name))
    versions = {one.name: one.version for one in distributions}
    wanted = {pin.package: pin.version} | ({pin.shim.name: pin.shim.version} if pin.shim else {})
    for name, version in wanted.items():
        if name not in versions or not _same(versions[name], version):
            raise BuildError(f"pin {pin.id}: {name} is {versions.get(name, 'absent')}, expected {version}")
    if not os.access(env / "bin" / "vllm", os.X_OK):
        raise BuildError(f"pin {pin.id}: {pin.package} {pin.version} brings no 'vllm' command")
    return python, distributions


def _ask(env: Path, work: Path) -> tuple[str, list[list[str]]]:
    argv = (str(env / "bin" / "python"), "-c", _ASK)
    ended = child.run(argv, env=tool_environment(work))
    if ended.code != 0 or not ended.lines:
        raise BuildError(f"{argv[0]} does not start: {ended.lines[-1] if ended.lines else ended.code}")
    answer = json.loads(ended.lines[-1])
    return answer["python"], answer["found"]


def _distribution(env: Path, archives: dict[str, Wheel], name: str, version: str, folder: str) -> Distribution:
    record = site_packages(env) / folder / "RECORD"
    sha256 = atomic.sha256_of(record) if record.exists() else ""
    wheel = archives.get(canonicalize_name(name))
    url, archive_sha256 = (redact(wheel.archive.url), wheel.sha256) if wheel else (None, None)
    return Distribution(canonicalize_name(name), version, folder, sha256, url, archive_sha256)


def _same(found: str, wanted: str) -> bool:
    """PyPI's 0.32.0 is also 0.32; a local segment must be the same."""
    return Version(found) == Version(wanted)
