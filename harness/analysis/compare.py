"""Two finished audits side by side: who is better or worse off with the second, and all of them together.

Never points, always limits. A person is worse off if the limits of her distance in the second audit lie wholly above
those in the first. Where chance plays a part the limits of each audit hold together for all its persons, adversaries
and secrets, so that no further correction for many comparisons is needed: whatever is said here is wrong at most with
the error of both audits together, `joint_confidence`. Exact distances need no chance; a difference beyond rounding is
real.

All persons who were examined in both audits are compared by three numbers, each with limits that follow from those of
the persons: the largest distance, the mean distance, and the share at or above the ε of the claim. "Worse" if one of
the three is worse, "better" if one is better and none is worse, else "same": a release that protects most people
better and its worst person worse is not called better. Nothing is said about persons whom only one audit examined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from harness.auditing.plain_differences import ABSENT, plain_differences
from harness.auditing.what_differs import what_differs
from harness.report import Report
from harness.vocabulary.errors import InputError
from harness.vocabulary.persons import RowName
from harness.vocabulary.plain_numbers import plain_number

FORMAT = 1  # of what `harness compare --json` prints
ROUNDING = 1e-9  # differences up to this are those of floating-point numbers
MOST_REASONS = 5

Direction = Literal["better", "worse", "same"]
Pair = tuple[str, str]  # adversary, secret
Plain = dict[str, Any]


@dataclass(frozen=True)
class Span:
    """A number between two limits."""

    lower: float
    upper: float

    def to(self, later: Span) -> Direction:
        """How a distance changed, if it was here and is there."""
        if later.lower > self.upper + ROUNDING:
            return "worse"
        return "better" if later.upper < self.lower - ROUNDING else "same"

    def plain(self) -> Plain:
        return {name: plain_number(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Change:
    """One person in both audits."""

    person: int
    rows: list[RowName]
    before: Span
    after: Span

    @property
    def direction(self) -> Direction:
        return self.before.to(self.after)

    @property
    def gap(self) -> float:
        """How far apart the limits lie: she moved at least so much."""
        return max(self.after.lower - self.before.upper, self.before.lower - self.after.upper, 0.0)

    def plain(self) -> Plain:
        return {
            "person": self.person,
            "rows": self.rows,
            "direction": self.direction,
            "gap": plain_number(self.gap),
            "before": self.before.plain(),
            "after": self.after.plain(),
        }


def compare_reports(first: Report, later: Report) -> Plain:
    """How the later audit compares with the first; audits that cannot be compared are refused."""
    require_comparable(first, later)
    pairs = [_compare_pair(first, later, pair) for pair in first.verdicts]
    return {
        "format": FORMAT,
        "overall": worst([pair["overall"] for pair in pairs]),
        "joint_confidence": _joint_confidence(first, later),
        "verdicts": [report.verdict.outcome.value for report in (first, later)],
        "results": pairs,
        "metrics": list(_changed_metrics(first.plain.get("release"), later.plain.get("release"))),
        "notes": _changed_notes(first, later),
    }


def worst(directions: Sequence[Direction]) -> Direction:
    """Worse if anything is, better if something is and nothing is worse."""
    return "worse" if "worse" in directions else "better" if "better" in directions else "same"


def require_comparable(first: Report, later: Report) -> None:
    """Both audits must have tested the same claim about the same people against the same adversary."""
    reasons = list(what_differs(*({"plan": _must_be_equal(report.plain["plan"])} for report in (first, later))))
    if not reasons and set(first.verdicts) != set(later.verdicts):
        reasons = ["one anonymizer releases tables, the other predictions"]
    if reasons:
        more = f"; and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
        raise InputError(
            f"these audits cannot be compared, because they differ in {'; '.join(reasons[:MOST_REASONS])}{more}. "
            "Audit both with the same data, claim, adversaries and distance"
        )


def _must_be_equal(plan: Mapping[str, Any]) -> Plain:
    """What must be equal of two plans: the table, whose rows belong together, what is known and secret, who infers."""
    return {
        "data": {name: plan["data"][name] for name in ("rows", "digest", "persons_digest")},
        "quasi": [{name: column[name] for name in ("name", "kind")} for column in plan["quasi"]],
        "secrets": [{"name": secret["name"]} for secret in plan["secrets"]],
        "claim": plan["claim"],
        "adversaries": plan["adversaries"],
        "divergence": [{name: one[name] for name in ("name", "declared")} for one in plan["divergence"]],
    }


def _joint_confidence(first: Report, later: Report) -> float:
    """Everything that is said of both audits holds with this confidence; 1 where nothing is left to chance."""
    chance = [report for report in (first, later) if any(not result["exact"] for result in report.plain["results"])]
    return max(0.0, 1 - sum(1 - report.claim.confidence for report in chance))


def _compare_pair(first: Report, later: Report, pair: Pair) -> Plain:
    one, other = spans_of(first, pair), spans_of(later, pair)
    both = [person for person in one if person in other]
    if not both:
        raise InputError("nobody was examined in both audits; audit all persons, or some with the same seed")
    before, after = (measures_of([spans[person] for person in both], first.claim.epsilon) for spans in (one, other))
    measures = {name: _measure(before[name], after[name]) for name in MEASURES}
    rows = {finding.person: list(finding.rows) for finding in first.all_findings()}
    persons = [Change(person, rows[person], one[person], other[person]) for person in both]
    changed = [person for person in persons if person.direction != "same"]
    order = sorted(changed, key=lambda person: (person.direction != "worse", -person.gap, person.person))
    return {
        "adversary": pair[0],
        "secret": pair[1],
        "overall": worst([measure["direction"] for measure in measures.values()]),
        "measures": measures,
        "population": first.plain["plan"]["data"]["population"],
        "compared": len(persons),
        **{way: sum(person.direction == way for person in persons) for way in ("better", "worse", "same")},
        "persons": [person.plain() for person in order],
    }


def spans_of(report: Report, pair: Pair) -> dict[int, Span]:
    """The limits of each person's distance; of one without a result, all that is possible."""
    largest = _largest(report, pair)
    return {
        one.person: Span(one.lower, one.upper) if one.failure is None else Span(0.0, largest)
        for one in report.all_findings()
        if (one.adversary, one.secret) == pair
    }


def measures_of(spans: Sequence[Span], epsilon: float) -> dict[str, Span]:
    """Some persons together: the limits of each of MEASURES."""
    return {name: measure(spans, epsilon) for name, measure in MEASURES.items()}


def _largest(report: Report, pair: Pair) -> float:
    """The largest that a distance can be."""
    plan = report.plain["plan"]
    number = [secret["name"] for secret in plan["secrets"]].index(pair[1])
    return float(plan["divergence"][number]["largest"])


def _measure(before: Span, after: Span) -> Plain:
    return {"direction": before.to(after), "before": before.plain(), "after": after.plain()}


def _largest_distance(spans: Sequence[Span], epsilon: float) -> Span:
    return Span(max(span.lower for span in spans), max(span.upper for span in spans))


def _mean_distance(spans: Sequence[Span], epsilon: float) -> Span:
    return Span(*(float(np.mean([getattr(span, end) for span in spans])) for end in ("lower", "upper")))


def _share_at_epsilon(spans: Sequence[Span], epsilon: float) -> Span:
    """Who is at ε within rounding may count either way."""
    surely = sum(span.lower >= epsilon + ROUNDING for span in spans)
    possibly = sum(span.upper >= epsilon - ROUNDING for span in spans)
    return Span(surely / len(spans), possibly / len(spans))


MEASURES = {
    "largest distance": _largest_distance,
    "mean distance": _mean_distance,
    "share at or above epsilon": _share_at_epsilon,
}


def _changed_metrics(first: Any, later: Any) -> Iterator[Plain]:
    """The metrics of f(D) that differ, where both reports have them."""
    if first is None or later is None:
        return
    for found in plain_differences(first, later):
        before, after = (None if value is ABSENT else value for value in (found.one, found.other))
        yield {"metric": found.place, "before": before, "after": after}


def _changed_notes(first: Report, later: Report) -> Plain:
    return {
        "gone": [note for note in first.notes if note not in later.notes],
        "new": [note for note in later.notes if note not in first.notes],
    }
