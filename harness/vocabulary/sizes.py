"""Sizes as a person writes them: "512M" to bytes, and back. Knows nothing else."""

from __future__ import annotations

import re
from typing import Any

from harness.vocabulary.errors import InputError

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
WRITTEN = re.compile(r"\s*(\d{1,18})\s*([KMG]?)B?\s*", re.ASCII | re.IGNORECASE)


def bytes_in(written: Any) -> int:
    """The bytes that a number, or a text such as "512M" or "1GB", stands for; K, M and G are powers of 1024."""
    if isinstance(written, int) and not isinstance(written, bool) and written >= 0:
        return written
    parts = WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if parts is None:
        raise InputError("expected a whole number of bytes, or one with K, M or G, such as 512M")
    return int(parts[1]) * UNITS[parts[2].upper()]


def written(size: int) -> str:
    """Bytes as a person writes them, rounded up to at most four digits."""
    unit = next((unit for unit, each in UNITS.items() if size <= 9_999 * each), "G")
    return f"{-(-size // UNITS[unit])}{unit}"
