"""The markers file: read strictly, so that a slip in it is told with its line and never protects nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from genesisd import yamlfile
from genesisd.errors import ConfigError
from genesisd.watch.marker_spec import Gate, Marker, MarkerFile
from genesisd.watch.refs import Ref
from genesisd.yamlfile import Document, Location

_PLACES = (Path(__file__).with_name("markers.yaml"), Path(__file__).parents[2] / "etc" / "markers.yaml")
"""In an installed package, and in a checkout."""


@dataclass(frozen=True, slots=True)
class Markers:
    """A file that was read whole.

    Attributes:
        by_ref: the markers of each pull request, in the order of the file.
        gates: pairs.
    """

    by_ref: Mapping[Ref, tuple[Marker, ...]] = field(default_factory=dict)
    gates: tuple[Gate, ...] = ()

    def of(self, ref: Ref) -> tuple[Marker, ...]:
        """The markers of one pull request."""
        return self.by_ref.get(ref, ())

    def refs(self) -> tuple[Ref, ...]:
        """Every pull request that a marker or a gate names, each once."""
        paired = [ref for gate in self.gates for ref in (gate.blocks, *gate.unless_any_of)]
        return tuple(dict.fromkeys((*self.by_ref, *paired)))


def builtin() -> Path:
    """The file that comes with the project."""
    return next((path for path in _PLACES if path.is_file()), _PLACES[-1])


def load(path: Path | None = None) -> Markers:
    """The markers at ``path``, or those that come with the project.

    Raises:
        ConfigError: with file, line, field and all problems.
    """
    document = yamlfile.load(path or builtin())
    read = yamlfile.validate(MarkerFile, document)
    problems = sorted(_problems(read), key=lambda one: document.locate(one[0]))
    if problems:
        raise _refused(document, problems)
    by_ref: dict[Ref, tuple[Marker, ...]] = {}
    for marker in read.markers:
        by_ref[marker.pr] = (*by_ref.get(marker.pr, ()), marker)
    return Markers(by_ref, read.gates)


def _problems(read: MarkerFile) -> Iterator[tuple[Location, str]]:
    """What no single row can show."""
    for n, marker in enumerate(read.markers):
        for m, pattern in enumerate(marker.absent):
            if pattern in marker.present:
                yield ("markers", n, "absent", m), "the same stands under 'present': it cannot tell the two apart"
        if marker in read.markers[:n]:
            yield ("markers", n, "pr"), f"the same row of {marker.pr} stands above"
    marked = {marker.pr for marker in read.markers}
    names: set[str] = set()
    for n, gate in enumerate(read.gates):
        if gate.id in names:
            yield ("gates", n, "id"), f"{gate.id!r} is used above already"
        names.add(gate.id)
        for m, ref in enumerate((gate.blocks, *gate.unless_any_of)):
            at: Location = ("gates", n, "blocks") if m == 0 else ("gates", n, "unless_any_of", m - 1)
            if m and ref == gate.blocks:
                yield at, f"{ref} cannot mend what it breaks"
            if ref not in marked:
                yield at, f"{ref} has no row under 'markers': add one, since a gate must be seen without a diff"


def _refused(document: Document, problems: Sequence[tuple[Location, str]]) -> ConfigError:
    faults = [yamlfile.fault(document, at, text) for at, text in problems]
    told = [one for fault in faults for one in cast("list[Any]", fault.fields["problems"])]
    first = {name: faults[0].fields[name] for name in ("file", "line", "field")}
    return ConfigError("\n".join(fault.message for fault in faults), hint=None, **first, problems=told)
