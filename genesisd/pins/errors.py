"""What can go wrong with pins beyond what every part of genesisd knows."""

from __future__ import annotations

import errno

from genesisd.errors import GenesisError

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


class BuildError(GenesisError):
    """An environment could not be built for a reason that building again will not mend."""

    code = "build"


class NoSpaceError(GenesisError):
    """The disk cannot hold the environment; ``fields`` holds folder, needed and free (bytes) where known."""

    code = "no_space"


def is_no_space(error: OSError) -> bool:
    """Whether the disk, or the quota on it, is spent."""
    return error.errno in _NO_SPACE
