"""``PYTHON -I bytecode.py JOB``: which sources have bytecode that may be trusted; makes what lacks it elsewhere.

Run by the Python of a pin's environment, since bytecode is one Python's own: standard library alone, and nothing of
genesisd. The job is a JSON file with ``packages`` (where the sources lie; never written to), ``own`` (where bytecode
that is made goes, laid out alike) and ``sources``. The answer is one JSON line.

Bytecode is trusted when its header holds the hash of its source and says that the hash is to be checked at each
import: times prove nothing once trees share their files. A header vouches for no code: it is trusted as built.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import py_compile
import sys
import warnings
from pathlib import Path

_CHECKED_HASH = b"\x03\x00\x00\x00"


def examine(packages: str, own: str, sources: list[str]) -> dict[str, object]:
    """Paths of sound bytecode, of bytecode made here, and sources that are not Python to this Python."""
    sound: list[str] = []
    made: list[str] = []
    without: list[str] = []
    for source in sources:
        bytecode = importlib.util.cache_from_source(source)
        if _is_sound(Path(packages, bytecode), Path(packages, source)):
            sound.append(bytecode)
        elif _compile(Path(packages, source), Path(own, bytecode), source):
            made.append(bytecode)
        else:
            without.append(source)
    python = {"python": platform.python_version(), "magic": importlib.util.MAGIC_NUMBER.hex()}
    return {**python, "tag": sys.implementation.cache_tag, "sound": sound, "made": made, "without": without}


def _is_sound(bytecode: Path, source: Path) -> bool:
    try:
        with bytecode.open("rb") as file:
            header = file.read(16)
    except OSError:
        return False
    wanted = importlib.util.source_hash(source.read_bytes())
    return header == importlib.util.MAGIC_NUMBER + _CHECKED_HASH + wanted


def _compile(source: Path, bytecode: Path, name: str) -> bool:
    """``name`` is the file's name in the code, until an import puts the true one there: so places leave no trace."""
    how = py_compile.PycInvalidationMode.CHECKED_HASH
    try:
        py_compile.compile(str(source), str(bytecode), name, doraise=True, invalidation_mode=how)
    except py_compile.PyCompileError:
        return False
    return True


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps(examine(**job)) + "\n")
