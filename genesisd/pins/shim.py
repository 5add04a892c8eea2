"""A distribution record without code, written as an installer would write it."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from genesisd.pins.errors import BuildError

if TYPE_CHECKING:
    from pathlib import Path

    from genesisd.pins.spec import ShimSpec


def write_shim(shim: ShimSpec, packages: Path) -> None:
    """Add the record. Raises BuildError when a real distribution has that name already."""
    twins = [path.name for path in packages.glob("*.dist-info") if _name_of(path) == shim.name]
    if twins:
        raise BuildError(f"a shim called {shim.name!r} would hide {twins[0]}", hint="drop 'shim' from the pin")
    folder = packages / f"{shim.name.replace('-', '_')}-{shim.version}.dist-info"
    folder.mkdir()
    contents = {
        "METADATA": f"Metadata-Version: 2.1\nName: {shim.name}\nVersion: {shim.version}\n",
        "INSTALLER": "genesisd\n",
    }
    for name, text in contents.items():
        (folder / name).write_text(text)
    lines = [f"{folder.name}/{name},{_digest(text)},{len(text)}" for name, text in contents.items()]
    (folder / "RECORD").write_text("\n".join([*lines, f"{folder.name}/RECORD,,"]) + "\n")


def _name_of(dist_info: Path) -> str:
    return dist_info.name.partition("-")[0].replace("_", "-").lower()


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return f"sha256={base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}"
