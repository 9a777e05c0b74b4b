"""Metrics of a release the slow way, row by row with dictionaries and fractions: the second opinion."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pandas as pd

Groups = list[list[int]]


def classes(frame: pd.DataFrame, quasi: list[str]) -> Groups:
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, cells in enumerate(zip(*(map(str, frame[name]) for name in quasi), strict=True)):
        groups.setdefault(cells, []).append(row)
    return list(groups.values())


def counts(frame: pd.DataFrame, rows: list[int], secret: str) -> list[int]:
    values = frame[secret].tolist()
    return sorted(Counter(values[row] for row in rows).values(), reverse=True)


def diversity(frame: pd.DataFrame, quasi: list[str], secret: str) -> dict[str, object]:
    """Machanavajjhala et al. 2007: r1 is the MOST frequent value."""
    all_counts = [counts(frame, rows, secret) for rows in classes(frame, quasi)]
    values = frame[secret].nunique()
    recursive = {}
    for level in range(2, values + 1):
        tails = [(each[0], sum(each[level - 1 :])) for each in all_counts]
        recursive[str(level)] = max(math.inf if tail == 0 else top / tail for top, tail in tails)
    return {
        "distinct": min(map(len, all_counts)),
        "entropy": min(math.exp(-sum(r / sum(each) * math.log(r / sum(each)) for r in each)) for each in all_counts),
        "probability": min(sum(each) / each[0] for each in all_counts),
        "recursive_c": recursive,
    }


def shares(values: list[object], domain: Sequence[object]) -> list[Fraction]:
    return [Fraction(values.count(value), len(values)) for value in domain]


def equal_t(frame: pd.DataFrame, quasi: list[str], secret: str, whole: list[object]) -> Fraction:
    """Half the sum of absolute differences, of the worst class."""
    domain = list(dict.fromkeys([*frame[secret], *whole]))
    q = shares(whole, domain)
    values = frame[secret].tolist()
    worst = Fraction(0)
    for rows in classes(frame, quasi):
        p = shares([values[row] for row in rows], domain)
        worst = max(worst, sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2)
    return worst


def ordered_t(frame: pd.DataFrame, quasi: list[str], secret: str, whole: list[object]) -> Fraction:
    """Li et al. 2007: what must be carried over each step between neighbouring values, each step 1 / (m - 1) long."""
    domain = sorted({*frame[secret], *whole})
    q = shares(whole, domain)
    values = frame[secret].tolist()
    worst = Fraction(0)
    for rows in classes(frame, quasi):
        p = shares([values[row] for row in rows], domain)
        carried = [abs(sum(p[:step], Fraction(0)) - sum(q[:step], Fraction(0))) for step in range(1, len(domain))]
        worst = max(worst, sum(carried, Fraction(0)) / max(len(domain) - 1, 1))
    return worst


def entropy(values: list[object]) -> float:
    return -sum(n / len(values) * math.log2(n / len(values)) for n in Counter(values).values())


def discrimination(frame: pd.DataFrame, of: str, by: list[str]) -> float:
    values = frame[of].tolist()
    whole = entropy(values)
    rest = sum(len(rows) / len(frame) * entropy([values[row] for row in rows]) for rows in classes(frame, by))
    return 0.0 if whole == 0 else 1 - rest / whole
