"""Casebooks from files: the project's own general one, and those that a model's owner writes."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from pathlib import Path

from genesisd import yamlfile
from genesisd.probes.casebook import Casebook
from genesisd.probes.casebook_file import CasebookFile

GENERAL = Path(__file__).with_name("general.yaml")


def load(path: Path) -> Casebook:
    """The casebook in the file at ``path``.

    Raises:
        ConfigError: unreadable, an unknown field, a wrong type, an id twice; it names the file, the line and the field.
    """
    document = yamlfile.load(path)
    checked = yamlfile.validate(CasebookFile, document)
    for part in ("golden", "tools", "structured", "reasoning"):
        seen: set[str] = set()
        for place, case in enumerate(getattr(checked, part)):
            if case.id in seen:
                raise yamlfile.fault(document, (part, place, "id"), f"{case.id!r} stands twice in {part}")
            seen.add(case.id)
    return dataclasses.replace(checked.made(), vouched=path != GENERAL)


@functools.cache
def general() -> Casebook:
    """What any instruct model can be asked."""
    return load(GENERAL)


def digest(casebook: Casebook) -> str:
    """Of everything that is asked and expected, 16 hexadecimal digits; the name is no part of it."""
    content = {key: value for key, value in dataclasses.asdict(casebook).items() if key not in {"name", "vouched"}}
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def label(casebook: Casebook) -> str:
    """Name and digest, by which a recording says what was asked."""
    return f"{casebook.name}@{digest(casebook)}"
