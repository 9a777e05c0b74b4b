"""Who goes on to a further look: those who look worst first, since one proven violation decides the verdict.

Persons who are not settled after a look wait for the next one, and race. How bad a person looks is the logarithm of
the capital that a bet on "her distance is above ε" would have won from the mean distance of all her draws so far
(`evidence`): it grows with the draws of somebody above ε and falls with those of somebody at ε or below, so whoever
looked bad by chance falls behind by being drawn. The next round is the worst of all who wait, with others who wait for
the same look, as many as cost a small part of all draws so far; when nobody looks bad, the part is larger, because
rounds are not free either. (Blocks of persons that share draws of f(D) do not race: small blocks would need more of
these.)

A draw is never made in vain by this: all who are not settled would be drawn to the end anyway, unless a violation ends
the audit before. The order of looks changes no error level, because each person's looks and bets stand for themselves.
The decision depends on events of finished rounds alone, and is an event itself (`Chosen`): an interrupted audit goes
on with the same persons. The numbers are from simulation: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from harness.auditing.events import Chosen
from harness.auditing.state import AuditState
from harness.auditing.state_columns import open_pairs
from harness.measuring.betting import evidence_above

STAKES = ((0.9, 0.9), (0.25, 0.1))  # of the largest stake there is, and of the capital; the second for d just above ε
LOOKS_BAD = -1.0  # the evidence from which somebody may well break the claim
SMALL_ROUND, LARGE_ROUND = 60, 12  # a round costs one in so many of all draws so far


def next_round(state: AuditState) -> Chosen | None:
    """The persons who are examined next and at which look, the worst first; None when nobody needs a further look."""
    assert state.selected is not None, "persons are selected before they are examined"
    looks, witnesses = state.selected.looks, state.privacy_witnesses
    if len(looks) == 1:
        return None
    undecided = open_pairs(state)
    open_ones = set().union(*undecided.values(), witnesses)
    members = (person for person in state.selected.examined if person in open_ones and person not in state.failed)
    waiting = [person for person in members if state.latest[person] < len(looks)]
    if not waiting:
        return None
    if state.examines_blocks:
        lowest = min(state.latest[person] for person in waiting)
        return Chosen(int(lowest) + 1, tuple(person for person in waiting if state.latest[person] == lowest))
    how_bad = {
        person: evidence(state, person, [pair for pair, members in undecided.items() if person in members])
        for person in waiting
    }
    worst_first = sorted(waiting, key=lambda person: (-how_bad[person], person))
    level = int(state.latest[worst_first[0]])
    part = SMALL_ROUND if how_bad[worst_first[0]] >= LOOKS_BAD else LARGE_ROUND
    room = max(1, state.draws_of_persons // (part * looks[level].draws))
    return Chosen(level + 1, tuple([person for person in worst_first if state.latest[person] == level][:room]))


def evidence(state: AuditState, person: int, undecided: Iterable[tuple[int, int]]) -> float:
    """How much the draws of a person speak for a violation by one of the pairs that are not decided.

    Nothing is proven by it, but who is drawn next.
    """
    scores = [-math.inf]
    for pair in undecided:
        key, claim = (person, *pair), state.claim
        if claim.delta > 0:
            counts = [count for row, count in state.counts.items() if row[:3] == key]
            scores += [evidence_above(*count, claim.delta) for count in counts]
        else:
            largest = float(state.spec["divergence"][pair[1]]["reach"])
            drawn = state.stores[pair].drawn(person)
            scores.append(_capital(drawn, state.moved[key] / drawn, claim.epsilon, largest))
    return max(scores)


def _capital(draws: int, mean: float, epsilon: float, largest: float) -> float:
    """The logarithm of the capital of a bet on "above ε", were each pair either 0 or `largest` apart."""
    often = min(mean / largest, 1.0)
    won, lost = (largest - epsilon) / (largest + epsilon), -epsilon / (largest + epsilon)
    logs = [
        math.log(part) + draws * (often * math.log1p(stake * won) + (1 - often) * math.log1p(stake * lost))
        for stake, part in STAKES
    ]
    return float(np.logaddexp.reduce(logs))
