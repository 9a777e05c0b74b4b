"""One HTTP/1.1 connection on an event loop: h11 reads and writes the protocol, this module waits, with deadlines.

    idle   between two requests: IDLE seconds
    head   from its first byte to its last: HEAD_SECONDS, and HEAD_BYTES
    body   BODY_SECONDS, and more only for what arrives at BODY_RATE: who sends a byte now and then is cut off
    work   the request is complete: as long as the answer takes; a client that hangs up meanwhile cancels it
    send   SEND_SECONDS for the client to take a batch of the reply

Until a request is complete it costs no thread, and of memory what has arrived. `Places` bounds how many connections
there are: one too many takes the place of the one that has gone without a complete request for the longest, those first
from whom the right token has never come.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from email.utils import formatdate
from typing import Any, Final, Literal

import h11

from oracles.serve.intake import Arriving, Intake
from oracles.wire.messages import Refused

IDLE: Final = 60.0
HEAD_SECONDS: Final = 15.0
HEAD_BYTES: Final = 1 << 14
BODY_SECONDS: Final = 20.0
BODY_RATE: Final = 1 << 18  # bytes a second
SEND_SECONDS: Final = 60.0
LINGER: Final = 5.0  # seconds that the rest of a refused request is read for
HANDSHAKE: Final = 15.0
BUFFER: Final = 1 << 16
State = Literal["idle", "head", "body", "work"]


class Gone(Exception):
    """The client has hung up, or was too slow."""


class Places:
    """The connections of a server, so many at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.all: set[Wire] = set()

    def take(self, newcomer: Wire) -> bool:
        """Whether there is a place for one more, if need be that of the one that has waited for the longest."""
        if len(self.all) >= self._most:
            waiting = [wire for wire in self.all if wire.state != "work"]
            if not waiting:
                return False
            first = min(waiting, key=lambda wire: (wire.is_admitted, wire.waiting_since))
            self.all.discard(first)
            first.abort()
        self.all.add(newcomer)
        return True


class Wire(asyncio.Protocol):
    """The bytes of a connection, with room for few of them: who sends more than is read waits."""

    def __init__(self, places: Places, tls: ssl.SSLContext | None, converse: Callable[[Wire], Awaitable[None]]) -> None:
        self._places, self._tls, self._converse = places, tls, converse
        self._received = bytearray()
        self._changed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.is_over = False  # nothing more will arrive
        self._task: asyncio.Task[None] | None = None
        self.state: State = "idle"
        self.since = self.waiting_since = time.monotonic()
        self.is_admitted = False
        self.on_end: Callable[[], object] | None = None  # called when the client hangs up
        self._transport: Any = None

    def enter(self, state: State) -> None:
        self.state, self.since = state, time.monotonic()
        if state == "idle":
            self.waiting_since = self.since

    # ---- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if not self._places.take(self):
            self.abort()
            return
        self._transport.set_write_buffer_limits(high=BUFFER)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) >= BUFFER:
            self._transport.pause_reading()
        self._changed.set()

    def eof_received(self) -> bool:
        self._end()
        return self._tls is None  # a client may end its side and still read

    def connection_lost(self, error: Exception | None) -> None:
        self._places.all.discard(self)
        self._writable.set()
        self._end()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _end(self) -> None:
        self.is_over = True
        self._changed.set()
        if self.on_end is not None:
            self.on_end()

    async def _run(self) -> None:
        try:
            with suppress(Gone, OSError, TimeoutError, ssl.SSLError):
                if self._tls is not None:
                    loop = asyncio.get_running_loop()
                    self._transport = await loop.start_tls(
                        self._transport, self, self._tls, server_side=True, ssl_handshake_timeout=HANDSHAKE
                    )
                    self._transport.set_write_buffer_limits(high=BUFFER)
                await self._converse(self)
        finally:
            self._transport.close()

    # ---- what a conversation calls

    async def receive(self) -> bytes:
        """What has arrived, as soon as there is something; nothing at the end."""
        while not self._received and not self.is_over:
            self._changed.clear()
            await self._changed.wait()
        data = bytes(self._received)
        self._received.clear()
        if not self.is_over:
            self._transport.resume_reading()
        return data

    async def send(self, data: bytes) -> None:
        """Returns when there is room for more; a client that takes nothing for too long is Gone."""
        if self._transport.is_closing():
            raise Gone
        self._transport.write(data)
        if not self._writable.is_set():
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await self._writable.wait()
            except TimeoutError:
                self.abort()
                raise Gone from None

    def abort(self) -> None:
        """Ends the connection at once."""
        self._transport.abort()


class Connection:
    """Requests one after the other on a wire, and the replies to them."""

    def __init__(self, wire: Wire, intake: Intake) -> None:
        self.wire, self._intake = wire, intake
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._head = bytearray()  # of the request that is being received, as it arrived
        self._is_head = False  # a request that wants no body
        self.is_closing = False

    async def next_request(self) -> h11.Request | None:
        """The next request once its head is there; None if the client has ended, or says nothing."""
        self.wire.enter("idle")
        deadline = IDLE
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Request):
                self._is_head = event.method == b"HEAD"
                _check_head(event, bytes(self._head))
                return event
            if event is not h11.NEED_DATA:
                return None
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + deadline):
                    data = await self.wire.receive()
            except TimeoutError:
                return None
            if self.wire.state == "idle" and data:
                self.wire.enter("head")
            deadline = max(0.0, HEAD_SECONDS - (time.monotonic() - self.wire.since))
            if len(self._head) <= HEAD_BYTES:
                self._head += data
            self._http.receive_data(data)

    async def body(self, request: h11.Request, limit: int) -> tuple[bytes, Arriving]:
        """The whole body, of at most so many bytes, and its place in the intake; whoever gets it forgets that.

        A body that is announced larger is refused before a byte of it is taken.
        """
        length = next((int(value) for name, value in request.headers if name == b"content-length"), 0)
        if length > limit:
            raise too_large(limit)
        self.wire.enter("body")
        arriving = Arriving(self._intake, self.wire.abort)
        pieces: list[bytes] = []
        try:
            if self._http.they_are_waiting_for_100_continue:
                await self.wire.send(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            async for piece in self._arriving():
                if arriving.size + len(piece) > limit:
                    raise too_large(limit)
                await arriving.grow(len(piece))
                pieces.append(piece)
            await arriving.grow(arriving.size)  # to put the pieces together takes their size once more
        except BaseException:
            arriving.forget()
            raise
        arriving.whole()
        self.wire.enter("work")
        whole = b"".join(pieces)
        arriving.shrink(len(whole))
        return whole, arriving

    async def _arriving(self) -> AsyncIterator[bytes]:
        """The pieces of the body until its end; a TimeoutError if they come too slowly."""
        loop = asyncio.get_running_loop()
        end = loop.time() + BODY_SECONDS
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Data):
                end += len(event.data) / BODY_RATE
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return
            elif event is h11.NEED_DATA:
                async with asyncio.timeout_at(min(end, loop.time() + BODY_SECONDS)):
                    self._http.receive_data(await self.wire.receive())
            else:  # the client has ended
                raise Gone

    # ---- replies

    async def reply(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """A whole reply."""
        await self.wire.send(
            self.head(status, [*headers, ("Content-Length", str(len(body)))])
            + (b"" if self._is_head else self._http.send(h11.Data(data=body)) or b"")
            + (self._http.send(h11.EndOfMessage()) or b"")
        )

    def head(self, status: int, headers: Iterable[tuple[str, str]]) -> bytes:
        """The head of a reply."""
        lines = [("Date", formatdate(usegmt=True)), *headers]
        if self.is_closing:
            lines.append(("Connection", "close"))
        return self._http.send(h11.Response(status_code=status, headers=lines)) or b""

    def piece(self, data: bytes) -> bytes:
        """A piece of a reply whose head said that it comes in chunks."""
        return self._http.send(h11.Data(data=data)) or b""

    def end(self) -> bytes:
        """The end of such a reply."""
        return self._http.send(h11.EndOfMessage()) or b""

    @property
    def can_reply(self) -> bool:
        """Whether no byte of a reply was sent yet."""
        return self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE)

    @property
    def has_unread(self) -> bool:
        """Whether the client is still sending a body that nobody wants, and does not wait to be asked for it."""
        return self._http.their_state is h11.SEND_BODY and not self._http.they_are_waiting_for_100_continue

    async def finish(self) -> bool:
        """Reads what is left of a request that was answered early; whether another request may follow."""
        with suppress(TimeoutError, Gone, h11.RemoteProtocolError):
            async with asyncio.timeout(LINGER):
                while self.has_unread:  # or a client that is still sending would never read why
                    event = self._http.next_event()
                    if event is h11.NEED_DATA:
                        data = await self.wire.receive()
                        if not data:
                            break
                        self._http.receive_data(data)
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        self._head.clear()
        return True


def _check_head(request: h11.Request, head: bytes) -> None:
    """Refuses what h11 lets pass: lengths that could be read in two ways by two servers behind each other."""
    names = [name for name, _ in request.headers]
    lines = head.partition(b"\r\n\r\n")[0].lower().splitlines()
    if sum(line.startswith(b"content-length:") for line in lines) > 1:
        raise Refused("the request has more than one Content-Length", code="INVALID")
    if b"transfer-encoding" in names and b"content-length" in names:
        raise Refused("the request has a Content-Length as well as a Transfer-Encoding", code="INVALID")
    if any(len(value) > 18 for name, value in request.headers if name == b"content-length"):
        raise Refused("the Content-Length is no length", code="INVALID")


def too_large(limit: int) -> Refused:
    return Refused(f"the request has more than {limit} bytes", code="TOO_LARGE")
