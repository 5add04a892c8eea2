"""The tree that a command looks at: a folder somebody names, or that of a pin."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from packaging.version import InvalidVersion, Version

from genesisd.cli.pins import daemons_config
from genesisd.cli.session import Session, usage
from genesisd.errors import NotFoundError
from genesisd.versions import parse_version

if TYPE_CHECKING:
    from genesisd.config.root import Config
    from genesisd.pins.spec import PinSpec

_INFO = re.compile(r"vllm(?:_cpu)?-(.+)\.dist-info")


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder that holds the package ``vllm``, and the version that it is of."""

    root: Path
    version: Version
    name: str


@dataclass(frozen=True, slots=True)
class Where:
    """What was said on the command line about where to look."""

    tree: str | None = None
    version: str | None = None
    pin: str | None = None
    config: str | None = None
    pins: str | None = None
    cache: str | None = None


_OPTIONS = {
    "--tree": ("DIR", "A folder that holds the package vllm, such as site-packages."),
    "--version": ("V", "The version of --tree, where its dist-info does not tell."),
    "--pin": ("ID", "The tree of a pin."),
    "--config": ("FILE", "Configuration that names pins file and cache. [default: the running daemon's]"),
    "--pins": ("FILE", "Pins file, instead of the configuration's."),
    "--cache": ("DIR", "Where environments and trees are kept, instead of the configuration's."),
}


def where_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose a tree; the command gets them as one ``where``."""

    @functools.wraps(function)
    def gathered(*given: Any, **options: Any) -> Any:
        said = {name.removeprefix("--"): options.pop(name.removeprefix("--")) for name in _OPTIONS}
        return function(*given, where=Where(**said), **options)

    command: Callable[..., Any] = gathered
    for name, (metavar, told) in reversed(_OPTIONS.items()):
        command = click.option(name, metavar=metavar, help=told)(command)
    return command


def chosen(session: Session, where: Where) -> Tree:
    """The one tree that is meant.

    Raises:
        ControlError: none was named, or two.
        NotFoundError: it is not there.
        ConfigError: configuration or pins file cannot be used.
    """
    if (where.tree is None) == (where.pin is None):
        raise usage("which tree? Say --pin ID or --tree DIR, and not both", "genesisctl pins list")
    if where.tree is not None:
        return folder(Path(where.tree), where.version)
    assert where.pin is not None  # noqa: S101 - one of the two is set
    pin, cache = pin_of(session, where)
    return of_pin(pin, cache)


def pin_of(session: Session, where: Where) -> tuple[PinSpec, Path]:
    """The pin that ``--pin`` means, and the cache folder."""
    from genesisd.pins.catalog import find_pin, load_pins  # noqa: PLC0415 - a tree needs none of it, and is in a hurry

    pins, cache = where.pins and Path(where.pins), where.cache and Path(where.cache).expanduser()
    if not pins or not cache:
        config = configuration(session, where.config)
        pins, cache = pins or pins_file(config), cache or config.paths.cache_dir
    return find_pin(load_pins(pins), where.pin or ""), cache


def pins_file(config: Config) -> Path:
    """The pins file of a configuration; raises ControlError where it names none."""
    if config.pins is None:
        raise usage("the configuration names no pins file", "say --pins FILE")
    return config.pins


def configuration(session: Session, file: str | None) -> Config:
    """The configuration at ``file``, else the running daemon's."""
    from genesisd.config.root import load  # noqa: PLC0415 - takes longer to import than most commands to run

    path = Path(file or daemons_config(session))
    if file is None and not path.exists():
        raise usage(f"no daemon is running, and there is no {path}", "say --config FILE")
    return load(path)


def of_pin(pin: PinSpec, cache: Path) -> Tree:
    """The tree of the pin's environment, or the one that was fetched to be looked at."""
    from genesisd.pins.environment import find_environment  # noqa: PLC0415 - as above
    from genesisd.pins.trees import find_tree  # noqa: PLC0415 - as above

    environment = find_environment(pin, cache)
    found = next(environment.path.glob("lib/python*/site-packages"), None) if environment else None
    found = found or find_tree(pin.package, pin.version, cache)
    if found is None:
        told = f"the pin {pin.id} is not built, and its sources are not in {cache}"
        raise NotFoundError(told, hint=f"genesisctl pins build {pin.id}", pin=pin.id)
    return Tree(found, parse_version(pin.version), pin.id)


def folder(root: Path, version: str | None = None) -> Tree:
    """The tree at ``root``, whose version is told by the dist-info beside the package, unless it is given."""
    if not (root / "vllm").is_dir():
        inside = root.name == "vllm" and (root / "__init__.py").exists()
        hint = f"say --tree {root.parent}" if inside else "name the folder that holds vllm/, such as a site-packages"
        raise NotFoundError(f"{root} holds no folder vllm", hint=hint, path=str(root))
    told = version or next((m[1] for f in root.glob("vllm*.dist-info") if (m := _INFO.fullmatch(f.name))), None)
    if told is None:
        raise usage(f"nothing in {root} tells its version: there is no vllm-*.dist-info", "say --version V")
    try:
        return Tree(root, parse_version(told), root.name)
    except (InvalidVersion, ValueError):
        raise usage(f"{told!r} is no version", "write it as 0.32.0, or as git describe does") from None
