"""The interpreter that a pin wants: the running one when it fits, else the first on PATH that really starts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from genesisd.errors import NotFoundError

_ASK = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"
_PATIENCE = 30.0


def find_python(version: str) -> Path:
    """An interpreter of ``version`` (such as 3.11) that can make environments.

    Raises:
        NotFoundError: none is there; the message tells one without venv from none at all.
    """
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == version:
        return Path(sys.executable)
    complaints = []
    for path in _candidates(f"python{version}"):
        said = _ask(path)
        if said == version:
            return path
        complaints.append(f"{path}: {said}")
    found = f" ({'; '.join(complaints)})" if complaints else ""
    raise NotFoundError(
        f"no usable Python {version} on PATH{found}",
        hint=f"install python{version} with its venv module, or put it on PATH",
        python=version,
    )


def _candidates(name: str) -> list[Path]:
    """All of that name on PATH: a version switcher's stub may stand before the real one, and fail."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = (shutil.which(name, path=folder) for folder in folders if folder)
    return list(dict.fromkeys(Path(one) for one in found if one))


def _ask(python: Path) -> str:
    try:
        done = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start: {error}"
    if done.returncode == 0:
        return done.stdout.strip()
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"
