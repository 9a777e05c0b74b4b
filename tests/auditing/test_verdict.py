"""Three answers, and when each may be given."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.auditing.finding import Finding
from harness.auditing.plan import Claim
from harness.auditing.verdict import Outcome, Verdict, judge
from harness.measuring.tail import Limits
from harness.vocabulary.errors import InputError


def finding(
    person: int = 0,
    distance: float = 0.0,
    lower: float | None = None,
    upper: float | None = None,
    draws: int = 1,
    claim: Claim | None = None,
) -> Finding:
    """A finding that is exact unless limits are given."""
    exact = lower is None and upper is None
    ends = (distance if lower is None else lower, distance if upper is None else upper)
    return Finding(person, (person,), "A", "s", distance, *ends, exact=exact, draws=draws, claim=claim or Claim(0.1))


def test_all_upper_bounds_below_epsilon_hold() -> None:
    verdict = judge([finding(0, 0.01), finding(1, 0.09)], Claim(0.1), 2)
    assert (verdict.outcome, verdict.epsilon, verdict.witness) == (Outcome.HOLDS, 0.09, 1)


def test_a_distance_of_exactly_epsilon_violates() -> None:
    assert judge([finding(0, 0.1)], Claim(0.1), 1).outcome is Outcome.VIOLATED


def test_one_lower_bound_at_epsilon_violates_and_names_its_witness() -> None:
    findings = [finding(0, 0.2, 0.05, 0.4), finding(1, 0.15, 0.12, 0.2)]
    verdict = judge(findings, Claim(0.1), 2)
    assert (verdict.outcome, verdict.witness) == (Outcome.VIOLATED, 1)
    assert (verdict.at_least, verdict.at_most, verdict.epsilon) == (0.12, 0.4, 0.4)
    assert "the record with row label 1 moves" in verdict.reason


def test_an_interval_on_both_sides_is_inconclusive() -> None:
    verdict = judge([finding(0, 0.05, 0.01, 0.2, draws=100)], Claim(0.1), 1)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "1 record may lie on either side" in verdict.reason


@given(st.lists(st.floats(0, 0.0999), min_size=1, max_size=20), st.integers(1, 1000))
def test_a_part_of_the_records_never_proves_the_claim(distances: list[float], others: int) -> None:
    findings = [finding(index, distance) for index, distance in enumerate(distances)]
    verdict = judge(findings, Claim(0.1), len(findings) + others)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "only an audit of all records" in verdict.reason


def test_a_part_of_the_records_can_violate_it() -> None:
    assert judge([finding(3, 0.5)], Claim(0.1), 1000).outcome is Outcome.VIOLATED


def test_299_clean_records_at_random_certify_one_percent() -> None:
    verdict = judge([finding(index, 0.0) for index in range(299)], Claim(0.1), 10**6, random=range(299))
    assert verdict.certificate is not None
    assert verdict.certificate.share <= 0.01
    assert "at most 0.9967 % of all records do not keep it" in verdict.reason


def test_records_chosen_for_their_risk_certify_nothing() -> None:
    assert judge([finding(index, 0.0) for index in range(299)], Claim(0.1), 10**6).certificate is None


def test_with_delta_a_randomized_record_is_judged_by_its_tail() -> None:
    claim = Claim(0.1, delta=0.2)
    rare = dataclasses.replace(finding(0, 0.15, 0.11, 0.19, draws=100), delta_at_epsilon=Limits(0.05, 0.01, 0.15))
    noisy = dataclasses.replace(rare, delta_at_epsilon=Limits(0.5, 0.4, 0.6))
    often = dataclasses.replace(noisy, delta_beyond_noise=0.3)
    independent = dataclasses.replace(noisy, coupled=False)
    unsure = dataclasses.replace(rare, delta_at_epsilon=Limits(0.18, 0.1, 0.3))
    outcomes = [judge([each], claim, 1).outcome for each in (rare, often, independent, noisy, unsure)]
    assert outcomes == [Outcome.HOLDS, Outcome.VIOLATED, Outcome.VIOLATED, Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE]


def test_without_chance_delta_makes_no_difference() -> None:
    assert judge([finding(0, 0.15)], Claim(0.1, delta=0.5), 1).outcome is Outcome.VIOLATED


def test_an_inconclusive_verdict_says_how_many_draws_would_settle_it() -> None:
    unsure = dataclasses.replace(finding(0, 0.05, 0.01, 0.2, draws=100), draws_needed=4321)
    verdict = judge([unsure], Claim(0.1), 1)
    assert verdict.draws_needed == 4321
    assert "about 4,321 draws would settle it" in verdict.reason


def test_draws_that_would_settle_another_claim_are_not_quoted() -> None:
    unsure = dataclasses.replace(finding(0, 0.05, 0.01, 0.2, draws=100, claim=Claim(0.1)), draws_needed=4321)
    verdict = judge([unsure], Claim(0.15), 1)
    assert verdict.draws_needed is None
    assert "more draws may settle it" in verdict.reason


def test_one_finding_given_many_times_is_about_one_person() -> None:
    verdict = judge([finding(0, 0.01)] * 8, Claim(0.1), 8)
    assert (verdict.outcome, verdict.examined) == (Outcome.INCONCLUSIVE, 1)
    assert "all 1 record examined, of 8" in verdict.reason
    unsure = judge([finding(0, 0.05, 0.01, 0.2)] * 8, Claim(0.1), 8, random=[0])
    assert "1 record may lie on either side" in unsure.reason
    assert unsure.certificate is not None
    assert unsure.certificate.above == 1


def test_limits_at_the_whole_error_level_leave_nothing_for_a_certificate() -> None:
    """0.05 of error: a full audit of 100 persons spends all of it, a part of them half."""
    for level, certified in ((0.05, False), (0.025, True)):
        measured = [dataclasses.replace(finding(person, 0.05, 0.01, 0.09), alpha=level / 100) for person in range(100)]
        assert (judge(measured, Claim(0.1), 1000, random=range(100)).certificate is not None) is certified


def test_what_all_looks_spent_counts_against_a_certificate() -> None:
    looks = [dataclasses.replace(finding(person, 0.05, 0.01, 0.09), alpha=0.05 / 6 / 2, look=2) for person in range(2)]
    assert judge(looks, Claim(0.1), 1000, random=range(2)).certificate is None


def test_ties_go_to_the_first_record() -> None:
    assert judge([finding(5, 0.5), finding(2, 0.5)], Claim(0.1), 2).witness == 2


def test_a_broken_claim_is_raised_only_by_require() -> None:
    judge([finding(0, 0.01)], Claim(0.1), 1).require()
    with pytest.raises(
        AssertionError, match="VIOLATED: the record with row label 0 moves the inference about itself by 0.5"
    ):
        judge([finding(0, 0.5)], Claim(0.1), 1).require()


def sampled(above: int) -> Verdict:
    """500 of 10,000 records examined at random, so many of them at 0.5."""
    findings = [finding(person, 0.5 if person < above else 0.01) for person in range(500)]
    return judge(findings, Claim(0.1), 10_000, random=range(500))


def test_a_sample_is_enough_for_a_share_that_its_certificate_proves() -> None:
    share = sampled(0).certificate.share  # type: ignore[union-attr]
    assert 0.005 < share < 0.007
    sampled(0).require(share=0.01)
    with pytest.raises(AssertionError, match=r"the certificate allows up to 0.5\d+ %, and require\(share=0.005\)"):
        sampled(0).require(share=0.005)


def test_require_without_a_share_says_how_a_sample_can_be_enough() -> None:
    with pytest.raises(AssertionError, match=r"INCONCLUSIVE: .*A sample cannot prove .*require\(share=0.0") as told:
        sampled(0).require()
    sampled(0).require(share=float(str(told.value).rpartition("share=")[2].rstrip(")")))


def test_a_share_counts_those_who_were_found_too() -> None:
    found = sampled(1)
    assert found.outcome is Outcome.VIOLATED
    found.require(share=0.01)
    with pytest.raises(AssertionError, match="VIOLATED"):
        sampled(5).require(share=0.01)


def test_an_audit_of_everybody_counts_the_share_itself() -> None:
    one_of_200 = judge([finding(0, 0.5), *(finding(person, 0.01) for person in range(1, 200))], Claim(0.1), 200)
    assert (one_of_200.outcome, one_of_200.unproven, one_of_200.certificate) == (Outcome.VIOLATED, 1, None)
    one_of_200.require(share=0.005)
    with pytest.raises(AssertionError, match="1 of 200 are not proven to keep it, more than share=0.004"):
        one_of_200.require(share=0.004)
    failed = dataclasses.replace(finding(0, 0.01), failure="no model")
    assert judge([failed, finding(1, 0.01)], Claim(0.1), 2).unproven == 1


def test_a_share_needs_a_certificate_or_everybody_and_must_be_one() -> None:
    judge([finding(0, 0.01)], Claim(0.1), 1).require(share=0.01)
    with pytest.raises(AssertionError, match="a share is proven by the certificate of a random sample"):
        judge([finding(0, 0.5)], Claim(0.1), 2).require(share=0.01)
    for wrong in (0, 1, 5, "1 %"):
        with pytest.raises(InputError, match="share must be a number between 0 and 1"):
            sampled(0).require(share=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "name"),
    [((0,), "epsilon"), ((-1,), "epsilon"), ((float("nan"),), "epsilon"), ((1, 1), "delta"), ((1, -0.1), "delta"),
     ((1, 0, 1), "confidence"), ((1, 0, 0), "confidence")],
)  # fmt: skip
def test_a_claim_that_cannot_be_is_refused_when_it_is_made(values: tuple[float, ...], name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be"):
        Claim(*values)


def test_limits_decide_another_epsilon_while_delta_is_zero() -> None:
    measured = finding(0, 0.2, 0.15, 0.25, draws=100, claim=Claim(0.3))
    assert judge([measured], Claim(0.3), 1).outcome is Outcome.HOLDS
    assert judge([measured], Claim(0.1), 1).outcome is Outcome.VIOLATED


def test_a_tail_measured_at_one_epsilon_decides_no_other() -> None:
    claim = Claim(0.3, delta=0.05)
    measured = dataclasses.replace(
        finding(0, 0.2, 0.15, 0.25, draws=100, claim=claim), delta_at_epsilon=Limits(0.0, 0.0, 0.04)
    )
    assert judge([measured], claim, 1).outcome is Outcome.HOLDS
    with pytest.raises(InputError, match="measured at epsilon = 0.3; with delta > 0 they say nothing about"):
        judge([measured], Claim(1e-9, delta=0.05), 1)


def test_limits_prove_nothing_at_a_higher_confidence() -> None:
    with pytest.raises(InputError, match="measured for a confidence of 0.95 and prove nothing at 0.99"):
        judge([finding(0, 0.2, 0.15, 0.25)], Claim(0.1, confidence=0.99), 1)


def of(pair: tuple[str, str], *args: Any) -> Finding:
    return dataclasses.replace(finding(*args), adversary=pair[0], secret=pair[1])


def test_the_verdict_of_a_panel_is_that_of_its_worst_adversary_and_names_it() -> None:
    findings = [of(("mild", "s"), 0, 0.01), of(("harsh", "s"), 0, 0.5), of(("mild", "t"), 0, 0.02)]
    verdict = judge(findings, Claim(0.1), 1)
    assert (verdict.outcome, verdict.adversary, verdict.secret) == (Outcome.VIOLATED, "harsh", "s")
    assert "worst of 2 adversaries and 2 secrets (harsh; s): the record with row label 0 moves" in verdict.reason


def test_one_inconclusive_adversary_keeps_a_panel_from_holding() -> None:
    unsure = dataclasses.replace(finding(0, 0.05, 0.01, 0.2, draws=100), adversary="unsure")
    assert judge([finding(0, 0.01), unsure], Claim(0.1), 1).outcome is Outcome.INCONCLUSIVE


def test_a_person_who_could_not_be_measured_keeps_a_claim_from_holding() -> None:
    failed = dataclasses.replace(finding(1), failure="the model gave no probabilities", exact=True)
    verdict = judge([finding(0, 0.01), failed], Claim(0.1), 2)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "1 record could not be measured (the model gave no probabilities)" in verdict.reason
    assert judge([finding(0, 0.5), failed], Claim(0.1), 2).outcome is Outcome.VIOLATED


def test_nothing_to_judge_is_an_error() -> None:
    with pytest.raises(InputError, match="no findings to judge"):
        judge([], Claim(0.1), 1)


def test_verdicts_cannot_be_changed() -> None:
    verdict = judge([finding(0, 0.5)], Claim(0.1), 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.outcome = Outcome.HOLDS  # type: ignore[misc]  # that is what must fail
