"""Three answers, and when each may be given."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.auditing.finding import Finding
from harness.auditing.plan import Claim
from harness.auditing.verdict import Outcome, judge
from harness.measuring.tail import Limits
from harness.vocabulary.errors import InputError


def finding(index=0, distance=0.0, lower=None, upper=None, draws=1) -> Finding:
    lower = distance if lower is None else lower
    upper = distance if upper is None else upper
    return Finding(index, distance, lower, upper, (1.0, 0.0), (1.0, 0.0), (0.0, 0.0), draws)


def test_all_upper_bounds_below_epsilon_hold():
    verdict = judge([finding(0, 0.01), finding(1, 0.09)], Claim(0.1), 2)
    assert (verdict.outcome, verdict.epsilon, verdict.witness) == (Outcome.HOLDS, 0.09, 1)


def test_a_distance_of_exactly_epsilon_violates():
    assert judge([finding(0, 0.1)], Claim(0.1), 1).outcome is Outcome.VIOLATED


def test_one_lower_bound_at_epsilon_violates_and_names_its_witness():
    findings = [finding(0, 0.2, 0.05, 0.4), finding(1, 0.15, 0.12, 0.2)]
    verdict = judge(findings, Claim(0.1), 2)
    assert (verdict.outcome, verdict.witness, verdict.epsilon) == (Outcome.VIOLATED, 1, 0.2)
    assert "record 1" in verdict.reason


def test_an_interval_on_both_sides_is_inconclusive():
    verdict = judge([finding(0, 0.05, 0.01, 0.2, draws=100)], Claim(0.1), 1)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "1 record may lie on either side" in verdict.reason


@given(st.lists(st.floats(0, 0.0999), min_size=1, max_size=20), st.integers(1, 1000))
def test_a_part_of_the_records_never_proves_the_claim(distances, others):
    findings = [finding(index, distance) for index, distance in enumerate(distances)]
    verdict = judge(findings, Claim(0.1), len(findings) + others)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "only an audit of all records" in verdict.reason


def test_a_part_of_the_records_can_violate_it():
    assert judge([finding(3, 0.5)], Claim(0.1), 1000).outcome is Outcome.VIOLATED


def test_299_clean_records_at_random_certify_one_percent():
    verdict = judge([finding(index, 0.0) for index in range(299)], Claim(0.1), 10**6, random=range(299))
    assert verdict.certificate is not None
    assert verdict.certificate.share <= 0.01
    assert "at most 1.00% of all records do not keep it" in verdict.reason


def test_records_chosen_for_their_risk_certify_nothing():
    assert judge([finding(index, 0.0) for index in range(299)], Claim(0.1), 10**6).certificate is None


def test_with_delta_a_randomized_record_is_judged_by_its_tail():
    claim = Claim(0.1, delta=0.2)
    rare = dataclasses.replace(finding(0, 0.15, 0.11, 0.19, draws=100), delta=Limits(0.05, 0.01, 0.15))
    often = dataclasses.replace(rare, delta=Limits(0.5, 0.4, 0.6))
    unsure = dataclasses.replace(rare, delta=Limits(0.18, 0.1, 0.3))
    outcomes = [judge([each], claim, 1, exact=False).outcome for each in (rare, often, unsure)]
    assert outcomes == [Outcome.HOLDS, Outcome.VIOLATED, Outcome.INCONCLUSIVE]


def test_without_chance_delta_makes_no_difference():
    assert judge([finding(0, 0.15)], Claim(0.1, delta=0.5), 1).outcome is Outcome.VIOLATED


def test_an_inconclusive_verdict_says_how_many_draws_would_settle_it():
    unsure = dataclasses.replace(finding(0, 0.05, 0.01, 0.2, draws=100), draws_needed=4321)
    verdict = judge([unsure], Claim(0.1), 1, exact=False)
    assert verdict.draws_needed == 4321
    assert "about 4,321 draws would settle it" in verdict.reason


def test_ties_go_to_the_first_record():
    assert judge([finding(5, 0.5), finding(2, 0.5)], Claim(0.1), 2).witness == 2


def test_a_broken_claim_is_raised_only_by_require():
    judge([finding(0, 0.01)], Claim(0.1), 1).require()
    with pytest.raises(AssertionError, match="VIOLATED: record 0 moves the inference about itself by 0.5"):
        judge([finding(0, 0.5)], Claim(0.1), 1).require()


@pytest.mark.parametrize(
    ("values", "name"),
    [((0,), "epsilon"), ((-1,), "epsilon"), ((float("nan"),), "epsilon"), ((1, 1), "delta"), ((1, -0.1), "delta"),
     ((1, 0, 1), "confidence"), ((1, 0, 0), "confidence")],
)  # fmt: skip
def test_a_claim_that_cannot_be_dies_at_birth(values, name):
    with pytest.raises(InputError, match=f"{name} must be"):
        Claim(*values)


def test_verdicts_cannot_be_changed():
    verdict = judge([finding(0, 0.5)], Claim(0.1), 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.outcome = Outcome.HOLDS
