"""One timer a name, on the running loop: set anew, cancelled, gone when it fires."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Timers:
    """Calls later, unless told otherwise."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._handles: dict[str, asyncio.TimerHandle] = {}

    def set(self, name: str, call: Callable[..., None], *arguments: Any) -> None:
        """Call after the time; a timer that runs already begins anew."""
        self.cancel(name)
        loop = asyncio.get_running_loop()
        self._handles[name] = loop.call_later(self._seconds, self._fire, name, call, arguments)

    def cancel(self, name: str) -> None:
        """Nothing where none runs."""
        if (handle := self._handles.pop(name, None)) is not None:
            handle.cancel()

    def close(self) -> None:
        """Cancel all."""
        for name in tuple(self._handles):
            self.cancel(name)

    def _fire(self, name: str, call: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._handles.pop(name, None)
        call(*arguments)
