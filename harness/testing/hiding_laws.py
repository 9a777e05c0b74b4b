"""Laws about what one release of one table hides: small or telling classes, and raw copies of rows."""

from __future__ import annotations

import math

import numpy as np

from harness.testing.asking import MOST_WEIGHT, Rows, Session, Trial
from harness.testing.claims import Claims
from harness.testing.law import Law, SaysNothing
from harness.testing.release_laws import readable, secrets_of
from harness.vocabulary.release import WEIGHT_NAMES

FEW = 4  # rows: so few numbers may be all different by chance
COPY_RATE = 1e-4  # of an f that changes values and is said to copy every row


def _has_k(session: Session, claims: Claims, rows: Rows) -> str | None:
    assert claims.k is not None
    trial = readable(session, rows, claims.k)
    sizes = np.bincount(trial.classes, weights=trial.weights)
    for row in np.flatnonzero(~trial.suppressed):
        if sizes[trial.classes[row]] < claims.k - 1e-6:
            people = f"{sizes[trial.classes[row]]:g} of at least k = {claims.k} rows"
            return f"the class of the released row ({trial.printed(int(row))}) has {people}"
    return None


def _no_k(session: Session, claims: Claims) -> str | None:
    return None if claims.k is not None else "no k is claimed"


def _kinds_of_secrets(trial: Trial) -> int:
    return min(len(np.unique(codes)) for codes in secrets_of(trial))


def _is_diverse(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = readable(session, rows, claims.least_rows)
    assert trial.microdata is not None
    assert claims.l is not None
    if _kinds_of_secrets(trial) < claims.l:
        raise SaysNothing(f"no table of {claims.l} different sensitive values was released")
    for released in trial.microdata.sensitive:
        for row in np.flatnonzero(~trial.suppressed):
            members = released[trial.classes == trial.classes[row]]
            different = len(np.unique(members[members >= 0]))
            if different < claims.l:
                return f"the class of ({trial.printed(int(row))}) has {different} sensitive values; l = {claims.l}"
    return None


def _no_l(session: Session, claims: Claims) -> str | None:
    return None if claims.l is not None else "no l is claimed"


def _is_close(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = readable(session, rows, claims.least_rows)
    assert trial.microdata is not None
    assert claims.t is not None
    for place, released in enumerate(trial.microdata.sensitive):
        column = len(trial.data.schema.quasi) + place
        n = len(trial.data.readings[column].domain)
        whole = np.bincount(trial.data.codes[column], minlength=n) / len(rows)
        for row in np.flatnonzero(~trial.suppressed):
            mine = (trial.classes == trial.classes[row]) & (released >= 0)
            if not mine.any():
                continue
            share = np.bincount(released[mine], weights=trial.weights[mine], minlength=n) / trial.weights[mine].sum()
            moved = _distance(share - whole, ordered=_is_ordered(trial, column))
            if moved > claims.t + 1e-9:
                return f"the class of ({trial.printed(int(row))}) lies {moved:.3g} from the table; t = {claims.t:g}"
    return None


def _is_ordered(trial: Trial, column: int) -> bool:
    reading = trial.data.readings[column]
    return reading.kind in ("number", "ordered", "date")


def _distance(difference: np.ndarray[tuple[int], np.dtype[np.float64]], *, ordered: bool) -> float:
    """The earth mover's distance of t-closeness: along the order of the values, else with equal ground distance."""
    if ordered:
        return float(np.abs(np.cumsum(difference))[:-1].sum() / max(1, len(difference) - 1))
    return float(np.abs(difference).sum() / 2)


def _no_t(session: Session, claims: Claims) -> str | None:
    return None if claims.t is not None else "no t is claimed"


def _hides_unique_rows(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = readable(session, rows, max(2, claims.least_rows))
    if claims.changes_cells or claims.keeps_sensitive is False:
        return _copies_all(session, claims, trial)
    quasi = np.stack(trial.data.codes[: len(trial.data.schema.quasi)], axis=1)
    _, place, count = np.unique(quasi, axis=0, return_inverse=True, return_counts=True)
    alone = count[place.reshape(-1)] == 1
    if not alone.any():
        raise SaysNothing("no table with a unique row was released")
    shown = trial.exact_in_effect if claims.k is None else trial.exact  # ranges of small classes break the law of k
    for row in np.flatnonzero(shown):
        if alone[trial.covers[row]].any():
            return f"({trial.printed(int(row))}) is released as it is, and one row of the table alone has these cells"
    return None


def _copies_all(session: Session, claims: Claims, trial: Trial) -> str | None:
    """Of an f that changes values, some rows may come back as they were by chance: all of them, draw after draw, not.

    Only tables with different values to exchange can show it.
    """
    if len(trial.rows) < FEW or not _values_differ(session, trial.rows):
        raise SaysNothing("no table whose values differ was released")
    copies, seed = 0, 0
    while copies < _copies_by_chance(claims):
        if not _is_copy(session.trial(trial.rows, seed)):
            return None
        copies, seed = copies + len(trial.rows), seed + 1
    return f"every row is released as it is, with every seed ({copies} rows of {seed} releases)"


def _values_differ(session: Session, rows: Rows) -> bool:
    for place, domain in enumerate(session.domains.columns):
        different = len({row[place] for row in rows})
        if different < 2 or (domain.is_number and different < len(rows)):
            return False
    return True


def _copies_by_chance(claims: Claims) -> int:
    """More rows than this are copied with a chance of at most COPY_RATE, if a value stays with that of ε or .9."""
    stays = 0.9 if claims.noise_epsilon is None else 1 / (1 + math.exp(-claims.noise_epsilon))
    return math.ceil(math.log(COPY_RATE) / math.log(stays)) if stays < 1 else MOST_WEIGHT


def _is_copy(trial: Trial) -> bool:
    if trial.microdata is None or not trial.exact_in_effect.all() or trial.weights.sum() != len(trial.rows):
        return False
    return trial.unmatched(trial.covers & trial.shows_secret) is None


def _releases_no_identifier(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = readable(session, rows, FEW)
    assert trial.answer.release is not None
    table = trial.answer.release
    for name in table.names:
        is_ours = name in trial.data.schema.names or name == trial.data.schema.weight or name.lower() in WEIGHT_NAMES
        codes = table.column(name).codes
        if not is_ours and table.rows >= FEW and len(np.unique(codes)) == table.rows:
            return f"the column {name!r}, which the table did not have, holds another value in every row"
    return None


def _releases_counts(session: Session, claims: Claims) -> str | None:
    if claims.adds_noise and claims.keeps_rows is False:
        return "noise is claimed and rows are not kept, so released rows are no persons and columns may be counts"
    return None


HIDING_LAWS = (
    Law(
        "classes-have-k-rows",
        "Every class of rows with the same quasi-identifiers has at least k rows, or is suppressed.",
        "A person in a smaller class is singled out further than was promised.",
        _has_k,
        skipped=_no_k,
    ),
    Law(
        "classes-are-l-diverse",
        "Every class holds at least l different sensitive values, where the table has as many.",
        "Whoever finds a person's class learns the sensitive value.",
        _is_diverse,
        skipped=_no_l,
    ),
    Law(
        "classes-are-t-close",
        "The sensitive values of every class are distributed as in the table, up to t.",
        "Whoever finds a person's class learns more about the sensitive value than the table tells about everybody.",
        _is_close,
        skipped=_no_t,
    ),
    Law(
        "unique-rows-are-not-copied",
        "A combination of quasi-identifiers that only one row has is not released as it is.",
        "Such a row is a raw copy of a person's record: whoever knows her quasi-identifiers finds her.",
        _hides_unique_rows,
        error_rate=COPY_RATE,
    ),
    Law(
        "no-identifier-survives",
        "No added column has another value in every row.",
        "A row number or key leads from the released row back to the person.",
        _releases_no_identifier,
        skipped=_releases_counts,
    ),
)
