"""The distributions that a build presents: vLLM under its own version, and the attestation plugin.

Both stand before those of site-packages on the path, so ``importlib.metadata`` finds them first. The entry points
are those of the distribution that is hidden thereby, no more: another that holds the engine keeps its own.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PLUGIN = "genesisd_attest"
PLUGIN_FILE = f"{PLUGIN}.py"
ITEMS_FILE = f"{PLUGIN}.json"
_GROUP = "vllm.general_plugins"
_COPIED = ("entry_points.txt", "top_level.txt")


def build_version(pristine: str, key: str) -> str:
    """``0.33.0+genesis.<key>``; a local segment that is there stays: vLLM reads its platform from it."""
    return f"{pristine}{'.' if '+' in pristine else '+'}genesis.{key}"


def engine_distribution(metadata: Path, version: str) -> dict[str, bytes]:
    """Files of vLLM's distribution, less RECORD, from the ``metadata`` folder of the one that it hides."""
    folder = f"vllm-{version}.dist-info"
    files = {"METADATA": _with_version((metadata / "METADATA").read_bytes(), version), "INSTALLER": b"genesisd\n"}
    files |= {name: (metadata / name).read_bytes() for name in _COPIED if (metadata / name).is_file()}
    files.setdefault("top_level.txt", b"vllm\n")
    return {f"{folder}/{name}": content for name, content in files.items()}


def plugin_distribution(version: str) -> dict[str, bytes]:
    """Files of the plugin's distribution, less RECORD; ``version`` is genesisd's."""
    folder = f"{PLUGIN}-{version}.dist-info"
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {PLUGIN.replace('_', '-')}\nVersion: {version}\n",
        "INSTALLER": "genesisd\n",
        "top_level.txt": f"{PLUGIN}\n",
        "entry_points.txt": f"[{_GROUP}]\n{PLUGIN} = {PLUGIN}:register\n",
    }
    return {f"{folder}/{name}": content.encode() for name, content in files.items()}


def record(folder: str, contents: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Path and content of the RECORD in ``folder`` that lists ``contents`` and itself."""
    path = f"{folder}/RECORD"
    rows = [f"{_quoted(name)},{_digest(content)},{len(content)}" for name, content in sorted(contents.items())]
    return path, ("\n".join([*rows, f"{path},,"]) + "\n").encode()


def _with_version(metadata: bytes, version: str) -> bytes:
    """The description below the headers may speak of versions too; it stays."""
    head, empty, body = metadata.partition(b"\n\n")
    lines = [f"Version: {version}".encode() if one.startswith(b"Version:") else one for one in head.split(b"\n")]
    return b"\n".join(lines) + empty + body


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name


def _digest(content: bytes) -> str:
    return f"sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()}"
