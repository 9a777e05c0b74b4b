"""From what an auditor writes to a prior. Knows the disk, for tables of probabilities; not yet the data."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.measuring.loading import is_importable_name, load_object
from harness.measuring.prior.declared import ColumnPrior, DistributionPrior, TablePrior
from harness.measuring.prior.interface import FittedPrior, Prior, PriorPerSecret, UniformPrior
from harness.vocabulary.errors import InputError, did_you_mean


def prior_named(declaration: Any, base: Path = Path()) -> Prior:
    """The prior that a declaration describes (see the package); relative paths in it are relative to `base`."""
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
    known: dict[str, Prior] = {"fitted": FittedPrior(), "uniform": UniformPrior()}
    if name in known:
        return known[name]
    if not is_importable_name(name):
        raise InputError(f"prior {name!r} is not known; {did_you_mean(name, [*known, 'package.module:name'])}")
    loaded = load_object(name)
    if isinstance(loaded, str):
        raise InputError(f"{name}: expected a prior, not the text {loaded!r}")
    return prior_named(loaded)


def _by_table(table: dict[str, Any], base: Path) -> Prior:
    """By its keys: numbers make a distribution; `file` and `column` name a source; all else names secrets."""
    if not table:
        raise InputError('a prior without any entry says nothing; expected "fitted", "uniform" or a table')
    if all(isinstance(value, Real) for value in table.values()):
        return DistributionPrior({label: float(share) for label, share in table.items()})
    if isinstance(table.get("file"), str | Path):
        _require_keys(table, ("file",))
        path = base / table["file"]
        return TablePrior(_read_table(path), path.name)
    if "column" in table and not isinstance(table["column"], Mapping):
        _require_keys(table, ("column", "confidence"))
        return ColumnPrior(table["column"], table["confidence"])
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
