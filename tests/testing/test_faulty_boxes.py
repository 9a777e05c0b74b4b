"""Faults in anonymizers that the laws do not know: each breaks the law that is about it and no other."""

import pytest

from harness.testing import check
from tests.testing.faulty_boxes import BUILDERS, FAULTS

SMALL = 6  # rows
QUICK = {  # one of each kind of fault
    ("recoding", "hides below k - 1"),
    ("recoding", "takes a city for one of the South"),
    ("recoding", "invents values of rare rows"),
    ("rank swapping", "exchanges nothing"),
}
CASES = [
    pytest.param(*case, marks=() if case[:2] in QUICK else pytest.mark.slow, id=f"{case[0]} {case[1]}")
    for case in FAULTS
]


@pytest.mark.parametrize(("builder", "fault", "laws"), CASES)
def test_a_fault_breaks_its_law_alone_on_few_rows(builder: str, fault: str, laws: frozenset[str]) -> None:
    make, schema, claim = BUILDERS[builder]
    report = check(make(fault), schema, claim, max_time=600)
    assert {result.law.name for result in report.failed} == laws
    assert max(len(result.counterexample or ()) for result in report.failed) <= SMALL
    assert report.calls <= 300


@pytest.mark.slow
@pytest.mark.parametrize("builder", BUILDERS)
def test_without_a_fault_no_law_is_broken_and_all_are_judged(builder: str) -> None:
    make, schema, claim = BUILDERS[builder]
    report = check(make(""), schema, claim, max_time=600)
    assert not report.failed
    assert not report.by_outcome("inconclusive")
    assert all(result.tables for result in report.by_outcome("passed"))
