"""What was found about one person by one adversary concerning one secret: looks and rows put together.

Her distance is the largest over her rows, and so are its limits (each may come from another row). Limits of several
looks hold together, because each look spends its own part of the error level. Knows numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from harness.auditing import proofs
from harness.auditing.measurement import Measurement, Vector
from harness.auditing.plan import Claim
from harness.measuring.tail import Limits
from harness.vocabulary.persons import RowName
from harness.vocabulary.plain_numbers import plain_number

Number = TypeVar("Number", int, float)
LIMITS = ("delta_at_epsilon", "epsilon_at_delta", "placebo")


@dataclass(frozen=True)
class Finding:
    """How far a person's own rows moved the inference about her."""

    person: int
    rows: tuple[RowName, ...]  # of the source, by name: lines of a CSV file, labels of an index
    adversary: str
    secret: str
    distance: float
    lower: float
    upper: float
    exact: bool  # chance plays no part: lower == distance == upper
    own_upper: float = math.inf  # her own upper limit, not corrected for the number of persons
    coupled: bool = True  # both sides were drawn with the same seeds
    draws: int = 1  # of the look that produced it, a side
    drawn: int = 1  # of all looks, a side
    look: int = 1  # number of the look (1, 2, …) that produced it
    row: RowName | None = None  # row of the source that has this distance, and that the vectors are of
    present: Vector | None = ()  # M(qⁱ), the mean when there are draws; None: not revealed, or of a large report
    absent: Vector | None = ()  # M⁻ⁱ(qⁱ)
    per_value: Vector | None = ()
    confidence: Vector = ()  # in her true value, with and without her; no report holds it, only what follows for all
    changed: bool | None = False  # the adversary's most likely value is another one without her; None: not revealed
    floor: float | None = None
    delta_at_epsilon: Limits | None = None
    epsilon_at_delta: Limits | None = None
    exceedances: tuple[int, ...] = ()
    own_delta_upper: float | None = None
    delta_beyond_noise: float | None = None
    placebo: Limits | None = None
    kept: bool = False  # the bets of all looks prove that she keeps the claim
    broken: bool = False  # they prove that she breaks it
    privacy_loss: float | None = None
    draws_needed: int | None = None
    uncovered: tuple[int, int] = (0, 0)
    failure: str | None = None
    alpha: float = 0.0  # error level of the limits of each row
    claim: Claim | None = None  # the claim that the tail was measured for

    def violates(self, claim: Claim) -> bool:
        """Proven to break the claim."""
        return bool(proofs.violates(self.number, claim))

    def violates_beyond_noise(self, claim: Claim) -> bool:
        """With δ > 0: the two laws lie further apart than the claim allows, however draws are paired."""
        return bool(proofs.violates_beyond_noise(self.number, claim))

    def satisfies(self, claim: Claim) -> bool:
        """Proven, for this person alone, to keep the claim."""
        return bool(proofs.satisfies(self.number, claim))

    def number(self, name: str) -> Any:
        """A number or truth value that a proof rests on; NaN if it is not known."""
        if name == "failed":
            return self.failure is not None
        if name.startswith("measured_"):
            return math.nan if self.claim is None else getattr(self.claim, name.removeprefix("measured_"))
        if name in ("delta_lower", "delta_upper"):
            often = self.delta_at_epsilon
            return math.nan if often is None else getattr(often, name.removeprefix("delta_"))
        value = getattr(self, name)
        return math.nan if value is None else value


def merge_rows_and_looks(
    measured: Sequence[Measurement],
    finding: Finding,
    earlier: Finding | None = None,
) -> Finding:
    """The finding of one look from the measurements of all rows, with what earlier looks proved.

    `finding` carries who is meant (person, rows, adversary, secret, look, claim, …).
    """
    failures = [one.failure for one in measured if one.failure is not None]
    if failures:
        return replace(finding, failure=failures[0])
    worst = max(measured, key=lambda one: (one.distance, -one.row))
    together = replace(
        finding,
        distance=worst.distance,
        lower=max(one.lower for one in measured),
        upper=max(one.upper for one in measured),
        own_upper=max(one.own_upper for one in measured),
        draws=worst.draws,
        drawn=worst.draws,
        row=worst.row,
        present=worst.present,
        absent=worst.absent,
        per_value=worst.per_value,
        confidence=worst.confidence,
        changed=any(_likeliest(one.present) != _likeliest(one.absent) for one in measured),
        floor=_largest([one.floor for one in measured]),
        delta_at_epsilon=_limits([one.delta_at_epsilon for one in measured]),
        epsilon_at_delta=_limits([one.epsilon_at_delta for one in measured]),
        exceedances=tuple(max(counts) for counts in zip(*(one.exceedances for one in measured), strict=True)),
        own_delta_upper=_largest([one.own_delta_upper for one in measured]),
        delta_beyond_noise=_largest([one.delta_beyond_noise for one in measured]),
        placebo=worst.placebo,
        privacy_loss=_largest([one.privacy_loss for one in measured]),
        draws_needed=_largest([one.draws_needed for one in measured]),
        uncovered=(max(one.uncovered[0] for one in measured), max(one.uncovered[1] for one in measured)),
    )
    return together if earlier is None or earlier.failure is not None else _with_earlier_limits(together, earlier)


def _with_earlier_limits(later: Finding, earlier: Finding) -> Finding:
    """α-spending lets the limits of all looks hold together, so the narrowest count."""
    return replace(
        later,
        lower=max(later.lower, earlier.lower),
        upper=min(later.upper, earlier.upper),
        own_upper=min(later.own_upper, earlier.own_upper),
        confidence=earlier.confidence,
        drawn=later.draws + earlier.drawn,
        privacy_loss=_largest([later.privacy_loss, earlier.privacy_loss]),
        own_delta_upper=_smallest([later.own_delta_upper, earlier.own_delta_upper]),
        delta_beyond_noise=_largest([later.delta_beyond_noise, earlier.delta_beyond_noise]),
        kept=later.kept or earlier.kept,
        broken=later.broken or earlier.broken,
        delta_at_epsilon=_narrowest(later.delta_at_epsilon, earlier.delta_at_epsilon),
        epsilon_at_delta=_narrowest(later.epsilon_at_delta, earlier.epsilon_at_delta),
    )


def _narrowest(one: Limits | None, other: Limits | None) -> Limits | None:
    if one is None or other is None:
        return one or other
    return Limits(one.value, max(one.lower, other.lower), min(one.upper, other.upper))


def _limits(all_rows: Sequence[Limits | None]) -> Limits | None:
    """The largest value with the largest of each limit."""
    known = [limits for limits in all_rows if limits is not None]
    if not known:
        return None
    return Limits(*(max(getattr(limits, end) for limits in known) for end in ("value", "lower", "upper")))


def _largest(numbers: Sequence[Number | None]) -> Number | None:
    return max((number for number in numbers if number is not None), default=None)


def _smallest(numbers: Sequence[Number | None]) -> Number | None:
    return min((number for number in numbers if number is not None), default=None)


def _likeliest(vector: Vector) -> int:
    """The first of the most likely values."""
    return vector.index(max(vector))


def to_plain(finding: Finding) -> dict[str, Any]:
    """The finding as report.json holds it."""
    limits = {name: None if (ends := getattr(finding, name)) is None else _plain_limits(ends) for name in LIMITS}
    vectors = {name: _listed(getattr(finding, name)) for name in ("present", "absent", "per_value")}
    return {
        "person": finding.person,
        "rows": list(finding.rows),
        "adversary": finding.adversary,
        "secret": finding.secret,
        **{
            name: None if finding.failure is not None else plain_number(getattr(finding, name))
            for name in ("distance", "lower", "upper", "own_upper")
        },
        "exact": finding.exact,
        "coupled": finding.coupled,
        "draws": finding.draws,
        "drawn": finding.drawn,
        "look": finding.look,
        "row": finding.row,
        **vectors,
        "changed": finding.changed,
        "floor": finding.floor,
        **limits,
        "exceedances": list(finding.exceedances),
        "own_delta_upper": finding.own_delta_upper,
        "delta_beyond_noise": finding.delta_beyond_noise,
        "kept": finding.kept,
        "broken": finding.broken,
        "privacy_loss": finding.privacy_loss,
        "draws_needed": finding.draws_needed,
        "uncovered": {"present": finding.uncovered[0], "absent": finding.uncovered[1]},
        "failure": finding.failure,
        "alpha": finding.alpha,
    }


def from_plain(entry: Mapping[str, Any], claim: Claim) -> Finding:
    """The finding that an entry of report.json holds."""
    plain = dict(entry)
    for name, unknown in (("distance", 0.0), ("lower", 0.0), ("upper", math.inf), ("own_upper", math.inf)):
        plain[name] = unknown if plain[name] is None else float(plain[name])
    for name in ("rows", "exceedances"):
        plain[name] = tuple(plain[name])
    for name in ("present", "absent", "per_value"):
        plain[name] = None if plain[name] is None else tuple(map(float, plain[name]))
    for name in LIMITS:
        ends = plain[name]
        plain[name] = None if ends is None else Limits(*(float(ends[end]) for end in ("value", "lower", "upper")))
    plain["uncovered"] = (plain["uncovered"]["present"], plain["uncovered"]["absent"])
    return Finding(**plain, claim=claim)


def _plain_limits(limits: Limits) -> dict[str, float | str]:
    return {end: plain_number(getattr(limits, end)) for end in ("value", "lower", "upper")}


def _listed(vector: Vector | None) -> list[float | str] | None:
    return None if vector is None else [plain_number(number) for number in vector]
