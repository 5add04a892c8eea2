"""Memory that is taken and never given back, while the control file says so."""

import time

from fakevllm.control import Control

_EVERY = 0.2
_KEPT: list[bytearray] = []


def leak_memory(control: Control) -> None:
    """Grow this process by ``rss_leak`` bytes a second, for ever."""
    last = time.monotonic()
    while True:
        time.sleep(_EVERY)
        now = time.monotonic()
        size = int(control.read()["rss_leak"] * (now - last))
        last = now
        if size > 0:
            _KEPT.append(bytearray(b"x") * size)  # written, so that it is resident


class VramLeak:
    """What an entry of the ledger has grown by."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._last = time.monotonic()
        self._grown = 0.0

    def grown(self) -> int:
        """Bytes up to now."""
        now = time.monotonic()
        self._grown += self._control.read()["vram_leak"] * (now - self._last)
        self._last = now
        return int(self._grown)
