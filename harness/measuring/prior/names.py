"""From what an auditor writes to a prior. Knows the disk, for tables of probabilities; not yet the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.measuring.prior.declared import ColumnPrior, DistributionPrior, TablePrior
from harness.measuring.prior.interface import FittedPrior, Prior, PriorPerSecret, UniformPrior
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.loading import is_importable_name, load_object


@dataclass(frozen=True)
class Named:
    """A prior that a name stands for."""

    prior: Prior
    describes: str


@dataclass(frozen=True)
class Keyed:
    """A prior that a table with a certain key stands for."""

    keys: tuple[str, ...]  # all are needed, the first tells it from other tables
    fits: Callable[[Any], bool]  # whether the value of the first key is such a declaration, or that of a secret
    make: Callable[[Mapping[str, Any], Path], Prior]
    example: str
    describes: str


def _from_file(table: Mapping[str, Any], base: Path) -> Prior:
    path = base / table["file"]
    return TablePrior(_read_table(path), path.name)


NAMES = {
    "fitted": Named(FittedPrior(), "the class frequencies: the model's answer stays as it is"),
    "uniform": Named(UniformPrior(), "every value is equally likely"),
}
TABLES = (
    Keyed(
        ("file",),
        lambda file: isinstance(file, str | Path),
        _from_file,
        '{"file": "prior.csv"}',
        "one distribution per row, from a CSV file whose header holds the labels; an empty line: nothing is known",
    ),
    Keyed(
        ("column", "confidence"),
        lambda column: not isinstance(column, Mapping),
        lambda table, base: ColumnPrior(table["column"], table["confidence"]),
        '{"column": "last_year", "confidence": 0.8}',
        "a believed value per row (a column of the source, or the values themselves), right with this probability; all "
        "other values share the rest evenly",
    ),
)


def forms() -> dict[str, str]:
    """All ways to write a prior, and what each means."""
    return {
        **{f'"{name}"': named.describes for name, named in NAMES.items()},
        '{"Flu": 0.7, "Cancer": 0.3}': "one distribution for everybody, by the labels of the values",
        "an array or DataFrame [rows, n]": "one distribution per row; a row of NaN: nothing is known",
        **{keyed.example: keyed.describes for keyed in TABLES},
        '{"disease": …, "occupation": …}': 'any of these for each secret; for others "fitted"',
        "package.module:name, or an object": "a user's own",
    }


def prior_named(declaration: Any, base: Path = Path()) -> Prior:
    """The prior that a declaration describes (see `forms`); relative paths in it are relative to `base`."""
    if isinstance(declaration, str):
        return _by_name(declaration)
    if isinstance(declaration, np.ndarray | pd.DataFrame):
        return TablePrior(declaration)
    if isinstance(declaration, Mapping):
        return _by_table({str(key): value for key, value in declaration.items()}, base)
    if isinstance(declaration, Prior) and not isinstance(declaration, type):
        return declaration
    raise InputError(
        f"a prior is a name, a table or an array with one distribution per row, not a {type(declaration).__name__}"
    )


def _by_name(name: str) -> Prior:
    if name in NAMES:
        return NAMES[name].prior
    if not is_importable_name(name):
        raise InputError(f"prior {name!r} is not known; {did_you_mean(name, [*NAMES, 'package.module:name'])}")
    loaded = load_object(name)
    if isinstance(loaded, str):
        raise InputError(f"{name}: expected a prior, not the text {loaded!r}")
    return prior_named(loaded)


def _by_table(table: dict[str, Any], base: Path) -> Prior:
    """By its keys: numbers make a distribution; those of TABLES name a source; all else names secrets."""
    if not table:
        raise InputError('a prior without any entry says nothing; expected "fitted", "uniform" or a table')
    if all(isinstance(value, Real) for value in table.values()):
        return DistributionPrior({label: float(share) for label, share in table.items()})
    for keyed in TABLES:
        if keyed.keys[0] in table and keyed.fits(table[keyed.keys[0]]):
            _require_keys(table, keyed.keys)
            return keyed.make(table, base)
    return PriorPerSecret({name: _within_secret(name, part, base) for name, part in table.items()})


def _within_secret(name: str, declaration: Any, base: Path) -> Prior:
    try:
        return prior_named(declaration, base)
    except InputError as error:
        raise error.within(f"prior of {name!r}") from None


def _require_keys(table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    unknown = next((key for key in table if key not in keys), None)
    if unknown is not None:
        raise InputError(f"prior: unknown key {unknown!r}; {did_you_mean(unknown, keys)}")
    missing = next((key for key in keys if key not in table), None)
    if missing is not None:
        raise InputError(f"prior: {missing!r} is missing; expected {' and '.join(keys)}")


def _read_table(path: Path) -> pd.DataFrame:
    """A CSV file of probabilities; an empty line is a row of which nothing is known."""
    try:
        return pd.read_csv(path, dtype=str, encoding="utf-8-sig", skip_blank_lines=False, index_col=False)
    except OSError as error:
        raise InputError(f"prior: {path}: cannot be read: {error.strerror}") from None
    except (ValueError, pd.errors.ParserError) as error:  # not UTF-8, or no table
        raise InputError(f"prior: {path}: not a CSV table in UTF-8: {error}") from None
