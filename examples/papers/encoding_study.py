"""v1 appendix A.2: all 24 encodings on f(D), by accuracy, number of features and time (Figures 8 to 10).

For each encoding and each k, a Bernoulli naive Bayes learns from f(D) and predicts the sensitive value of some records
of D; a prediction is right if its likeliest value is theirs. Nobody is removed: this is no audit. The time is that of
one model, encoded, trained and asked once, as the text measures it for every encoding.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from harness.measuring.adversary import Adversary, adversary_from
from harness.measuring.encoding.names import CATEGORIES, NUMBERS, paper_name
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask
from harness.vocabulary.release import Reader, TrainingRows
from oracles.reference import Mondrian

TIMED = 20  # models whose time is measured; the median counts


@dataclass(frozen=True)
class EncodingResult:
    """What one encoding gives, as a mean over all k."""

    paper: str  # e_ij of the text
    name: str
    accuracy: float  # share of the records whose value is the likeliest
    features: float
    milliseconds: float  # for one model


def compare_encodings(data: Dataset, ks: tuple[int, ...], records: int) -> list[EncodingResult]:
    """All encodings, in the order of the text, on so many records at random."""
    chosen = np.random.default_rng(0).choice(data.size, min(records, data.size), replace=False)
    return [_mean_over_k(name, data, ks, chosen) for name in _names()]


def _names() -> Iterator[str]:
    for numbers, categories in product(NUMBERS, CATEGORIES):
        yield f"{numbers}-{categories}"


def _mean_over_k(name: str, data: Dataset, ks: tuple[int, ...], records: np.ndarray) -> EncodingResult:
    adversary = adversary_from({"encoder": name}).for_data(data, data.secrets(joint=False))
    means = np.mean([_measured(adversary, data, k, records) for k in ks], axis=0)
    return EncodingResult(paper_name(name) or "", name, *map(float, means))


def _measured(adversary: Adversary, data: Dataset, k: int, records: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, features and milliseconds at one k."""
    asked = adversary.encoder.prepare(data)  # with bins, where the encoding begins before f
    (table,) = Mondrian(k=k).answer(Ask(asked))
    (secret,) = asked.secrets(joint=False)
    rows = Reader(asked).read(table).for_secret(secret)
    trained, right = None, 0
    for record in records.tolist():
        target = asked.record(record).raws
        if trained is None or adversary.depends_on_target:
            trained = adversary.train(rows, target, seed=0)
        likeliest = trained.predict(target, record, secret).probabilities.argmax()
        right += int(likeliest == asked.sensitive_codes[record])
    timed = [_milliseconds(adversary, rows, asked, record) for record in records[:TIMED].tolist()]
    return right / len(records), _features(adversary, rows, asked), float(np.median(timed))


def _milliseconds(adversary: Adversary, rows: TrainingRows, asked: Dataset, record: int) -> float:
    """For a model of its own, whether the encoding needs one or not; counts that a release keeps are made again."""
    fresh, target = replace(rows), asked.record(record).raws
    (secret,) = asked.secrets(joint=False)
    start = time.process_time()
    adversary.train(fresh, target, seed=0).predict(target, record, secret)
    return 1000 * (time.process_time() - start)


def _features(adversary: Adversary, rows: TrainingRows, asked: Dataset) -> float:
    target = asked.record(0).raws if adversary.depends_on_target else None
    return adversary.encoder.encode(rows, target).matrix().shape[1]
