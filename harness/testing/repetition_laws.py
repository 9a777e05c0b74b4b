"""Laws about several answers: the same question again, a table and its neighbours, the same table in other forms.

Releases are compared as sets of rows: an anonymizer may shuffle them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from harness.testing.asking import Answer, Rows, Session
from harness.testing.claims import Claims
from harness.testing.domains import Domain, Domains
from harness.testing.law import Law, SaysNothing
from harness.testing.release_laws import RELEASE_LAWS, readable
from harness.vocabulary.schema import Column, Schema

SEEDS = 6  # tried on one table to see whether a seed makes a difference
TABLES = 6  # tried before a seed is said to make none
AGAIN = 7  # times that a table is asked about to see whether chance plays a part
HASH_SEEDS = ("1", "2")
ABOUT_ROWS = ("rows-are-accounted-for", "cells-cover-their-values", "sensitive-values-stay-with-their-rows")


def _same(one: Answer, other: Answer) -> bool:
    if one.release is None or other.release is None:
        return one.identity == other.identity
    return one.release.row_order_invariant_digest == other.release.row_order_invariant_digest


def _is_seeded(session: Session, claims: Claims) -> bool:
    return bool(session.card.seedable or claims.seedable)


def _repeats(session: Session, claims: Claims, rows: Rows) -> str | None:
    reason = _differs_from_before(session, claims, rows)
    if reason is not None and not claims.deterministic and _varies_by_chance(session):
        raise SaysNothing("f is randomized and takes no seed; claim deterministic = false, or true to have it judged")
    return reason


def _varies_by_chance(session: Session) -> bool:
    """Whether the largest table is mostly released in another way than a moment before.

    Small tables of a randomized f come back the same now and then; what f remembers changes a release now and then.
    """
    if "varies by chance" not in session.found_out:
        largest = max((trial.rows for trial in session.trials if trial.answer.error is None), key=len, default=())
        answers = [session.ask(largest) for _ in range(AGAIN)] if largest else []
        changes = sum(not _same(one, other) for one, other in pairwise(answers))
        session.found_out["varies by chance"] = 2 * changes >= AGAIN - 1 > 0
    return session.found_out["varies by chance"]


def _differs_from_before(session: Session, claims: Claims, rows: Rows) -> str | None:
    session.trial(rows)  # also where it was asked about long ago
    first, again = session.ask(rows), session.ask(rows)
    if not _same(first, again):
        return "the same table was released in two ways, one after the other" if claims.deterministic else None
    if not _same(first, session.trial(rows).answer):
        return "the same table was released in another way when it was asked about for the first time"
    for other in _other_tables(rows):
        session.ask(other)
    if not _same(first, session.ask(rows)):
        return "the same table is released in another way after other tables were asked about"
    return None


def _other_tables(rows: Rows) -> Iterator[Rows]:
    yield rows[: max(1, len(rows) // 2)]
    yield rows + rows
    yield rows + rows[:1]


def _is_random(session: Session, claims: Claims) -> str | None:
    says_so = session.card.randomized or claims.adds_noise
    if claims.deterministic is False or (claims.deterministic is None and says_so):
        return "f is randomized; see seeds-are-honoured"
    return None


def _refuses_alike(session: Session, claims: Claims, rows: Rows) -> str | None:
    first = session.trial(rows).answer
    if first.error is None:
        raise SaysNothing("no table was refused")
    if _same(first, session.ask(rows)):
        return None
    return f"refused with {first.error!r}, and then in another way"


def _honours_seeds(session: Session, claims: Claims, rows: Rows) -> str | None:
    first, other, again = (session.ask(rows, seed=seed) for seed in (1, 2, 1))
    if not _same(first, again):
        return "equal seeds gave different releases"
    if _same(first, other) and first.identity != again.identity:
        return "equal seeds gave the rows in different orders, and chance plays no other part"
    return None


def _has_no_seeds(session: Session, claims: Claims) -> str | None:
    return None if _is_seeded(session, claims) else "f takes no seed"


def _uses_seeds(session: Session, claims: Claims, rows: Rows) -> str | None:
    """Whether no seed makes a difference on this table nor on any of the largest tables so far."""
    if _differs(session, rows):
        return None
    largest = sorted({trial.rows for trial in session.trials if trial.answer.error is None}, key=len)[-TABLES:]
    if any(_differs(session, table) for table in largest):
        return None
    return f"{SEEDS} seeds gave the same release, here and on {len(largest)} larger tables: chance plays no part"


def _differs(session: Session, rows: Rows) -> bool:
    first = session.trial(rows, seed=1).answer
    return any(first.identity != session.trial(rows, seed=seed).answer.identity for seed in range(2, SEEDS + 1))


def _reads_its_input(session: Session, claims: Claims, rows: Rows) -> str | None:
    """The table, then the same without its last row, then with other sensitive values in all rows but the first.

    A release that lacks rows may be that of two tables because rows were dropped, so it says nothing here.
    """
    whole = session.ask(rows)
    if whole.release is None or len(rows) < max(2, claims.least_rows + 1):
        raise SaysNothing(f"no table of at least {max(2, claims.least_rows + 1)} rows was released")
    if whole.release.rows < len(rows) and session.trial(rows).rows_released < len(rows):
        raise SaysNothing("no table was released with all its rows")
    others = {"without its last row": rows[:-1]}
    if claims.keeps_sensitive is not False and session.trial(rows).shows_all_secrets:
        others["with other sensitive values"] = _with_other_secrets(session, rows)
    for change, other in others.items():
        answer = session.ask(other)
        if answer.release is not None and answer.release.digest == whole.release.digest and other != rows:
            return f"the table {change} is released as the table itself, to the last cell"
    return None


def _with_other_secrets(session: Session, rows: Rows) -> Rows:
    """The table with the next sensitive value of the domain in all rows but the first; of many the last column."""
    values = list(session.domains.columns[-1].values)
    if len(values) < 2 or any(row[-1] not in values for row in rows):
        return rows
    moved = [values[(values.index(row[-1]) + 1) % len(values)] for row in rows[1:]]
    if sorted(moved, key=repr) == sorted([row[-1] for row in rows[1:]], key=repr):
        moved = [moved[0]] * len(moved)
    return (rows[0], *((*row[:-1], value) for row, value in zip(rows[1:], moved, strict=True)))


def _is_constant(session: Session, claims: Claims) -> str | None:
    return "rows or numbers of rows need not be kept" if claims.keeps_rows is False else None


def _ignores_row_order(session: Session, claims: Claims, rows: Rows) -> str | None:
    if _same(session.ask(rows), session.ask(rows[::-1])):
        return None
    return "the rows in reverse order were released in another way, though f says that their order does not matter"


def _says_nothing_of_row_order(session: Session, claims: Claims) -> str | None:
    return None if session.card.row_order_invariant else "f does not say that row order makes no difference"


def _reads_columns_by_name(session: Session, claims: Claims, rows: Rows) -> str | None:
    """With its columns in reverse order a table is anonymized as well as before."""
    return _still_true(session, claims, rows, _reversed(session.domains), lambda row: _reversed_cells(session, row))


def _reversed(domains: Domains) -> Domains:
    schema = domains.schema
    count = len(schema.quasi)
    columns = (*domains.columns[:count][::-1], *domains.columns[count:])
    return Domains(_with_quasi(schema, schema.quasi[::-1]), columns)


def _reversed_cells(session: Session, row: tuple[object, ...]) -> tuple[object, ...]:
    count = len(session.domains.schema.quasi)
    return (*row[:count][::-1], *row[count:])


def _with_quasi(schema: Schema, quasi: tuple[Column, ...]) -> Schema:
    return Schema(quasi, schema.sensitive, schema.weight, schema.person, schema.suppressed)


def _has_one_column(session: Session, claims: Claims) -> str | None:
    return "there is one quasi-identifier only" if len(session.domains.schema.quasi) < 2 else None


def _bears_other_columns(session: Session, claims: Claims, rows: Rows) -> str | None:
    """With one more column, the same in every row, a table is anonymized as well as before."""
    domains, name = session.domains, _free_name(session.domains.schema)
    quasi = (*domains.schema.quasi, Column(name))
    count = len(domains.schema.quasi)
    columns = (*domains.columns[:count], Domain(name, "category", ("same",)), *domains.columns[count:])
    wider = Domains(_with_quasi(domains.schema, quasi), columns)
    return _still_true(session, claims, rows, wider, lambda row: (*row[:count], "same", *row[count:]))


def _free_name(schema: Schema) -> str:
    name = "irrelevant"
    while name in schema.names:
        name += "_"
    return name


def _still_true(
    session: Session,
    claims: Claims,
    rows: Rows,
    domains: Domains,
    changed: Callable[[tuple[object, ...]], tuple[object, ...]],
) -> str | None:
    """Why a release of the table in another form breaks a law about rows that the table itself keeps.

    An anonymizer that refuses the other form is not at fault.
    """
    readable(session, rows)
    other, table = session.with_domains(domains), tuple(map(changed, rows))
    for law in RELEASE_LAWS:
        if law.name in ABOUT_ROWS and law.skipped(session, claims) is None and not law.reason(session, claims, rows):
            reason = law.reason(other, claims, table)  # type: ignore[arg-type]
            if reason is not None:
                return reason
    return None


def _same_elsewhere(session: Session, claims: Claims, rows: Rows) -> str | None:
    """Two fresh processes, whose sets of texts are ordered differently, answer alike, and as this one does."""
    assert session.reopened is not None
    for table in _other_tables(rows):  # so that this process has something to remember, in a replay too
        session.ask(table)
    here = session.ask(rows)
    if not _same(here, session.ask(rows)):
        return None  # chance plays a part
    one, other = (replace(session, oracle=session.reopened({"PYTHONHASHSEED": seed})).ask(rows) for seed in HASH_SEEDS)
    if not _same(one, other):
        return "two processes with different PYTHONHASHSEED release the same table in two ways"
    if not _same(here, one):
        return "a process that was not asked before releases the same table in another way"
    return None


def _cannot_be_reopened(session: Session, claims: Claims) -> str | None:
    if session.reopened is None:
        return "only an anonymizer at a python: address can be started in another process"
    return _is_random(session, claims) if not _is_seeded(session, claims) else None


REPETITION_LAWS = (
    Law(
        "equal-tables-get-equal-releases",
        "The same table is released in the same way, also after other tables were asked about.",
        "State between calls carries one table's people into another table's release.",
        _repeats,
        "repetitions",
        skipped=_is_random,
    ),
    Law(
        "errors-are-stable",
        "A table that is refused is refused again with the same error.",
        "An error that changes is a crash, not a refusal.",
        _refuses_alike,
        "refusals",
        may_stay_silent=True,
    ),
    Law(
        "seeds-are-honoured",
        "Equal seeds give equal releases.",
        "Nobody can repeat a release, and draws cannot be paired.",
        _honours_seeds,
        "repetitions",
        skipped=_has_no_seeds,
    ),
    Law(
        "seeds-make-a-difference",
        "Different seeds give different releases of at least one table.",
        "Noise that is the same every time is no noise: it can be subtracted.",
        _uses_seeds,
        "draws",
        skipped=_has_no_seeds,
    ),
    Law(
        "reads-its-input",
        "A table and the same table with one row more or less have different releases.",
        "An answer from memory is about other people than were asked about.",
        _reads_its_input,
        "repetitions",
        skipped=_is_constant,
        follows_from=("sensitive-values-are-not-invented",),
    ),
    Law(
        "row-order-does-not-matter",
        "The rows in another order are released in the same way, where f says so.",
        "Results then depend on how a file happens to be sorted.",
        _ignores_row_order,
        "repetitions",
        skipped=_says_nothing_of_row_order,
    ),
    Law(
        "columns-are-read-by-name",
        "A table with its columns in another order is released as truthfully as before.",
        "A program that reads columns by their position exchanges them without an error.",
        _reads_columns_by_name,
        "repetitions",
        skipped=_has_one_column,
        follows_from=("equal-tables-get-equal-releases",),
    ),
    Law(
        "further-columns-do-not-matter",
        "A table with one more column is released as truthfully as before.",
        "A program that counts columns from the end takes the wrong one without an error.",
        _bears_other_columns,
        "repetitions",
        follows_from=("equal-tables-get-equal-releases",),
    ),
    Law(
        "same-in-every-process",
        "Two processes release the same table in the same way.",
        "Texts that depend on the order of a set differ from run to run, and nobody can repeat a release.",
        _same_elsewhere,
        "orders",
        skipped=_cannot_be_reopened,
    ),
)
