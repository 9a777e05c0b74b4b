"""Requests that are being received: all of them together take a bounded part of the memory.

Whoever sends slowly, or not to the end, must not keep others from being heard. So where there is no room for more, the
request that has been arriving for the longest is dropped, unless it began just now; only if there is none such does the
newcomer wait, and is then told to come again. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from oracles.wire.messages import Refused

YOUNG: Final = 2.0  # seconds that a request may take to arrive before others may take its place
TICK: Final = 0.05  # seconds between two looks whether there is room


class Arriving:
    """One request on its way in; `drop` ends it."""

    def __init__(self, intake: Intake, drop: Callable[[], object]) -> None:
        self.began, self.size, self.is_whole = time.monotonic(), 0, False
        self._intake, self._drop = intake, drop
        intake.all.append(self)

    async def grow(self, size: int) -> None:
        """Room for so many bytes more; Refused if there is none for a while."""
        intake, end = self._intake, time.monotonic() + self._intake.patience
        if self.size + size > intake.most:
            raise Refused(f"a request of more than {intake.most} bytes is not taken", code="TOO_LARGE")
        while intake.used + size > intake.most:
            if time.monotonic() > end:
                raise Refused("too much is sent at once; ask again later", code="BUSY", retry_after=1.0)
            if not intake.drop_one(self):
                await asyncio.sleep(TICK)
        intake.used += size
        self.size += size

    def shrink(self, size: int) -> None:
        """So many bytes are not needed after all."""
        self._intake.used -= size
        self.size -= size

    def whole(self) -> None:
        """All of it is there; it is worked on now, and no longer dropped."""
        self.is_whole = True

    def drop(self) -> None:
        self._drop()
        self.forget()

    def forget(self) -> None:
        """It is in memory no longer."""
        if self in self._intake.all:
            self._intake.all.remove(self)
            self._intake.used -= self.size
            self.size = 0


class Intake:
    """The requests on their way in, oldest first, and how many bytes they take."""

    def __init__(self, most: int, patience: float) -> None:
        self.most, self.patience, self.used = most, patience, 0
        self.all: list[Arriving] = []

    def drop_one(self, newcomer: Arriving) -> bool:
        """Drops the request that has been arriving for the longest; False if all of them are young or complete."""
        young = time.monotonic() - YOUNG
        for arriving in self.all:
            if arriving is not newcomer and not arriving.is_whole and arriving.began < young and arriving.size:
                arriving.drop()
                return True
        return False
