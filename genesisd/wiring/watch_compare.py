"""Dossiers for operators: which patches and pins a pull request concerns, and ours beside upstream's for each."""

from __future__ import annotations

from collections.abc import Sequence

from genesisd.control.watch_views import DossierView
from genesisd.errors import ConfigError, NotFoundError
from genesisd.store.store import Store
from genesisd.watch.decisions import Dossier
from genesisd.watch.model import Pin
from genesisd.watch.refs import Ref
from genesisd.wiring import watch_views
from genesisd.wiring.watch_dossiers import DossierMaker, holds, is_whole
from genesisd.wiring.watch_views import Looked
from genesisd.wiring.watching import Watching


class Comparing:
    """Tells those that were made, and has the others made."""

    def __init__(self, watching: Watching, store: Store) -> None:
        self._watching = watching
        self._store = store

    async def dossiers(
        self, looked: Looked, ref: Ref, patch: str | None, pin: str | None, *, anew: bool
    ) -> Sequence[DossierView]:
        """See ``control.watch_ports.WatchApi.dossiers``."""
        wanted = [(name, where) for name in self._patches(looked, ref, patch) for where in _pins(looked, ref, pin)]
        if not wanted:
            raise NotFoundError(f"nothing to compare with {ref}: it concerns no patch of ours on a pin", ref=str(ref))
        facts, patches = looked.facts.get(ref, ()), self._watching.patches
        kept = [one for one in await self._store.watch_decisions.dossiers() if one.ref == ref]
        pins = await self._equipped()
        made = {(one.patch, one.pin): one for one in kept if holds(one, facts, patches) and is_whole(one, pins)}
        found: list[Dossier] = []
        for name, where in wanted:
            old = None if anew else made.get((name, where))
            found.append(old if old is not None else await self._make(name, ref, where, looked))
        return tuple(watch_views.dossier(one, whole=True) for one in found)

    async def _equipped(self) -> Sequence[Pin]:
        """The pins as they are; none where that cannot be told: what was made is shown all the same."""
        try:
            return await self._watching.grounds.pins()
        except ConfigError:
            return ()

    async def _make(self, patch: str, ref: Ref, pin: str, looked: Looked) -> Dossier:
        grounds = self._watching.grounds
        decisions, patches = self._store.watch_decisions, self._watching.patches
        maker = DossierMaker(grounds.github(), grounds.appraiser(), decisions, patches)
        return await maker.make(patch, ref, pin, looked.known, await grounds.pins())

    def _patches(self, looked: Looked, ref: Ref, patch: str | None) -> list[str]:
        if patch is not None:
            found = self._watching.patches.find(patch)
            if found is None or not looked.patches[found].implemented:
                raise NotFoundError(f"no patch {patch!r} is implemented", hint="genesisctl patches list")
            return [found]
        named = [name for row in looked.rows() if row.upstream == ref for name in row.patches]
        named += [one.id for one in looked.patches.values() if ref in one.upstream]
        named += [one.patch for facts in looked.facts.get(ref, ()) for one in facts.collisions or ()]
        ids = dict.fromkeys(found for name in named if (found := self._watching.patches.find(name)) is not None)
        return [name for name in ids if looked.patches[name].implemented]


def _pins(looked: Looked, ref: Ref, pin: str | None) -> list[str]:
    pins = [one.pin for one in looked.facts.get(ref, ())]
    if pin is not None and pin not in pins:
        raise NotFoundError(f"{ref} was not looked for in pin {pin}; known: {', '.join(pins) or 'none'}")
    return pins if pin is None else [pin]
