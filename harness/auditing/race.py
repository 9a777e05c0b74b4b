"""Who goes on to a further look: those who look worst first, since one proven violation decides the verdict.

Persons who are not settled after a look wait for the next one. They race (successive halving): of those who wait for
the lowest look the worst fifth goes on; of these the worse half, and so on. Only who so far looks as if she broke the
claim goes on alone, without the others. When none of them is left, everybody who waits for the lowest look goes on. A
draw is never made in vain by this: all who are not settled would be drawn to the end anyway, unless a violation ends
the audit before. (Blocks of persons that share draws of f(D) do not race: small blocks would need more of these.) The
order of looks changes no error level, because each person's looks and bets stand for themselves.

The decision depends on events of finished rounds alone, and is an event itself (`Chosen`): an interrupted audit goes
on with the same persons. Shares are from simulation: one violating person among 300, the others nearly violating.
"""

from __future__ import annotations

from harness.auditing.events import Chosen
from harness.auditing.state import AuditState

FIRST_SHARE = 5  # one in so many of those who wait for the lowest look goes on when somebody looks bad
FURTHER_SHARE = 2  # one in so many of those who came to a look goes on alone
CHEAP = 40  # as many may go on as cost one in so many of all draws so far
SUSPECT = 1.0  # the suspicion from which a person looks as if she broke the claim


def next_round(state: AuditState) -> Chosen | None:
    """The persons who are examined next and at which look, the worst first; None when nobody needs a further look."""
    assert state.selected is not None, "persons are selected before they are examined"
    looks, witnesses = state.selected.looks, state.privacy_witnesses
    persons = [person for person in state.selected.examined if person in witnesses or state.is_open(person)]
    waiting = [person for person in persons if state.latest[person] < len(looks)]
    if not waiting:
        return None
    suspicion = {person: state.suspicion(person) for person in waiting}
    worst_first = sorted(waiting, key=lambda person: (-suspicion[person], person))
    levels, drawn = sorted({state.latest[person] for person in waiting}, reverse=True), state.draws_of_persons
    for level in levels[:-1]:
        came = sum(state.latest[person] >= level for person in persons)
        went_on = sum(state.latest[person] > level for person in persons)
        room = max(came // FURTHER_SHARE, drawn // (CHEAP * looks[level].draws)) - went_on
        suspects = [one for one in worst_first if state.latest[one] == level and suspicion[one] >= SUSPECT]
        if room > 0 and suspects:
            return Chosen(level + 1, tuple(suspects[:room]))
    lowest = [person for person in worst_first if state.latest[person] == levels[-1]]
    races = suspicion[lowest[0]] >= SUSPECT and not state.examines_blocks
    some = -(-len(lowest) // FIRST_SHARE) if races else len(lowest)
    return Chosen(levels[-1] + 1, tuple(lowest[:some]))
