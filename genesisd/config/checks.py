"""Rules between parts of the configuration, which no single model sees. Faults name the line that to change."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from genesisd import yamlfile
from genesisd.config.patch_names import name_problems
from genesisd.config.paths import TMPDIR_LIMIT, UNIX_LIMIT, Paths
from genesisd.config.probe_checks import probe_problems
from genesisd.errors import ConfigError
from genesisd.supervisor.spec import SCRATCH, WorkerSpec
from genesisd.units import Address
from genesisd.yamlfile import Document, Location

Workers = Mapping[str, WorkerSpec]
_PLAIN = "the probes speak plain HTTP to the engine; end TLS before the front"
_OWN_FLAGS = {
    "--host": "use 'listen'",
    "--port": "use 'listen' for the public port, and 'engine_port' for the engine's own",
    "--uds": "use 'listen'",
    "--served-model-name": "use 'served_model_name'",
    "--api-key": "set VLLM_API_KEY in 'env', from where the probes know it too",
    "--ssl-keyfile": _PLAIN,
    "--ssl-certfile": _PLAIN,
}
_ANY = {"0.0.0.0", "::"}


@dataclass(slots=True)
class Sources:
    """Which document each worker came from."""

    main: Document
    workers: dict[str, Document] = field(default_factory=dict)

    def fault(self, worker: str, rest: Location, problem: str) -> ConfigError:
        """A fault in a worker's part."""
        return yamlfile.fault(self.workers[worker], ("workers", worker, *rest), problem)


def check(sources: Sources, workers: Workers, *, metrics: Address | None, paths: Paths, pins: Path | None) -> None:
    """Every rule; raises one ConfigError that lists all faults, the first one first."""
    faults = [
        *_names(sources, workers),
        *_references(sources, workers),
        *_cycles(sources, workers),
        *_addresses(sources, workers, metrics),
        *_cards(sources, workers),
        *_pins(sources, workers, pins),
        *_flags(sources, workers),
        *_patches(sources, workers),
        *_probes(sources, workers),
        *_lengths(sources, workers, paths),
    ]
    if not faults:
        return
    first = faults[0]
    problems = [one for fault in faults for one in cast("list[object]", fault.fields["problems"])]
    text = "\n".join(fault.message for fault in faults)
    raise ConfigError(text, hint=first.hint, **{**first.fields, "problems": problems})


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(sorted(known))}" if known else "there are none"


def _names(sources: Sources, workers: Workers) -> Iterator[ConfigError]:
    for name in workers:
        if name.startswith(SCRATCH):
            yield sources.fault(
                name, (), f"names that begin with {SCRATCH!r} are those of the daemon's own experiments"
            )


def _references(sources: Sources, workers: Workers) -> Iterator[ConfigError]:
    for name, spec in workers.items():
        for relation, others in (("after", spec.after), ("requires", spec.requires)):
            for n, other in enumerate(others):
                if other not in workers:
                    others_known = [one for one in workers if one != name]
                    yield sources.fault(name, (relation, n), f"no worker {other!r}; {_near(other, others_known)}")


def _cycles(sources: Sources, workers: Workers) -> Iterator[ConfigError]:
    """Depth first, without recursion: a chain of a thousand workers is odd but legal."""
    done: set[str] = set()
    for root in workers:
        trail: list[str] = []
        stack = [(root, iter(_before(workers, root)))] if root not in done else []
        while stack:
            name, others = stack[-1]
            if not trail or trail[-1] != name:
                trail.append(name)
            step = next((other for other in others if other not in done), None)
            if step is None:
                done.add(name)
                trail.pop()
                stack.pop()
            elif step in trail:
                yield _cycle(sources, workers, [*trail[trail.index(step) :], step])
            else:
                stack.append((step, iter(_before(workers, step))))


def _before(workers: Workers, name: str) -> list[str]:
    return [other for other in (*workers[name].after, *workers[name].requires) if other in workers]


def _cycle(sources: Sources, workers: Workers, names: list[str]) -> ConfigError:
    last, back = names[-2], names[-1]
    relation = "after" if back in workers[last].after else "requires"
    others = getattr(workers[last], relation)
    text = f"workers wait for each other: {' -> '.join(names)}"
    return sources.fault(last, (relation, others.index(back)), text)


@dataclass(frozen=True, slots=True)
class _Claim:
    address: Address
    who: str
    worker: str | None
    at: Location


def _claims(workers: Workers, metrics: Address | None) -> Iterator[_Claim]:
    for name, spec in workers.items():
        if spec.listen is not None:
            yield _Claim(spec.listen, f"workers.{name}.listen", name, ("listen",))
        if spec.engine_port is not None and (spec.front.enabled or spec.listen is None):
            engine = Address(host="127.0.0.1", port=spec.engine_port)
            yield _Claim(engine, f"workers.{name}.engine_port", name, ("engine_port",))
    if metrics is not None:
        yield _Claim(metrics, "daemon.metrics.listen", None, ("daemon", "metrics", "listen"))


def _addresses(sources: Sources, workers: Workers, metrics: Address | None) -> Iterator[ConfigError]:
    by_port: dict[int, list[_Claim]] = {}
    for claim in _claims(workers, metrics):
        others = by_port.setdefault(claim.address.port, [])
        taken = next((one for one in others if _overlap(one.address.host, claim.address.host)), None)
        others.append(claim)
        if taken is None:
            continue
        text = f"{claim.address} is taken by {taken.who} ({taken.address})"
        if claim.worker is None:
            yield yamlfile.fault(sources.main, claim.at, text)
        else:
            yield sources.fault(claim.worker, claim.at, text)


def _overlap(one: str, other: str) -> bool:
    first, second = ("127.0.0.1" if host.lower() == "localhost" else host.lower() for host in (one, other))
    return first == second or first in _ANY or second in _ANY


def _cards(sources: Sources, workers: Workers) -> Iterator[ConfigError]:
    owners: dict[int, list[str]] = {}
    for name, spec in workers.items():
        for n, card in enumerate(spec.gpus):
            if card < 0:
                yield sources.fault(name, ("gpus", n), f"a card's index starts at 0, not {card}")
            if card in spec.gpus[:n]:
                yield sources.fault(name, ("gpus", n), f"card {card} is named twice")
                continue
            rivals = [one for one in owners.setdefault(card, []) if not (spec.share_gpus and workers[one].share_gpus)]
            owners[card].append(name)
            if rivals:
                text = f"card {card} belongs to worker {rivals[0]!r}; choose another, or set share_gpus on both"
                yield sources.fault(name, ("gpus", n), text)


def _pins(sources: Sources, workers: Workers, pins: Path | None) -> Iterator[ConfigError]:
    users = {name: spec.pin for name, spec in workers.items() if spec.pin is not None}
    if pins is None:
        for name in users:
            yield sources.fault(name, ("pin",), "there is no pins file; set 'pins' at the top level of the main file")
        return
    if not pins.exists():
        yield yamlfile.fault(sources.main, ("pins",), f"{pins} does not exist")
        return
    known = pin_ids(yamlfile.load(pins))
    for name, pin in users.items():
        if pin not in known:
            yield sources.fault(name, ("pin",), f"no pin {pin!r} in {pins}; {_near(pin, known)}")


def _flags(sources: Sources, workers: Workers) -> Iterator[ConfigError]:
    """With a flag of the daemon's own given twice the engine would be elsewhere than where it is asked."""
    for name, spec in workers.items():
        for n, arg in enumerate(spec.args if spec.pin is not None else ()):
            flag = arg.partition("=")[0]
            if (instead := _OWN_FLAGS.get(flag.replace("_", "-"))) is not None:
                yield sources.fault(name, ("args", n), f"{flag} is the daemon's to set: {instead}")


def _patches(sources: Sources, workers: Workers) -> Iterator[ConfigError]:
    for name, spec in workers.items():
        for at, text in name_problems(spec.patches):
            yield sources.fault(name, at, text)


def _probes(sources: Sources, workers: Workers) -> Iterator[ConfigError]:
    for name, spec in workers.items():
        for at, text in probe_problems(spec):
            yield sources.fault(name, at, text)


def pin_ids(document: Document) -> list[str]:
    """The ids in a pins file. Only the names: what a pin means is for ``pins`` to check."""
    content: Any = document.content
    pins = content.get("pins") if isinstance(content, dict) else None
    if isinstance(pins, dict):
        return [str(name) for name in pins]
    if isinstance(pins, list):
        return [str(one["id"]) for one in pins if isinstance(one, dict) and "id" in one]
    return []


def _lengths(sources: Sources, workers: Workers, paths: Paths) -> Iterator[ConfigError]:
    if len(str(paths.socket).encode()) > UNIX_LIMIT:
        text = f"{paths.socket} is longer than {UNIX_LIMIT} bytes, which no Unix socket's path can be"
        own = ("daemon", "control", "socket")
        at = own if own in sources.main.lines else ("daemon", "runtime_dir")
        yield yamlfile.fault(sources.main, at, text)
    for name in workers:
        folder = str(paths.worker_tmp(name))
        if len(folder.encode()) > TMPDIR_LIMIT:
            text = (
                f"the worker's TMPDIR {folder} would be longer than {TMPDIR_LIMIT} bytes, and sockets below it"
                " too long to bind; choose a shorter runtime_dir"
            )
            yield yamlfile.fault(sources.main, ("daemon", "runtime_dir"), text)
            return
