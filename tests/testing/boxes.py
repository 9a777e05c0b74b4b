"""Anonymizers with one fault each, and some without any: what the laws are tried on (k = 3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from harness.vocabulary.schema import Column, Schema

K = 3
CITIES = ("Bonn", "Köln", "Rom", "Wien")
DISEASES = ("cold", "flu", "gout", "mumps")
SCHEMA = Schema(
    (Column("age", "number", min=0, max=99), Column("city", values=CITIES)), [Column("disease", values=DISEASES)]
)


def groups(df: pd.DataFrame, least: int = K) -> list[pd.DataFrame]:
    """Mondrian on ages: halves of the sorted rows, as long as both have enough of them."""
    return _halves(df.sort_values("age", kind="stable"), least)


def _halves(rows: pd.DataFrame, least: int) -> list[pd.DataFrame]:
    if len(rows) < 2 * least:
        return [rows]
    half = len(rows) // 2
    return _halves(rows.iloc[:half], least) + _halves(rows.iloc[half:], least)


def released(parts: list[pd.DataFrame], cell: Callable[[pd.DataFrame], str] | None = None) -> pd.DataFrame:
    """Each group with its range of ages and all its cities, in the order of the rows given."""
    cell = cell or (lambda part: f"[{part.age.min()}, {part.age.max()}]")
    ages = [printed for part in parts for printed in [cell(part)] * len(part)]
    cities = [printed for part in parts for printed in ["{" + ", ".join(sorted(set(part.city))) + "}"] * len(part)]
    return pd.concat(parts).assign(age=ages, city=cities).sort_index()


def refusing_few(df: pd.DataFrame) -> None:
    if len(df) < K:
        raise ValueError(f"{len(df)} rows cannot be put into groups of {K}")


def correct(df: pd.DataFrame) -> pd.DataFrame:
    refusing_few(df)
    return released(groups(df))


def shuffling(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Correct, and its rows come in an order of the seed."""
    return correct(df).sample(frac=1, random_state=seed % 2**32)


def aggregating(df: pd.DataFrame) -> pd.DataFrame:
    """Correct, one row for all people of a group with the same disease."""
    return correct(df).groupby(["age", "city", "disease"]).size().rename("count").reset_index()


def suppressing_all(df: pd.DataFrame) -> pd.DataFrame:
    return df.assign(age="*", city="*")


def noisy_ages(df: pd.DataFrame, seed: int, scale: float = 99.0) -> pd.DataFrame:
    """Laplace noise of ε = 1 on ages; cities are hidden."""
    rng = np.random.default_rng(seed)
    return df.assign(age=df.age + rng.laplace(0, scale, len(df)), city="*")


def cut_off_ages(df: pd.DataFrame, seed: int, scale: float = 99.0) -> pd.DataFrame:
    noisy = noisy_ages(df, seed, scale)
    return noisy.assign(age=noisy.age.clip(0, 99))


def never_negative_ages(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    noisy = noisy_ages(df, seed)
    return noisy.assign(age=noisy.age.clip(lower=0))


def rounded_ages(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Cut off, and then rounded beyond the highest age that is declared."""
    noisy = cut_off_ages(df, seed)
    return noisy.assign(age=noisy.age.round(-1))


def answering_at_random(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Randomized response of ε = 1; quasi-identifiers stay as they are."""
    rng, stays = np.random.default_rng(seed), np.e / (np.e + len(DISEASES) - 1)
    values = [d if rng.random() < stays else rng.choice([o for o in DISEASES if o != d]) for d in df.disease]
    return df.assign(disease=values)


def dropping_and_saying_so(df: pd.DataFrame) -> pd.DataFrame:
    """Leaves out the rows of rare cities, and reports that."""
    refusing_few(df)
    release = df.assign(age="*")[df.groupby("city").city.transform("size") >= K]
    release.attrs["notes"] = [f"{len(df) - len(release)} rows were suppressed"]
    return release


def noisy_counts(df: pd.DataFrame, seed: int, scale: float = 1.0) -> pd.DataFrame:
    """Counts of every city and disease, with Laplace noise of ε = 1."""
    rng = np.random.default_rng(seed)
    every = pd.MultiIndex.from_product([CITIES, DISEASES], names=["city", "disease"])
    counts = df.groupby(["city", "disease"]).size().reindex(every, fill_value=0)
    return (counts + rng.laplace(0, scale, len(counts))).rename("count").reset_index().assign(age="*")


def noisy_counts_named_n(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    return noisy_counts(df, seed).rename(columns={"count": "n"})


# Faulty ones.


def identity(df: pd.DataFrame) -> pd.DataFrame:
    return df


def identity_in_brackets(df: pd.DataFrame) -> pd.DataFrame:
    return df.assign(age=[f"[{age}, {age}]" for age in df.age], city=["{" + city + "}" for city in df.city])


def off_by_one(df: pd.DataFrame) -> pd.DataFrame:
    refusing_few(df)
    return released(groups(df, K - 1))


def rare_category(df: pd.DataFrame) -> pd.DataFrame:
    """Groups by city first, and forgets that a city may have few people."""
    refusing_few(df)
    return released([part for _, city in df.groupby("city") for part in groups(city)])


def excluded_end(df: pd.DataFrame) -> pd.DataFrame:
    refusing_few(df)
    return released(groups(df), lambda part: f"[{part.age.min()}, {part.age.max()})")


def wrong_side(df: pd.DataFrame) -> pd.DataFrame:
    """Prints [20, 40) and means (20, 40]."""
    refusing_few(df)
    return released(groups(df), lambda part: f"[{part.age.min() - 1}, {part.age.max()})")


def sorted_output(df: pd.DataFrame) -> pd.DataFrame:
    refusing_few(df)
    return released(groups(df.sort_values("age").reset_index(drop=True)))


class CachedAnswer:
    """Remembers the largest table and answers all others with its release."""

    def __init__(self) -> None:
        self.rows = 0
        self.release: pd.DataFrame | None = None

    def __call__(self, df: pd.DataFrame) -> pd.DataFrame:
        if self.release is None or not self.rows - 3 <= len(df) <= self.rows:
            self.rows, self.release = len(df), correct(df)
        return self.release


def swapped_value(df: pd.DataFrame) -> pd.DataFrame:
    """The first and the last row exchange their diseases."""
    release = correct(df)
    diseases = release.disease.tolist()
    diseases[0], diseases[-1] = diseases[-1], diseases[0]
    return release.assign(disease=diseases)


def invented_value(df: pd.DataFrame) -> pd.DataFrame:
    release = correct(df)
    return release.assign(disease=[*release.disease[:-1], "flu"])


class GlobalState:
    """The width of its ranges depends on the table before."""

    def __init__(self) -> None:
        self.before = 0

    def __call__(self, df: pd.DataFrame) -> pd.DataFrame:
        refusing_few(df)
        wider, self.before = self.before % 2, len(df)
        return released(groups(df), lambda part: f"[{part.age.min() - wider}, {part.age.max()}]")


def ignored_seed(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    return correct(df)


def unrepeatable(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Takes a seed and draws without it."""
    widen = int(np.random.default_rng().integers(10**9))  # two alike would hide what is wrong
    refusing_few(df)
    return released(groups(df), lambda part: f"[{part.age.min() - widen}, {part.age.max()}]")


def orders_without_the_seed(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Takes a seed and shuffles without it."""
    return correct(df).sample(frac=1)


def dropped_last_row(df: pd.DataFrame) -> pd.DataFrame:
    return correct(df).iloc[:-1]


def crash_on_unicode(df: pd.DataFrame) -> pd.DataFrame:
    df.city.map(lambda city: city.encode("ascii"))
    return correct(df)


def row_numbers(df: pd.DataFrame) -> pd.DataFrame:
    return correct(df).reset_index(names="id")


def by_position(df: pd.DataFrame) -> pd.DataFrame:
    """Takes the first column for the age, whatever it is called."""
    refusing_few(df)
    ages = df.iloc[:, 0]
    return df.assign(**{df.columns[0]: f"[{ages.min()}, {ages.max()}]", df.columns[1]: "*"})


def half_the_noise_on_ages(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    return noisy_ages(df, seed, 99.0 / 2)


def half_the_noise_cut_off(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    return cut_off_ages(df, seed, 99.0 / 2)


def half_the_noise_on_counts(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    return noisy_counts(df, seed, 0.5)


def the_same_noise(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    return noisy_ages(df, 0)


def not_diverse(df: pd.DataFrame) -> pd.DataFrame:
    """Groups people of the same disease, as far as there are enough."""
    refusing_few(df)
    rows = df.sort_values("disease", kind="stable")
    return released([rows.iloc[:K], rows.iloc[K:]] if len(rows) >= 2 * K else [rows])


def hash_dependent(df: pd.DataFrame) -> pd.DataFrame:
    refusing_few(df)
    parts = groups(df)
    whole = pd.concat([part.assign(age="*", city="{" + ", ".join(set(part.city)) + "}") for part in parts])
    return whole.sort_index()


LEARNT: dict[str, float] = {}


def middle_of_the_first_table(df: pd.DataFrame) -> pd.DataFrame:
    """True for every table, and what it says of all of them depends on the first one that it saw."""
    middle = LEARNT.setdefault("middle", float(df.age.mean()))
    return df.assign(age=np.where(df.age <= middle, f"<={middle}", f">{middle}"), city="*")


Claim = dict[str, Any]
CORRECT: dict[str, tuple[Callable[[], Callable[..., pd.DataFrame]], Claim]] = {
    "correct": (lambda: correct, {"k": 3}),
    "shuffling": (lambda: shuffling, {"k": 3, "seedable": True}),
    "aggregating": (lambda: aggregating, {"k": 3}),
    "suppressing_all": (lambda: suppressing_all, {"k": 3, "deterministic": True}),
    "noisy_ages": (lambda: noisy_ages, {"noise_epsilon": 1.0}),
    "cut_off_ages": (lambda: cut_off_ages, {"noise_epsilon": 1.0}),
    "never_negative_ages": (lambda: never_negative_ages, {"noise_epsilon": 1.0}),
    "rounded_ages": (lambda: rounded_ages, {"noise_epsilon": 1.0}),
    "noisy_counts": (lambda: noisy_counts, {"noise_epsilon": 1.0, "keeps_rows": False}),
    "noisy_counts_named_n": (lambda: noisy_counts_named_n, {"noise_epsilon": 1.0, "keeps_rows": False}),
    "answering_at_random": (lambda: answering_at_random, {"noise_epsilon": 1.0, "keeps_sensitive": False}),
    "dropping_and_saying_so": (lambda: dropping_and_saying_so, {"k": 3}),
}
FAULTY: dict[str, tuple[Callable[[], Callable[..., pd.DataFrame]], Claim, str]] = {
    "identity": (lambda: identity, {"k": 3}, "classes-have-k-rows"),
    "identity without a claim": (lambda: identity, {}, "unique-rows-are-not-copied"),
    "identity in brackets": (lambda: identity_in_brackets, {}, "unique-rows-are-not-copied"),
    "identity with noise claimed": (
        lambda: identity,
        {"noise_epsilon": 1.0, "seedable": False},
        "unique-rows-are-not-copied",
    ),
    "off_by_one": (lambda: off_by_one, {"k": 3}, "classes-have-k-rows"),
    "rare_category": (lambda: rare_category, {"k": 3}, "classes-have-k-rows"),
    "excluded_end": (lambda: excluded_end, {"k": 3}, "cells-cover-their-values"),
    "wrong_side": (lambda: wrong_side, {"k": 3}, "cells-cover-their-values"),
    "sorted_output": (lambda: sorted_output, {"k": 3}, "row-order-hides-values"),
    "cached_answer": (CachedAnswer, {"k": 3}, "reads-its-input"),
    "swapped_value": (lambda: swapped_value, {"k": 3}, "sensitive-values-stay-with-their-rows"),
    "invented_value": (lambda: invented_value, {"k": 3}, "sensitive-values-are-not-invented"),
    "global_state": (GlobalState, {"k": 3}, "equal-tables-get-equal-releases"),
    "ignored_seed": (lambda: ignored_seed, {"k": 3, "seedable": True}, "seeds-make-a-difference"),
    "unrepeatable": (lambda: unrepeatable, {"k": 3, "seedable": True}, "seeds-are-honoured"),
    "orders_without_the_seed": (lambda: orders_without_the_seed, {"k": 3, "seedable": True}, "seeds-are-honoured"),
    "dropped_last_row": (lambda: dropped_last_row, {"k": 3}, "rows-are-accounted-for"),
    "crash_on_unicode": (lambda: crash_on_unicode, {"k": 3}, "answers-every-table"),
    "row_numbers": (lambda: row_numbers, {"k": 3}, "no-identifier-survives"),
    "by_position": (lambda: by_position, {"k": 3}, "columns-are-read-by-name"),
    "half_the_noise_on_ages": (lambda: half_the_noise_on_ages, {"noise_epsilon": 1.0}, "noise-is-as-large-as-claimed"),
    "half_the_noise_cut_off": (lambda: half_the_noise_cut_off, {"noise_epsilon": 1.0}, "noise-is-as-large-as-claimed"),
    "half_the_noise_on_counts": (
        lambda: half_the_noise_on_counts,
        {"noise_epsilon": 1.0, "keeps_rows": False},
        "noise-is-as-large-as-claimed",
    ),
    "the_same_noise": (lambda: the_same_noise, {"noise_epsilon": 1.0}, "seeds-make-a-difference"),
    "not_diverse": (lambda: not_diverse, {"k": 3, "l": 2}, "classes-are-l-diverse"),
    "not_close": (lambda: not_diverse, {"k": 3, "t": 0.3}, "classes-are-t-close"),
}
