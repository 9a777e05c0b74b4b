"""Memory that the questions under way may use together: whoever needs more than is left waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from sys import getsizeof
from typing import Any

import numpy as np

from oracles.wire.messages import Refused


class Room:
    """So many bytes, shared by threads."""

    def __init__(self, size: int) -> None:
        self.size = self._left = size
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, size: int, seconds: float) -> Iterator[None]:
        """So many bytes are in use inside; waits for them at most so many seconds, and is Refused then."""
        if size > self.size:
            raise Refused(
                f"this takes about {size >> 20} MiB of memory; the server has {self.size >> 20} MiB for its questions",
                code="TOO_LARGE",
            )
        with self._changed:
            if not self._changed.wait_for(lambda: self._left >= size, seconds):
                raise Refused("too much is worked on at once; ask again later", code="BUSY", retry_after=1.0)
            self._left -= size
        try:
            yield
        finally:
            with self._changed:
                self._left += size
                self._changed.notify_all()


def size_in_memory(value: Any) -> int:
    """Bytes that a value and all that it refers to take: of plain data, arrays and our own objects."""
    seen: set[int] = set()
    waiting, total = [value], 0
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type):
            continue
        seen.add(id(item))
        total += getsizeof(item, 64)
        if isinstance(item, np.ndarray):
            total += item.nbytes if item.base is not None else 0
            if item.dtype == object:
                waiting += item.tolist()
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
        elif is_dataclass(item):
            waiting += [getattr(item, field.name, None) for field in fields(item)]
        else:
            waiting += getattr(item, "__dict__", {}).values()
    return total
