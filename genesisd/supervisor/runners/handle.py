"""One worker as the local runner holds it: the link to its shim, or the bare tree when the shim is dead.

Three parties can die at any moment (daemon, shim, leader), so nothing here is believed twice: after every loss of a
link the shim is asked anew, and only when it cannot be asked do the life's record and the process table speak.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from genesisd.clock import Clock
from genesisd.errors import UnavailableError
from genesisd.identity import is_alive, signal_exactly
from genesisd.supervisor import tree
from genesisd.supervisor.cgroups import Cgroups
from genesisd.supervisor.model import Exited, ExitRecord, ShimLost, Swept
from genesisd.supervisor.ports import Found, Launch, Life, Report, SpawnError
from genesisd.supervisor.runners import exits, scratch, shims
from genesisd.supervisor.runners.bare import BOUND, Watch, kill_tree
from genesisd.supervisor.runners.leftovers import Leftovers
from genesisd.supervisor.runners.lives import LifeRecord, parse_life, read_life
from genesisd.supervisor.runners.paths import WorkerPaths
from genesisd.supervisor.shim_link import VERSION, Message, ShimGoneError, ShimLink, ShimRefused

HELLO_SECONDS = 10.0
SPAWN_SECONDS = 20.0
APPEAR_SECONDS = 5.0
"""How long a shim that holds the lock may take until it listens."""
ROOM_SECONDS = 2.0
"""How long a spawn waits for the end of a sweep."""
HOPELESS = frozenset({errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})
"""Failures of an exec that only a change of the configuration or the disk mends."""


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
        self._kernel = kernel
        self.paths = paths
        self.worker = paths.worker
        self._instance = instance
        self._clock = clock
        self._starter = starter
        self._cgroups = cgroups
        self._leftovers = leftovers
        self._link: ShimLink | None = None
        self._record: LifeRecord | None = None
        """The newest life, until its tree is gone."""
        self._alive = False
        """Whether its leader lives."""
        self._report: Report = _ignore
        self._watch: Watch | None = None
        self._lock = asyncio.Lock()
        self._settled = asyncio.Event()
        self._settled.set()
        self._held: list[Message] | None = None
        """Events that arrive while a spawn is under way: nobody may hear of a death before the birth."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._reaping: int | None = None
        self._clean = False
        """Nothing of earlier lives is left: looked for, and nothing was spawned since."""
        self._asked: str | None = None

    # --- what the runner offers ---------------------------------------------------------------------------------

    @property
    def life(self) -> Life | None:
        """The live incarnation."""
        return self._record.life if self._record and self._alive else None

    @property
    def shim_pid(self) -> int | None:
        """The attached shim."""
        return self._link.shim.pid if self._link and self._link.shim else None

    @property
    def has_tree(self) -> bool:
        """Whether something may be left of the newest life."""
        return self._record is not None

    def members(self, table: tree.Table) -> list[int]:
        """Pids of the tree in a process table, as long as it is not swept."""
        if self._record is None:
            return []
        return sorted(tree.look(self._record.leader, self.shim_pid, table))

    async def adopt(self, report: Report) -> Found:
        """Find the truth about the worker and attach to what lives."""
        async with self._lock:
            self._report = report
            self._held = []
            try:
                hello = await self._attach()
                return await (self._adopt_bare() if hello is None else self._adopt_from_shim(hello))
            finally:
                self._let_events_go()

    async def spawn(self, launch: Launch, report: Report) -> Life:
        """Spawn the incarnation. Raises SpawnError."""
        async with self._lock:
            self._report = report
            await self._make_room()
            await self._empty(launch)
            self._held = []
            try:
                record = await self._spawn(launch) or await self._spawn(launch)
                if record is None:
                    raise SpawnError(f"the shim of {self.worker} went away twice during the spawn", cause="shim")
                self._take_life(record)
                return record.life
            finally:
                self._let_events_go()

    def terminate(self, incarnation: int) -> None:
        """SIGTERM to the leader; the answer of a slow shim is not waited for."""
        if self._record and self._alive and self._record.incarnation == incarnation:
            self._beside(self._terminate(self._record))

    def kill(self, incarnation: int) -> None:
        """SIGKILL to the tree; ends in Exited and Swept in any case."""
        self._beside(self._kill(incarnation))

    async def tail(self, lines: int) -> list[str]:
        """Last lines of output, from the shim or from the file."""
        if self._link is not None:
            with contextlib.suppress(UnavailableError):
                answer = await self._link.request("tail", lines=lines)
                if answer["lines"]:
                    return [str(line) for line in answer["lines"]]
        return exits.file_tail(self.paths.log, exits.TAIL_BYTES)[-lines:] if lines > 0 else []

    async def release(self) -> None:
        """End the shim of a stopped worker."""
        async with self._lock:
            if self._link is not None:
                link, self._link = self._link, None
                # Refused when something cannot be killed: then the shim stays and goes on trying.
                with contextlib.suppress(UnavailableError):
                    await link.request("quit")
                    await shims.until_true(lambda: link.shim is None or not is_alive(link.shim), HELLO_SECONDS)
                link.close()
        await self.close()

    async def close(self) -> None:
        """Let go; processes live on."""
        if self._watch is not None:
            self._watch.close()
        if self._link is not None:
            self._link.close()
            self._link = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- attaching ----------------------------------------------------------------------------------------------

    async def _attach(self) -> Message | None:
        """Connect and say hello; None when no shim can be asked. One that holds the lock is given time to listen."""
        for _ in range(2):
            link = await ShimLink.connect(self.paths.socket, self._on_event, self._on_lost)
            if link is None and shims.lock_is_held(self.paths.lock):
                link = await self._await_listener()
            if link is None:
                return None
            hello = await self._hello(link)
            if hello is not None:
                self._link = link
                return hello
        return None

    async def _await_listener(self) -> ShimLink | None:
        loop = asyncio.get_running_loop()
        end = loop.time() + APPEAR_SECONDS
        while loop.time() < end:
            link = await ShimLink.connect(self.paths.socket, self._on_event, self._on_lost)
            if link is not None or not shims.lock_is_held(self.paths.lock):
                return link
            await asyncio.sleep(0.01)
        return None

    async def _hello(self, link: ShimLink) -> Message | None:
        try:
            hello = await link.request("hello", timeout=HELLO_SECONDS)
        except UnavailableError:
            # Stopped or wedged: it drains no log and sweeps nothing, and it holds the lock. The tree lives without it.
            link.close()
            if link.shim is not None:
                signal_exactly(link.shim, signal.SIGKILL)
                await shims.until_true(lambda: not shims.lock_is_held(self.paths.lock), 1.0)
            return None
        oldest, newest = hello["protocol"]
        if hello["worker"] != self.worker or not oldest <= VERSION <= newest:
            link.close()
            raise UnavailableError(
                f"the shim at {self.paths.socket} is of worker {hello['worker']} and speaks versions {oldest} to "
                f"{newest}; expected worker {self.worker} and version {VERSION}",
                hint="stop the worker with the daemon that started it, then start it again",
            )
        return hello

    async def _adopt_from_shim(self, hello: Message) -> Found:
        record = parse_life(self.worker, hello["child"])
        if record is not None:
            self._take_life(record)
            return Found(record.life, shim_alive=True, incarnation=record.incarnation, last_exit=None)
        if hello["child"] is not None:
            # Taking it for nothing would end in the death of a worker that serves.
            raise UnavailableError(f"the shim of {self.worker} describes its child in words unknown to us")
        if hello["sweeping"]:
            self._record = read_life(self.worker, self.paths.life)
            self._settled.clear()
            self._let_events_go()
            await self._until_settled(BOUND + 2)
        else:
            await self._reap_orphans()
        newest, last = self._last_exit(hello)
        return Found(None, shim_alive=True, incarnation=newest, last_exit=last)

    async def _adopt_bare(self) -> Found:
        record = read_life(self.worker, self.paths.life)
        if record is not None and is_alive(record.leader):
            self._take_life(record)
            self._watch_leader(record)
            return Found(record.life, shim_alive=False, incarnation=record.incarnation, last_exit=None)
        await self._reap_orphans()
        newest, last = self._last_exit(None)
        return Found(None, shim_alive=False, incarnation=newest, last_exit=last)

    def _last_exit(self, hello: Message | None) -> tuple[int, ExitRecord | None]:
        newest, raw = exits.newest_exit(self.paths.exits)
        if hello is not None:
            newest = max(newest, int(hello["newest"]))
            raw = hello["exit"] or raw
        return newest, exits.exit_record(raw, self._kernel) if raw and raw.get("incarnation") == newest else None

    async def _reap_orphans(self) -> int:
        """End what nobody can adopt; how many processes survive that."""
        survivors = await self._leftovers.end(self.paths)
        self._cgroups.sweep(self.worker)
        self._clean = survivors == 0
        return survivors

    # --- spawning -----------------------------------------------------------------------------------------------

    async def _make_room(self) -> None:
        """At most one tree a worker: the old one is gone, or nothing new is started."""
        if self.life is not None:
            raise SpawnError(f"incarnation {self.life.incarnation} of {self.worker} is alive", cause="alive")
        if not await self._until_settled(ROOM_SECONDS):
            raise SpawnError(
                f"processes of {self.worker}'s last incarnation cannot be killed: {self.members(tree.process_table())}",
                cause="unkillable",
                hint="they hang in the kernel (a card or a disk): see 'ps -o pid,stat,wchan'",
            )
        if self._link is not None:
            return
        hello = await self._attach()
        if hello is None:
            if not self._clean and (survivors := await self._reap_orphans()):
                raise SpawnError(f"{survivors} processes of {self.worker} cannot be killed", cause="unkillable")
            await self._start_shim()
        elif hello["child"] is not None:
            # Before its scratch folders are emptied under its feet.
            raise SpawnError(f"a life of {self.worker} that was not adopted is alive", cause="alive")

    async def _start_shim(self) -> None:
        if not await self._starter.start(self.paths) or await self._attach() is None:
            owner = self.paths.lock.read_text().strip() if self.paths.lock.exists() else "unknown"
            if self._link is None and await self._attach() is None:
                raise SpawnError(
                    f"another shim of {self.worker} (pid {owner}) holds {self.paths.lock} but does not answer at "
                    f"{self.paths.socket}",
                    cause="shim",
                    hint=f"look at process {owner}; once it is gone the next start succeeds",
                )

    async def _empty(self, launch: Launch) -> None:
        faults = await scratch.empty(launch.scratch)
        if faults:
            raise SpawnError(f"a scratch folder of {self.worker} cannot be emptied: {faults[0]}", cause="scratch")

    async def _spawn(self, launch: Launch) -> LifeRecord | None:
        """The new life; None when the shim was lost before it, and another one has been started."""
        cgroup = self._cgroups.make(self.worker, launch.incarnation)
        try:
            answer = await self._order(launch, str(cgroup) if cgroup else None)
        except ShimRefused as refusal:
            self._cgroups.remove(cgroup)
            raise _spawn_error(self.worker, refusal) from None
        except ShimGoneError:
            return await self._after_lost_spawn(launch)
        record = parse_life(self.worker, answer["child"])
        if record is None:
            raise SpawnError(f"the shim of {self.worker} gave an answer that makes no sense: {answer}", cause="shim")
        return record

    async def _order(self, launch: Launch, cgroup: str | None) -> Message:
        if self._link is None:
            raise ShimGoneError("the shim went away before the spawn")
        return await self._link.request(
            "spawn",
            timeout=SPAWN_SECONDS,
            incarnation=launch.incarnation,
            argv=list(launch.argv),
            env=dict(launch.env),
            cwd=str(launch.cwd or Path.cwd()),  # the shim's own folder is the root, and it may be of an older daemon
            cgroup=cgroup,
            token=f"{self._instance}:{self.worker}:{launch.incarnation}",
            log={"max_bytes": launch.log_max_bytes, "keep": launch.log_keep},
            note={"host": launch.host, "port": launch.port, "scratch": [str(path) for path in launch.scratch]},
        )

    async def _after_lost_spawn(self, launch: Launch) -> LifeRecord | None:
        """The shim fell silent: either it can be asked again, or what it began is taken down and a new one started.

        A new shim refuses the incarnation if the old one did begin it: that life is over.
        """
        self._drop_link()
        hello = await self._attach()
        if hello is None:
            self._clean = False
            await self._make_room()
            return None
        record = parse_life(self.worker, hello["child"])
        return record if record and record.incarnation == launch.incarnation else None

    def _take_life(self, record: LifeRecord) -> None:
        self._record, self._alive, self._asked, self._clean = record, True, None, False
        self._settled.clear()

    def _let_events_go(self) -> None:
        """Hand on, after the caller's next step, what came while the truth was still being found."""
        held, self._held = self._held or [], None
        for event in held:
            asyncio.get_running_loop().call_soon(self._on_event, event)
        if self._link is None and self._record is not None and self._watch is None:
            self._beside(self._recover())

    # --- events of the shim -------------------------------------------------------------------------------------

    def _on_event(self, event: Message) -> None:
        if self._held is not None:
            self._held.append(event)
        elif event["event"] == "exited":
            self._exited(int(event["incarnation"]), event["exit"])
        elif event["event"] == "swept":
            self._swept(int(event["incarnation"]), int(event["survivors"]))

    def _exited(self, incarnation: int, raw: Message) -> None:
        if self._record and self._alive and self._record.incarnation == incarnation:
            self._alive = False
            self._report(Exited(self._clock.monotonic(), incarnation, exits.exit_record(raw, self._kernel)))

    def _swept(self, incarnation: int, survivors: int) -> None:
        record = self._record
        if record is None or record.incarnation != incarnation:
            return
        if survivors:
            self._report(Swept(self._clock.monotonic(), incarnation, survivors))
        else:
            self._record = None
            self._beside(self._clear(record))

    async def _clear(self, record: LifeRecord) -> None:
        """Swept is told when the scratch is empty too: what is there afterwards belongs to the next life."""
        self._cgroups.remove(record.cgroup)
        await scratch.empty(record.scratch)
        self._settled.set()
        self._report(Swept(self._clock.monotonic(), record.incarnation))

    async def _until_settled(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        return self._settled.is_set()

    # --- loss of the shim ---------------------------------------------------------------------------------------

    def _on_lost(self) -> None:
        self._link = None
        if self._held is None:
            self._beside(self._recover())

    def _drop_link(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    async def _recover(self) -> None:
        """The connection ended: the shim is dead, or it only dropped us."""
        async with self._lock:
            if self._link is not None or self._record is None or self._reaping is not None:
                return
            try:
                hello = await self._attach()
            except UnavailableError:
                hello = None
            if hello is None:
                self._go_bare(self._record)
            else:
                self._catch_up(hello, self._record)

    def _catch_up(self, hello: Message, record: LifeRecord) -> None:
        """Tell what happened while we were not attached."""
        child, last = hello["child"], hello["exit"]
        if child and child["incarnation"] == record.incarnation:
            return
        if last and last["incarnation"] == record.incarnation:
            self._exited(record.incarnation, last)
            if not hello["sweeping"]:
                self._swept(record.incarnation, int(last["survivors"] or 0))
        else:
            self._go_bare(record)

    def _go_bare(self, record: LifeRecord) -> None:
        if self._alive and is_alive(record.leader):
            self._watch_leader(record)
            self._report(ShimLost(self._clock.monotonic(), record.incarnation))
        else:
            self._reap(record)

    def _watch_leader(self, record: LifeRecord) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = Watch(record.leader, lambda: self._reap(record))

    def _reap(self, record: LifeRecord) -> None:
        if self._reaping != record.incarnation and self._record is record:
            self._reaping = record.incarnation
            self._beside(self._reap_bare(record))

    async def _reap_bare(self, record: LifeRecord) -> None:
        """End a tree without a shim, and tell it as the shim would."""
        killing = asyncio.ensure_future(kill_tree(record.marks, lambda n: self._swept(record.incarnation, n)))
        try:
            if not await shims.until_true(lambda: killing.done() or not is_alive(record.leader), BOUND):
                await killing  # the leader itself cannot be killed: it has not exited until it has
            self._tell_bare_exit(record)
            await killing
        finally:
            killing.cancel()
            self._reaping = None
        exits.mark_swept(self.paths.exits, record.incarnation)
        self._swept(record.incarnation, 0)

    def _tell_bare_exit(self, record: LifeRecord) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        raw = exits.read_exit(self.paths.exits, record.incarnation)
        if raw is None:
            raw = exits.write_unwatched(self.paths.exits, record, self.paths.log, self._asked)
        self._exited(record.incarnation, raw)

    # --- orders -------------------------------------------------------------------------------------------------

    async def _terminate(self, record: LifeRecord) -> None:
        self._asked = self._asked or f"signal {int(signal.SIGTERM)}"
        if self._link is not None:
            with contextlib.suppress(UnavailableError):
                await self._link.request("signal", incarnation=record.incarnation, signal=int(signal.SIGTERM))
                return
        signal_exactly(record.leader, signal.SIGTERM)

    async def _kill(self, incarnation: int) -> None:
        record = self._record
        if record is None or record.incarnation != incarnation:
            await self._until_settled(BOUND)
            self._tell_again(incarnation)
            return
        self._asked = self._asked or "sweep"
        if self._link is not None:
            try:
                await self._link.request("sweep", incarnation=incarnation)
            except ShimRefused:
                return  # the leader's death and the sweep are on their way already
            except ShimGoneError:
                self._give_up_shim()
            else:
                return
        if self._record is record:
            self._reap(record)

    def _give_up_shim(self) -> None:
        """It does not answer: without it the tree can be killed; with it, stopped, the lock is never free."""
        link = self._link
        self._drop_link()
        if link is not None and link.shim is not None:
            signal_exactly(link.shim, signal.SIGKILL)

    def _tell_again(self, incarnation: int) -> None:
        """Someone waits for the end of a life that is over."""
        raw = exits.read_exit(self.paths.exits, incarnation)
        now = self._clock.monotonic()
        self._report(Exited(now, incarnation, exits.exit_record(raw or {}, self._kernel)))
        self._report(Swept(now, incarnation))

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _spawn_error(worker: str, refusal: ShimRefused) -> SpawnError:
    permanent = refusal.refusal == "exec-failed" and refusal.errno in HOPELESS
    return SpawnError(f"{worker}: {refusal}", cause=refusal.refusal, permanent=permanent, errno=refusal.errno)


def _ignore(_: object) -> None:
    """Nobody listens yet."""
