"""Asking the oracle: the only place of an audit that does. Errors name the oracle and the question."""

from __future__ import annotations

from collections.abc import Iterator

from harness.executors.calls import call_of_f
from harness.vocabulary.answers import checked_answers
from harness.vocabulary.errors import HarnessError
from harness.vocabulary.oracle import Ask, Card, Oracle, Release

ROUNDS = 25  # at most, in which both sides are drawn where they are drawn independently


def ask_oracle(oracle: Oracle, ask: Ask, what: str) -> Iterator[Release]:
    """The releases that answer an ask, in kind, number and shape as asked; `what` names the question in errors."""
    try:
        releases = iter(checked_answers(oracle, ask))
        while True:
            with call_of_f():
                release = next(releases, None)
            if release is None:
                return
            yield release
    except HarnessError as error:
        raise error.within(f"oracle {oracle.card.name!r}, asked for {what}") from error


def calls(card: Card, draws: int) -> int:
    """How often f is called for one ask: once a draw, or once for all draws that it predicts together."""
    asked = draws if card.randomized else 1
    return -(-asked // (card.max_draws or asked)) if card.releases == "predictions" else asked


def rounds(draws: int) -> list[int]:
    """How many draws each round makes where both sides are drawn independently, a few of one and of the other."""
    many = min(ROUNDS, draws)
    return [draws // many + (turn < draws % many) for turn in range(many)]
