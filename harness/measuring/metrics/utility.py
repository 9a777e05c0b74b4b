"""What a release is good for: how well a classifier that learns from it predicts the sensitive column.

Five folds of the rows, with the same shares of every value in each and shuffled by a seed: a model is trained on four
of them and predicts the fifth, so that every row is predicted once by a model that has not seen it. From these
predictions the accuracy and the area under the ROC curve (of each value against the others, then their mean). Beside
them stands the accuracy of always naming the most frequent value. With the original at hand the same is done with
its own rows: what the data was good for before. The usual model is that of Proportional Representation §IV-C, a
network of 5 and 2 units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.measuring.encoding import encoder_named
from harness.measuring.features import Encoder, Features, Floats
from harness.measuring.metrics.release_metrics import MeasuredRelease
from harness.measuring.metrics.secrets import Plain, SecretColumn
from harness.measuring.models import Model, model_named
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import CellIds, TrainingRows, cell_ids
from harness.vocabulary.table import Codes

ENCODER, MODEL, FOLDS = "fill-parent", "mlp", 5

Rows = npt.NDArray[np.intp]


def utility_of(
    measured: MeasuredRelease, declared: Any, encoder: str | Mapping[str, Any] | Encoder = ENCODER, seed: int = 0
) -> Plain:
    """Accuracy and AUC of a model for each sensitive column, on the release and, where it is given, on the original."""
    model = model_named(declared)
    chosen = encoder_named(encoder) if isinstance(encoder, str | Mapping) else encoder
    if chosen.depends_on_target:
        raise InputError(
            f"encoder {chosen.name!r} depends on a target, but utility has none; take {ENCODER!r} or another"
        )
    secrets = {secret.column.name: secret for secret in measured.secrets()}
    columns = _all_read(measured)
    found: Plain = {"model": model.name, "encoder": chosen.name, "folds": FOLDS, "secrets": {}}
    for name, secret in secrets.items():
        found["secrets"][name] = {
            "release": cross_validated(model, chosen, columns, secret.codes, len(secret.values), seed),
            "original": _of_original(measured, secret, model, chosen, seed),
        }
    return found


def _all_read(measured: MeasuredRelease) -> tuple[CellIds, ...]:
    read = tuple(column for column in measured.cells if column is not None)
    if len(read) < len(measured.cells):
        name = next(c.name for c, cells in zip(measured.schema.quasi, measured.cells, strict=True) if cells is None)
        raise InputError(
            f"utility needs the values of every quasi-identifier, and those of {name!r} are not known; give the "
            "original, or declare a hierarchy, an order, values, or min and max"
        )
    return read


def _of_original(
    measured: MeasuredRelease, secret: SecretColumn, model: Model, encoder: Encoder, seed: int
) -> Plain | None:
    if measured.original is None or secret.original is None:
        return None
    table = measured.original.table
    columns = tuple(cell_ids(column.lexicon, table.column(column.lexicon.name)) for column in _all_read(measured))
    return cross_validated(model, encoder, columns, secret.original, len(secret.values), seed)


def cross_validated(
    model: Model, encoder: Encoder, columns: tuple[CellIds, ...], labels: Codes, values: int, seed: int
) -> Plain | None:
    """Accuracy and AUC over all rows that show a value; None where fewer than two values occur in every fold."""
    rows = np.flatnonzero(labels >= 0)
    kept = rows[np.bincount(labels[rows], minlength=values)[labels[rows]] >= FOLDS]
    occurring, codes = np.unique(labels[kept], return_inverse=True)
    if len(occurring) < 2:
        return None
    shown = tuple(CellIds(column.lexicon, column.ids, column.codes[kept]) for column in columns)
    training = TrainingRows(shown, codes.reshape(-1).astype(np.int32), len(occurring))
    features = encoder.encode(training, None)
    probabilities = _predicted(model, features, training, seed)
    likeliest = np.bincount(training.labels).max() / len(kept)
    return {
        "rows": len(kept),
        "accuracy": float((probabilities.argmax(axis=1) == training.labels).mean()),
        "auc": _auc(training.labels, probabilities),
        "accuracy_of_most_frequent": float(likeliest),
    }


def _predicted(model: Model, features: Features, rows: TrainingRows, seed: int) -> Floats:
    """Each row's probabilities by a model that was trained without its fold.  # [rows, n]"""
    from sklearn.model_selection import StratifiedKFold  # takes a second to load

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    probabilities = np.zeros((len(rows.labels), rows.values))
    for train, test in folds.split(np.zeros(len(rows.labels)), rows.labels):
        fitted = model.fit(*_part(features, rows, train), seed)
        distinct, places = np.unique(_part(features, rows, test)[0].matrix(), axis=0, return_inverse=True)
        each = np.stack([fitted.predict(target) for target in distinct])
        probabilities[test] = each[places.reshape(-1)]
    return probabilities


def _part(features: Features, rows: TrainingRows, kept: Rows) -> tuple[Features, TrainingRows]:
    columns = tuple(replace(column, codes=column.codes[kept]) for column in features.columns)
    quasi = tuple(CellIds(column.lexicon, column.ids, column.codes[kept]) for column in rows.quasi)
    return Features(columns), TrainingRows(quasi, rows.labels[kept], rows.values)


def _auc(labels: Codes, probabilities: Floats) -> float:
    """The area under the ROC curve: the mean over the values, each against the others (two values: of the second)."""
    from sklearn.metrics import roc_auc_score

    if probabilities.shape[1] == 2:
        return float(roc_auc_score(labels, probabilities[:, 1]))
    return float(np.mean([roc_auc_score(labels == value, probabilities[:, value]) for value in np.unique(labels)]))
