"""Laws about one release of one table: what is released must be true, complete, and hide what it says it hides.

A table that f refuses, or releases unreadably, breaks one law only; the others say nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness.testing.asking import MOST_WEIGHT, Bools, Rows, Session, Trial
from harness.testing.claims import Claims
from harness.testing.law import Law, SaysNothing
from harness.vocabulary.release import WEIGHT_NAMES
from harness.vocabulary.values import CoversNothing

CRASHES = ("UnicodeEncodeError", "UnicodeDecodeError", "RecursionError", "MemoryError", "ZeroDivisionError")
FEW = 4  # rows: so few numbers may be all different by chance
COPY_RATE = 1e-4  # of an f that changes values and is said to copy every row


def readable(session: Session, rows: Rows, least: int = 1) -> Trial:
    """The table with its release, where that can be judged: f released it, readably, and it has enough rows."""
    trial = session.trial(rows)
    if trial.microdata is None:
        raise SaysNothing("f released no table that could be read")
    if len(rows) < least:
        raise SaysNothing(f"no table of at least {least} rows was released")
    return trial


def _answers(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = session.trial(rows)
    if trial.answer.error is None or (_may_refuse(session, claims, trial) and trial.answer.kind not in CRASHES):
        return None
    return f"a table of {len(rows)} {'row' if len(rows) == 1 else 'rows'} was refused: {trial.answer.error}"


def _may_refuse(session: Session, claims: Claims, trial: Trial) -> bool:
    """Whether a table breaks the claims as a whole, or holds cells that nobody declared."""
    if len(trial.rows) < claims.least_rows or not _can_be_diverse(trial, claims.l or 1):
        return True
    if _is_foreign(session, trial.rows):
        return True
    smallest = min((len(one.rows) for one in session.trials if one.answer.error is None), default=0)
    return claims.k is None and len(trial.rows) < smallest


def _can_be_diverse(trial: Trial, least: int) -> bool:
    """Whether no sensitive value makes up more than 1/least of the table: else no release is, by every kind of ℓ."""
    counts = [np.unique(codes, return_counts=True)[1] for codes in _secrets(trial)]
    return all(int(each.max()) * least <= int(each.sum()) for each in counts)


def _kinds_of_secrets(trial: Trial) -> int:
    return min(len(np.unique(codes)) for codes in _secrets(trial))


def _secrets(trial: Trial) -> Sequence[npt.NDArray[np.int32]]:
    return trial.data.codes[len(trial.data.schema.quasi) :]


def _is_foreign(session: Session, rows: Rows) -> bool:
    """Whether a cell lies outside what the schema declares, so that f may refuse it."""
    for place, domain in enumerate(session.domains.columns):
        cells = [row[place] for row in rows]
        if not domain.has_gaps and any(cell is None or cell == "" for cell in cells):
            return True
        if (
            domain.values
            and not domain.is_open
            and any(cell is not None and cell not in domain.values for cell in cells)
        ):
            return True
    return False


def _reads(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = session.trial(rows)
    if trial.answer.release is None:
        raise SaysNothing("f released no table")
    return None if trial.unreadable is None or _is_empty_cell(trial) else str(trial.unreadable)


def _is_empty_cell(trial: Trial) -> bool:
    """Whether a cell can be read and covers nobody, which is untrue rather than unreadable."""
    return isinstance(trial.unreadable, CoversNothing)


def _accounts(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = readable(session, rows)
    if len(rows) < claims.least_rows and not trial.weights.sum():
        raise SaysNothing(f"no table of at least {claims.least_rows} rows was released")
    total, given = trial.weights.sum(), len(rows)
    assert trial.answer.release is not None
    says_so = any("suppress" in note.lower() for note in trial.answer.release.notes)
    if abs(total - given) < 1e-6 or (total < given and says_so):
        return None
    return f"{given} rows were given and {total:g} came back, none of them reported as suppressed"


def _no_rows_are_claimed(session: Session, claims: Claims) -> str | None:
    if claims.keeps_rows is False:
        return "the claim says that rows are not kept"
    return "noise is claimed, so numbers of rows may change" if claims.adds_noise else None


def _matchable(session: Session, claims: Claims, rows: Rows) -> Trial:
    """A release whose rows can be matched to those of the table: there are no more of them, where rows are kept."""
    trial = readable(session, rows)
    if claims.keeps_rows is not False and trial.rows_released > len(rows) + 1e-6:
        raise SaysNothing("more rows came back than were given")
    return trial


def _unmatched(claims: Claims, trial: Trial, possible: Bools) -> int | None:
    """A released row that stands for nobody; where rows need not be kept, a row may stand for two of them."""
    if claims.keeps_rows is False:
        lonely = np.flatnonzero(~possible.any(axis=1))
        return int(lonely[0]) if len(lonely) else None
    return trial.unmatched(possible)


def _covers(session: Session, claims: Claims, rows: Rows) -> str | None:
    if _is_empty_cell(session.trial(rows)):
        return str(session.trial(rows).unreadable)
    trial = _matchable(session, claims, rows)
    lonely = _unmatched(claims, trial, trial.covers)
    if lonely is None:
        return None
    if not trial.covers[lonely].any():
        return f"the released row ({trial.printed(lonely)}) covers no row of the table"
    return f"the released row ({trial.printed(lonely)}) covers only rows that other released rows already stand for"


def _noise_is_claimed(session: Session, claims: Claims) -> str | None:
    return "noise is claimed, so cells need not be true" if claims.adds_noise else None


def _cells_are_changed(session: Session, claims: Claims) -> str | None:
    if claims.truthful is False:
        return "the claim says that cells need not be true"
    return _noise_is_claimed(session, claims)


def _invents_nothing(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = _matchable(session, claims, rows)
    assert trial.microdata is not None
    for place, released in enumerate(trial.microdata.sensitive):
        column = len(trial.data.schema.quasi) + place
        domain = trial.data.readings[column].domain
        given = np.bincount(trial.data.codes[column], minlength=len(domain))
        shown = released >= 0
        came = np.bincount(released[shown], weights=trial.weights[shown], minlength=len(domain))
        allowed = given if claims.keeps_rows is not False else np.where(given > 0, np.inf, 0.0)
        more = np.flatnonzero(came > allowed + 1e-6)
        if len(more):
            value = domain[int(more[0])]
            return f"{value!r} came back {came[more[0]]:g} times and stands {given[more[0]]} times in the table"
    return None


def _secrets_are_not_kept(session: Session, claims: Claims) -> str | None:
    if claims.keeps_sensitive is False:
        return "the claim says that sensitive values are not kept"
    return _noise_is_claimed(session, claims)


def _secrets_cannot_be_matched(session: Session, claims: Claims) -> str | None:
    return _secrets_are_not_kept(session, claims) or _cells_are_changed(session, claims)


def _keeps_secrets(session: Session, claims: Claims, rows: Rows) -> str | None:
    trial = _matchable(session, claims, rows)
    if _unmatched(claims, trial, trial.covers) is not None:
        raise SaysNothing("cells do not cover their values, so rows cannot be matched")
    if _invents_nothing(session, claims, rows) is not None:
        raise SaysNothing("sensitive values came back that are not in the table")
    lonely = _unmatched(claims, trial, trial.covers & trial.shows_secret)
    if lonely is None:
        return None
    released = trial.printed(lonely)
    return f"no row of the table that ({released}) covers is left with its {trial.printed_secret(lonely)}"


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


RELEASE_LAWS = (
    Law(
        "answers-every-table",
        "Every table of the declared domain is anonymized; one that breaks the claims as a whole may be refused.",
        "One person's unusual value stops everybody's release, or a crash tells that the value is there.",
        _answers,
    ),
    Law(
        "release-can-be-read",
        "Every released cell can be read: a value, a range, a set, a node of a hierarchy, or suppressed.",
        "Nobody can use, or check, a cell that cannot be read.",
        _reads,
        skipped=_noise_is_claimed,
    ),
    Law(
        "rows-are-accounted-for",
        "As many rows come back as were given, unless the release says that it suppressed some.",
        "Rows that vanish or appear bias every use, and an answer for another table goes unnoticed.",
        _accounts,
        skipped=_no_rows_are_claimed,
    ),
    Law(
        "cells-cover-their-values",
        "Released rows can be matched to rows of the table so that each cell covers the value it stands for.",
        "A range that excludes its own end point, or a wrong node, is a false statement about a person.",
        _covers,
        skipped=_cells_are_changed,
    ),
    Law(
        "sensitive-values-are-not-invented",
        "No sensitive value comes back more often than it stands in the table.",
        "An invented diagnosis is a false statement about a class of people.",
        _invents_nothing,
        skipped=_secrets_are_not_kept,
    ),
    Law(
        "sensitive-values-stay-with-their-rows",
        "Each released row shows the sensitive value of a row that its cells cover.",
        "A value that moved to another class is a false statement about the people in both.",
        _keeps_secrets,
        skipped=_secrets_cannot_be_matched,
    ),
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
