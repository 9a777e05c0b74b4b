"""Whether an audit is worse than its baseline by more than chance. Knows baselines, no disk, clock or oracle.

Limits decide, never estimates, by the judgement of `analysis.compare`: a number is worse where the least it can be is
more than the most it was. Both audits keep their limits with their confidence, so that an unchanged anonymizer is
called worse no more often than the two error levels together (10 % at a confidence of 95 %); where nothing is random,
never.

1. `require_comparable`: the same claim, data, distances, adversaries and secrets.
2. `changes`: every finding of both, with its direction.
3. `compare_with_baseline`: what fails, what is accepted, and which acceptance has expired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

from harness.analysis.baseline import BETTER, OUTCOMES, AuditBaseline, PairBaseline
from harness.analysis.baseline_file import Acceptance, Baseline
from harness.analysis.check_baseline import CheckBaseline
from harness.analysis.compare import Span
from harness.analysis.rounding import span_in_words
from harness.render.outcomes import slug
from harness.vocabulary.errors import InputError

PERSON = "person"  # how the name of a finding about one person begins

Direction = Literal["worse", "better", "same", "known", "changed"]


@dataclass(frozen=True)
class Change:
    """A finding by its name, and what became of it."""

    finding: str  # such as largest-distance/bernoulli-on-tf-tf/occupation
    direction: Direction  # known: as bad as it was
    before: str
    after: str
    now: Span | None = None  # where it is a number
    larger_is_worse: bool = True

    @property
    def worst(self) -> float | None:
        """As bad as it may be: what an acceptance allows."""
        return None if self.now is None else self.now.upper if self.larger_is_worse else self.now.lower

    def is_beyond(self, limit: float | None) -> bool:
        """Proven to be worse than this."""
        if self.now is None or limit is None:
            return False
        return self.now.lower > limit if self.larger_is_worse else self.now.upper < limit

    def __str__(self) -> str:
        return f"{self.finding}: {self.before} → {self.after}"


@dataclass(frozen=True)
class Judged:
    """A change for the worse, or a known finding, with the acceptance that is about it."""

    change: Change
    acceptance: Acceptance | None
    fails: bool
    reason: str  # why it fails, or does not


@dataclass(frozen=True)
class Comparison:
    """What became of an audit or a check since its baseline."""

    audit: str  # or the check, by its name in the file
    judged: tuple[Judged, ...]
    better: tuple[Change, ...]
    changed: tuple[Change, ...]  # neither better nor worse is proven
    same: int
    unused: tuple[Acceptance, ...]  # of findings that are not there any more
    not_compared: int = 0  # persons that only one side has
    persons_left_out: bool = False  # the key of their digests was not there
    exact: bool = False  # nothing is left to chance in either of the two

    @property
    def failing(self) -> tuple[Judged, ...]:
        return tuple(one for one in self.judged if one.fails)


def compare_with_baseline(baseline: Baseline, name: str, after: AuditBaseline, today: date) -> Comparison:
    """What became of the audit of this name since its baseline."""
    before = baseline.audit(name)
    require_comparable(before, after)
    found = list(changes(before, after, baseline.tolerance))
    return replace(
        _comparison(baseline, name, found, today),
        not_compared=sum(_unmatched(before.results[pair], after.results[pair]) for pair in before.results),
        persons_left_out=before.data_digest is not None and after.data_digest is None,
        exact=before.is_exact and after.is_exact,
    )


def compare_check_with_baseline(baseline: Baseline, name: str, after: CheckBaseline, today: date) -> Comparison:
    """What became of the laws of the check of this name since its baseline."""
    before = baseline.check(name)
    if dict(before.claims) != dict(after.claims):
        raise InputError(
            f"the baseline is of another check: the claims were {dict(before.claims)} and are {dict(after.claims)}; "
            "check with the same claims, or save a new baseline and review it"
        )
    return _comparison(baseline, name, list(law_changes(before.laws, after.laws)), today)


def _comparison(baseline: Baseline, name: str, found: Sequence[Change], today: date) -> Comparison:
    mine = {one.finding: one for one in baseline.accepted if one.audit == name}
    judged = [
        _judged(change, mine.get(change.finding), today) for change in found if change.direction in ("worse", "known")
    ]
    named = {one.change.finding for one in judged}
    return Comparison(
        audit=name,
        judged=tuple(judged),
        better=tuple(change for change in found if change.direction == "better"),
        changed=tuple(change for change in found if change.direction == "changed"),
        same=sum(change.direction == "same" for change in found),
        unused=tuple(one for one in mine.values() if one.finding not in named),
    )


def _judged(change: Change, acceptance: Acceptance | None, today: date) -> Judged:
    if acceptance is None:
        known = change.direction == "known"
        return Judged(change, None, not known, "as in the baseline" if known else "worse than the baseline")
    if acceptance.until < today:
        reason = f"accepted only until {acceptance.until}, which has passed: {acceptance.reason}"
        return Judged(change, acceptance, True, reason)
    if change.is_beyond(acceptance.limit):
        reason = f"accepted up to {acceptance.limit:.4g}, and worse than that: {acceptance.reason}"
        return Judged(change, acceptance, True, reason)
    return Judged(change, acceptance, False, f"accepted until {acceptance.until}: {acceptance.reason}")


def require_comparable(before: AuditBaseline, after: AuditBaseline) -> None:
    """Numbers of another claim, other data or other adversaries say nothing about a change of the anonymizer."""
    distances = [
        (name, one.distance, after.results[name].distance)
        for name, one in before.results.items()
        if name in after.results
    ]
    both_keyed = before.data_digest is not None and after.data_digest is not None
    different: list[tuple[str, Any, Any]] = [
        ("the claim", dict(before.claim), dict(after.claim)),
        ("the number of rows", before.rows, after.rows),
        ("the number of persons", before.population, after.population),
        ("the list of adversaries and secrets", sorted(before.results), sorted(after.results)),
        *((f"the distance of {name}", old, new) for name, old, new in distances),
        ("the number of persons examined", _examined(before), _examined(after)),
        *([("the seed that chose the persons", before.seed, after.seed)] if _is_sample(before, after) else []),
        *([("the digest of the data", before.data_digest, after.data_digest)] if both_keyed else []),
    ]
    for what, old, new in different:
        if old != new:
            raise InputError(
                f"the baseline is of another audit: {what} was {old} and is {new}; compare with the same audit, or "
                "save a new baseline and review it"
            )


def _examined(audit: AuditBaseline) -> dict[str, int]:
    return {name: pair.examined for name, pair in audit.results.items()}


def _is_sample(before: AuditBaseline, after: AuditBaseline) -> bool:
    """Whether only some persons were examined: numbers over other ones could not be compared."""
    return any(pair.examined < audit.population for audit in (before, after) for pair in audit.results.values())


def changes(before: AuditBaseline, after: AuditBaseline, tolerance: float = 0.0) -> Iterator[Change]:
    """Every finding that both have, or that is new and bad."""
    for name, old in before.results.items():
        yield from _pair_changes(name, old, after.results[name], tolerance)
    for name, number in before.metrics.items():
        if name in after.metrics:
            yield _metric_change(name, number, after.metrics[name])
    yield from law_changes(before.laws, after.laws)


def law_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    """What became of every law, by name; only one that is broken now and was not before is worse."""
    for name in sorted({*before, *after}):
        yield _law_change(name, before, after)


def _pair_changes(name: str, before: PairBaseline, after: PairBaseline, tolerance: float) -> Iterator[Change]:
    yield _outcome_change(f"claim/{name}", before.outcome, after.outcome)
    for what, old in before.measures.items():
        if what in after.measures:
            yield _number_change(f"{slug(what)}/{name}", old, after.measures[what], tolerance)
    known = [(digest, _person(before, digest), new) for digest, new in (after.persons or {}).items()]
    matched = [(digest, old, new) for digest, old, new in known if old is not None]
    for digest, old, new in sorted(matched, key=lambda one: (one[1].upper - one[2].lower, one[0])):  # the worst first
        yield _number_change(f"{PERSON}/{digest}/{name}", old, new, tolerance)


def _person(result: PairBaseline, digest: str) -> Span | None:
    """What is known of a person: limits of her own, or the one of all that are not listed."""
    if result.persons is None:
        return None
    if digest in result.persons:
        return result.persons[digest]
    return None if result.others_at_most is None else Span(0.0, result.others_at_most)


def _unmatched(before: PairBaseline, after: PairBaseline) -> int:
    """Persons that only one side lists, where every person should be listed by both."""
    if before.persons is None or after.persons is None or before.others_at_most is not None:
        return 0
    return len(set(before.persons) ^ set(after.persons))


def _number_change(finding: str, before: Span, after: Span, tolerance: float) -> Change:
    """By the judgement that `harness compare` makes."""
    direction = Span(before.lower - tolerance, before.upper + tolerance).to(after)
    return Change(finding, direction, span_in_words(before), span_in_words(after), after)


def _metric_change(name: str, before: float, after: float) -> Change:
    """Metrics of a deterministic f are exact; only those of protection are better or worse."""
    fitting = [prefix for prefix in BETTER if f"{name}.".startswith(f"{prefix}.")]
    better = BETTER[max(fitting, key=len)] if fitting else None
    if before == after:
        direction: Direction = "same"
    elif better is None:
        direction = "changed"
    else:
        direction = "worse" if (after > before) == (better == "lower") else "better"
    now = Span(after, after)
    return Change(f"metric/{name}", direction, f"{before:.6g}", f"{after:.6g}", now, better != "higher")


def _outcome_change(finding: str, before: str, after: str) -> Change:
    """Only a claim that is refuted now and was not before is worse; to prove less may be chance."""
    if after == "violated":
        direction: Direction = "known" if before == "violated" else "worse"
    elif before == after:
        direction = "same"
    else:
        direction = "better" if OUTCOMES.index(after) < OUTCOMES.index(before) else "changed"
    return Change(finding, direction, before.upper(), after.upper())


def _law_change(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Change:
    old, new = before.get(name, "not tested"), after.get(name, "not tested")
    if new == "failed":
        direction: Direction = "known" if old == "failed" else "worse"
    elif old == new:
        direction = "same"
    else:
        direction = "better" if new == "passed" else "changed"
    return Change(f"law/{name}", direction, old, new)
