"""One sweep: ask, keep, look, judge, and only then write. Whatever cannot be known is told as a trouble and left alone.

The order is what keeps a daemon harmless that is killed in the middle: answers are kept as they come, decisions in
one transaction, and the watchlist last, each line only for an answer of this very sweep.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from genesisd.errors import ConfigError, UnavailableError
from genesisd.watch import evidence, pin_facts, wanted
from genesisd.watch.belief import believe
from genesisd.watch.cost import Asked
from genesisd.watch.ground import Facing, Ground
from genesisd.watch.held import remembered
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import Answer, Known, LineageFact, PatchFact, Pin, PinFacts, Pull, Unanswered
from genesisd.watch.newcomers import Newcomers
from genesisd.watch.ports import Appraisal, Diff
from genesisd.watch.refs import Ref
from genesisd.watch.result import SweepOutcome, SweepResult
from genesisd.watch.rows import Row, Watchlist, row_id
from genesisd.watch.spec import WatchSpec
from genesisd.watch.watchlist import in_short, load


class Step(StrEnum):
    """What a sweep is at, in this order."""

    READ = "reading the watchlist"
    ASK = "asking upstream"
    HISTORY = "reading the history"
    DIFFS = "fetching diffs"
    LOOK = "looking into the pins"
    JUDGE = "judging"
    NEW = "looking for new pull requests"
    RELEASES = "looking for releases"
    WRITE = "writing the watchlist"


class Sweep:
    """One, from the first question to the last note; ``run`` it once."""

    def __init__(
        self,
        on: Ground,
        spec: WatchSpec,
        kind: SweepKind,
        window: str,
        say: Callable[[Step], None],
        troubles: Sequence[str] = (),
    ) -> None:
        self._on = on
        self._spec = spec
        self._kind = kind
        self._window = window
        self._say = say
        self._troubles = [*troubles]
        self._began = on.clock.wall()

    async def run(self) -> SweepResult:
        """Do it all. Raises StoreReadError where nothing can be kept; whatever else fails is in the result."""
        result = SweepResult(kind=self._kind, window=self._window, started=self._began)
        self._say(Step.READ)
        watchlist = await self._read()
        if watchlist is None:
            return self._ended(replace(result, outcome=SweepOutcome.FAILED))
        rows = wanted.rows_of(watchlist, self._kind)
        patches = self._on.patches.facts()
        refs = wanted.refs_of(rows, patches.values() if self._whole else (), self._on.more() if self._whole else ())
        pins = await self._pins()
        known = await self._ask(refs)
        pulls = wanted.with_diffs(refs, known)
        history = await self._history(pulls, pins)
        appraisal = await self._look(pulls, pins, patches)
        facts = await self._facts(refs, known, pins, history, appraisal)
        appraisal = replace(appraisal, anchors=await pin_facts.anchors(self._on.facts, pins, appraisal.anchors))
        known = {**await self._on.facts.known(), **known}
        result = replace(result, watchlist=watchlist, known=known, pins=pins, facts=facts, anchors=appraisal.anchors)
        result = await self._judge(result, watchlist, rows, appraisal, patches)
        if self._whole:
            result = await self._around_it(result, refs, patches)
        result = await self._write(result, rows)
        return self._ended(self._judged(result, refs))

    @property
    def _whole(self) -> bool:
        """Every row, and what no row names."""
        return self._kind is not SweepKind.HOURLY

    async def _read(self) -> Watchlist | None:
        if self._spec.watchlist is None:
            self._troubles.append("no watchlist is configured")
            return None
        try:
            return await asyncio.to_thread(load, self._spec.watchlist)
        except ConfigError as error:
            self._troubles.append(in_short(error))
            return None

    async def _pins(self) -> tuple[Pin, ...]:
        try:
            pins = await self._on.pins()
        except ConfigError as error:
            # Without pins all that was ever asked of people because of one would pass, and be asked anew tomorrow.
            self._troubles.append(
                f"which pins there are cannot be told, and those of before are taken: {error.message}"
            )
            pins = await pin_facts.last_pins(self._on.facts)
        else:
            await pin_facts.keep_pins(self._on.facts, pins)
        self._troubles += [f"pin {pin.id} has no files in the cache to look into" for pin in pins if not pin.tree]
        return pins

    # --- upstream ---------------------------------------------------------------------------------------------

    async def _ask(self, refs: Sequence[Ref]) -> Mapping[Ref, Known]:
        self._say(Step.ASK)
        before = await self._on.facts.known(refs)
        answers = await self._on.upstream.pulls(refs)
        believed = [believe(before.get(ref), answers[ref]) for ref in refs]
        await self._on.facts.learn(believed)
        self._tell_unanswered(believed)
        return await self._on.facts.known(refs)

    def _tell_unanswered(self, answers: Sequence[Answer]) -> None:
        silent = [one for one in answers if isinstance(one, Unanswered)]
        if silent:
            why = ", ".join(sorted({str(one.why) for one in silent}))
            self._troubles.append(f"upstream did not answer for {len(silent)} of {len(answers)} pull requests ({why})")

    async def _history(self, pulls: Sequence[Pull], pins: Sequence[Pin]) -> Mapping[tuple[Ref, str], LineageFact]:
        self._say(Step.HISTORY)
        if self._on.mirror is None:
            return {}
        if self._spec.fetch and (trouble := await self._on.mirror.update()):
            self._troubles.append(trouble)
        return await self._on.mirror.lineage(wanted.merged(pulls), pins)

    # --- the pins ---------------------------------------------------------------------------------------------

    async def _look(self, pulls: Sequence[Pull], pins: Sequence[Pin], patches: Mapping[str, PatchFact]) -> Appraisal:
        self._say(Step.DIFFS)
        diffs: dict[Ref, Diff] = {}
        trees = [pin for pin in pins if pin.tree]
        if not trees:
            return Appraisal(content={}, collisions={})
        for pull in pulls:
            if (diff := await self._on.upstream.diff(pull)) is not None:
                diffs[pull.ref] = diff
        if missing := len(pulls) - len(diffs):
            self._troubles.append(f"{missing} of {len(pulls)} diffs could not be had")
        self._say(Step.LOOK)
        ours = sorted(patch.id for patch in patches.values() if patch.active)
        try:
            seen = await self._on.appraiser.appraise(trees, pulls, diffs, ours)
        except UnavailableError as error:
            self._troubles.append(f"the pins could not be looked into: {error.message}")
            return Appraisal(content={}, collisions={})
        self._troubles += seen.troubles
        return seen

    async def _facts(
        self,
        refs: Sequence[Ref],
        known: Mapping[Ref, Known],
        pins: Sequence[Pin],
        history: Mapping[tuple[Ref, str], LineageFact],
        appraisal: Appraisal,
    ) -> Mapping[Ref, tuple[PinFacts, ...]]:
        """Of the whole list, also where this sweep looked at some rows: clusters are decided over all of it.

        What a night could not look at is recalled where it cannot have changed (``held``).
        """
        before = pin_facts.of_pins(await pin_facts.kept(self._on.facts), pins)
        marked, fresh = frozenset(self._on.more()), {}
        for ref in refs:
            pull = known[ref].pull if ref in known else None
            now = pin_facts.joined(ref, pull, pins, history, appraisal)
            looked = [pin.id for pin in pins if ref not in marked and (ref, pin.id) in appraisal.content]
            fresh[ref] = remembered(pull, now, before.get(ref, ()), unmarked=looked)
        await pin_facts.keep(self._on.facts, fresh)
        return {**before, **fresh}

    # --- what follows -----------------------------------------------------------------------------------------

    async def _judge(
        self,
        result: SweepResult,
        watchlist: Watchlist,
        rows: tuple[Row, ...],
        appraisal: Appraisal,
        patches: Mapping[str, PatchFact],
    ) -> SweepResult:
        self._say(Step.JUDGE)
        now = self._on.clock.wall()
        facing = Facing(
            watchlist=watchlist,
            rows=rows,
            known=result.known,
            facts=result.facts,
            appraisal=appraisal,
            pins=result.pins,
            patches=patches,
            now=now,
        )
        decisions = self._on.triage(facing)
        covers = None if self._whole else tuple(row_id(row) for row in rows)
        met = await self._on.decisions.meet(decisions, now, covers=covers)
        kept = await self._on.decisions.all()
        return replace(result, decisions=decisions, met=met, kept=kept, covers=covers)

    async def _write(self, result: SweepResult, rows: Sequence[Row]) -> SweepResult:
        self._say(Step.WRITE)
        changes = evidence.changes(rows, result.known, self._began)
        if not changes or self._spec.watchlist is None:
            return result
        made, trouble = await self._on.write(self._spec.watchlist, changes)
        if trouble:
            self._troubles.append(trouble)
        return replace(result, changes=made, refused=trouble)

    async def _around_it(
        self, result: SweepResult, refs: Sequence[Ref], patches: Mapping[str, PatchFact]
    ) -> SweepResult:
        """Decisions are kept by now: they are told and the file is written, whatever befalls a look around."""
        try:
            return await self._around(result, refs, patches)
        except Exception as error:  # noqa: BLE001 - see above
            self._troubles.append(f"new pull requests and releases could not be looked for: {error!r}")
            return result

    async def _around(self, result: SweepResult, refs: Sequence[Ref], patches: Mapping[str, PatchFact]) -> SweepResult:
        self._say(Step.NEW)
        newcomers = Newcomers(self._on.upstream, self._on.facts, self._on.appraiser)
        new, trouble = await newcomers.find(self._spec, frozenset(refs), patches, self._on.interests(), result.pins)
        if trouble:
            self._troubles.append(trouble)
        self._say(Step.RELEASES)
        releases = await self._on.index.releases(self._spec.package)
        self._troubles += self._on.index.troubles
        if releases is None and not self._on.index.troubles:
            self._troubles.append(f"the package index did not tell the releases of {self._spec.package}")
        return replace(result, new=new, releases=releases)

    def _judged(self, result: SweepResult, refs: Sequence[Ref]) -> SweepResult:
        """A sweep that no question of was answered is a failed one; its window is tried again."""
        heard = any(evidence.answered(result.known.get(ref), self._began) for ref in refs)
        if refs and not heard:
            return replace(result, outcome=SweepOutcome.FAILED)
        return replace(result, outcome=SweepOutcome.PARTIAL if self._troubles else SweepOutcome.DONE)

    def _ended(self, result: SweepResult) -> SweepResult:
        seconds = max(0.0, self._on.clock.wall() - self._began)
        return replace(result, seconds=seconds, asked=self._asked(), troubles=tuple(self._troubles))

    def _asked(self) -> Asked:
        asked, index = self._on.upstream.asked(), self._on.index
        requests = {**asked.requests, **({"index": index.asked} if index.asked else {})}
        return replace(asked, requests=requests, unchanged=asked.unchanged + index.unchanged)
