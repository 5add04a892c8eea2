"""Names in a worker's ``patches`` that lead nowhere: a waiver with a slip in it would waive nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache

from genesisd.patches.attribution import unknown_ids
from genesisd.patches.compatibility import load_compatibility
from genesisd.patches.known_bad import load_known_bad
from genesisd.patches.register import Register, load_register
from genesisd.patches.spec import PatchesSpec
from genesisd.yamlfile import Location


def name_problems(spec: PatchesSpec) -> Iterator[tuple[Location, str]]:
    """Where in a worker a name is unknown, and what was likely meant."""
    if not (spec.attribution or spec.allow_retired or spec.waive or spec.lane):
        return
    register = _register()
    for finding in unknown_ids(spec, register.find, register.records):
        yield finding.at, finding.text
    table = load_compatibility()
    if spec.lane is not None and spec.lane not in table.lanes:
        yield ("patches", "lane"), f"no lane {spec.lane!r}; {_near(spec.lane, [*table.lanes])}"
    findings = [*(row.id for row in load_known_bad()), *(one.name for one in table.conflicts)]
    for n, name in enumerate(spec.waive):
        if name not in findings and name not in register.records:
            yield ("patches", "waive", n), f"{name!r} is no finding that could be waived; {_near(name, findings)}"


def _near(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


@cache
def _register() -> Register:
    return load_register()
