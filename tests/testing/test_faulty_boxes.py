"""Faults in anonymizers that the laws do not know: each breaks the law that is about it and no other."""

import pytest

from harness.testing import check
from tests.testing.faulty_boxes import BUILDERS, FAULTS

SMALL = 6  # rows
QUICK = ("hides below k - 1", "takes a city for one of the South", "invents values of rare rows", "drops rare rows")


@pytest.mark.slow
@pytest.mark.parametrize(("builder", "fault", "laws"), FAULTS, ids=[" ".join(case[:2]) for case in FAULTS])
def test_a_fault_breaks_its_law_alone_on_few_rows(builder: str, fault: str, laws: frozenset[str]) -> None:
    make, schema, claim = BUILDERS[builder]
    report = check(make(fault), schema, claim, max_time=600)
    assert {result.law.name for result in report.failed} == laws
    assert max(len(result.counterexample or ()) for result in report.failed) <= SMALL
    assert report.calls <= 300


@pytest.mark.parametrize("fault", QUICK)
def test_a_law_finds_its_fault_with_few_calls(fault: str) -> None:
    make, schema, claim = BUILDERS["recoding"]
    (law,) = next(laws for builder, name, laws in FAULTS if (builder, name) == ("recoding", fault))
    report = check(make(fault), schema, claim, laws=[law], budget_calls=60, max_time=600)
    assert [result.law.name for result in report.failed] == [law]
    assert report.calls <= 60


@pytest.mark.slow
@pytest.mark.parametrize("builder", BUILDERS)
def test_without_a_fault_no_law_is_broken_and_all_are_judged(builder: str) -> None:
    make, schema, claim = BUILDERS[builder]
    report = check(make(""), schema, claim, max_time=600)
    assert not report.failed
    assert not report.by_outcome("inconclusive")
    assert all(result.tables for result in report.by_outcome("passed"))
