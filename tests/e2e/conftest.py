"""Boxes with a real daemon and fake workers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.box import Box


@pytest.fixture
def box() -> Iterator[Callable[..., Box]]:
    """``box(workers, daemon={...})``: a started daemon; ended with all its workers when the test is over."""
    boxes: list[Box] = []
    # Short: a worker's TMPDIR may have at most 70 characters, and pytest's own folders are long.
    with tempfile.TemporaryDirectory(prefix="gbox-") as folder:

        def make(workers: dict[str, Any], *, start: bool = True, **daemon: Any) -> Box:
            own = Path(folder, str(len(boxes)))
            own.mkdir()
            one = Box(own, workers, daemon)
            boxes.append(one)
            return one.start() if start else one

        yield make
        for one in boxes:
            one.finish()
