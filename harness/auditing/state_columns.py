"""The findings in the state of an audit as columns: as a report tells them, and of whoever was examined herself."""

from __future__ import annotations

import numpy as np

from harness.auditing import proofs
from harness.auditing.columns import Array, Columns, Ints
from harness.auditing.events import Failed
from harness.auditing.finding import Finding
from harness.auditing.reported_findings import ReportedFindings
from harness.auditing.state import AuditState


def reported_columns(state: AuditState) -> list[Columns]:
    """The findings of every adversary and secret, the duplicates of an examined person among them."""
    if state.selected is None:
        return []
    persons, examined = _reported_persons(state)
    rows = None
    if state.selected.rows is not None:
        rows = np.array([len(state.rows_of(person)) for person in persons.tolist()], int)
    return [Columns(_reported(state, *pair, persons, examined, rows)) for pair in state.pairs()]


def columns_of_examined(state: AuditState) -> list[Columns]:
    """The same about whoever was examined herself, whatever became of her since."""
    who = np.flatnonzero(state.latest)
    blanks = {pair: state.blank(0, 1, *pair) for pair in state.pairs()}
    return [
        Columns(ReportedFindings(blank, state.stores[pair], who, who, {}, state.rows_of, None))
        for pair, blank in blanks.items()
    ]


def open_pairs(state: AuditState) -> dict[tuple[int, int], set[int]]:
    """Who is not settled for which adversary and secret, where nobody is proven to break the claim for it.

    Further draws of these could say more.
    """
    pairs = zip(state.pairs(), columns_of_examined(state), strict=True)
    return {
        pair: set(columns.get("person")[_is_open(state, columns)].tolist()) - set(state.failed)
        for pair, columns in pairs
        if pair not in state.violated
    }


def _is_open(state: AuditState, columns: Columns) -> Array:
    settled = columns.get("failed") | proofs.violates(columns.get, state.claim)
    is_open: Array = ~(settled | proofs.satisfies(columns.get, state.claim))
    return is_open


def _reported_persons(state: AuditState) -> tuple[Ints, Ints]:
    """Whom findings speak of, in rising order, and who was examined for each of them."""
    assert state.selected is not None
    first = np.array(state.selected.examined, dtype=np.int64)
    pairs = [(other, group[0]) for group in state.selected.duplicates for other in group[1:]]
    others = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    persons, examined = np.concatenate([first, others[:, 0]]), np.concatenate([first, others[:, 1]])
    known = state.latest[examined] > 0
    if state.failed:
        known |= np.isin(examined, list(state.failed))
    persons, examined = persons[known], examined[known]
    order = np.argsort(persons, kind="stable")
    return persons[order], examined[order]


def _reported(
    state: AuditState, adversary: int, secret: int, persons: Ints, examined: Ints, rows: Array | None
) -> ReportedFindings:
    unmeasured = {
        person: finding
        for person, failed in state.failed.items()
        if (finding := _unmeasured(state, failed, adversary, secret)) is not None
    }
    places = np.flatnonzero(np.isin(examined, list(unmeasured))) if unmeasured else ()
    given = {int(place): unmeasured[int(examined[place])] for place in places}
    blank, store = state.blank(0, 1, adversary, secret), state.store(adversary, secret)
    return ReportedFindings(blank, store, persons, examined, given, state.rows_of, rows)


def _unmeasured(state: AuditState, failed: Failed, adversary: int, secret: int) -> Finding | None:
    """That somebody could not be measured; None if what an earlier look proved of her stands."""
    if state.latest[failed.person] and state.is_proven(state.found(failed.person, adversary, secret)):
        return None
    return state.without_a_finding(failed, adversary, secret)
