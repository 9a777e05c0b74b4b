"""An event loop in a thread of its own: all connections of a server are waited for there, by no thread each."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Some = TypeVar("Some")


class EventLoop:
    """Runs coroutines for other threads until it is stopped."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Some]) -> Some:
        """What a coroutine gives; may be called by any thread but that of the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @property
    def is_running(self) -> bool:
        return not self._loop.is_closed()

    def stop(self) -> None:
        """Cancels all that is under way and ends the thread."""
        self.run(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    while others := asyncio.all_tasks() - {asyncio.current_task()}:  # one that ends may begin another to tidy up
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
