"""What a daemon has in memory: libraries that only others need are not in it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from genesisd.telemetry.unloaded import unloaded

LOGS = """
import io, sys
import genesisd.daemon
from genesisd.telemetry import log

class Terminal(io.StringIO):
    def isatty(self):
        return True

for shape in ("human", "json"):
    end = log.configure(shape, stream=Terminal())
    try:
        int("boom")
    except ValueError:
        log.get_logger("x").exception("failed")
    end()
print(*sorted({"rich", "pygments", "markdown_it"} & {*sys.modules}))
import rich.console
print(rich.console.Console.__name__)
"""


def test_a_daemon_that_logs_has_not_loaded_rich() -> None:
    """Nor what it brings, though both are installed and structlog would: three megabytes. Who needs it can have it."""
    said = subprocess.run([sys.executable, "-c", LOGS], capture_output=True, text=True, check=True).stdout
    assert said == "\nConsole\n"


def test_what_is_unloaded_for_one_import_is_there_for_the_next(monkeypatch) -> None:
    """Also when that import fails."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with pytest.raises(ModuleNotFoundError), unloaded("colorsys"):
        import colorsys
    import colorsys

    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_what_is_loaded_already_stays() -> None:
    """Somebody has it and goes on using it."""
    with unloaded("json"):
        import json
    assert sys.modules["json"] is json
