"""Laws about one release of one table: what is released must be true and complete (what it hides: hiding_laws).

A table that f refuses, or releases unreadably, breaks one law only; the others say nothing about it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness.testing.asking import Bools, Rows, Session, Trial
from harness.testing.claims import Claims
from harness.testing.law import Law, SaysNothing
from harness.vocabulary.values import CoversNothing

CRASHES = ("UnicodeEncodeError", "UnicodeDecodeError", "RecursionError", "MemoryError", "ZeroDivisionError")


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
    counts = [np.unique(codes, return_counts=True)[1] for codes in secrets_of(trial)]
    return all(int(each.max()) * least <= int(each.sum()) for each in counts)


def secrets_of(trial: Trial) -> Sequence[npt.NDArray[np.int32]]:
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
)
