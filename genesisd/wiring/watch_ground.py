"""What one sweep stands on: the sources, the pins, what this box runs, and triage over all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from genesisd.clock import Clock
from genesisd.config.root import Config
from genesisd.errors import ConfigError
from genesisd.store.store import Store
from genesisd.watch import gates, markers
from genesisd.watch.changing import Written, write
from genesisd.watch.decisions import Decision
from genesisd.watch.ground import Facing, Ground
from genesisd.watch.interests import interests
from genesisd.watch.markers import Markers
from genesisd.watch.model import ContentFact, Pin
from genesisd.watch.ports import Patches
from genesisd.watch.refs import Ref
from genesisd.watch.result import StatusChange
from genesisd.watch.sources.gate import Gate
from genesisd.watch.sources.git import GitMirror
from genesisd.watch.sources.github import GitHub
from genesisd.watch.sources.index import PackageIndex
from genesisd.watch.triage import Grounds, triage_all
from genesisd.wiring.appraiser import ChildAppraiser
from genesisd.wiring.watch_pins import watched_pins
from genesisd.wiring.watch_workers import WatchedWorkers, Worker


@dataclass(slots=True, kw_only=True)
class Grounded:
    """A sweep's ground, and what was wrong with it from the beginning."""

    ground: Ground
    github: GitHub
    troubles: tuple[str, ...]


class GroundMaker:
    """Makes one for each sweep, by the configuration in force.

    Args:
        config: in force.
        store: keeps what upstream said.
        session: whose connections are used.
        clock: the time.
        patches: the register and the catalog.
        workers: facts for predicates.
        tell: gets a sentence for the log now and then.
    """

    def __init__(
        self,
        config: Callable[[], Config],
        store: Store,
        session: aiohttp.ClientSession,
        clock: Clock,
        patches: Patches,
        workers: WatchedWorkers,
        tell: Callable[[str], None],
    ) -> None:
        self._config = config
        self._store = store
        self._session = session
        self._clock = clock
        self._patches = patches
        self._workers = workers
        self._tell = tell
        self._gate = Gate(clock)
        self._who: object = None
        self._alone = asyncio.Lock()
        self._mirrors: dict[tuple[Path, str, bool], GitMirror] = {}

    async def make(self, *, anew: bool = False) -> Grounded:
        """With the workers' facts as they are now; ``anew`` fetches diffs also where they are kept."""
        spec = self._config().watch
        troubles = []
        try:
            known = await asyncio.to_thread(markers.load, spec.markers)
        except ConfigError as error:
            known = Markers()
            troubles.append(f"without markers and gates: {error.message}")
        facts = await self._workers.facts()
        github = self.github(anew=anew)
        if problem := github.token_problem:
            troubles.append(problem)
        return Grounded(ground=self._ground(github, known, facts), github=github, troubles=tuple(troubles))

    def github(self, *, anew: bool = False) -> GitHub:
        """One client, which counts what it asks; all share one gate."""
        config = self._config()
        if (
            who := (config.watch.api, config.watch.token)
        ) != self._who:  # what refused us was another, or knew us as one
            self._who, self._gate = who, Gate(self._clock)
        return GitHub(
            self._session,
            config.watch,
            self._clock,
            self._store.watch_facts,
            self.diffs(),
            gate=self._gate,
            tell=self._tell,
            anew=anew,
        )

    def diffs(self) -> Path:
        """The folder of pull requests' diffs."""
        return self._config().paths.cache_dir / "watch" / "diffs"

    def appraiser(self) -> ChildAppraiser:
        """With the markers that are configured."""
        return ChildAppraiser(self._clock, self._config().watch.markers, alone=self._alone)

    async def pins(self) -> tuple[Pin, ...]:
        """Those that play a part. Raises ConfigError."""
        config = self._config()
        return await asyncio.to_thread(watched_pins, config.pins, config.paths.cache_dir)

    def _mirror(self) -> GitMirror | None:
        """The same as long as it is the same: it keeps an index of the history."""
        spec = self._config().watch
        if spec.mirror is None:
            return None
        key = (spec.mirror, spec.repository, spec.fetch)
        if key not in self._mirrors:
            self._mirrors = {key: GitMirror(spec.mirror, spec.repository, fetch=spec.fetch)}
        return self._mirrors[key]

    def _ground(self, github: GitHub, known: Markers, facts: Mapping[str, Worker]) -> Ground:
        config = self._config()
        spec = config.watch

        def triage(facing: Facing) -> tuple[Decision, ...]:
            return _triage(facing, known, facts, self._patches, spec.max_age)

        async def written(path: Path, changes: Sequence[StatusChange]) -> Written:
            return await write(path, changes, record=spec.commit)

        return Ground(
            upstream=github,
            mirror=self._mirror(),
            index=PackageIndex(self._store.watch_facts),
            appraiser=self.appraiser(),
            patches=self._patches,
            facts=self._store.watch_facts,
            decisions=self._store.watch_decisions,
            pins=self.pins,
            interests=lambda: interests(facts.values(), models=spec.new_pulls.models, labels=spec.new_pulls.labels),
            more=known.refs,
            triage=triage,
            write=written,
            clock=self._clock,
        )


def _triage(
    facing: Facing, known: Markers, workers: Mapping[str, Worker], patches: Patches, max_age: float
) -> tuple[Decision, ...]:
    """Rows by the table, and the gates of each pin beside them."""
    stands = [
        fact for pin in facing.pins for fact in gates.stand(known.gates, pin.id, _contents(facing, pin.id), workers)
    ]
    grounds = Grounds(
        known=facing.known,
        pins=facing.facts,
        patches=facing.patches,
        find=patches.find,
        anchors=facing.appraisal.anchors,
        gates=gates.decisions(stands, facing.pins),
        now=facing.now,
        max_age=max_age,
    )
    return triage_all(facing.watchlist, grounds, facing.rows)


def _contents(facing: Facing, pin: str) -> Mapping[Ref, ContentFact]:
    return {ref: one.content for ref, facts in facing.facts.items() for one in facts if one.pin == pin}
