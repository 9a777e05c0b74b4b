"""What a baseline holds of one audit. Knows reports and keyed digests, no disk.

For every adversary and secret: the measures of all persons together that `analysis.compare` judges by, and the
distances of single persons by keyed digest; metrics of f(D) and laws where there are any. Every number is a pair of
limits, rounded outwards, so that the last digits of another machine change nothing and two baselines of one audit are
equal. No raw row, no name of a row and no sensitive value is in it; without a key there are no persons either, and no
digest of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.analysis.check_baseline import outcomes_from
from harness.analysis.compare import Pair, Span, measures_of, spans_of
from harness.analysis.person_digest import DigestKey
from harness.analysis.rounding import is_one_number, outwards, plain_span, span_from_plain
from harness.render.outcomes import pair_names
from harness.report import Report

MOST_PERSONS = 1000  # of an adversary and secret that are listed; of the others only the largest limit is kept
OUTCOMES = ("holds", "inconclusive", "violated")  # the worst last
# Metrics of f(D) that say how well it protects, and which way is better. All others (what the release lost) are kept
# and shown, but none of them is better or worse: protection has its price.
BETTER = {"k": "higher", "l": "higher", "l.recursive_c": "lower", "t": "lower", "outside": "lower"}

Plain = dict[str, Any]
Given = Mapping[str, Any]


@dataclass(frozen=True)
class PairBaseline:
    """What was found by one adversary about one secret."""

    adversary: str
    secret: str
    distance: str  # its name
    outcome: str
    examined: int
    measures: Mapping[str, Span]  # of all persons together, by name
    persons: Mapping[str, Span] | None = None  # by digest; None without a key
    others_at_most: float | None = None  # of the persons that are not listed

    def plain(self) -> Plain:
        persons: Plain = {}
        if self.persons is not None:
            persons["persons"] = {digest: plain_span(one) for digest, one in sorted(self.persons.items())}
        if self.others_at_most is not None:
            persons["others_at_most"] = self.others_at_most
        named = {name: getattr(self, name) for name in ("adversary", "secret", "distance", "outcome", "examined")}
        return {**named, "measures": {name: plain_span(one) for name, one in self.measures.items()}, **persons}

    @classmethod
    def from_plain(cls, plain: Given) -> PairBaseline:
        content = dict(plain)
        if content["outcome"] not in OUTCOMES:
            raise ValueError(f"outcome is {content['outcome']!r}; expected one of {', '.join(OUTCOMES)}")
        for name in ("measures", "persons"):
            if name in content:
                content[name] = {key: span_from_plain(one) for key, one in content[name].items()}
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
    metrics: Mapping[str, float] = field(default_factory=dict)  # of f(D), where f is deterministic
    laws: Mapping[str, str] = field(default_factory=dict)  # outcomes by name

    @property
    def is_exact(self) -> bool:
        """Whether nothing is left to chance: both limits are equal but for the rounding."""
        return all(is_one_number(span) for pair in self.results.values() for span in pair.measures.values())

    def plain(self) -> Plain:
        return {
            "oracle": self.oracle,
            "claim": dict(self.claim),
            "data": {"rows": self.rows, "population": self.population, "digest": self.data_digest},
            "seed": self.seed,
            "results": {name: one.plain() for name, one in self.results.items()},
            "metrics": dict(sorted(self.metrics.items())),
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
            metrics={name: float(number) for name, number in plain["metrics"].items()},
            laws=outcomes_from(plain["laws"]),
        )


def baseline_of(report: Report, key: DigestKey | None = None, laws: Mapping[str, str] | None = None) -> AuditBaseline:
    """What a baseline holds of an audit; `laws` are the outcomes of a check of the same anonymizer, by name."""
    plan, card = report.plain["plan"], report.card
    names = pair_names(report.verdicts)
    exact = all(result["exact"] for result in report.plain["results"])
    return AuditBaseline(
        oracle=f"{card.name} {card.version}".rstrip(),
        claim={name: float(number) for name, number in plan["claim"].items()},
        rows=plan["data"]["rows"],
        population=plan["data"]["population"],
        data_digest=None if key is None else key.data(plan["data"]["digest"]),
        seed=plan["seed"],
        results={names[pair]: _pair(report, pair, key) for pair in report.verdicts},
        metrics=dict(_numbers(report.plain.get("release"))) if exact else {},
        laws=dict(laws or {}),
    )


def _numbers(metrics: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Every number among the metrics by its place, such as `t.equal.release`, with six digits."""
    if isinstance(metrics, Mapping):
        for name, inner in metrics.items():
            yield from _numbers(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(metrics, int | float) and not isinstance(metrics, bool):
        yield place, float(f"{metrics:.6g}")


def _pair(report: Report, pair: Pair, key: DigestKey | None) -> PairBaseline:
    verdict, spans = report.verdicts[pair], spans_of(report, pair)
    rows = {finding.person: finding.rows for finding in report.all_findings()}
    digests = [] if key is None else [(key.person(rows[person]), outwards(span)) for person, span in spans.items()]
    worst = sorted(digests, key=lambda one: (-one[1].lower, -one[1].upper, one[0]))
    return PairBaseline(
        *pair,
        distance=report.result(*pair)["distance"],
        outcome=verdict.outcome.value,
        examined=verdict.examined,
        measures={name: outwards(span) for name, span in measures_of([*spans.values()], report.claim.epsilon).items()},
        persons=None if key is None else dict(worst[:MOST_PERSONS]),
        others_at_most=max((span.upper for _, span in worst[MOST_PERSONS:]), default=None),
    )
