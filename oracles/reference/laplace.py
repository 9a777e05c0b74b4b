"""Laplace noise on counts: as prediction distributions (v2 §4.2.2), and as a noisy contingency table."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table
from harness.vocabulary.values import Raw, Reading
from oracles.reference.declared import check_truth
from oracles.reference.domains import raw_of, sensitive_cells
from oracles.reference.proportional import with_shares
from oracles.remembering import Remembered

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
BLOCKS = 2  # of noise that are kept: an audit asks with the same seed again and again


@dataclass(frozen=True, eq=False)
class Groups:
    """The records of D grouped by their quasi-identifiers."""

    ids: Longs  # [record], ranks of the quasi-identifiers in the order of the domains
    members: Longs  # the records, group by group
    starts: Longs  # [group + 1]
    numbers: dict[bytes, int]  # the group of a tuple of codes
    places: tuple[dict[Raw | None, int], ...]  # per quasi-identifier, the code of a raw value

    @classmethod
    def of(cls, data: Dataset) -> Groups:
        quasi = len(data.schema.quasi)
        codes = np.stack(data.codes[:quasi], axis=1).astype(np.int32)
        tuples, ids = np.unique(codes, axis=0, return_inverse=True)
        ids = ids.reshape(-1)
        starts = np.concatenate([[0], np.cumsum(np.bincount(ids))])
        numbers = {row.tobytes(): number for number, row in enumerate(tuples)}
        places = tuple(_places(reading) for reading in data.readings[:quasi])
        return cls(ids, np.argsort(ids, kind="stable"), starts, numbers, places)

    def find(self, data: Dataset, about: Sequence[Any]) -> int | None:
        """The group of raw quasi-identifiers, if anyone in D has them."""
        columns = zip(self.places, data.readings, about, strict=False)
        codes = [place.get(raw_of(reading, cell), -1) for place, reading, cell in columns]
        return self.numbers.get(np.array(codes, dtype=np.int32).tobytes())

    def counts(self, data: Dataset, group: int, drop: Sequence[int]) -> Longs:
        """How often each sensitive value occurs in a group, rows left out aside.  # [n]"""
        values = len(data.sensitive_domain)
        members = self.members[self.starts[group] : self.starts[group + 1]]
        counts = np.bincount(data.sensitive_codes[members], minlength=values)
        for row in drop:
            if self.ids[row] == group:
                counts[data.sensitive_codes[row]] -= 1
        return counts


def _places(reading: Reading) -> dict[Raw | None, int]:
    return {raw: code for code, raw in enumerate(reading.domain)}


def standard_laplace(rng: np.random.Generator, draws: int, values: int) -> Floats:
    """Laplace noise of scale 1; the first draws of a longer block are those of a shorter one.  # [values, draws]

    An exponential magnitude with a fair sign is exactly Laplace, and takes a third of the time of rng.laplace.
    The signs have a stream of their own, so that both streams can be cut anywhere.
    """
    magnitude, sign = rng.spawn(2)
    noise = magnitude.standard_exponential(draws * values)
    bits = np.unpackbits(np.frombuffer(sign.bytes(-(-noise.size // 8)), dtype=np.uint8), count=noise.size)
    noise *= 1 - 2 * bits.view(np.int8)
    return np.ascontiguousarray(noise.reshape(draws, values).T)


class _Noise:
    """The last few blocks of noise; both sides of a record, and all records of one seed, share a block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[tuple[int, int, int], Floats] = {}

    def block(self, ask: Ask, values: int) -> Floats:
        key = (ask.seed, ask.draws, values)
        with self._lock:
            block = self._blocks.pop(key, None)
            if block is None:
                block = standard_laplace(ask.rng(), ask.draws, values)
            self._blocks[key] = block
            while len(self._blocks) > BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            return block


@dataclass(frozen=True)
class Laplace:
    """Predicts the sensitive value from noisy counts: C = 1 + max(0, count + Lap(1/noise_epsilon)), normalised.

    Equal seeds mean equal noise, whatever the table: the two sides of a record are coupled.
    """

    noise_epsilon: float = 1.0  # the noise of each count is Lap(1/noise_epsilon)
    _groups: Remembered[Groups] = field(init=False, repr=False, compare=False)
    _noise: _Noise = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_noise(self.noise_epsilon)
        object.__setattr__(self, "_groups", Remembered(Groups.of))
        object.__setattr__(self, "_noise", _Noise())

    def __reduce__(self) -> tuple[Any, ...]:
        return Laplace, (self.noise_epsilon,)

    @property
    def card(self) -> Card:
        return _card(f"laplace(noise_epsilon={self.noise_epsilon!r})", self.noise_epsilon, "predictions")

    def answer(self, ask: Ask) -> Iterable[Predictions]:
        quasi = ask.data.schema.quasi
        if ask.about is None or len(ask.about) != len(quasi):
            names = ", ".join(column.name for column in quasi)
            raise InputError(f"laplace: the question must be about one value each of {names}, not {ask.about!r}")
        groups = self._groups(ask.data)
        group = groups.find(ask.data, ask.about)
        values = len(ask.data.sensitive_domain)
        counts = np.zeros(values) if group is None else groups.counts(ask.data, group, ask.drop)
        noise = np.zeros((values, ask.draws)) if math.isinf(self.noise_epsilon) else self._noise.block(ask, values)
        return [Predictions(_predicted(counts[:, None], noise, self.noise_epsilon).T)]

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema, seed: int = 0) -> pd.DataFrame:
        """One draw for everybody: a row of probabilities per record; equal quasi-identifiers share their noise."""
        data = Dataset.from_frame(frame, schema, missing="keep")
        groups = self._groups(data)
        counts = _contingency(groups.ids, data)
        noise = np.zeros(counts.shape)
        if not math.isinf(self.noise_epsilon):
            noise = standard_laplace(np.random.default_rng(seed), counts.shape[1], counts.shape[0])
        rows = _predicted(counts, noise, self.noise_epsilon).T[groups.ids]
        return pd.DataFrame(rows, index=frame.index, columns=list(data.sensitive_labels))


def _predicted(counts: npt.NDArray[Any], noise: Floats, noise_epsilon: float) -> Floats:
    """v2 §4.2.2; one distribution per column."""
    weights = noise * (1 / noise_epsilon)
    weights += counts
    np.maximum(weights, 0, out=weights)
    weights += 1
    weights /= weights.sum(axis=0)
    return weights


def _contingency(groups: Longs, data: Dataset, drop: Sequence[int] = ()) -> Longs:
    """How often each sensitive value occurs with each group, rows left out aside.  # [n, group]"""
    size, values = int(groups.max(initial=-1)) + 1, len(data.sensitive_domain)
    counts = np.bincount(data.sensitive_codes * np.int64(size) + groups, minlength=size * values)
    for row in drop:
        counts[data.sensitive_codes[row] * size + groups[row]] -= 1
    return counts.reshape(values, size)


@dataclass(frozen=True)
class NoisyTable:
    """A contingency table as microdata: every combination of quasi-identifiers that occurs, with every sensitive
    value, and in the column `count` how often, plus Lap(1/noise_epsilon). Counts may be negative.

    Which combinations occur is released as it is, so this is not differentially private: an audit should see it.
    """

    noise_epsilon: float = 1.0  # the noise of each count is Lap(1/noise_epsilon)
    proportional: bool = False  # cells also say how the original values of their class are shared out: all are equal
    _groups: Remembered[Groups] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_noise(self.noise_epsilon)
        check_truth("noisy-table", "proportional", self.proportional)
        object.__setattr__(self, "_groups", Remembered(Groups.of))

    def __reduce__(self) -> tuple[Any, ...]:
        return NoisyTable, (self.noise_epsilon, self.proportional)

    @property
    def card(self) -> Card:
        shares = ", proportional=true" if self.proportional else ""
        return _card(f"noisytable(noise_epsilon={self.noise_epsilon!r}{shares})", self.noise_epsilon, "microdata")

    def answer(self, ask: Ask) -> Iterable[Table]:
        groups = self._groups(ask.data)
        counts = _contingency(groups.ids, ask.data, ask.drop)
        occurs = np.flatnonzero(counts.any(axis=0))
        counts = counts[:, occurs].T.ravel()
        plain = self._combinations(ask.data, groups.members[groups.starts[occurs]])
        for seed in ask.seeds():
            noise = np.zeros(len(counts))
            if not math.isinf(self.noise_epsilon):
                noise = standard_laplace(np.random.default_rng(seed), len(counts), 1)[0] / self.noise_epsilon
            column = Cells(counts + noise, np.arange(len(counts), dtype=np.int32))
            yield Table((*plain.names, "count"), (*plain.columns, column))

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema, seed: int = 0) -> pd.DataFrame:
        data = Dataset.from_frame(frame, schema, missing="keep")
        return next(iter(self.answer(Ask(data, seed=seed)))).to_frame()

    def _combinations(self, data: Dataset, examples: Longs) -> Table:
        """The quasi-identifiers of the example records, each with every joint sensitive value in turn."""
        values = len(data.sensitive_domain)
        records = np.repeat(examples, values)
        quasi = [data.table.column(column.name).taking(records) for column in data.schema.quasi]
        turns = np.tile(np.arange(values), len(examples))
        secrets = [cells.taking(turns) for cells in sensitive_cells(data)]
        table = Table(data.schema.names, (*quasi, *secrets))
        return with_shares(table, data, records) if self.proportional else table


def _card(name: str, noise_epsilon: float, releases: Any) -> Card:
    noisy = not math.isinf(noise_epsilon)
    return Card(
        name,
        version="1",
        releases=releases,
        randomized=noisy,
        seedable=noisy,
        keeps_data=True,
        row_order_invariant=True,
        noise_epsilon=noise_epsilon,
    )


def _check_noise(noise_epsilon: object) -> None:
    if isinstance(noise_epsilon, bool) or not isinstance(noise_epsilon, int | float) or not noise_epsilon > 0:
        raise InputError(
            f"laplace: noise_epsilon = {noise_epsilon!r}; expected a number above 0 (inf for no noise at all)"
        )
