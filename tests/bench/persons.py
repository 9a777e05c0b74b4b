"""What a person with several rows costs, beside persons with one row each, in turn on equally many records."""

from __future__ import annotations

from oracles.reference import Mondrian
from tests.bench.measuring import Section
from tests.bench.people import dataset, dataset_of_persons
from tests.bench.running import compared, in_turn, plan_for, start

ROWS_EACH = 3


def persons(count: int, sample: int) -> Section:
    """The reference Mondrian has a shortcut for one row only, so it is also measured without."""
    one, several = dataset(count), dataset_of_persons(count, ROWS_EACH)
    records = 2 * sample + sample // 2 + 10
    audits = {
        "one row": start(plan_for(one, records=records), Mondrian(k=5)),
        "one row, no shortcut": start(plan_for(one, records=records), Mondrian(k=5, incremental=False)),
        f"{ROWS_EACH} rows": start(plan_for(several, records=records), Mondrian(k=5)),
    }
    rows = compared(in_turn(audits, unmeasured=sample, measured=sample), "a person has")
    title = f"Persons with {ROWS_EACH} different rows, {count} records, tf-tf Bernoulli: milliseconds of CPU per person"
    return Section(title, rows, [f"{ROWS_EACH} rows: one question, and one inference a row and side"])
