"""Libraries that another library loads wherever they are installed, though nothing here comes of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def unloaded(name: str) -> Iterator[None]:
    """What is imported within takes the package ``name`` for not installed; afterwards it can be imported as ever.

    None in sys.modules is the import system's own word for that. One that is loaded already stays what it is. For
    the top of a module that is loaded before there are threads: the word holds for all of them.
    """
    modules: dict[str, Any] = sys.modules
    if name in modules:
        yield
        return
    modules[name] = None
    try:
        yield
    finally:
        del modules[name]
