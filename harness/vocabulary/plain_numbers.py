"""Numbers as JSON can hold them. Knows no report and no journal."""

from __future__ import annotations

import math


def plain_number(number: float) -> float | str:
    """JSON has no infinity: it is written as the text "inf", which float() reads."""
    return "inf" if number == math.inf else number
