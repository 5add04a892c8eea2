"""Looking at a configuration without using it."""

from __future__ import annotations

from pathlib import Path

from genesisd.config.root import load
from genesisd.control.views import ConfigCheckView, ConfigFault
from genesisd.errors import ConfigError
from genesisd.pins.catalog import load_pins


def check_file(path: Path) -> ConfigCheckView:
    """Every fault of the file, its drop-ins and its pins file."""
    try:
        config = load(path)
        if config.pins is not None:
            load_pins(config.pins)
    except ConfigError as error:
        return ConfigCheckView(str(path), (), tuple(map(_fault, _all(error))))
    return ConfigCheckView(str(path), tuple(config.workers))


def _all(error: ConfigError) -> list[ConfigError]:
    """A YAML reader finds one fault at a time, the schema all of its own at once."""
    problems = error.fields.get("problems")
    found = [one for one in problems if isinstance(one, ConfigError)] if isinstance(problems, list | tuple) else []
    return found or [error]


def _fault(error: ConfigError) -> ConfigFault:
    line, file, field = error.fields.get("line"), error.fields.get("file"), error.fields.get("field")
    return ConfigFault(
        message=error.message,
        file=None if file is None else str(file),
        line=line if isinstance(line, int) else None,
        field=None if field is None else str(field),
        hint=error.hint,
    )
