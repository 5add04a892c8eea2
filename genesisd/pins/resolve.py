"""Which distributions a pin needs, chosen by pip and written down, so that an interrupted build goes on with the same.

The configured indexes are asked first. Only a build that all of them answered and none of them has is fetched
from the pin's fallback index, which is asked for that one package and nothing else.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from genesisd.pins import atomic
from genesisd.pins.complaint import Conflict, Missing, Unreachable, exact_requirements, redact
from genesisd.pins.failure import build_failure
from genesisd.pins.pip import Pip, PipFailed
from genesisd.pins.progress import Progress, Report, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from genesisd.pins.spec import FallbackIndex, PinSpec


@dataclass(frozen=True)
class Resolved:
    """One archive that the environment is made of."""

    name: str
    version: str
    url: str
    sha256: str | None
    """As the index gave it; None when it gave none."""
    direct: bool
    """Named by URL, not found through an index."""

    @property
    def filename(self) -> str:
        """Name of the wheel."""
        return urllib.parse.unquote(Path(urllib.parse.urlsplit(self.url).path).name)


def resolve(pin: PinSpec, pip: Pip, report: Report) -> tuple[Resolved, ...]:
    """The archives of ``pin`` less those it drops. Raises NotFoundError, UnavailableError, ConflictError, BuildError."""
    record = pip.work / "resolution.json"
    known = atomic.read_json(record)
    if known is None:
        report(Progress(Step.RESOLVE, f"asking pip what {pin.package} {pin.version} needs"))
        known = [asdict(one) for one in _archives(_ask_with_fallback(pin, pip, report))]
        atomic.write_json(record, known)
    dropped = {one.name for one in pin.drop}
    chosen = tuple(one for one in (Resolved(**item) for item in known) if one.name not in dropped)
    report(Progress(Step.RESOLVE, f"{len(chosen)} distributions, {len(known) - len(chosen)} dropped", 1, 1))
    return chosen


def _ask_with_fallback(pin: PinSpec, pip: Pip, report: Report) -> Any:
    """At most one fallback a package: each round brings another package, or fails for good."""
    fetched: set[str] = set()
    while True:
        try:
            return _ask(pin, pip, report)
        except PipFailed as failed:
            lacking = _lacking(pin, failed, fetched)
            if lacking is None:
                raise build_failure(pin, failed.complaint, pip.work) from None
            fallback, name, version = lacking
            _fetch_from_fallback(pin, pip, report, fallback, f"{name}=={version}")
            fetched.add(name)


def _ask(pin: PinSpec, pip: Pip, report: Report) -> Any:
    wanted, bounds, answer = (pip.work / name for name in ("wanted.txt", "bounds.txt", "report.json"))
    wanted.write_text("\n".join((own_requirement(pin), *pin.requirements)) + "\n")
    bounds.write_text("\n".join(pin.constraints) + "\n")
    links = _fallback_folder(pip)
    links.mkdir(exist_ok=True)
    arguments = ("--dry-run", "--ignore-installed", "--only-binary=:all:", "--report", str(answer))
    found = ("--find-links", str(links), "--constraint", str(bounds), "--requirement", str(wanted))
    pip.configured("install", *arguments, *found, on_line=_teller(report))
    return atomic.read_json(answer)


def own_requirement(pin: PinSpec) -> str:
    """How pip is told about the pin's own package."""
    if pin.source.wheel is None:
        return f"{pin.package}=={pin.version}"
    url = Path(pin.source.wheel).as_uri() if pin.source.wheel.startswith("/") else pin.source.wheel
    return f"{pin.package} @ {url}" + (f"#sha256={pin.source.sha256}" if pin.source.sha256 else "")


def _lacking(pin: PinSpec, failed: PipFailed, fetched: set[str]) -> tuple[FallbackIndex, str, str] | None:
    """What a fallback may bring: nothing after an outage, nor for a package that it brought already."""
    if not isinstance(failed.complaint, Missing | Conflict):
        return None
    named = exact_requirements(failed.output)
    for fallback in pin.source.fallback:
        for name in fallback.packages:
            if name in named and name not in fetched:
                return fallback, name, named[name]
    return None


def _fetch_from_fallback(pin: PinSpec, pip: Pip, report: Report, fallback: FallbackIndex, wanted: str) -> None:
    report(Progress(Step.RESOLVE, f"the configured indexes lack {wanted}; asking {redact(fallback.index)}"))
    only = ("--no-deps", "--only-binary=:all:", "--index-url", fallback.index, "--dest", str(_fallback_folder(pip)))
    try:
        pip.configured("download", *only, wanted)
    except PipFailed as failed:
        complaint = failed.complaint
        if isinstance(complaint, Unreachable) and not complaint.url:
            complaint = Unreachable(redact(fallback.index), complaint.reason)
        raise build_failure(pin, complaint, pip.work) from None


def _fallback_folder(pip: Pip) -> Path:
    return pip.work / "fallback"


def _archives(answer: Any) -> list[Resolved]:
    return sorted((_archive(item) for item in answer["install"]), key=lambda one: one.name)


def _archive(item: Any) -> Resolved:
    came = item["download_info"]
    archive = came.get("archive_info", {})
    sha256 = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").removeprefix("sha256=") or None
    name = canonicalize_name(item["metadata"]["name"])
    return Resolved(name, item["metadata"]["version"], came["url"], sha256, item.get("is_direct", False))


def _teller(report: Report) -> Callable[[str], None]:
    """Pip's lines about what it looks at, as progress."""

    def on_line(line: str) -> None:
        if line.lstrip().startswith(("Collecting", "Downloading", "Processing")):
            report(Progress(Step.RESOLVE, redact(line.strip().split(" (from ")[0])))

    return on_line
