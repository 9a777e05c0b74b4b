"""Ten anonymizers, each built in another way, with faults that are switched on by name (k = 3).

`BUILDERS` has the anonymizers, `FAULTS` what is wrong with each of them and the law that must say so. None of them is
known to the laws: they were written to try these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.schema import Column, Schema

K = 3
REGION = {"Bonn": "North", "Köln": "North", "Łódź": "North", "Milano": "South", "Roma": "South", "Torino": "South"}
CITIES, SEXES, DISEASES = tuple(REGION), ("f", "m"), ("cold", "flu", "gout", "mumps")
AGE = Column("age", "number", min=0, max=99)
TREE = Hierarchy.from_paths((city, (city, region, "*")) for city, region in REGION.items())
SECRET = [Column("disease", values=DISEASES)]
MIXED = Schema((AGE, Column("city", hierarchy=TREE)), SECRET)
NUMBERS = Schema((AGE, Column("income", "number", min=0, max=120_000)), SECRET)
THREE = Schema((AGE, Column("city", values=CITIES), Column("sex", values=SEXES)), SECRET)

Frame = pd.DataFrame
Claim = dict[str, Any]


def refuse_few(df: Frame) -> None:
    if len(df) < K:
        raise ValueError(f"fewer than {K} rows")


def band(part: Frame, column: str, fault: str = "") -> str:
    low, high = part[column].min(), part[column].max()
    if fault == "excludes its highest value":
        return f"[{low}, {high})"
    if fault == "excludes its lowest value":
        return f"({low}, {high}]" if low < high else f"[{low}, {high}]"
    return f"[{low - 1}, {high})" if fault == "prints [a, b) and means (a, b]" else f"[{low}, {high}]"


def microaggregation(df: Frame, fault: str) -> Frame:
    """MDAV on two numbers: the rows that are nearest to the farthest one are a group."""
    refuse_few(df)
    if fault == "divides by the spread":
        _ = 1 / int(df.age.max() - df.age.min())
    groups = _nearest_groups(df, K - 1 if fault == "groups of k - 1" else K)
    out = df.astype({"age": object, "income": object})
    for group in groups:
        for column in ("age", "income"):
            cell = band(df.iloc[group], column, fault if column == "income" else "")
            out.iloc[group, list(out.columns).index(column)] = cell
    if fault == "leaves the order of ages":
        out = out.iloc[[row for group in groups for row in sorted(group, key=lambda row: int(df.age.iloc[row]))]]
    if fault == "exchanges values of two groups" and len(groups) > 1:
        diseases = out.disease.tolist()
        one, other = groups[0][0], groups[-1][0]
        diseases[one], diseases[other] = diseases[other], diseases[one]
        out = out.assign(disease=diseases)
    return out


def _nearest_groups(df: Frame, k: int) -> list[list[int]]:
    points = df[["age", "income"]].to_numpy(np.float64)
    spread = points.std(axis=0)
    points = points / np.where(spread > 0, spread, 1.0)
    left, groups = list(range(len(df))), list[list[int]]()
    while len(left) >= 2 * k:
        centre = points[left].mean(axis=0)
        far = max(left, key=lambda row: float(((points[row] - centre) ** 2).sum()))
        near = sorted(left, key=lambda row: float(((points[row] - points[far]) ** 2).sum()))[:k]
        groups.append(near)
        left = [row for row in left if row not in near]
    return [*groups, left]


class Clustering:
    """k-member clustering: the first row that is left takes the k - 1 rows that cost least."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.kept: dict[object, Frame] = {}

    def __call__(self, df: Frame) -> Frame:
        refuse_few(df)
        if self.fault == "knows Latin letters only":
            _ = [city.encode("latin-1") for city in df.city]
        key = {"keeps an answer for each size": len(df), "keeps an answer for each first row": str(df.iloc[0].tolist())}
        if self.fault in key and key[self.fault] in self.kept:
            return self.kept[key[self.fault]]
        out = self._released(df.reset_index(drop=True))
        if self.fault in key:
            self.kept[key[self.fault]] = out
        return out

    def _released(self, df: Frame) -> Frame:
        out = df.astype(object)
        for group in self._groups(df):
            part = df.loc[group]
            out.loc[group, "age"] = band(part, "age", self.fault)
            out.loc[group, "city"] = "{" + ", ".join(sorted(set(part.city))) + "}"
        if self.fault == "sorts by city":
            out = out.loc[df.sort_values("city", ascending=False).index]
        return out.assign(person=[f"p{row:04}" for row in out.index]) if self.fault == "names the persons" else out

    def _groups(self, df: Frame) -> list[list[int]]:
        rows, groups = list(range(len(df))), list[list[int]]()
        ages, cities = df.age.tolist(), df.city.tolist()
        k = K - 1 if self.fault == "groups of k - 1" else K
        while len(rows) >= k:
            first, *others = rows
            others.sort(key=lambda row: abs(ages[row] - ages[first]) / 99 + (cities[row] != cities[first]))
            groups.append([first, *others[: k - 1]])
            rows = sorted(others[k - 1 :])
        if self.fault == "makes a group of the rest" and rows:
            return [*groups, rows]
        groups[-1] += rows
        return groups


class Recoding:
    """Bands of ages, cut off at both ends, and regions; rows of small classes are hidden."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.seen: dict[tuple[str, str], int] = {}

    def __call__(self, df: Frame) -> Frame:
        refuse_few(df)
        regions = [self._region(city) for city in df.city]
        keys = list(zip(map(self._coded, df.age), regions, strict=True))
        out = df.assign(age=[age for age, _ in keys], city=regions).astype(object)
        rare = np.array([self._count(keys, key) < (K - 1 if self.fault == "hides below k - 1" else K) for key in keys])
        if self.fault == "hides the age of rare rows only":
            out.loc[rare, "age"] = "*"
            return out
        if self.fault == "drops rare rows":
            return out[~rare]
        out.loc[rare, ["age", "city"]] = "*"
        if self.fault == "invents values of rare rows":
            out.loc[rare, "disease"] = "cold"
        return out

    def _count(self, keys: list[tuple[str, str]], key: tuple[str, str]) -> int:
        if self.fault != "counts rows of all tables":
            return keys.count(key)
        self.seen[key] = self.seen.get(key, 0) + 1
        return self.seen[key]

    def _region(self, city: str) -> str:
        return "South" if self.fault == "takes a city for one of the South" and city == "Łódź" else REGION[city]

    def _coded(self, age: int) -> str:
        if age >= (66 if self.fault == "begins the highest band too late" else 65):
            return ">65" if self.fault == "excludes the end of the highest band" else ">=65"
        low = age // 10 * 10
        return "<18" if age < 18 else f"[{max(low, 18)}, {min(low + 10, 65)})"


def datafly(df: Frame, fault: str) -> Frame:
    """The column with most values goes up its hierarchy until at most k rows are in small classes; these are hidden."""
    refuse_few(df)
    ages, cities, least = 0, 0, K - 1 if fault == "classes of k - 1" else K
    while True:
        out = df.assign(age=[_up(age, ages, fault) for age in df.age])
        out = out.assign(city=[(city, REGION[city], "*")[cities] for city in df.city])
        small = out.groupby(["age", "city"])["disease"].transform("size") < least
        if small.sum() <= K or (ages, cities) == (3, 2):
            break
        if (out.age.nunique() >= out.city.nunique() and ages < 3) or cities == 2:
            ages += 1
        else:
            cities += 1
    out = out.astype(object)
    if fault != "leaves what is rare":
        out.loc[small, ["age", "city"]] = "*"
    if fault == "sorts by age":
        out = out.loc[df.sort_values("age").index]
    if fault == "exchanges the first and last value":
        diseases = out.disease.tolist()
        out = out.assign(disease=[diseases[-1], *diseases[1:-1], diseases[0]])
    return out.iloc[:-1] if fault == "loses the last row" else out


def _up(age: int, level: int, fault: str) -> str:
    if level in (0, 3):
        return str(age) if level == 0 else "*"
    low = age // (10 * level) * 10 * level
    return f"({low}, {low + 10 * level}]" if fault == "takes the wrong end" else f"[{low}, {low + 10 * level})"


def local_suppression(df: Frame, fault: str) -> Frame:
    """Hides one column after the other in rows whose class is too small."""
    refuse_few(df)
    if fault == "needs women":
        _ = 1 / int((df.sex == "f").sum())
    out = df.assign(age=[f"[{age // 20 * 20}, {age // 20 * 20 + 19}]" for age in df.age]).astype(object)
    for column in ("city",) if fault == "hides one column only" else ("city", "sex", "age"):
        sizes = out.groupby(["age", "city", "sex"])["disease"].transform("size")
        out.loc[sizes < (K - 1 if fault == "hides below k - 1" else K), column] = "*"
    return out


def randomized_response(df: Frame, seed: int, fault: str) -> Frame:
    """Each sensitive value stays with the probability of ε = 1, else it becomes one of the others."""
    rng = np.random.default_rng({"ignores the seed": 7, "draws without the seed": None}.get(fault, seed))
    epsilon = 2.0 if fault == "half the noise" else 1.0
    stays = math.exp(epsilon) / (math.exp(epsilon) + len(DISEASES) - 1)
    others = {value: [other for other in DISEASES if other != value] for value in DISEASES}
    values = [value if rng.random() < stays else str(rng.choice(others[value])) for value in df.disease]
    return df.assign(age="*", city="*", disease=values)


def noisy_rows(df: Frame, seed: int, fault: str) -> Frame:
    """As many rows of each city and disease as their count with Laplace noise says."""
    rng, scale = np.random.default_rng(seed), 0.5 if fault == "half the noise" else 1.0
    counts = df.groupby(["city", "disease"]).size().to_dict()
    every = [(city, disease) for city in CITIES for disease in DISEASES]
    noisy = [max(0, round(counts.get(key, 0) + rng.laplace(0, scale))) for key in every]
    rows = [("*", *key) for key, count in zip(every, noisy, strict=True) for _ in range(count)]
    return pd.DataFrame(rows or [("*", "*", DISEASES[0])], columns=["age", "city", "disease"])


def rank_swapping(df: Frame, seed: int, fault: str) -> Frame:
    """Each age is exchanged with one of the next four."""
    rng = np.random.default_rng({"ignores the seed": 7, "draws without the seed": None}.get(fault, seed))
    ages, free = df.age.tolist(), df.age.to_numpy().argsort(kind="stable").tolist()
    while len(free) > 1:
        one = free.pop(0)
        other = free.pop(int(rng.integers(min(4, len(free)))))
        ages[one], ages[other] = ages[other], ages[one]
    return df if fault == "exchanges nothing" else df.assign(age=ages)


def anatomy(df: Frame, seed: int, fault: str) -> Frame:
    """Sensitive values are shuffled in buckets of two different ones; quasi-identifiers stay as they are."""
    rng, diseases = np.random.default_rng(seed), df.disease.tolist()
    places = {value: [row for row, one in enumerate(diseases) if one == value] for value in DISEASES}
    buckets = list[list[int]]()
    while sum(map(bool, places.values())) > 1:
        two = sorted((value for value in DISEASES if places[value]), key=lambda value: -len(places[value]))[:2]
        buckets.append([places[value].pop() for value in two])
    if not buckets:
        return df.assign(disease="*")
    buckets[-1] += [row for rows in places.values() for row in rows]
    shuffled = list(diseases)
    for bucket in buckets:
        for row, source in zip(bucket, rng.permutation(bucket), strict=True):
            shuffled[row] = diseases[int(source)]
    return df if fault == "shuffles nothing" else df.assign(disease=shuffled)


def sampling(df: Frame, seed: int, fault: str) -> Frame:
    """Four of five rows of a recoded table."""
    refuse_few(df)
    rng = np.random.default_rng(7 if fault == "ignores the seed" else seed)
    chosen = rng.permutation(len(df))[: max(1, 4 * len(df) // 5)]
    return (df if fault == "recodes nothing" else Recoding("")(df)).iloc[np.sort(chosen)]


def plain(f: Callable[[Frame, str], Frame], fault: str) -> Callable[[Frame], Frame]:
    return lambda df: f(df, fault)


def seeded(f: Callable[[Frame, int, str], Frame], fault: str) -> Callable[[Frame, int], Frame]:
    return lambda df, seed: f(df, seed, fault)


BUILDERS: Mapping[str, tuple[Callable[[str], Callable[..., Frame]], Schema, Claim]] = {
    "microaggregation": (lambda fault: plain(microaggregation, fault), NUMBERS, {"k": K}),
    "clustering": (Clustering, MIXED, {"k": K}),
    "recoding": (Recoding, MIXED, {"k": K}),
    "datafly": (lambda fault: plain(datafly, fault), MIXED, {"k": K}),
    "local suppression": (lambda fault: plain(local_suppression, fault), THREE, {"k": K}),
    "randomized response": (
        lambda fault: seeded(randomized_response, fault),
        MIXED,
        {"noise_epsilon": 1.0, "keeps_sensitive": False, "seedable": True},
    ),
    "noisy rows": (lambda fault: seeded(noisy_rows, fault), MIXED, {"noise_epsilon": 1.0, "keeps_rows": False}),
    "rank swapping": (lambda fault: seeded(rank_swapping, fault), MIXED, {"truthful": False, "seedable": True}),
    "anatomy": (lambda fault: seeded(anatomy, fault), MIXED, {"keeps_sensitive": False, "seedable": True}),
    "sampling": (lambda fault: seeded(sampling, fault), MIXED, {"keeps_rows": False, "seedable": True}),
}
CLASSES, COVER, ROWS = "classes-have-k-rows", "cells-cover-their-values", "rows-are-accounted-for"
ORDER, INPUT, STAY = "row-order-hides-values", "reads-its-input", "sensitive-values-stay-with-their-rows"
ANSWERS, SAME, NOISE = "answers-every-table", "equal-tables-get-equal-releases", "noise-is-as-large-as-claimed"
DIFFERENT, HONOURED, COPIED = "seeds-make-a-difference", "seeds-are-honoured", "unique-rows-are-not-copied"
INVENTED, IDENTIFIER = "sensitive-values-are-not-invented", "no-identifier-survives"
FAULTS: tuple[tuple[str, str, frozenset[str]], ...] = tuple(
    (builder, fault, frozenset(laws))
    for builder, fault, *laws in (
        ("microaggregation", "groups of k - 1", CLASSES),
        ("microaggregation", "excludes its highest value", COVER),
        ("microaggregation", "excludes its lowest value", COVER),
        ("microaggregation", "prints [a, b) and means (a, b]", COVER),
        ("microaggregation", "leaves the order of ages", ORDER),
        ("microaggregation", "exchanges values of two groups", STAY),
        ("microaggregation", "divides by the spread", ANSWERS),
        ("clustering", "groups of k - 1", CLASSES),
        ("clustering", "makes a group of the rest", CLASSES),
        ("clustering", "knows Latin letters only", ANSWERS),
        ("clustering", "keeps an answer for each size", INPUT),
        ("clustering", "keeps an answer for each first row", INPUT),
        ("clustering", "sorts by city", ORDER),
        ("clustering", "names the persons", IDENTIFIER),
        ("recoding", "hides below k - 1", CLASSES),
        ("recoding", "hides the age of rare rows only", CLASSES),
        ("recoding", "begins the highest band too late", COVER),
        ("recoding", "excludes the end of the highest band", COVER),
        ("recoding", "takes a city for one of the South", COVER),
        ("recoding", "counts rows of all tables", SAME),
        ("recoding", "drops rare rows", ROWS),
        ("recoding", "invents values of rare rows", INVENTED),
        ("datafly", "classes of k - 1", CLASSES),
        ("datafly", "leaves what is rare", CLASSES, COPIED),
        ("datafly", "loses the last row", ROWS, CLASSES),  # a class that loses a row has too few
        ("datafly", "sorts by age", ORDER),
        ("datafly", "exchanges the first and last value", STAY),
        ("datafly", "takes the wrong end", COVER),
        ("local suppression", "hides below k - 1", CLASSES),
        ("local suppression", "hides one column only", CLASSES),
        ("local suppression", "needs women", ANSWERS),
        ("randomized response", "half the noise", NOISE),
        ("randomized response", "ignores the seed", DIFFERENT),
        ("randomized response", "draws without the seed", HONOURED),
        ("noisy rows", "half the noise", NOISE),
        ("rank swapping", "ignores the seed", DIFFERENT),
        ("rank swapping", "draws without the seed", HONOURED),
        ("rank swapping", "exchanges nothing", COPIED, DIFFERENT),
        ("anatomy", "shuffles nothing", COPIED, DIFFERENT),
        ("sampling", "ignores the seed", DIFFERENT),
        ("sampling", "recodes nothing", COPIED),
    )
)
