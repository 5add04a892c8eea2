"""One run of the tool: the options of genesisctl, and the catalog and register, read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import genesisd
from genesisd.cli.session import Session, usage
from genesisd.errors import NotFoundError
from genesisd.patches.catalog import catalog
from genesisd.patches.model import Patch
from genesisd.patches.tier import tier_of

if TYPE_CHECKING:
    from genesisd.patches.register import Register

CHECKOUT = Path(genesisd.__file__).parents[1]
"""Where a clone of the project begins; an installed package has no tests and documents beside it."""


@dataclass
class Tool(Session):
    """The session, and what there is to talk about; tests bring their own."""

    load_patches: Callable[[], tuple[Patch, ...]] = catalog
    load_ids: Callable[[], Register] | None = None
    checkout: Path = CHECKOUT

    @cached_property
    def patches(self) -> tuple[Patch, ...]:
        """The implemented patches, in the order of people."""
        return self.load_patches()

    @cached_property
    def by_id(self) -> dict[str, Patch]:
        """The same, to be found."""
        return {patch.id: patch for patch in self.patches}

    @cached_property
    def register(self) -> Register:
        """Every id that was ever named."""
        if self.load_ids is not None:
            return self.load_ids()
        from genesisd.patches.register import load_register  # noqa: PLC0415 - not every command asks for an id

        return load_register()

    def id_of(self, name: str) -> str:
        """The id that ``name`` means, in any case of letters; raises NotFoundError that names the nearest."""
        folded = {patch.casefold(): patch for patch in self.by_id}
        return folded.get(name.casefold()) or self.register.resolve(name)

    def patch(self, name: str) -> Patch:
        """The implemented patch called ``name``; raises NotFoundError, also for an id that is only known."""
        found = self.id_of(name)
        if found not in self.by_id:
            told = f"{found} is known, and this project does not implement it"
            raise NotFoundError(told, hint=f"genesisctl patches show {found} says what is known", patch=found)
        return self.by_id[found]

    def tier(self, patch: Patch) -> str:
        """Whose ``patch`` is."""
        return str(tier_of(patch, self.public).tier)

    @property
    def public(self) -> frozenset[str]:
        """Ids on the public repository: what comes with the project, and what the public lists ever named."""
        return frozenset((*self.by_id, *self.register.records))

    def needed(self, patch: Patch) -> list[Patch]:
        """``patch`` and all that it requires or stands on, itself first."""
        found = [patch.id]
        for name in found:
            more = (*self.by_id[name].requires, *self.by_id[name].bases()) if name in self.by_id else ()
            found += [one for one in more if one not in found]
        return [self.by_id[name] for name in found if name in self.by_id]

    def in_checkout(self, part: str) -> Path:
        """A folder of the clone; raises ControlError where the package is installed without one."""
        path = self.checkout / part
        if not path.exists():
            told = f"{path} is not there: this command works in a clone of the project"
            raise usage(told, "run it as .venv/bin/genesisctl of the clone")
        return path
