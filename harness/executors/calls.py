"""Since when this process waits for f to answer: written where the process that started it can read it.

A worker process that hangs cannot say so itself. It shares one number with its parent, the time at which the call under
way began, or 0, and the parent ends it when that is too long ago. Elsewhere nobody listens, and nothing happens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_shared: Any = None  # a shared double; None in processes that nobody limits


def share_calls(began: Any) -> None:
    """From now on calls of this process are told in this shared double."""
    global _shared
    _shared = began


@contextmanager
def call_of_f() -> Iterator[None]:
    """Around one call of f. The clock is that of the machine, the same in all processes of it."""
    if _shared is None:
        yield
        return
    _shared.value = time.monotonic()
    try:
        yield
    finally:
        _shared.value = 0.0
