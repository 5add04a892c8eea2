"""One client's connection: reads requests one by one and passes each to the engine of the moment.

Requests that a client pipelines are passed one at a time, so an answer always belongs to the request in progress,
and between two requests the target may have changed without the client seeing anything.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from enum import Enum
from typing import cast

from genesisd.front import answers
from genesisd.front.answers import Answer
from genesisd.front.decide import Loss, Refuse, Send, Wait, decide, loss
from genesisd.front.framing import AnswerFramer, FramingError, HeadTooLargeError, RequestFramer
from genesisd.front.switchboard import Standing, Switchboard, reachable
from genesisd.front.upstream import BUFFER, Upstream

_RESET = struct.pack("ii", 1, 0)
_STASH = 64 << 10
"""Bytes of a request that waits, or of pipelined ones, that are read ahead."""


class State(Enum):
    """Where a client's connection is."""

    IDLE = "idle"
    HEAD = "head"
    """A part of a request's head has come."""
    WAITING = "waiting"
    """The head is complete; no engine has it yet."""
    FLOWING = "flowing"
    TUNNEL = "tunnel"
    """After 101: bytes without a meaning."""
    LINGERING = "lingering"
    """The last answer is written; the client may still be sending and must be able to read it."""
    CLOSED = "closed"


class ClientConnection(asyncio.Protocol):
    """See the module. Made by the listener for each connection."""

    def __init__(self, board: Switchboard) -> None:
        self._board = board
        self._loop = asyncio.get_running_loop()
        self._state = State.IDLE
        self._since = self._loop.time()
        self._request = RequestFramer()
        self._head: list[bytes] = []
        self._answer = AnswerFramer(head=False)
        self._sent_at = 0.0
        self._passed = False
        self._stash = bytearray()
        self._dial: asyncio.Task[None] | None = None
        self._upstream: Upstream | None = None
        self._half_closed = False
        self._paused = False
        self._clogged = False

    # --- the loop's calls ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=BUFFER)
        self._board.connections.add(self)
        if len(self._board.connections) > self._board.capacity or self._board.leaving:
            self._board.refused += 1
            self._say_last(answers.TOO_MANY)
            return
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._advance(data)

    def eof_received(self) -> bool:
        """Called by the loop. The engine sees the end as it would without a front; vLLM takes it for an abort."""
        if self._state in (State.IDLE, State.HEAD, State.LINGERING, State.CLOSED) or self in self._board.waiting:
            return False
        self._half_closed = True
        return self._settle_half_close()

    def _settle_half_close(self) -> bool:
        """Pass the end on once all requests have been; False: a request lacks its end, which cannot come any more."""
        if self._stash or self._state is State.WAITING:
            return True
        if self._state is State.FLOWING and not self._request.done:
            return False
        if self._state in (State.FLOWING, State.TUNNEL) and self._upstream is not None:
            self._upstream.write_eof()
        return self._state in (State.FLOWING, State.TUNNEL, State.LINGERING)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop; whatever the engine still does for this client is ended at once."""
        del exc
        self._enter(State.CLOSED)
        self._board.forget(self)
        if self._dial is not None:
            self._dial.cancel()
        self._let_go()
        self._stash.clear()

    def pause_writing(self) -> None:
        """Called by the loop: the client reads slower than the engine writes."""
        self._clog(True)

    def resume_writing(self) -> None:
        """Called by the loop."""
        self._clog(False)

    def _clog(self, clogged: bool) -> None:
        self._clogged = clogged
        if self._upstream is not None:
            self._upstream.hold_reading(clogged)
        self.engine_flow()

    # --- the client's bytes -------------------------------------------------------------------------------------

    def _advance(self, data: bytes) -> None:
        pos = 0
        while pos < len(data):
            try:
                match self._state:
                    case State.IDLE | State.HEAD:
                        pos = self._read_head(data, pos)
                    case State.FLOWING if not self._request.done:
                        pos = self._pass_body(data, pos)
                    case State.FLOWING | State.WAITING:
                        self._keep(data[pos:])
                        return
                    case State.TUNNEL:
                        self._pass(data, pos, len(data))
                        return
                    case State.LINGERING | State.CLOSED:
                        return
            except HeadTooLargeError:
                self._say_last(answers.HEAD_TOO_LARGE)
            except FramingError as error:
                self._reject(error)

    def _reject(self, error: FramingError) -> None:
        self._let_go()
        if self._passed:
            self._cut(reset=False)
        else:
            self._say_last(answers.malformed(error.message))

    def _read_head(self, data: bytes, start: int) -> int:
        if self._state is State.IDLE:
            if data[start : start + 2] == b"\r\n":  # clients of old ended a body with a stray line end
                return start + 2
            self._enter(State.HEAD)
            self._passed = False
        stop = self._request.feed(data, start)
        self._head.append(data[start:stop])
        if self._request.head_done:
            self._begin()
        return stop

    def _begin(self) -> None:
        if self._request.method == b"CONNECT":
            raise FramingError("CONNECT is for forward proxies")
        upstream = self._upstream
        fresh = self._loop.time() - self._board.timeouts.reuse
        if upstream is not None and upstream.target == self._board.target and upstream.idle_since > fresh:
            self._send_head(upstream)
            return
        self._let_go()
        self._enter(State.WAITING)
        self._dial = self._loop.create_task(self._find_engine())

    def _send_head(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._answer = AnswerFramer(head=self._request.method == b"HEAD")
        self._enter(State.FLOWING)
        self._sent_at = self._since
        upstream.hold_reading(self._clogged)
        upstream.write(b"".join(self._head))
        self._head.clear()

    def _pass_body(self, data: bytes, start: int) -> int:
        stop = self._request.feed(data, start)
        self._pass(data, start, stop)
        if self._request.done:
            self._sent_at = self._loop.time()
            if self._answer.done:
                self._finish()
        return stop

    def _pass(self, data: bytes, start: int, stop: int) -> None:
        if self._upstream is not None:
            self._upstream.write(data if stop - start == len(data) else memoryview(data)[start:stop])

    def _keep(self, data: bytes) -> None:
        self._stash += data
        self.engine_flow()

    def engine_flow(self) -> None:
        """Read from the client only as fast as the engine takes it."""
        full = len(self._stash) >= _STASH or (self._upstream is not None and self._upstream.full)
        # A client that pipelines requests and reads no answer gets no further request in.
        full = full or (self._clogged and self._state in (State.IDLE, State.HEAD, State.WAITING))
        if full == self._paused or self._half_closed or self._transport.is_closing():
            return
        self._paused = full
        if full:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _unstash(self) -> None:
        data = bytes(self._stash)
        self._stash.clear()
        self._advance(data)
        self.engine_flow()
        if self._half_closed and not self._settle_half_close():
            self._transport.close()

    # --- finding an engine --------------------------------------------------------------------------------------

    async def _find_engine(self) -> None:
        since: float | None = None
        unreachable = False
        try:
            while True:
                step = self._decide(since, unreachable=unreachable)
                match step:
                    case Refuse():
                        self._board.waiting.discard(self)
                        self._refuse(step)
                        return
                    case Wait() if self._half_closed:  # it gave up, or would look as if it had
                        self._transport.close()
                        return
                    case Wait(until):
                        since = self._loop.time() if since is None else since
                        self._board.waiting.add(self)
                        unreachable = False
                        await self._board.change(until)
                    case Send():
                        upstream = await self._connect(step)
                        if upstream is not None:
                            self._board.waiting.discard(self)
                            self._send_head(upstream)
                            self._unstash()
                            return
                        unreachable = step.target == self._board.target
        finally:
            self._board.waiting.discard(self)
            self._dial = None

    def _decide(self, since: float | None, *, unreachable: bool) -> Send | Wait | Refuse:
        return decide(
            self._board.target,
            now=self._loop.time(),
            since=since,
            unreachable=unreachable,
            held=len(self._board.waiting - {self}),
            limits=self._board.limits,
        )

    async def _connect(self, step: Send) -> Upstream | None:
        upstream = Upstream(self, step.target)
        self._upstream = upstream
        try:
            async with asyncio.timeout(self._board.timeouts.connect):
                await self._loop.create_connection(lambda: upstream, step.target.host, step.target.port)
        except (OSError, TimeoutError):
            upstream.drop()
            self._upstream = None
            return None
        # The engine may have gone, or the target may have moved, while the connection was made.
        if self._upstream is not upstream or upstream.target != self._board.target:
            upstream.drop()
            self._upstream = None
            return None
        return upstream

    def _refuse(self, step: Refuse) -> None:
        self._board.refused += 1
        self._say(answers.refusal(step))

    # --- the engine's bytes -------------------------------------------------------------------------------------

    def engine_data(self, data: bytes) -> None:
        """Bytes of an answer."""
        if self._state is State.TUNNEL:
            self._transport.write(data)
        elif self._state is State.FLOWING and not self._answer.done:
            self._pass_answer(data)
        else:
            self._let_go()  # nobody asked: what follows on this connection cannot be trusted

    def _pass_answer(self, data: bytes) -> None:
        answer = self._answer
        try:
            answer.feed(data)
        except FramingError:
            self._garbled()
            return
        self._passed = self._passed or answer.started or answer.upgraded
        self._transport.write(data)
        if answer.upgraded:
            self._enter(State.TUNNEL)
            self._unstash()
        elif answer.done:
            self._board.answered += 1
            if self._request.done:
                self._finish()
            elif not self._may_go_on():
                self._linger()

    def engine_ended(self, *, clean: bool) -> None:
        """The engine's connection has ended, or could not be kept."""
        upstream, self._upstream = self._upstream, None
        if self._state is State.TUNNEL:
            self._board.answered += 1
            self._cut(reset=not clean)
        elif self._state is State.FLOWING and self._answer.done:
            self._linger()
        elif self._state is State.FLOWING and upstream is not None:
            self._ended_short(upstream.target.incarnation, clean=clean)

    def _ended_short(self, incarnation: int, *, clean: bool) -> None:
        match loss(answering=self._passed, until_eof=self._answer.until_eof, clean=clean):
            case Loss.COMPLETE:
                self._board.answered += 1
                self._linger()
            case Loss.APOLOGISE:
                self._board.lost += 1
                self._say(answers.lost(incarnation))
            case Loss.CUT:
                self._board.lost += 1
                self._cut(reset=False)
            case Loss.RESET:
                self._board.lost += 1
                self._cut(reset=True)

    def _garbled(self) -> None:
        upstream = self._upstream
        self._let_go()
        self._board.lost += 1
        if self._passed or upstream is None:
            self._cut(reset=self._answer.until_eof)
        else:
            self._say(answers.garbled(upstream.target.incarnation))

    # --- ends ---------------------------------------------------------------------------------------------------

    def _may_go_on(self) -> bool:
        answer = self._answer
        return answer.keep_alive and self._request.keep_alive and not answer.surplus and not self._board.leaving

    def _finish(self) -> None:
        if not self._may_go_on() or (self._half_closed and not self._stash):
            self._linger()
            return
        if self._upstream is not None:
            self._upstream.idle_since = self._loop.time()
        self.retarget()
        self._next_request()

    def _next_request(self) -> None:
        self._request = RequestFramer()
        self._head.clear()
        self._passed = False
        self._enter(State.IDLE)
        self._unstash()

    def _say(self, answer: Answer) -> None:
        """Answer the request in progress; go on with the connection if the whole request has come."""
        rest = bytes(self._stash)
        self._stash.clear()
        pos = 0
        try:
            while pos < len(rest) and not self._request.done:
                pos = self._request.feed(rest, pos)
        except FramingError:
            pos = len(rest)
        if not self._request.done or not self._request.keep_alive or self._half_closed or self._board.leaving:
            self._say_last(answer)
            return
        self._transport.write(answer.encode(close=False, head=self._request.method == b"HEAD"))
        self._stash += rest[pos:]
        self._next_request()

    def _say_last(self, answer: Answer) -> None:
        self._transport.write(answer.encode(close=True, head=self._request.method == b"HEAD"))
        self._linger()

    def _linger(self) -> None:
        """End after what is written. A close while the client still sends would reset its unread answer away."""
        self._let_go()
        self._stash.clear()
        if self._state is State.CLOSED:
            return
        self._enter(State.LINGERING)
        self.engine_flow()
        if self._half_closed or self._transport.is_closing():
            self._transport.close()
        else:
            self._transport.write_eof()

    def _cut(self, *, reset: bool) -> None:
        self._let_go()
        self._enter(State.LINGERING)
        if reset:
            sock = self._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._transport.abort()
        else:
            self._transport.close()

    def _let_go(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.drop()

    def _enter(self, state: State) -> None:
        self._state = state
        self._since = self._loop.time()

    # --- the switchboard's calls --------------------------------------------------------------------------------

    def standing(self) -> Standing:
        """What this connection counts for."""
        upstream = self._upstream
        if upstream is None or self._state not in (State.FLOWING, State.TUNNEL):
            return Standing()
        if self._state is State.TUNNEL or self._passed:
            return Standing(None if self._answer.done else upstream.target.incarnation)
        owed = self._request.done or upstream.full
        return Standing(upstream.target.incarnation, self._sent_at if owed else None)

    def retarget(self) -> None:
        """Let go of an idle connection to an engine that is not the target any more."""
        upstream = self._upstream
        idle = self._state in (State.IDLE, State.HEAD) or self._answer.done
        if idle and upstream is not None and upstream.target != reachable(self._board.target):
            self._let_go()

    def leave(self) -> None:
        """The front is ending."""
        if self._state in (State.IDLE, State.HEAD):
            self._linger()

    def cut(self) -> None:
        """End at once."""
        self._cut(reset=True)

    def tick(self, now: float) -> None:
        """Enforce the timeouts."""
        age, limits = now - self._since, self._board.timeouts
        if self._state is State.HEAD and age > limits.head:
            self._say_last(answers.HEAD_TOO_SLOW)
        elif self._state is State.IDLE and age > limits.idle:
            self._linger()
        elif self._state is State.LINGERING:
            unread = self._transport.get_write_buffer_size() > 0
            if age > (limits.idle if unread else limits.linger):
                self._transport.abort()
        elif self._state is State.IDLE and age > limits.reuse:
            self._let_go()
