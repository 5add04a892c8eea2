"""What changed between two configurations, and what it takes to apply it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from genesisd.config.root import Config
from genesisd.patches.policy import DROPS
from genesisd.supervisor.spec import WorkerSpec
from genesisd.units import SpecModel

LAUNCH = frozenset(
    {
        "pin", "command", "runner", "model", "served_model_name", "args", "env", "listen", "engine_port",
        "front.enabled", "gpus", "cwd", "patches.policy", "patches.extra_env", "patches.allow_retired",
        "patches.waive", "patches.lane",
    }
)  # fmt: skip
"""Fields that a running process was started with: a change needs a new incarnation."""
LIVE = frozenset(
    {
        "front.hold", "front.max_held", "share_gpus", "vram_free", "after", "requires", "autostart", "start", "stop",
        "restart", "probes", "log", "patches.attribution",
    }
)  # fmt: skip
"""Fields that take effect while the worker runs, or with its next start (``log``, ``vram_free``).

Attribution is here, since a note must not cost a restart; see ``roles`` for the part of it that does.
"""
DAEMON_LIVE = frozenset({"log.level", "port_range"})
"""Daemon settings that a reload applies; every other one needs a daemon restart."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One worker that is in both configurations and differs.

    Attributes:
        old: its spec before.
        new: its spec now.
        fields: dotted names of what differs, in the order of the spec.
        restart: some of them are launch fields.
    """

    old: WorkerSpec
    new: WorkerSpec
    fields: tuple[str, ...]
    restart: bool


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """Names in the order of the new configuration (removed ones in that of the old)."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: dict[str, Changed]
    daemon_live: tuple[str, ...]
    """Daemon fields that a reload applies."""
    daemon_restart: tuple[str, ...]
    """Daemon fields that wait for a daemon restart."""
    pins: bool
    """The pins file is another one."""

    @property
    def empty(self) -> bool:
        """Nothing differs."""
        return not (self.added or self.removed or self.changed or self.daemon_live or self.daemon_restart or self.pins)


def diff(old: Config, new: Config) -> ConfigDiff:
    """What a reload from ``old`` to ``new`` means."""
    daemon = tuple(f"daemon.{name}" for name in _differing(old.daemon, new.daemon))
    live = tuple(name for name in daemon if _listed(name.removeprefix("daemon."), DAEMON_LIVE))
    return ConfigDiff(
        added=tuple(name for name in new.workers if name not in old.workers),
        removed=tuple(name for name in old.workers if name not in new.workers),
        changed={
            name: changed(old.workers[name], spec)
            for name, spec in new.workers.items()
            if name in old.workers and old.workers[name] != spec
        },
        daemon_live=live,
        daemon_restart=tuple(name for name in daemon if name not in live),
        pins=old.pins != new.pins,
    )


def changed(old: WorkerSpec, new: WorkerSpec) -> Changed:
    """How two specs of one worker differ."""
    fields = tuple(_differing(old, new))
    restart = any(_listed(name, LAUNCH) for name in fields) or roles(old) != roles(new)
    return Changed(old, new, fields, restart=restart)


def roles(spec: WorkerSpec) -> dict[str, str]:
    """The roles by which the worker's policy drops patches: they are part of what it is started with."""
    by_role = any(DROPS[policy] for policy in (spec.patches.policy,) if policy is not None)
    return {name: str(entry.role) for name, entry in spec.patches.attribution.items()} if by_role else {}


def _differing(old: BaseModel, new: BaseModel, prefix: str = "") -> Iterator[str]:
    for name in type(new).model_fields:
        one, other = getattr(old, name), getattr(new, name)
        if one == other:
            continue
        if isinstance(one, SpecModel) and type(one) is type(other):
            yield from _differing(one, other, f"{prefix}{name}.")
        else:
            yield prefix + name


def _listed(field: str, names: frozenset[str]) -> bool:
    """The field, or a part that it belongs to, is in ``names``."""
    parts = field.split(".")
    return any(".".join(parts[:n]) in names for n in range(1, len(parts) + 1))
