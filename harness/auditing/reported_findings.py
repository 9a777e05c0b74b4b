"""The findings of one adversary and secret as a report tells them: duplicates of examined persons, failures and all.

Reads columns of the store; of the few persons whose finding is not the stored one (f failed on them) it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from harness.auditing.columns import Array, Ints, value_of
from harness.auditing.finding import Finding
from harness.auditing.finding_store import PairStore
from harness.measuring.tail import Limits
from harness.vocabulary.persons import RowName


@dataclass(frozen=True, eq=False)
class ReportedFindings:
    """A source of columns."""

    blank: Finding  # what all of them have in common
    store: PairStore
    persons: Ints  # in rising order
    examined: Ints  # who was examined for each of them: herself, or somebody equal
    given: Mapping[int, Finding]  # by place: findings that are not those of the store
    rows_of: Callable[[int], tuple[RowName, ...]]
    rows: Array | None  # how many each person has; None: one

    @property
    def adversary(self) -> str:
        return self.blank.adversary

    @property
    def secret(self) -> str:
        return self.blank.secret

    def __len__(self) -> int:
        return len(self.persons)

    def column(self, name: str, places: Ints) -> Array:
        if name == "person":
            return self.persons[places]
        if name == "rows":
            return np.ones(len(places), int) if self.rows is None else self.rows[places]
        if name in ("exact", "coupled") or name.startswith("measured_"):
            return np.full(len(places), self.blank.number(name))
        column = self._stored(name, self.examined[places])
        for index in np.flatnonzero(np.isin(places, list(self.given))) if self.given else ():
            column[index] = value_of(self.given[int(places[index])], name) if name != "exceedances" else 0
        return column

    def _stored(self, name: str, persons: Ints) -> Array:
        if name == "failure":
            return self.store.reasons(self.store.column(name, persons).astype(int))
        if self.store.exact and name in ("delta_at_epsilon", "epsilon_at_delta"):
            distance = self.store.column("distance", persons)
            if name == "delta_at_epsilon" and self.blank.claim is not None:
                distance = (distance >= self.blank.claim.epsilon).astype(float)
            ends = np.repeat(distance[:, None], 3, axis=1)
            ends[self.store.column("failed", persons)] = np.nan
            return ends
        return self.store.column(name, persons)

    def names(self, place: int) -> tuple[tuple[RowName, ...], RowName | None]:
        person, first = int(self.persons[place]), int(self.examined[place])
        given = self.given.get(place)
        row = self.store.row(first) if given is None else int(given.row or 0)
        rows = self.rows_of(person)
        return rows, rows[row] if len(rows) == 1 or person == first else None  # duplicates order theirs anyhow

    def finding(self, place: int) -> Finding:
        finding = self.given.get(place) or stored_finding(self.blank, self.store, int(self.examined[place]))
        rows, row = self.names(place)
        return replace(finding, person=int(self.persons[place]), rows=rows, row=row)


def stored_finding(blank: Finding, store: PairStore, person: int) -> Finding:
    """What is known of an examined person; her rows are not said."""
    finding = replace(blank, person=person, **store.fields(person))
    return with_exact_tail(finding) if finding.exact and finding.failure is None else finding


def with_exact_tail(finding: Finding) -> Finding:
    """Without chance a person lies at or above ε, or does not."""
    assert finding.claim is not None
    often = float(finding.distance >= finding.claim.epsilon)
    return replace(
        finding,
        delta_at_epsilon=Limits(often, often, often),
        epsilon_at_delta=Limits(finding.distance, finding.distance, finding.distance),
    )
