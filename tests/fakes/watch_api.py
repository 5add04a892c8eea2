"""The upstream watch of the fake daemon: the WatchApi port, with knobs for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from genesisd.control.ports import Peer
from genesisd.control.watch_views import (
    CollisionView,
    DecisionView,
    DossierView,
    EditDossierView,
    ForgottenView,
    PinFactsView,
    PullView,
    ReportView,
    ScheduledView,
    SweepView,
    WatchedView,
    WatchRowView,
    WatchStatusView,
    WatchWhyView,
)
from genesisd.errors import ConflictError, NotFoundError
from genesisd.watch.decisions import Standing
from genesisd.watch.refs import Ref

WALL = 1_800_000_000.0
DAY = 86400.0

SWEEP = SweepView(
    id=12, kind="nightly", window="2027-01-15", started=WALL - 3600.0, finished=WALL - 3558.0, outcome="done",
    step="3 rows changed, 2 decisions opened", at=6, of=6,
    summary=MappingProxyType({"rows": 113, "changed": 3, "unknown": 1, "opened": 2}),
)  # fmt: skip
GOING_ON = SweepView(id=13, kind="nightly", started=WALL - 4.0, step="asking upstream", at=1, of=6)
ROWS = (
    WatchRowView(
        row="watch:vllm#42006", section="watch", line=31, ref="vllm#42006", title="Keep the last block", state="merged",
        claimed="closed", checked_at=WALL - 3600.0,
        action="retire", severity="P1", patches=("PN384",), in_pins={"cpu-0.32.0": "present", "cpu-0.33.0": "present"},
        decisions=(3,), urgency="now",
    ),
    WatchRowView(
        row="watch:vllm#39598", section="watch", line=2, ref="vllm#39598", title="Drops tool calls", state="open",
        claimed="open", checked_at=WALL - 3600.0, action="a-b-test", severity="P2", derived=True, patches=("P64",),
        in_pins={"cpu-0.32.0": "absent"}, decisions=(4,), urgency="later",
    ),
    WatchRowView(
        row="sweep:vllm#45199", section="sweep", line=612, ref="vllm#45199", unknown="not-found: 404",
        action="review-on-merge", patches=("PN371",),
    ),
)  # fmt: skip
PULL = PullView(
    ref="vllm#42006", state="merged", checked_at=WALL - 3600.0, title="Keep the last block", base="main",
    head="a" * 40, merge_commit="b" * 40, merged_at=WALL - 40 * DAY, closed_at=WALL - 40 * DAY,
    updated_at=WALL - 39 * DAY, labels=("kv-cache",), files=("vllm/v1/core/kv_cache_manager.py",),
)  # fmt: skip
COLLISION = CollisionView(
    patch="PN384", edit="last-block", path="vllm/v1/core/kv_cache_manager.py", before=1, after=0, place="over",
    breaks=True, required=True, text="it rewrites two lines of the anchor",
)  # fmt: skip
PINS = (
    PinFactsView(
        pin="cpu-0.32.0", slots=("current",), lineage="ancestor", how="merge-base", lineage_evidence="bbbbbbbbbb",
        content="present", rung="reverse-apply", content_evidence="2 of 2 hunks can be taken back",
        collisions=(COLLISION,),
    ),
    PinFactsView(pin="cpu-0.33.0", slots=("candidate",)),
)  # fmt: skip
DECISIONS = (
    DecisionView(
        id=3, kind="retire-candidate", standing="open", row="watch:vllm#42006", ref="vllm#42006", patches=("PN384",),
        pins=("cpu-0.32.0",), urgency="now", severity="P1", derived=False,
        reason="its content is in the pin that serves", evidence=("2 of 2 hunks can be taken back",),
        opened=WALL - DAY, seen=WALL - 3600.0,
    ),
    DecisionView(
        id=4, kind="trial", standing="open", row="watch:vllm#39598", ref="vllm#39598", patches=("P64",),
        urgency="later", severity="P2", reason="try it with and without", opened=WALL - 2 * DAY, seen=WALL - 3600.0,
    ),
    DecisionView(
        id=2, kind="backport-wanted", standing="declined", row="sweep:vllm#45199", ref="vllm#45199",
        reason="merged, and absent from cpu-0.32.0", opened=WALL - 9 * DAY, seen=WALL - 3600.0, by="root",
        why="no such card here", revisit_when=("gpu.sm >= 89",),
    ),
)  # fmt: skip
DOSSIER = DossierView(
    patch="PN384", ref="vllm#42006", pin="cpu-0.32.0", outcome="partial", reason="one of two edits is upstream",
    made_at=WALL - 60.0,
    edits=(
        EditDossierView(
            edit="last-block", path="vllm/v1/core/kv_cache_manager.py", ours="-    a\n+    b\n",
            upstreams="-    a\n+    b\n", covered=True,
        ),
        EditDossierView(
            edit="count", path="vllm/v1/core/block_pool.py", ours="+    n += 1\n", upstreams="", covered=False,
            text="upstream does not count",
        ),
    ),
    tests={"tests/catalog/cases/pn384.py": "red without the patch, green with it"},
)  # fmt: skip


class FakeWatch:
    """``orders`` records what was ordered; ``delay`` makes a dossier long; ``cancelled`` counts those cut short."""

    def __init__(self) -> None:
        self.orders: list[tuple[object, ...]] = []
        self.asked: list[tuple[object, ...]] = []
        self.delay = 0.0
        self.cancelled = 0
        self.has_dossier = False
        self.watchlist: str | None = "/etc/genesisd/upstream_watchlist.yaml"
        self.found = {one.id: one for one in DECISIONS}
        self.listed: tuple[WatchRowView, ...] = ROWS
        self.steps: tuple[SweepView, ...] = (GOING_ON, replace(SWEEP, id=13))
        self.step_delay = 0.0

    async def status(self) -> WatchStatusView:
        if self.watchlist is None:
            return WatchStatusView(watchlist=None)
        return WatchStatusView(
            watchlist=self.watchlist, rows={"open": 1, "merged": 1, "unknown": 1}, oldest=3600.0, stale=1,
            decisions={"retire-candidate": 1, "trial": 1}, urgent={"now": 1, "later": 1}, limit=5000, remaining=4990,
            resets_at=WALL + 600.0, schedule=(ScheduledView(kind="nightly", due=WALL + 7200.0, last=WALL - 3558.0), ScheduledView(kind="weekly", due=None, last=None)),
            recent=(SWEEP,), troubles=("no mirror is configured: lineage is unknown",),
        )  # fmt: skip

    async def rows(self) -> Sequence[WatchRowView]:
        return self.listed

    async def show(self, ref: Ref) -> WatchedView:
        rows = tuple(one for one in self.listed if one.ref == str(ref))
        if not rows:
            raise NotFoundError(f"nobody asked about {ref} yet", hint="genesisctl watch list", ref=str(ref))
        if str(ref) != PULL.ref:
            return WatchedView(ref=str(ref), unknown="not-found", unknown_at=WALL - 60.0, unknown_text="404", rows=rows)
        told = tuple(one for one in self.found.values() if one.ref == str(ref))
        return WatchedView(
            ref=str(ref), pull=PULL, rows=rows, pins=PINS, decisions=told, dossiers=(replace(DOSSIER, edits=()),)
        )

    async def why(self, ref: Ref) -> WatchWhyView:
        await self.show(ref)
        return WatchWhyView(ref=str(ref), text=f"{ref} is merged, and cpu-0.32.0 has what it brings.")

    async def report(self, sweep: int | None, form: str) -> ReportView:
        if sweep not in (None, 12):
            raise NotFoundError(f"sweep {sweep} left no report", sweep=sweep)
        text = "# Upstream\n\n3 rows changed.\n" if form == "markdown" else "<!doctype html>\n<h1>Upstream</h1>\n"
        return ReportView(sweep=12, at=WALL - 3558.0, form=form, text=text, path="/var/lib/genesisd/watch/12.md")

    async def decisions(self, *, open_only: bool) -> Sequence[DecisionView]:
        return tuple(one for one in self.found.values() if not open_only or one.standing == "open")

    async def answer(
        self, id_: int, standing: Standing, peer: Peer, *, why: str, until: float | None = None, revisit_when: Sequence[str] = ()
    ) -> DecisionView:  # fmt: skip
        if id_ not in self.found:
            raise NotFoundError(f"there is no decision {id_}", hint="genesisctl watch decisions", decision=id_)
        one = self.found[id_]
        if standing is Standing.ACCEPTED and one.kind == "retire-candidate" and not self.has_dossier:
            raise ConflictError(f"no dossier lies before decision {id_}", hint=f"genesisctl watch diff {one.ref}")
        await asyncio.sleep(self.delay)
        self.orders.append((str(standing), id_, why, until, tuple(revisit_when)))
        self.found[id_] = replace(
            one, standing=str(standing), by=str(peer), why=why, until=until, revisit_when=tuple(revisit_when)
        )
        return self.found[id_]

    async def dossiers(self, ref: Ref, patch: str | None, pin: str | None, *, anew: bool) -> Sequence[DossierView]:
        self.asked.append((str(ref), patch, pin, anew))
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if str(ref) != DOSSIER.ref or patch not in (None, DOSSIER.patch):
            raise NotFoundError(f"{ref} concerns no patch of ours", ref=str(ref))
        return (DOSSIER,)

    async def forget(self, ref: Ref, peer: Peer) -> ForgottenView:
        await self.show(ref)
        self.orders.append(("forget", str(ref)))
        return ForgottenView(ref=str(ref), answer=True, pins=2, dossiers=1, diffs=0)

    async def sweep(self, kind: str, peer: Peer) -> SweepView:
        if self.watchlist is None:
            raise ConflictError("nothing is watched", hint="set watch.watchlist in the configuration")
        self.orders.append(("sweep", kind))
        return replace(GOING_ON, kind=kind)

    async def progress(self, sweep: int | None) -> AsyncIterator[SweepView]:
        self.asked.append(("progress", sweep))
        if sweep not in (None, 13):
            raise NotFoundError(f"there is no sweep {sweep}", sweep=sweep)
        for view in self.steps:
            yield view
            await asyncio.sleep(self.step_delay)
