"""On every change: nobody may stand out. `audit` is a fixture of the harness: a failure says who does."""

from anonymizer import anonymize

QUASI = {
    "age": "number",
    "education": "category",
    "marital_status": "category",
    "hours_per_week": "number",
    "region": "category",
}


def test_nobody_stands_out(audit):
    report = audit(anonymize, "people.csv", quasi=QUASI, sensitive="occupation", epsilon=0.2)
    report.verdict.require()
    assert (report.to_frame()["distance"] < 0.05).mean() > 0.5  # hardly anybody matters
