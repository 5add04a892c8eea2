"""The files that patches name, read from a tree as planning wants them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from genesisd.errors import ConfigError
from genesisd.patches.model import Patch


def read_texts(root: Path, patches: Sequence[Patch]) -> dict[str, str]:
    """The files below ``root``, as far as they are there: each read once, line endings as they are.

    Raises:
        ConfigError: one of them is not UTF-8, or cannot be read.
    """
    names = {edit.path for patch in patches for edit in patch.edits}
    names |= {marker.path for patch in patches for marker in patch.markers}
    found = {}
    for name in sorted(names):
        path = root / name
        try:
            found[name] = path.read_bytes().decode()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except UnicodeDecodeError as error:
            told = f"{path}: not UTF-8 at byte {error.start}"
            raise ConfigError(told, hint="no patch can be planned on such a file; is the tree whole?") from None
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    return found
