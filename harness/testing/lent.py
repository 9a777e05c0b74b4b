"""An oracle that several tests share: whoever is done with it, as an audit is at its end, does not close it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.vocabulary.oracle import Ask, Card, Oracle, Release


class Lent:
    """The same oracle, except that its owner alone can close it. Its copies in other processes are their own."""

    def __init__(self, inner: Oracle) -> None:
        self.inner = inner

    @property
    def card(self) -> Card:
        return self.inner.card

    def answer(self, ask: Ask) -> Iterable[Release]:
        return self.inner.answer(ask)

    def close(self) -> None:
        """Left to the owner."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.inner,)


def _itself(oracle: Oracle) -> Oracle:
    return oracle
