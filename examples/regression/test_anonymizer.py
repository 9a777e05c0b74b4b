"""On every change: nobody may stand out more than they did. Run with pytest."""

from anonymizer import anonymize

import harness
from harness.synthetic_census import people

QUASI = {
    "age": "number",
    "education": "category",
    "marital_status": "category",
    "hours_per_week": "number",
    "region": "category",
}


def test_nobody_stands_out():
    harness.audit(anonymize, people(300), quasi=QUASI, sensitive="occupation", epsilon=0.2).verdict.require()


def test_eight_in_ten_hardly_matter():
    report = harness.audit(anonymize, people(300), quasi=QUASI, sensitive="occupation", epsilon=0.2)
    assert (report.to_frame()["distance"] < 0.05).mean() > 0.8
