"""One worker as the local runner holds it: the link to its shim, or the bare tree when the shim is dead.

Three parties can die at any moment (daemon, shim, leader), so nothing here is believed twice: after every loss of a
link the shim is asked anew, and only when it cannot be asked do the life's record and the process table speak.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal

from genesisd.clock import Clock
from genesisd.errors import UnavailableError
from genesisd.identity import is_alive, signal_exactly
from genesisd.supervisor import tree
from genesisd.supervisor.cgroups import Cgroups
from genesisd.supervisor.ports import Found, Launch, Life, Report, SpawnError
from genesisd.supervisor.runners import exits, shims, spawning
from genesisd.supervisor.runners.attached import AttachedShim
from genesisd.supervisor.runners.bare import BOUND
from genesisd.supervisor.runners.beside import Beside
from genesisd.supervisor.runners.leftovers import Leftovers
from genesisd.supervisor.runners.lives import LifeRecord, parse_life, read_life
from genesisd.supervisor.runners.newest import NewestLife
from genesisd.supervisor.runners.paths import WorkerPaths
from genesisd.supervisor.runners.shimless import Shimless
from genesisd.supervisor.shim_link import Message, ShimGoneError, ShimRefused

SPAWN_SECONDS = 20.0
ROOM_SECONDS = 2.0
"""How long a spawn waits for the end of a sweep."""


class Handle:
    """Spawns, signals, adopts and watches one worker's incarnations."""

    def __init__(
        self,
        paths: WorkerPaths,
        instance: str,
        clock: Clock,
        starter: shims.ShimStarter,
        cgroups: Cgroups,
        leftovers: Leftovers,
        kernel: exits.KernelWords = exits.no_kernel_words,
    ) -> None:
        self.paths = paths
        self.worker = paths.worker
        self._instance = instance
        self._starter = starter
        self._cgroups = cgroups
        self._leftovers = leftovers
        self._beside = Beside()
        self._newest = NewestLife(paths, clock, cgroups, kernel, self._beside)
        self._shimless = Shimless(paths, self._newest, self._beside)
        self._shim = AttachedShim(paths, self._on_event, self._on_lost)
        self._lock = asyncio.Lock()
        self._held: list[Message] | None = None
        """Events that arrive while a spawn is under way: nobody may hear of a death before the birth."""

    # --- what the runner offers ---------------------------------------------------------------------------------

    @property
    def life(self) -> Life | None:
        """The live incarnation."""
        return self._newest.life

    @property
    def shim_pid(self) -> int | None:
        """The attached shim."""
        return self._shim.pid

    @property
    def has_tree(self) -> bool:
        """Whether something may be left of the newest life."""
        return self._newest.record is not None

    def members(self, table: tree.Table) -> list[int]:
        """Pids of the tree in a process table, as long as it is not swept."""
        record = self._newest.record
        return [] if record is None else sorted(tree.look(record.leader, self.shim_pid, table))

    async def adopt(self, report: Report) -> Found:
        """Find the truth about the worker and attach to what lives."""
        async with self._lock:
            self._newest.report = report
            self._held = []
            try:
                hello = await self._shim.attach()
                return await (self._adopt_bare() if hello is None else self._adopt_from_shim(hello))
            finally:
                self._let_events_go()

    async def spawn(self, launch: Launch, report: Report) -> Life:
        """Spawn the incarnation. Raises SpawnError."""
        async with self._lock:
            self._newest.report = report
            await self._make_room()
            await spawning.empty(launch)
            self._held = []
            try:
                record = await self._spawn(launch) or await self._spawn(launch)
                if record is None:
                    raise SpawnError(f"the shim of {self.worker} went away twice during the spawn", cause="shim")
                self._newest.begin(record)
                return record.life
            finally:
                self._let_events_go()

    def terminate(self, incarnation: int) -> None:
        """SIGTERM to the leader; the answer of a slow shim is not waited for."""
        if self._newest.record and self._newest.alive and self._newest.record.incarnation == incarnation:
            self._beside.begin(self._terminate(self._newest.record))

    def kill(self, incarnation: int) -> None:
        """SIGKILL to the tree; ends in Exited and Swept in any case."""
        self._beside.begin(self._kill(incarnation))

    async def tail(self, lines: int) -> list[str]:
        """Last lines of output, from the shim or from the file."""
        with contextlib.suppress(UnavailableError):
            answer = await self._shim.request("tail", lines=lines)
            if answer["lines"]:
                return [str(line) for line in answer["lines"]]
        return exits.file_tail(self.paths.log, exits.TAIL_BYTES)[-lines:] if lines > 0 else []

    async def release(self) -> None:
        """End the shim of a stopped worker."""
        async with self._lock:
            await self._shim.quit()
        await self.close()

    async def close(self) -> None:
        """Let go; processes live on."""
        self._shimless.close()
        self._shim.drop()
        await self._beside.end()

    # --- adopting -----------------------------------------------------------------------------------------------

    async def _adopt_from_shim(self, hello: Message) -> Found:
        record = parse_life(self.worker, hello["child"])
        if record is not None:
            self._newest.begin(record)
            return Found(record.life, shim_alive=True, incarnation=record.incarnation, last_exit=None)
        if hello["child"] is not None:
            # Taking it for nothing would end in the death of a worker that serves.
            raise UnavailableError(f"the shim of {self.worker} describes its child in words unknown to us")
        if hello["sweeping"]:
            self._newest.ending(read_life(self.worker, self.paths.life))
            self._let_events_go()
            await self._newest.until_settled(BOUND + 2)
        else:
            await self._reap_orphans()
        return self._found_nothing(hello)

    async def _adopt_bare(self) -> Found:
        record = read_life(self.worker, self.paths.life)
        if record is not None and is_alive(record.leader):
            self._newest.begin(record)
            self._shimless.watch(record)
            return Found(record.life, shim_alive=False, incarnation=record.incarnation, last_exit=None)
        await self._reap_orphans()
        return self._found_nothing(None)

    def _found_nothing(self, hello: Message | None) -> Found:
        newest, last = self._newest.last_exit(hello)
        return Found(None, shim_alive=hello is not None, incarnation=newest, last_exit=last)

    async def _reap_orphans(self) -> int:
        """End what nobody can adopt; how many processes survive that."""
        survivors = await self._leftovers.end(self.paths)
        self._cgroups.sweep(self.worker)
        self._newest.clean = survivors == 0
        return survivors

    # --- spawning -----------------------------------------------------------------------------------------------

    async def _make_room(self) -> None:
        """At most one tree a worker: the old one is gone, or nothing new is started."""
        if self.life is not None:
            raise SpawnError(f"incarnation {self.life.incarnation} of {self.worker} is alive", cause="alive")
        if not await self._newest.until_settled(ROOM_SECONDS):
            raise spawning.stuck(self.worker, self.members(tree.process_table()))
        if self._shim.attached:
            return
        hello = await self._shim.attach()
        if hello is None:
            if not self._newest.clean and (survivors := await self._reap_orphans()):
                raise SpawnError(f"{survivors} processes of {self.worker} cannot be killed", cause="unkillable")
            await self._shim.start(self._starter)
        elif hello["child"] is not None:
            # Before its scratch folders are emptied under its feet.
            raise SpawnError(f"a life of {self.worker} that was not adopted is alive", cause="alive")

    async def _spawn(self, launch: Launch) -> LifeRecord | None:
        """The new life; None when the shim was lost before it, and another one has been started."""
        cgroup = self._cgroups.make(self.worker, launch.incarnation)
        try:
            order = spawning.order(launch, self._instance, cgroup)
            answer = await self._shim.request("spawn", timeout=SPAWN_SECONDS, **order)
        except ShimRefused as refusal:
            self._cgroups.remove(cgroup)
            raise spawning.refused(self.worker, refusal) from None
        except ShimGoneError:
            return await self._after_lost_spawn(launch)
        record = parse_life(self.worker, answer["child"])
        if record is None:
            raise SpawnError(f"the shim of {self.worker} gave an answer that makes no sense: {answer}", cause="shim")
        return record

    async def _after_lost_spawn(self, launch: Launch) -> LifeRecord | None:
        """The shim fell silent: either it can be asked again, or what it began is taken down and a new one started.

        A new shim refuses the incarnation if the old one did begin it: that life is over.
        """
        self._shim.drop()
        hello = await self._shim.attach()
        if hello is None:
            self._newest.clean = False
            await self._make_room()
            return None
        record = parse_life(self.worker, hello["child"])
        return record if record and record.incarnation == launch.incarnation else None

    def _let_events_go(self) -> None:
        """Hand on, after the caller's next step, what came while the truth was still being found."""
        held, self._held = self._held or [], None
        for event in held:
            asyncio.get_running_loop().call_soon(self._on_event, event)
        if not self._shim.attached and self._newest.record is not None and not self._shimless.watches:
            self._beside.begin(self._recover())

    # --- what the shim tells, and its loss ----------------------------------------------------------------------

    def _on_event(self, event: Message) -> None:
        if self._held is not None:
            self._held.append(event)
        elif event["event"] == "exited":
            self._newest.exited(int(event["incarnation"]), event["exit"])
        elif event["event"] == "swept":
            self._newest.swept(int(event["incarnation"]), int(event["survivors"]))

    def _on_lost(self) -> None:
        if self._held is None:
            self._beside.begin(self._recover())

    async def _recover(self) -> None:
        """The connection ended: the shim is dead, or it only dropped us."""
        async with self._lock:
            if self._shim.attached or self._newest.record is None or self._shimless.reaps:
                return
            try:
                hello = await self._shim.attach()
            except UnavailableError:
                hello = None
            if hello is None:
                self._shimless.take(self._newest.record)
            else:
                self._catch_up(hello, self._newest.record)

    def _catch_up(self, hello: Message, record: LifeRecord) -> None:
        """Tell what happened while we were not attached."""
        child, last = hello["child"], hello["exit"]
        if child and child["incarnation"] == record.incarnation:
            return
        if last and last["incarnation"] == record.incarnation:
            self._newest.exited(record.incarnation, last)
            if not hello["sweeping"]:
                self._newest.swept(record.incarnation, int(last["survivors"] or 0))
        else:
            self._shimless.take(record)

    # --- orders -------------------------------------------------------------------------------------------------

    async def _terminate(self, record: LifeRecord) -> None:
        self._newest.asked = self._newest.asked or f"signal {int(signal.SIGTERM)}"
        with contextlib.suppress(UnavailableError):
            await self._shim.request("signal", incarnation=record.incarnation, signal=int(signal.SIGTERM))
            return
        signal_exactly(record.leader, signal.SIGTERM)

    async def _kill(self, incarnation: int) -> None:
        record = self._newest.record
        if record is None or record.incarnation != incarnation:
            await self._newest.until_settled(BOUND)
            self._newest.tell_again(incarnation)
            return
        self._newest.asked = self._newest.asked or "sweep"
        try:
            await self._shim.request("sweep", incarnation=incarnation)
        except ShimRefused:
            return  # the leader's death and the sweep are on their way already
        except ShimGoneError:
            self._shim.give_up()
        else:
            return
        if self._newest.record is record:
            self._shimless.reap(record)
