"""The kernels in triton's interpreter, on the CPU, where torch and triton can be had."""

from __future__ import annotations

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when a kernel is defined
