"""Keeps one worker's front alive: notices its death at once, replaces it, and points the new one where the old did."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from typing import Any

from genesisd.errors import GenesisError, UnavailableError
from genesisd.front import silence
from genesisd.front.backoff import Backoff
from genesisd.front.channel import Channel
from genesisd.front.decide import Target
from genesisd.front.ending import await_end, ended
from genesisd.front.silence import Silence
from genesisd.front.start import Seat, Settings, lock_holder, start
from genesisd.front.wire import order, target_of
from genesisd.identity import signal_exactly
from genesisd.process_ref import ProcessRef

_LOOK_EVERY = 5.0
_QUIT_WITHIN = 5.0
_DYING = 0.25
_LEAVING = 120.0


class Keeper:
    """One worker's front. ``target`` is None until one was ordered or learnt from an adopted front."""

    def __init__(self, seat: Seat, settings: Settings, tell: Callable[..., None]) -> None:
        self._seat = seat
        self._settings = settings
        self._tell = tell
        self.target: Target | None = None
        self._channel: Channel | None = None
        self._identity: ProcessRef | None = None
        self._changing = asyncio.Lock()
        self._silence = Silence()
        self._wedged = ""
        """Why the present front was ended by us, for whoever is told that it is lost."""
        self._task: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """The living front's process."""
        return self._identity.pid if self._identity is not None and self._channel is not None else None

    async def begin(self) -> None:
        """Adopt or start. Raises RefusedError or UnavailableError; then nothing is kept."""
        async with self._changing:
            await self._attach()
        self._task = asyncio.create_task(self._keep(), name=f"front-{self._seat.worker}")

    async def reach(self) -> bool:
        """Speak to the front that is there, as it is, without keeping it alive; whether one answers."""
        with contextlib.suppress(GenesisError):
            self._channel = await Channel.connect(self._seat.socket)
            self._identity = self._channel.identity
        return self._channel is not None

    async def configure(self, settings: Settings) -> None:
        """Change the settings of the running front. Raises RefusedError and keeps the old ones."""
        async with self._changing:
            if self._channel is not None and settings != self._settings:
                await self._channel.ask(settings.message())
            self._settings = settings

    async def point(self, target: Target) -> None:
        """Send the order, or leave it to be sent when the front is back."""
        self.target = target
        # After a death this waits for the replacement, for a while: whoever orders wants it to be so on return.
        with contextlib.suppress(TimeoutError, UnavailableError):
            async with asyncio.timeout(_QUIT_WITHIN), self._changing:
                await self.ask(order(target))

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """The front's answer. Raises UnavailableError."""
        channel = self._channel
        if channel is None:
            raise UnavailableError(f"the front of {self._seat.worker} is being replaced")
        asked = time.monotonic()
        try:
            answer = await channel.ask(message)
        except UnavailableError:
            self._unanswered(channel, asked)
            raise
        self._silence.broken()
        return answer

    async def end(self, drain: float) -> None:
        """End the front and remove its files."""
        await self._stop_keeping()
        identity, channel = self._identity, self._channel
        if channel is not None:
            with contextlib.suppress(GenesisError):
                await channel.ask({"op": "quit", "drain": drain})
            await channel.close()
        if identity is not None:
            await await_end(identity, drain + _QUIT_WITHIN)
        with contextlib.suppress(GenesisError, OSError):
            await self._clear_seat()  # a replacement that was just being started
        for path in (self._seat.socket, self._seat.lock, self._seat.log):
            path.unlink(missing_ok=True)

    async def detach(self) -> None:
        """Let go; the front goes on."""
        await self._stop_keeping()
        if self._channel is not None:
            await self._channel.close()

    async def _stop_keeping(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def _unanswered(self, channel: Channel, asked: float) -> None:
        wedged = self._silence.unanswered(channel.heard, asked, time.monotonic())
        if wedged and self._identity is not None and not channel.lost.is_set():
            self._wedged = f"it answered nothing for {silence.SILENT:.0f} s and was ended"
            signal_exactly(self._identity, signal.SIGKILL)

    # --- keeping ------------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        backoff = Backoff()
        since = time.monotonic()
        while True:
            if self._channel is not None:
                await self._until_lost(self._channel)
                await self._mourn()
            backoff = backoff.after(time.monotonic() - since)
            await asyncio.sleep(backoff.delay)
            since = time.monotonic()
            try:
                async with self._changing:
                    await self._attach()
            except (GenesisError, OSError) as error:
                self._tell("front-failed", self._seat.worker, text=str(error), delay=backoff.delay)
                since = time.monotonic()

    async def _until_lost(self, channel: Channel) -> None:
        """Nobody may ask it anything for hours, and one that is wedged or stopped keeps its address shut meanwhile."""
        while not channel.lost.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY):
                    await channel.lost.wait()
            if not channel.lost.is_set():
                with contextlib.suppress(GenesisError):
                    await self.ask({"op": "stats"})

    async def _mourn(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()
        if self._identity is not None:
            why = {"text": self._wedged} if self._wedged else {}
            self._tell("front-lost", self._seat.worker, pid=self._identity.pid, **why)
            await self._see_off(self._identity)

    async def _see_off(self, identity: ProcessRef) -> None:
        """Wait a moment for its port to be free; one that was told to leave finishes its streams on its own."""
        if not await ended(identity, _DYING):
            task = asyncio.create_task(await_end(identity, _LEAVING))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _attach(self) -> None:
        self._silence, self._wedged = Silence(), ""
        channel, kind = await self._adopt(), "front-adopted"
        if channel is None:
            await start(self._seat, self._settings)
            channel, kind = await Channel.connect(self._seat.socket), "front-started"
        try:
            self._identity = channel.identity
            await self._bring_up_to_date(channel)
        except BaseException:
            await channel.close()
            raise
        self._channel = channel
        self._tell(kind, self._seat.worker, pid=self.pid)

    async def _bring_up_to_date(self, channel: Channel) -> None:
        wanted = self._settings.message()
        if any(channel.hello.get(name) != value for name, value in wanted.items() if name != "op"):
            await channel.ask(wanted)
        if self.target is not None:
            await channel.ask(order(self.target))
        else:
            self.target = target_of(channel.hello.get("target") or {})

    async def _adopt(self) -> Channel | None:
        """The living front, if there is one that can be spoken to; one that cannot is ended."""
        try:
            channel = await Channel.connect(self._seat.socket)
        except UnavailableError:
            await self._clear_seat()
            return None
        if channel.version is not None and channel.identity is not None:
            return channel
        with contextlib.suppress(GenesisError):  # another protocol: 'quit' is the same in all of them
            await channel.ask({"op": "quit", "drain": 30.0})
        await channel.close()
        return None

    async def _clear_seat(self) -> None:
        holder = lock_holder(self._seat)
        if holder is not None:
            self._tell("front-lost", self._seat.worker, pid=holder.pid, text="it holds the lock and does not answer")
            signal_exactly(holder, signal.SIGKILL)
            await await_end(holder, _QUIT_WITHIN)
