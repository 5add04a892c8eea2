"""Looking at a configuration without using it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import genesisd
from genesisd.config.accounts import complaints, environ_complaints
from genesisd.config.root import Config, load
from genesisd.control.views import ConfigCheckView, ConfigFault
from genesisd.errors import ConfigError
from genesisd.patches.attribution import Severity
from genesisd.patches.catalog import catalog
from genesisd.pins.catalog import load_pins


def check_file(path: Path) -> ConfigCheckView:
    """Every fault of the file, its drop-ins and its pins file."""
    try:
        config = load(path)
        if config.pins is not None:
            load_pins(config.pins)
    except ConfigError as error:
        return ConfigCheckView(str(path), (), _faults(error))
    return ConfigCheckView(str(path), tuple(config.workers), tuple(_patch_faults(config)))


def _patch_faults(config: Config) -> Iterator[ConfigFault]:
    """What would keep a worker from starting; the daemon itself starts, and blocks that worker alone."""
    told = [*environ_complaints(config, catalog()), *complaints(config, catalog(), genesisd.__version__)]
    for one in told:
        if one.severity is Severity.ERROR:
            yield ConfigFault(str(one), one.file, one.line, one.field)


def _faults(error: ConfigError) -> tuple[ConfigFault, ...]:
    """A YAML reader finds one fault at a time, the schema all of its own at once."""
    problems = error.fields.get("problems")
    if not isinstance(problems, list) or not problems:
        return (ConfigFault(error.message, _text(error.fields.get("file")), hint=error.hint),)
    return tuple(
        ConfigFault(
            message=f"{error.fields['file']}:{one['line']}: {one['field'] or 'the file'}: {one['problem']}",
            file=_text(error.fields.get("file")),
            line=one["line"],
            field=one["field"],
            hint=error.hint,
        )
        for one in problems
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
