"""Workers built on layers: ``use: {model, hardware, profile}``. Later layers win: model, hardware, profile, worker.

The layers' parts are put into the worker before anything is checked, so that every rule sees the whole worker; and
each part remembers where it was written, so that every complaint names that place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from genesisd import yamlfile
from genesisd.config.merge import Part, merged, part_of, without
from genesisd.patches.spec import Attribution, Name
from genesisd.supervisor.spec import WorkerFields
from genesisd.units import SpecModel
from genesisd.yamlfile import Document, Location

LayerName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
EnableFlag = Annotated[str, StringConstraints(pattern=r"^(GENESIS|SNDR)_ENABLE_[A-Z0-9_]+$")]
SECTIONS = {"model": "models", "hardware": "hardware", "profile": "profiles"}
"""What a worker may use, in the order in which it is laid, with the section that holds it."""
_DELTA = "patches_delta"


class UseSpec(SpecModel):
    """The layers of one worker, by name."""

    model: LayerName | None = None
    hardware: LayerName | None = None
    profile: LayerName | None = None


class DeltaSpec(SpecModel):
    """What a profile changes about patches. Each entry replaces the one below it whole."""

    enable: dict[EnableFlag, str] = Field(default_factory=dict)
    """Switches with their values."""
    disable: tuple[EnableFlag, ...] = ()
    """Switches that become 0, which beats whatever else switches the patch on."""
    attribution: dict[Name, Attribution] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _of_one_mind(self) -> Self:
        both = sorted(self.enable.keys() & set(self.disable))
        if both:
            raise ValueError(f"'enable' and 'disable' both name {', '.join(both)}: take it out of one of them")
        return self


class Layer(WorkerFields):
    """A model or a kind of machine: any field of a worker."""


class Profile(Layer):
    """A way of using them."""

    patches_delta: DeltaSpec = DeltaSpec()


def layered(document: Document, layers: Document) -> Document:
    """``document`` with each worker put together from the layers in ``layers`` that it uses.

    Raises:
        ConfigError: a worker uses a layer that does not exist.
    """
    content: Any = document.content
    workers: Any = content.get("workers") if isinstance(content, dict) else None
    if not isinstance(workers, dict) or not any(isinstance(one, dict) and "use" in one for one in workers.values()):
        return document
    whole: dict[str | int, object] = dict(workers)
    origins: dict[Location, tuple[Document, Location]] = {}
    for name, worker in workers.items():
        if isinstance(worker, dict) and "use" in worker:
            part = _put_together(document, name, layers)
            whole[name] = part.plain()
            origins |= {("workers", name, *at): one.origin for at, one in part.walk()}
    return replace(document, content={**content, "workers": whole}, origins=origins)


def _put_together(document: Document, name: str | int, layers: Document) -> Part:
    at: Location = ("workers", name)
    use = yamlfile.validate(UseSpec, document, (*at, "use"))
    own = without(part_of(_at(document, at), (document, at)), "use")
    whole = Part({}, own.origin)
    for kind, section in SECTIONS.items():
        wanted = getattr(use, kind)
        if wanted is not None:
            layer = _layer(layers, section, wanted, document, (*at, "use", kind))
            for part in _laid(layer):
                whole = merged(whole, part)
    return merged(whole, own)


def _layer(layers: Document, section: str, name: str, document: Document, asked: Location) -> Part:
    known = _at(layers, (section,))
    known = known if isinstance(known, dict) else {}
    if name not in known:
        near = difflib.get_close_matches(name, [str(one) for one in known], n=1)
        others = f"known: {', '.join(sorted(map(str, known)))}" if known else "there are none"
        hint = f"did you mean {near[0]!r}?" if near else others
        raise yamlfile.fault(document, asked, f"no {name!r} under {section!r}; {hint}")
    place: Location = (section, name)
    return part_of({} if known[name] is None else known[name], (layers, place))


def _laid(layer: Part) -> Iterator[Part]:
    """A layer's own fields, and then what its delta makes of them."""
    yield without(layer, _DELTA)
    inner = layer.value if isinstance(layer.value, dict) else {}
    delta = inner.get(_DELTA)
    if not isinstance(delta, Part) or not isinstance(delta.value, dict):
        return
    enable, disable, attribution = (delta.value.get(name) for name in ("enable", "disable", "attribution"))
    if disable is not None and isinstance(disable.value, list):
        env = {str(flag.value): Part("0", flag.origin) for flag in disable.value}
        yield Part({"env": Part(env, disable.origin)}, delta.origin)
    if enable is not None:
        yield Part({"env": enable}, delta.origin)
    if attribution is not None:
        yield Part({"patches": Part({"attribution": attribution}, attribution.origin)}, delta.origin)


def _at(document: Document, at: Location) -> Any:
    here: Any = document.content
    for step in at:
        here = here.get(step) if isinstance(here, dict) else None
    return here


@dataclass(frozen=True, slots=True)
class Explained:
    """One value of a worker: its field (``env.X``), what it is, and the layer, file and line that it comes from."""

    field: str
    value: object
    layer: str
    file: str
    line: int


def explain_worker(document: Document, worker: str) -> list[Explained]:
    """Every value that is written for ``worker``, by field; ``document`` is the one that ``layered`` made."""
    at: Location = ("workers", worker)
    found = []
    for where, part in part_of(_at(document, at), (document, at)).walk():
        if where and (not isinstance(part.value, dict | list) or not part.value):
            home, place = document.home((*at, *where))
            found.append(
                Explained(yamlfile.dotted(where), part.plain(), _named(place), str(home.path), home.locate(place))
            )
    return found


def _named(place: Location) -> str:
    """``model qwen``, or ``worker``."""
    kinds = {section: kind for kind, section in SECTIONS.items()}
    return f"{kinds[str(place[0])]} {place[1]}" if place[0] in kinds else "worker"
