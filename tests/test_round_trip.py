"""report.json: its schema, reading it back, and that its journal proves every leaf of it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import harness
from harness.auditing import list_findings
from harness.auditing.confidential import withheld
from harness.auditing.journal import Journal, entries
from harness.auditing.verify import differences, recompile, verify_report
from harness.measuring.divergence import FromFormula
from harness.report import Report
from oracles.reference import Laplace, Mondrian
from tests.anonymizers import chunks, jittered
from tests.small_audits import audit, table

SCHEMA = json.loads((Path(harness.__file__).parent / "report.schema.json").read_text(encoding="utf-8"))
PEOPLE = table(14).assign(pid=[number // 2 for number in range(14)], poor=["yes", "no"] * 7)
FOREST = {"name": "sklearn:sklearn.ensemble.RandomForestClassifier", "n_estimators": 3}
AUDITS: dict[str, dict[str, Any]] = {
    "exact": {"f": chunks},
    "panel": {"f": chunks, "adversaries": [{}, {"model": "gaussian", "encoder": "scaling-hot"}, {"model": FOREST}],
              "draws": 3, "records": 4},
    "draws": {"f": jittered, "draws": 12, "delta": 0.05},
    "predictions": {"f": Laplace(1.0), "draws": 20},
    "adaptive": {"f": Laplace(1.0), "draws": 400, "adaptive": True, "epsilon": 1.0},
    "persons": {"f": Mondrian(k=2), "person": "pid"},
    "secrets": {"f": Mondrian(k=2), "sensitive": ["ill", "poor"]},
    "part": {"f": chunks, "records": 5},
    "budget": {"f": Mondrian(k=2), "budget": 34},
    "infinite": {"f": lambda data: data, "distance": "kl", "model": "conditional"},
}  # fmt: skip


@pytest.fixture(scope="module", params=AUDITS)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """A finished audit of each kind: its folder, and the report that it returned."""
    options = dict(AUDITS[request.param])
    folder = tmp_path_factory.mktemp(request.param)
    return folder, audit(options.pop("f"), PEOPLE, out=folder, **options)


@pytest.fixture(scope="module")
def report_of_two() -> str:
    """The report of an audit that examined two people."""
    return audit(chunks, records=2).to_json()


def test_the_published_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_report_keeps_its_published_schema(kept: tuple[Path, Report]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads((kept[0] / "report.json").read_text()))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("findings.0.distance", None),
        ("findings.0.upper", None),
        ("findings.0.failure", "the model failed"),
        ("findings.0.floor", -0.1),
        ("findings.0.privacy_loss", -0.1),
        ("oracle.card.noise_epsilon", -1.0),
        ("plan.adversaries.0.spec.model", {"alpha": 1.0}),
        ("plan.adversaries.0.spec.prior", "uniform"),
        ("plan.adversaries.0.more", 1),
        ("plan.quasi.0.kind", "integer"),
        ("plan.quasi.0.depth", 3),
        ("plan.quasi.0.points", "yes"),
        ("plan.divergence.0.declared", "sum"),
        ("plan.divergence.0.identity", {}),
        ("plan.data.rows_digest", "no digest"),
        ("results.0.statistics", ...),
        ("results.0.curve", ...),
        ("results.0.uncovered", ...),
    ],
)
def test_the_schema_refuses_what_no_report_holds(place: str, value: Any, report_of_two: str) -> None:
    plain = json.loads(report_of_two)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(plain)
    *way, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    inner = plain
    for step in way:
        inner = inner[step]
    inner.pop(last) if value is ... else inner.__setitem__(last, value)
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(plain)


def test_reports_with_failures_own_parts_and_declared_columns_keep_the_schema() -> None:
    class Failing(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
        def predict_proba(self, X: Any, check_input: bool = True) -> Any:
            raise ValueError("never")

    sex = {"kind": "category", "hierarchy": {"*": ["F", "M"]}}
    age = {"kind": "number", "bins": 3, "edge": "left", "min": 0, "max": 120.5}
    own = FromFormula("own", "a distance of mine", lambda p, q: 0.0)
    options: list[dict[str, Any]] = [
        {"model": Failing()}, {"quasi": {"age": age, "sex": sex}}, {"distance": own},
        {"distance": {"name": "emd", "ground": {"order": ["none", "flu", "ulcer"]}}},
    ]  # fmt: skip
    for option in options:
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(audit(lambda data: data, **option).to_json()))


def unrevealed(finding: harness.Finding) -> harness.Finding:
    """A finding as a file holds it that reveals nothing about a person's sensitive value."""
    return replace(finding, present=None, absent=None, per_value=None, changed=None)


def test_a_report_read_back_is_the_one_that_was_written(kept: tuple[Path, Report]) -> None:
    folder, report = kept
    read = Report.load(folder / "report.json")
    assert read == report
    assert read.to_json() == report.to_json()
    assert read.findings == tuple(map(unrevealed, report.findings))
    assert read.verdict == report.verdict
    assert read.verdicts == report.verdicts
    assert read.summary() == report.summary() == (folder / "summary.txt").read_text().rstrip("\n")
    pd.testing.assert_frame_equal(read.to_frame(), Report(report.plain).to_frame())


def test_a_report_holds_no_raw_record(kept: tuple[Path, Report]) -> None:
    plain = json.dumps(kept[1].plain["findings"])
    assert '"age"' not in plain
    assert '"sex"' not in plain


def test_the_journal_proves_the_report(kept: tuple[Path, Report]) -> None:
    folder, report = kept
    assert verify_report(folder / "journal.jsonl", folder / "report.json") == report.plain


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every leaf, and of every empty container."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from leaves(inner, (*place, number))
    else:
        yield place


def edited(value: Any) -> Any:
    """Another value of the same kind, as little different as can be."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * (1 + 1e-15) if value and value * (1 + 1e-15) != value else value + 1e-300
        case str():
            return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"
        case None:
            return 0
        case list():
            return [0]
        case _:
            return {"x": 0}


def test_every_leaf_that_is_edited_is_named(kept: tuple[Path, Report]) -> None:
    """All leaves of the small report, each edited by its last digit and compared within its section."""
    folder, report = kept
    proven = json.loads(json.dumps(withheld(recompile(folder / "journal.jsonl"))))
    claimed = json.loads(report.to_json())
    for place in leaves(report.plain):
        inner = claimed
        for step in place[:-1]:
            inner = inner[step]
        before = inner[place[-1]]
        inner[place[-1]] = edited(before)
        section = place[0]
        found = list(differences({section: claimed[section]}, {section: proven[section]}))
        inner[place[-1]] = before
        assert found, place
        if not isinstance(before, dict | list):
            spelled = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).lstrip(".")
            (named,) = found
            assert named.startswith(spelled), place
    assert not list(differences(claimed, proven))


def test_an_edited_file_is_refused_with_the_place(tmp_path: Path) -> None:
    audit(chunks, out=tmp_path)
    path = tmp_path / "report.json"
    plain = json.loads(path.read_text())
    plain["results"][0]["curve"][3]["upper"] += 0.01
    plain["notes"].append("all is well")
    del plain["oracle"]["card"]["version"]
    path.write_text(json.dumps(plain))
    with pytest.raises(harness.JournalError) as error:
        verify_report(tmp_path / "journal.jsonl", path)
    for place in (
        "results[0].curve[3].upper is",
        "notes has 1 entries, the journal proves 0",
        "oracle.card.version is missing",
    ):
        assert place in str(error.value)


def test_an_edit_that_leaves_every_number_the_same_is_found(tmp_path: Path) -> None:
    """A digit more than a double can hold, or a zero at the end."""
    report = audit(chunks, out=tmp_path)
    path = tmp_path / "report.json"
    number = json.dumps(report.findings[0].distance)
    path.write_text(report.to_json().replace(f'"distance": {number},', f'"distance": {number}0,', 1))
    assert json.loads(path.read_text()) == report.plain
    with pytest.raises(harness.JournalError, match=rf"findings\[0\].distance is {number}0, but the journal proves"):
        verify_report(tmp_path / "journal.jsonl", path)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    report = audit(chunks, out=tmp_path)
    path = tmp_path / "report.json"
    twice = '"outcome": "holds", "outcome": "violated"'
    path.write_text(report.to_json().replace('"outcome": "violated"', twice, 1))
    with pytest.raises(harness.JournalError, match="the key 'outcome' occurs twice"):
        verify_report(tmp_path / "journal.jsonl", path)


def test_a_journal_written_anew_with_another_distance_contradicts_its_own_predictions(tmp_path: Path) -> None:
    """The chain of such a journal is whole; what it says is not."""
    audit(chunks, out=tmp_path)
    owner, *lines = entries(tmp_path / "journal.jsonl")
    for line in lines:
        for measurement in line.get("examined", {}).get("measurements", ()):
            measurement.update(distance=0.01, lower=0.01, upper=0.01)
    (tmp_path / "journal.jsonl").unlink()
    with Journal(tmp_path / "journal.jsonl", owner) as journal:
        for line in lines:
            journal.append(line)
    with pytest.raises(harness.JournalError, match="the distance of person .* is 0.01, but her two predictions lie"):
        recompile(tmp_path / "journal.jsonl")


def test_a_report_nested_too_deep_is_refused(tmp_path: Path) -> None:
    audit(chunks, out=tmp_path)
    (tmp_path / "report.json").write_text("[" * 100_000)
    with pytest.raises(harness.JournalError, match="cannot be read as a report"):
        verify_report(tmp_path / "journal.jsonl", tmp_path / "report.json")


def test_a_report_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    for content, why in (("{}", "a report of format None"), ('{"format": 1}', "of format 1"), ("no", "not a report")):
        path.write_text(content)
        with pytest.raises(harness.InputError, match=why):
            Report.load(path)
    with pytest.raises(harness.InputError, match="cannot be read"):
        Report.load(tmp_path / "nowhere.json")


def test_large_reports_keep_the_vectors_of_the_worst_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_findings, "ALL_VECTORS", 10)
    monkeypatch.setattr(list_findings, "WORST_VECTORS", 4)
    report = audit(chunks)
    shown = sorted(finding.distance for finding in report.findings if finding.present is not None)
    assert shown == sorted(finding.distance for finding in report.findings)[-4:]
    jsonschema.Draft202012Validator(SCHEMA).validate(report.plain)
