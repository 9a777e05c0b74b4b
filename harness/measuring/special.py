"""The special functions of scipy under their own names: `special.betaincinv(a, b, y)`.

Loaded when the first of them is called: that takes a quarter of a second, and an audit of a deterministic f needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("scipy.special"), name)
