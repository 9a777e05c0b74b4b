"""Questions side by side on an event loop: each waits for its turn and is worked on in a thread of a small pool.

    turn     at most `concurrency` questions have one; who waits longer than `patience` is told to come again
    batch    a thread works until there is enough to send, or a moment is over; then the loop sends it, and only when
             that has left does a thread go on: a client that reads slowly holds no thread and no memory
    gone     a question whose asker has gone, or whose time is over, is cancelled and can see that (oracles/asker.py);
             its turn is free once the thread has come back

Reading and keeping datasets has threads of its own, so that it is not behind the questions.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from oracles.asker import Asker
from oracles.serve.limits import Limits
from oracles.wire.messages import Refused

BATCH_BYTES: Final = 1 << 16
BATCH_SECONDS: Final = 0.2
READERS: Final = 2  # threads that read datasets

Some = TypeVar("Some")


class Turns:
    """The threads of a server. Belongs to one event loop, and is made in its thread."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = asyncio.Semaphore(limits.concurrency)
        self._workers = DaemonThreads(limits.concurrency, "oracle")
        self._readers = DaemonThreads(READERS, "oracle-data")
        self._finishing: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        self._workers.shutdown()
        self._readers.shutdown()

    async def read(self, work: Callable[[], Some]) -> Some:
        """What a function gives that reads a dataset."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    async def batches(self, pieces: Generator[bytes, None, None]) -> AsyncGenerator[tuple[list[bytes], bool], None]:
        """The pieces of an answer in batches, each with whether it is the last."""
        try:
            async with asyncio.timeout(self._limits.patience):
                await self._free.acquire()
        except TimeoutError:
            raise Refused("too many questions at once; ask again later", code="BUSY", retry_after=1.0) from None
        work = _Work(pieces)
        step: asyncio.Future[tuple[list[bytes], bool]] | None = None
        try:
            is_last = False
            while not is_last:
                step = asyncio.get_running_loop().run_in_executor(self._workers, work.next_batch)
                batch, is_last = await asyncio.shield(step)
                yield batch, is_last
        finally:
            work.asker.leave()
            finishing = asyncio.create_task(self._finish(work, step))
            self._finishing.add(finishing)  # or nothing would refer to it
            finishing.add_done_callback(self._finishing.discard)

    async def _finish(self, work: _Work, step: asyncio.Future[tuple[list[bytes], bool]] | None) -> None:
        """Gives the turn back once no thread works on the question."""
        try:
            if step is not None and not step.done():
                with suppress(Exception):
                    await step
            if not work.is_over:
                await asyncio.get_running_loop().run_in_executor(self._workers, work.close)
        finally:
            self._free.release()


class DaemonThreads(Executor):
    """So many threads. Python's own pool waits for its threads when the process ends, also for one that never will."""

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        for number in range(count):
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True).start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def perform() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except Refused as refused:
                future.set_exception(_without_frames(refused))
            except BaseException as error:
                future.set_exception(error)

        self._tasks.put(perform)
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = False) -> None:
        """Ends each thread when it has done what was submitted before."""
        for _ in range(self._count):
            self._tasks.put(None)

    def _run(self) -> None:
        while (perform := self._tasks.get()) is not None:
            perform()
            del perform  # or it would be kept, with all that it refers to, until the next one comes


def _without_frames(refused: Refused) -> Refused:
    """The refusal without what led to it: the frames of a traceback hold a whole request for long."""
    refused.__cause__ = refused.__context__ = None
    return refused.with_traceback(None)


class _Work:
    """One answer under way; used by one thread at a time."""

    def __init__(self, pieces: Generator[bytes, None, None]) -> None:
        self.asker = Asker()
        self.is_over = False
        self._pieces = pieces
        self._error: Exception | None = None  # comes after the pieces that were made before it

    def next_batch(self) -> tuple[list[bytes], bool]:
        """The next pieces, and whether they are the last."""
        batch: list[bytes] = []
        size, end = 0, time.monotonic() + BATCH_SECONDS
        if self._error is not None:
            raise self._error
        try:
            with self.asker.served():
                for piece in self._pieces:
                    batch.append(piece)
                    size += len(piece)
                    self.asker.require()
                    if size >= BATCH_BYTES or time.monotonic() > end:
                        return batch, False
        except Exception as error:
            self.is_over = True
            if not batch:
                raise
            self._error = _without_frames(error) if isinstance(error, Refused) else error
            return batch, False
        self.is_over = True
        return batch, True

    def close(self) -> None:
        with suppress(Exception):
            self._pieces.close()
