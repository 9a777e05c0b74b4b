"""What a law is: a named check of an anonymizer that can be broken by a table. Knows no oracle and no engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harness.testing.asking import Rows, Session
from harness.testing.claims import Claims

Phase = Literal["tables", "refusals", "repetitions", "neighbours", "draws", "orders"]
Severity = Literal["error", "warning"]


class SaysNothing(Exception):
    """A table that cannot show whether a law is kept, and why; such as one that f refused."""


def always(session: Session, claims: Claims) -> str | None:
    """A law that applies to everybody."""
    return None


@dataclass(frozen=True)
class Law:
    """`broken` says why a table breaks the law, or None; it may ask the oracle about that table as often as it needs,
    and raises SaysNothing for a table that can show neither.

    A phase says what a check gives it: every generated table ("tables"; one call serves all such laws), a few of those
    that f refused ("refusals") or released ("repetitions"; several calls each), small tables with all their neighbours
    ("neighbours"), one small table with many draws ("draws"), or small tables whose rows differ a little ("orders").
    """

    name: str
    says: str  # one sentence: what holds
    why: str  # what goes wrong where it does not hold
    broken: Callable[[Session, Claims, Rows], str | None]
    phase: Phase = "tables"
    severity: Severity = "error"
    error_rate: float = 0.0  # chance that an anonymizer that keeps the law is said to break it; 0: a table proves it
    skipped: Callable[[Session, Claims], str | None] = always  # why the law is not judged here
    needs_rows: bool = True  # False: it is also about an f that releases predictions
    may_stay_silent: bool = False  # where no table says anything about it, it does not apply
    follows_from: tuple[str, ...] = ()  # laws that, when they are broken, break this one too: it is then not judged

    def reason(self, session: Session, claims: Claims, rows: Rows) -> str | None:
        """Why a table breaks the law; None also where the table says nothing."""
        try:
            return self.broken(session, claims, rows)
        except SaysNothing:
            return None
