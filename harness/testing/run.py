"""Checking an anonymizer against laws: which tables it is asked about, in which order, and what is left for shrinking.

    tables       examples by hand, then tables that Hypothesis generates from the seed: one call serves all laws about
                 a release; a law that is broken is not tried again
    refusals     two of these tables that f refused, once more
    repetitions  a few of these tables, several calls each; after three quarters of the time no further ones
    neighbours   small tables, each with all tables that lack one of its rows; steered towards large distances
    draws        one small table, drawn many times
    orders       small tables whose rows come in many orders

A third of calls and time at most is spent on tables (a tenth where noise is claimed, which takes many draws), and each
broken law may use a part of the rest to find a smaller table that breaks it. A law about one release that is not
broken any more once another table was asked about shows that f remembers; it is then not judged, and laws about
repetition are left to say so. The same seed asks the same questions in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import seed as with_seed

from harness.testing.asking import OutOfBudget, Rows, Session, Trial
from harness.testing.claims import Claims
from harness.testing.examples import examples, ordinary, together, with_an_unseen_value
from harness.testing.generating import rows as generated_rows
from harness.testing.hiding_laws import HIDING_LAWS
from harness.testing.law import Law, SaysNothing
from harness.testing.neighbour_laws import NEIGHBOUR_LAWS, largest_distance
from harness.testing.noise_law import NOISE_LAWS
from harness.testing.order_law import ORDER_LAWS
from harness.testing.outcome import LawResult, Outcome, as_test, plain_claims
from harness.testing.reduce import reduced
from harness.testing.release_laws import RELEASE_LAWS
from harness.testing.repetition_laws import REPETITION_LAWS
from harness.vocabulary.oracle import Oracle

LAWS = (*RELEASE_LAWS, *HIDING_LAWS, *REPETITION_LAWS, *NEIGHBOUR_LAWS, *NOISE_LAWS, *ORDER_LAWS)
SHARE_OF_TABLES, SHARE_BESIDE_NOISE = 0.35, 0.1  # of all calls
MOST_TABLES = 100
REPEATED_TABLES, REFUSED_TABLES = 3, 2
SHARE_OF_REPETITIONS = 0.75  # of the time
SHRINKING = 80  # questions about smaller tables for one broken law, at the most
ROOM = 8  # rows of a generated table beyond four classes

Reopened = Callable[[Mapping[str, str]], Oracle]


class Check:
    """One check under way: what is asked next, and what every law has shown so far."""

    def __init__(self, session: Session, claims: Claims, laws: Iterable[Law], seed: int) -> None:
        self.session, self.claims, self.laws, self.seed = session, claims, tuple(laws), seed
        self.skipped = {law: reason for law in self.laws if (reason := self._skips(law)) is not None}
        self.broken: dict[Law, tuple[Rows, str]] = {}
        self.doubtful: dict[Law, tuple[Rows, str]] = {}  # broken by what f remembers
        self.silent: dict[Law, str] = {}  # why a table said nothing about the law; the last one's reason
        self.tables: dict[Law, int] = dict.fromkeys(self.laws, 0)  # that could have broken the law
        self.calls: dict[Law, int] = dict.fromkeys(self.laws, 0)
        self.bad_input: list[Rows] = []
        self.ended = "calls or time were used up before it could be judged"  # why later laws were not judged

    def _skips(self, law: Law) -> str | None:
        if law.needs_rows and self.session.card.releases == "predictions":
            return "f releases predictions, not rows"
        return law.skipped(self.session, self.claims)

    def open_laws(self, phase: str) -> list[Law]:
        return [law for law in self.laws if law.phase == phase and law not in self.closed]

    @property
    def closed(self) -> set[Law]:
        """Laws that are not tried any more."""
        return {*self.skipped, *self.broken, *self.doubtful}

    def judge(self, law: Law, rows: Rows) -> None:
        """Try a law on one table."""
        try:
            reason = self._reason(law, rows)
        except SaysNothing as silence:
            self.silent[law] = str(silence)
            return
        self.tables[law] += 1
        if reason is not None:
            self.broken[law] = (rows, reason)

    def _reason(self, law: Law, rows: Rows) -> str | None:
        """Why a table breaks the law. An answer that other laws were judged by before is counted for this one too."""
        before = self.session.budget.spent
        try:
            return law.broken(self.session, self.claims, rows)
        finally:
            self.calls[law] += max(1, self.session.budget.spent - before)

    def follows_from_a_broken_law(self, law: Law) -> bool:
        """Whether a law cannot be told from another one that is broken; it is then not judged, which says so."""
        cause = next((one.name for one in self.broken if one.name in law.follows_from), None)
        if cause is not None:
            self.silent[law] = f"cannot be told from {cause}, which is broken"
        return cause is not None

    def ask_about_an_unseen_value(self) -> None:
        """Bad input, which f may refuse, always in the same way; what it releases instead is not judged."""
        rows = with_an_unseen_value(self.session.domains, self.claims)
        if rows is not None:
            self.bad_input = [rows]
            self.session.trial(rows)

    def remembers(self, law: Law) -> bool:
        """Whether a law was broken by what f kept of earlier tables: the answer is that to another table, or becomes
        another one after another table was asked about.
        """
        if any(self._is_of_another_table(trial, law) for trial in self.session.trials):
            return True
        rows, _ = self.broken[law]
        first = self.session.trial(rows).answer
        self.session.ask(ordinary(self.session.domains, len(rows) + 2 * ROOM))
        self.calls[law] += 2
        return self.session.ask(rows).identity != first.identity or self.answers_otherwise_by_now

    @cached_property
    def answers_otherwise_by_now(self) -> bool:
        """Whether the first table of all has another answer now than it had then."""
        first = self.session.trials[0]
        return self.session.ask(first.rows).identity != first.answer.identity

    def _is_of_another_table(self, trial: Trial, law: Law) -> bool:
        """Whether a release that breaks the law is to the last cell that of another table, and fits that one.

        Rows that were dropped make the release that of a part of the table, which says nothing; and what fits the
        quasi-identifiers of all rows is no answer for other rows.
        """
        others = [other for other in self.session.trials if other.answer.identity == trial.answer.identity]
        if trial.microdata is None or len(others) < 2 or not law.reason(self.session, self.claims, trial.rows):
            return False
        if trial.rows_released == len(trial.rows) and trial.unmatched(trial.covers) is None:
            return False
        return any(
            other.rows_released == len(other.rows)
            and Counter(other.rows) - Counter(trial.rows)
            and law.reason(self.session, self.claims, other.rows) is None
            for other in others
        )

    def shrink(self, law: Law, most: int) -> None:
        """Replace the table that breaks a law by a smaller one, if there is one."""
        rows, reason = self.broken[law]
        reasons = {rows: reason}

        def breaks(table: Rows) -> bool:
            try:
                why = self._reason(law, table)
            except SaysNothing:
                return False
            reasons[table] = why or ""
            return why is not None

        try:
            start = next((table for table in self._small_tables(rows) if breaks(table)), rows)
            smallest = reduced(start, breaks, self.session.domains, most)
        except OutOfBudget:
            smallest = rows
        self.broken[law] = (smallest, reasons[smallest])

    def _small_tables(self, rows: Rows) -> Iterator[Rows]:
        """Tables that may show the same as a larger one, at the cost of a few questions."""
        return (table for table in together(self.session.domains, self.claims) if len(table) < len(rows))


def run_check(check: Check, max_failures: int | None = None) -> None:
    """All phases, as far as calls and time go."""
    for phase in (_tables, _refusals, _repetitions, _neighbours, _draws, _orders):
        if max_failures is not None and len(check.broken) >= max_failures:
            check.ended = f"the check ended with {len(check.broken)} broken, as max_failures says"
            return
        try:
            phase(check)
        except OutOfBudget:
            return


def _tables(check: Check) -> None:
    if check.session.card.releases == "predictions":
        return
    share = SHARE_BESIDE_NOISE if check.claims.adds_noise else SHARE_OF_TABLES
    most = int(share * check.session.budget.calls)
    for rows in examples(check.session.domains, check.claims):
        check.session.trial(rows)  # also where only later phases have laws to judge: they choose among these tables
        for law in check.open_laws("tables"):
            check.judge(law, rows)

    check.ask_about_an_unseen_value()

    def visit(rows: Rows) -> None:
        budget = check.session.budget
        if budget.spent < most and budget.share_of_time < share:
            for law in check.open_laws("tables"):
                check.judge(law, rows)

    if check.open_laws("tables"):
        _generate(check, visit, 4 * check.claims.least_rows + ROOM, (Phase.generate,))

    for law in [law for law in check.broken if check.session.card.randomized is not True and check.remembers(law)]:
        check.doubtful[law] = check.broken.pop(law)
    _shrink_all(check, list(check.broken))


def _generate(check: Check, visit: Callable[[Rows], None], most_rows: int, phases: Sequence[Phase]) -> None:
    """Show generated tables to a visitor; Hypothesis only generates, since it would ask too often to shrink."""

    @with_seed(check.seed)
    @settings(
        max_examples=MOST_TABLES,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    @given(generated_rows(check.session.domains, max_rows=most_rows))
    def generated(rows: list[Any]) -> None:
        visit(tuple(rows))

    generated()


def _shrink_all(check: Check, laws: list[Law]) -> None:
    for number, law in enumerate(laws):
        check.shrink(law, min(SHRINKING, check.session.budget.left // (len(laws) - number + 1)))


def _refusals(check: Check) -> None:
    """Bad input and another table that was refused."""
    laws = check.open_laws("refusals")
    refused = [trial.rows for trial in check.session.trials if trial.answer.error is not None]
    refused.sort(key=lambda rows: rows not in check.bad_input)
    for rows in refused[:REFUSED_TABLES] or [trial.rows for trial in check.session.trials[:1]]:
        for law in check.open_laws("refusals"):
            check.judge(law, rows)
    _shrink_all(check, [law for law in laws if law in check.broken])


def _repetitions(check: Check) -> None:
    known = set(check.broken)
    for number, rows in enumerate(_some_tables(check.session, check.bad_input)):
        if number and check.session.budget.share_of_time > SHARE_OF_REPETITIONS:
            break  # so that later phases have some, too
        for law in check.open_laws("repetitions"):
            if not check.follows_from_a_broken_law(law):
                check.judge(law, rows)
    broken = [law for law in check.broken if law not in known]
    for law in broken:
        if check.follows_from_a_broken_law(law):
            del check.broken[law]
    broken = [law for law in check.broken if law not in known]
    if not broken:
        broken = list(check.doubtful)
        check.broken |= check.doubtful
        check.doubtful.clear()
    _shrink_all(check, broken)


def _neighbours(check: Check) -> None:
    laws = check.open_laws("neighbours")
    most = check.session.budget.spent + check.session.budget.left // 2

    def visit(rows: Rows) -> None:
        if check.session.budget.spent + len(rows) < most and check.open_laws("neighbours"):
            target(largest_distance(check.session, rows))
            for law in check.open_laws("neighbours"):
                check.judge(law, rows)

    if laws:
        _generate(check, visit, check.claims.least_rows + ROOM // 2, (Phase.generate, Phase.target))
        _shrink_all(check, [law for law in laws if law in check.broken])


def _some_tables(session: Session, bad_input: Sequence[Rows]) -> list[Rows]:
    """The first table of all, and some of different sizes."""
    answered = {trial.rows for trial in session.trials if trial.answer.error is None and trial.rows not in bad_input}
    by_size = sorted(answered, key=len)
    places = {round(part * (len(by_size) - 1) / REPEATED_TABLES) for part in range(1, REPEATED_TABLES + 1)}
    some = [by_size[place] for place in sorted(places) if by_size]
    return list(dict.fromkeys([*(trial.rows for trial in session.trials[:1]), *some]))


def _draws(check: Check) -> None:
    rows = next(together(check.session.domains, check.claims))
    for law in check.open_laws("draws"):
        check.judge(law, rows)


def _orders(check: Check) -> None:
    for rows in together(check.session.domains, check.claims):
        for law in check.open_laws("orders"):
            check.judge(law, rows)


def results_of(check: Check, reproduce: Callable[[Law, Rows], str | None]) -> Iterator[LawResult]:
    """What every law has shown."""
    for law in check.laws:
        if law in check.broken:
            rows, reason = check.broken[law]
            frame = check.session.domains.frame(rows)
            table = tuple({str(name): cell for name, cell in row.items()} for row in frame.to_dict("records"))
            test = as_test(law, plain_claims(check.claims), table)
            extent = check.calls[law], check.tables[law]
            yield LawResult(law, "failed", *extent, reason, table, reproduce(law, rows), test)
        else:
            outcome, why = _outcome(check, law)
            yield LawResult(law, outcome, check.calls[law], check.tables[law], why)


def _outcome(check: Check, law: Law) -> tuple[Outcome, str | None]:
    """What a law that is not broken has shown, and why it has not shown more."""
    if law in check.skipped:
        return "skipped", check.skipped[law]
    if law in check.doubtful:
        return "inconclusive", "what f releases depends on tables that were asked before"
    if check.tables[law]:
        return "passed", None
    if law in check.silent:
        return "skipped" if law.may_stay_silent else "inconclusive", check.silent[law]
    return "inconclusive", check.ended
