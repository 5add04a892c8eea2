"""A program beside the tests of kernels: they run in triton's interpreter, and what compiles kernels must not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def lines_of(program: str, question: object) -> list[dict[str, Any]]:
    """What ``program`` prints, a JSON object a line; ``question`` is its first argument, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(question)],
        env=os.environ | {"TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
