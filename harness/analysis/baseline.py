"""What a baseline holds of one audit. Knows the plain data of reports and keyed digests, no disk.

For every adversary and secret: the largest and the mean distance, the number of persons at the claim's ε or more, and
the distances of single persons by keyed digest; metrics and laws where they were given. Every number is a pair of
limits, rounded outwards, so that the last digits of another machine change nothing and two baselines of one audit are
equal. No raw row, no name of a row and no sensitive value is in it; without a key there are no persons either, and no
digest of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.analysis.interval import Interval
from harness.analysis.person_digest import DigestKey
from harness.render.outcomes import pair_names

MOST_PERSONS = 1000  # of an adversary and secret that are listed; of the others only the largest limit is kept

OUTCOMES = ("holds", "inconclusive", "violated")  # the worst last

Plain = dict[str, Any]
Given = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """A number about the releases, and whether more of it is better; None: neither."""

    limits: Interval
    better: str | None = None  # "higher" or "lower"

    def plain(self) -> list[float | str | None]:
        return [*self.limits.plain(), self.better]

    @classmethod
    def from_plain(cls, plain: Any) -> Metric:
        lower, upper, better = plain
        return cls(Interval.from_plain((lower, upper)), better)

    @classmethod
    def given(cls, number: Any) -> Metric:
        """From a number, or a table of `lower`, `upper` (or `value`) and `better`."""
        table = number if isinstance(number, Mapping) else {"value": number}
        lower, upper = (float(table[end] if end in table else table["value"]) for end in ("lower", "upper"))
        return cls(Interval(lower, upper).outwards(), table.get("better"))


@dataclass(frozen=True)
class PairBaseline:
    """What was found by one adversary about one secret."""

    adversary: str
    secret: str
    distance: str  # its name
    outcome: str
    examined: int
    failures: int
    largest: Interval | None = None  # None where nobody could be measured
    mean: Interval | None = None
    reaching: Interval | None = None  # number of persons at ε or more: proven, possible
    persons: Mapping[str, Interval] | None = None  # by digest; None without a key
    others_at_most: float | None = None  # of the persons that are not listed

    def plain(self) -> Plain:
        intervals = {name: one.plain() for name in ("largest", "mean", "reaching") if (one := getattr(self, name))}
        persons: Plain = {}
        if self.persons is not None:
            persons = {"persons": {digest: one.plain() for digest, one in sorted(self.persons.items())}}
        if self.others_at_most is not None:
            persons["others_at_most"] = self.others_at_most
        named = {name: getattr(self, name) for name in ("adversary", "secret", "distance", "outcome")}
        return {**named, "examined": self.examined, "failures": self.failures, **intervals, **persons}

    @classmethod
    def from_plain(cls, plain: Given) -> PairBaseline:
        content = dict(plain)
        if content["outcome"] not in OUTCOMES:
            raise ValueError(f"outcome is {content['outcome']!r}; expected one of {', '.join(OUTCOMES)}")
        for name in ("largest", "mean", "reaching"):
            if name in content:
                content[name] = Interval.from_plain(content[name])
        if "persons" in content:
            content["persons"] = {digest: Interval.from_plain(one) for digest, one in content["persons"].items()}
        if "others_at_most" in content:
            content["others_at_most"] = float(content["others_at_most"])
        return cls(**content)


@dataclass(frozen=True)
class AuditBaseline:
    """What was found by one audit."""

    oracle: str
    claim: Mapping[str, float]
    rows: int
    population: int
    data_digest: str | None  # keyed; None without a key
    seed: int
    results: Mapping[str, PairBaseline]  # by adversary/secret
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    laws: Mapping[str, str] = field(default_factory=dict)  # outcomes by name

    def plain(self) -> Plain:
        return {
            "oracle": self.oracle,
            "claim": dict(self.claim),
            "data": {"rows": self.rows, "population": self.population, "digest": self.data_digest},
            "seed": self.seed,
            "results": {name: one.plain() for name, one in self.results.items()},
            "metrics": {name: one.plain() for name, one in sorted(self.metrics.items())},
            "laws": dict(sorted(self.laws.items())),
        }

    @classmethod
    def from_plain(cls, plain: Given) -> AuditBaseline:
        """What `plain()` gave; KeyError, TypeError or ValueError for anything else."""
        data = plain["data"]
        return cls(
            oracle=str(plain["oracle"]),
            claim={name: float(number) for name, number in plain["claim"].items()},
            rows=int(data["rows"]),
            population=int(data["population"]),
            data_digest=data["digest"],
            seed=int(plain["seed"]),
            results={name: PairBaseline.from_plain(one) for name, one in plain["results"].items()},
            metrics={name: Metric.from_plain(one) for name, one in plain["metrics"].items()},
            laws={str(name): str(outcome) for name, outcome in plain["laws"].items()},
        )


def baseline_of(
    report: Given, key: DigestKey | None = None, *, laws: Sequence[Given] = (), metrics: Given | None = None
) -> AuditBaseline:
    """What a baseline holds of a report; `laws` are those of a check.json, `metrics` are numbers by name."""
    plan, card = report["plan"], report["oracle"]["card"]
    names = pair_names((result["adversary"], result["secret"]) for result in report["results"])
    return AuditBaseline(
        oracle=f"{card['name']} {card['version']}".rstrip(),
        claim={name: float(number) for name, number in plan["claim"].items()},
        rows=plan["data"]["rows"],
        population=plan["data"]["population"],
        data_digest=None if key is None else key.data(plan["data"]["digest"]),
        seed=plan["seed"],
        results={
            names[result["adversary"], result["secret"]]: _pair(report, result, key) for result in report["results"]
        },
        metrics={name: Metric.given(number) for name, number in (metrics or {}).items()},
        laws={law["name"]: law["outcome"] for law in laws},
    )


def _pair(report: Given, result: Given, key: DigestKey | None) -> PairBaseline:
    verdict, epsilon = result["verdict"], float(report["plan"]["claim"]["epsilon"])
    pair = (result["adversary"], result["secret"])
    mine = [one for one in report["findings"] if (one["adversary"], one["secret"]) == pair]
    measured = [one for one in mine if one["failure"] is None]
    found: Plain = {}
    if measured:
        lowers, uppers = ([float(finding[end]) for finding in measured] for end in ("lower", "upper"))
        found = {
            "largest": Interval(float(verdict["at_least"]), float(verdict["at_most"])).outwards(),
            "mean": Interval.mean(lowers, uppers).outwards(),
            "reaching": Interval(*(float(sum(one >= epsilon for one in ends)) for ends in (lowers, uppers))),
            **({} if key is None else _persons(measured, key)),
        }
    return PairBaseline(*pair, result["distance"], verdict["outcome"], verdict["examined"], result["failures"], **found)


def _persons(findings: Sequence[Given], key: DigestKey) -> Plain:
    """The persons with the largest distances by digest; all others are below one limit."""
    worst = sorted(findings, key=lambda one: (-float(one["lower"]), -float(one["upper"]), one["person"]))
    limits = [(one["rows"], Interval(float(one["lower"]), float(one["upper"])).outwards()) for one in worst]
    return {
        "persons": {key.person(rows): interval for rows, interval in limits[:MOST_PERSONS]},
        "others_at_most": max((interval.upper for _, interval in limits[MOST_PERSONS:]), default=None),
    }
