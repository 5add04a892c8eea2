"""What the engine does by itself from some version on, so that a patch for it would do it twice.

native_features.yaml is the data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from genesisd.patches.tables import Day, Pin, RowName, Text, Upstream, load_table, refuse, twice
from genesisd.units import SpecModel
from genesisd.versions import parse_version
from genesisd.yamlfile import Location

NATIVE = Path(__file__).with_name("native_features.yaml")


class Feature(SpecModel):
    """One thing that the engine does by itself."""

    name: RowName
    what: Text
    knob: Text | None = None
    """How it is switched; None for what is always on."""
    since: Pin
    """The first version that has it."""
    upstream: tuple[Upstream, ...] = ()
    caveats: tuple[Text, ...] = ()
    verified_on: Pin
    """The last version on which it was looked at."""
    verified: Day
    duplicates: tuple[str, ...] = ()
    """Ids of patches that do the same."""


class Features(SpecModel):
    """The table."""

    features: tuple[Feature, ...]


@cache
def load_native(path: Path = NATIVE) -> tuple[Feature, ...]:
    """The table at ``path``. Raises ConfigError with file, line and field."""
    spec, document = load_table(path, Features, _ids)
    names: list[tuple[Location, str]] = [(("features", n, "name"), one.name) for n, one in enumerate(spec.features)]
    early: list[tuple[Location, str | None]] = [
        (("features", n, "verified_on"), f"older than {one.since}, the first version that has it")
        for n, one in enumerate(spec.features)
        if parse_version(one.verified_on) < parse_version(one.since)
    ]
    refuse(document, [*twice(names), *early])
    return spec.features


def _ids(spec: Features) -> Iterator[tuple[Location, str]]:
    for n, feature in enumerate(spec.features):
        for m, name in enumerate(feature.duplicates):
            yield ("features", n, "duplicates", m), name


def duplicates(version: str, patches: Collection[str], features: tuple[Feature, ...] | None = None) -> tuple[str, ...]:
    """A warning for each of ``patches`` that does what the engine of ``version`` does by itself."""
    seen = parse_version(version)
    return tuple(
        f"{name} does what the engine does by itself since {one.since}: {one.what}"
        + (f" ({one.knob})" if one.knob else "")
        for one in (load_native() if features is None else features)
        if seen >= parse_version(one.since)
        for name in sorted(set(one.duplicates).intersection(patches))
    )
