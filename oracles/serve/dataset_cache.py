"""Datasets kept by digest: so many bytes in all, so long since each was last used."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from harness.vocabulary.dataset import Dataset
from oracles.wire.messages import Refused


class DatasetCache:
    """Datasets by digest, bounded in bytes and in time since last use; the longest unused make room for new ones."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Dataset, int, float]] = OrderedDict()  # data, size, last used
        self._size = 0

    def put(self, digest: str, data: Dataset, size: int) -> None:
        if size > self._most:
            raise Refused(f"the dataset takes {size} bytes; this server keeps {self._most} in all", code="TOO_LARGE")
        with self._lock:
            self._expire()
            self._remove(digest)
            while self._size + size > self._most:
                self._remove(next(iter(self._kept)))
            self._kept[digest] = (data, size, self._clock())
            self._size += size

    def take(self, digest: str) -> Dataset | None:
        """The dataset, which counts as used now, if it is still kept."""
        with self._lock:
            self._expire()
            if digest not in self._kept:
                return None
            data, size, _ = self._kept[digest]
            self._kept[digest] = (data, size, self._clock())
            self._kept.move_to_end(digest)
            return data

    def _expire(self) -> None:
        """Oldest first: the order is that of last use."""
        now = self._clock()
        while self._kept:
            digest, (_, _, used) = next(iter(self._kept.items()))
            if now - used <= self._seconds:
                return
            self._remove(digest)

    def _remove(self, digest: str) -> None:
        if digest in self._kept:
            self._size -= self._kept.pop(digest)[1]
