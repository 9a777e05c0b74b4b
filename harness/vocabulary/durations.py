"""Times that a person writes and reads: "10m" to seconds and back. Knows nothing else."""

from __future__ import annotations

import re
from typing import Any

from harness.vocabulary.errors import InputError

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
WRITTEN = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|min|h|d|)\s*")


def seconds_in(written: Any, name: str) -> float:
    """The seconds that a number, or a text such as "90s", "10m" or "2h", stands for; `name` is the option's."""
    if isinstance(written, int | float) and not isinstance(written, bool) and 0 <= written < float("inf"):
        return float(written)
    parts = WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if parts is None:
        raise InputError(f'{name} must be a time such as "90s", "10m" or "2h", or a number of seconds, not {written!r}')
    return float(parts[1]) * UNITS[parts[2]]


def in_words(seconds: float) -> str:
    """A time to read: 40 s, 2 min 5 s, 3 h 20 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{rest} s"
