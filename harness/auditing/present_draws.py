"""The draws of f(D) that persons are compared with: drawn once, kept beside the journal, read again when it goes on.

A file of them that is damaged or missing costs nothing where f answers again as it did: f(D) is then asked for again,
and the digests in the journal prove that it is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from harness.auditing.asking import ask_oracle
from harness.auditing.draw_store import DrawStore, stored_name
from harness.auditing.events import EARLY, LATE, Described, Drawn, Look, OracleProfile
from harness.auditing.infer import PresentPredictions, Side, infer_present
from harness.auditing.plan import Plan
from harness.auditing.select import distinct_rows
from harness.auditing.state import AuditState
from harness.measuring.metrics.release_metrics import MeasuredRelease, plain_metrics
from harness.vocabulary.errors import HarnessError, JournalError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.release import Microdata, Reader
from harness.vocabulary.table import Table

RISK = "risk"  # a purpose of draws of f(D)
NOT_AS_IT_WAS = (
    "f(D) was asked for again, and is not what it was; restore the file, or remove the folder and measure again"
)


class PresentDraws:
    """Draws of f(D) by purpose and question, of one run of an audit."""

    def __init__(self, plan: Plan, oracle: Oracle, shared: Oracle, state: AuditState, folder: Path | None) -> None:
        self.plan, self.oracle, self.shared, self.state = plan, oracle, shared, state
        self._store = DrawStore(folder)

    @cached_property
    def readers(self) -> tuple[Reader, ...]:
        return tuple(Reader(question.data) for question in self.plan.questions)

    @property
    def _profile(self) -> OracleProfile:
        assert self.state.profile is not None, "probed first"
        return self.state.profile

    def draw(self, purpose: str, draws: int) -> Iterator[Drawn]:
        """Draw f(D) for each question of the plan, unless that was done before."""
        questions = self.plan.asked(self._profile.card)
        for number in range(len(questions[:1] if purpose in (RISK, EARLY, LATE) else questions)):
            if (purpose, number) in self.state.drawn:
                continue
            oracle = self.oracle if purpose in (EARLY, LATE) else self.shared  # those are to show whether f drifts
            tables = self._asked(oracle, self._ask(purpose, number, draws))
            notes = dict.fromkeys(note for release in self.read(number, tables) for note in release.notes)
            self._store.save(stored_name(purpose, number), tables)
            yield Drawn(purpose, number, tuple(table.digest for table in tables), tuple(notes))

    def _ask(self, purpose: str, number: int, draws: int) -> Ask:
        card = self._profile.card
        return self.plan.ask_present(card, self.plan.asked(card)[number], purpose, draws)

    def _asked(self, oracle: Oracle, ask: Ask) -> tuple[Table, ...]:
        return tuple(table for table in ask_oracle(oracle, ask, "f(D)") if isinstance(table, Table))

    def described(self) -> Described | None:
        """The metrics of the first draw of f(D) that there is; None if there is none with a row that counts."""
        first = next((drawn for drawn in self.state.drawn.values() if drawn.question == 0), None)
        if first is None:
            return None
        table, data = self.tables(first.purpose, 0)[0], self.plan.questions[0].data
        if not len(self.read(0, (table,))[0].quasi[0].codes):  # no row counts: nothing to measure
            return None
        lexicons = self.readers[0].lexicons[: len(data.schema.quasi)]
        measured = MeasuredRelease.of(table, data.schema, data, lexicons)
        return Described(plain_metrics(measured.metrics()))

    def tables(self, purpose: str, number: int) -> tuple[Table, ...]:
        """The draws as they were; where their file is damaged or missing, f is asked for them again."""
        name, digests = stored_name(purpose, number), self.state.drawn[purpose, number].digests
        try:
            return self._store.load(name, digests)
        except JournalError as error:
            tables = self._asked(self.oracle, self._ask(purpose, number, len(digests)))
            if tuple(table.digest for table in tables) != digests:
                raise error.followed_by(NOT_AS_IT_WAS) from None
        self._store.save(name, tables)
        return tables

    def restore_files(self) -> None:
        """Every file of draws is whole afterwards, also in a finished audit, if f answers equal questions equally."""
        if self._profile.coupled and not self._profile.shuffles:
            for (purpose, number), drawn in self.state.drawn.items():
                if not self._store.is_whole(stored_name(purpose, number), drawn.digests):
                    self.tables(purpose, number)

    def is_drawn_again(self, oracle: Oracle, number: int) -> bool:
        """Whether an oracle that is asked for f(D) once more answers as it did at the first look."""
        assert self.state.selected is not None, "selected before anything is drawn"
        purpose = self.state.selected.looks[0].purpose
        (table,) = self._asked(oracle, self._ask(purpose, number, 1))
        (before,) = self.tables(purpose, number)
        return table.row_order_invariant_digest == before.row_order_invariant_digest

    def inferred(self, purpose: str, number: int, look: Look, persons: Iterable[int]) -> PresentPredictions:
        """What adversaries who train once for everybody infer from the draws of a look about these persons."""
        question = self.plan.questions[number]
        once = [one for one in question.adversaries if not self.plan.adversaries[one].depends_on_target]
        if not once:
            return PresentPredictions({}, {})
        targets = [question.data.record(row) for person in persons for row in distinct_rows(self.plan, person)]
        releases = self.read(number, self.tables(purpose, number))
        return infer_present(self.plan, once, releases, targets, Side.of(look, self._profile, "present"))

    def read(self, number: int, tables: tuple[Table, ...]) -> list[Microdata]:
        """Draws of f(D), read; an unreadable one ends the audit with the cell that cannot be read."""
        try:
            reader, shuffles = self.readers[number], self._profile.shuffles
            return [reader.read(table.in_canonical_order() if shuffles else table) for table in tables]
        except HarnessError as error:
            raise error.within(f"oracle {self._profile.card.name!r}, asked for f(D)") from error
