"""Above so many findings a report lists the worst, and a file beside it has them all: nothing else changes."""

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import harness
from harness.analysis.compare import spans_of
from harness.auditing import findings_file, list_findings
from harness.auditing.finding import Finding
from harness.auditing.finding_store import PairStore
from harness.auditing.findings_file import LINES, PARQUET, read_findings, rows_of_file
from harness.auditing.keyed_digests import KEY
from harness.auditing.plan import Claim
from harness.cli import main
from harness.cli.evidence import check_folder
from harness.report import Report
from tests.anonymizers import chunks, jittered
from tests.small_audits import audit, table

SCHEMA = json.loads((Path(harness.__file__).parent / "report.schema.json").read_text(encoding="utf-8"))
LISTED = 10


def _make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_findings, "LARGE", 20)
    monkeypatch.setattr(list_findings, "LISTED", LISTED)
    monkeypatch.setattr(list_findings, "CHUNK", 7)
    monkeypatch.setattr(findings_file, "CHUNK", 7)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is large is small here."""
    _make_small(monkeypatch)


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings_file, "_arrow", lambda: None)


def failing(frame: Any) -> Any:
    if len(frame) % 2 and frame["age"].sum() % 5 == 0:
        raise ValueError("not this one")
    return chunks(frame)


class Telling:
    """Suppresses everything, and changes what everybody has where one of the first part of the people is missing."""

    def __init__(self, part: float) -> None:
        self.part = part

    def __call__(self, frame: Any) -> Any:
        released = frame.assign(age="*", sex="*")
        missing = set(range(30)) - set(frame["age"].tolist())
        return released.assign(ill="flu") if missing and min(missing) < self.part * 30 else released


AUDITS: dict[str, Callable[..., harness.Report]] = {
    "exact": lambda **more: audit(chunks, **more),
    "draws": lambda **more: audit(jittered, draws=6, delta=0.05, **more),
    "failures": lambda **more: audit(failing, **more),
    "persons": lambda **more: audit(
        chunks, table(60).assign(pid=[f"p{number // 2}" for number in range(60)]), person="pid", **more
    ),
    "panel": lambda **more: audit(chunks, adversaries=[{"model": "bernoulli"}, {"model": "gaussian"}], **more),
}


@pytest.mark.parametrize("name", AUDITS)
def test_all_findings_are_in_the_file_as_a_small_report_lists_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = AUDITS[name]().to_dict()["findings"]
    _make_small(monkeypatch)
    report = AUDITS[name](out=tmp_path)
    assert list(rows_of_file(tmp_path / PARQUET)) == listed
    assert [json.dumps(row) for row in rows_of_file(tmp_path / PARQUET)] == [json.dumps(row) for row in listed]
    assert report.number_of_findings == len(listed)
    jsonschema.validate(report.to_dict(), SCHEMA)
    lines = check_folder(tmp_path).lines
    assert f"all {len(listed)} findings in {PARQUET} follow from it" in lines
    assert (tmp_path / PARQUET).stat().st_mode & 0o077 == 0


def test_verdict_and_statistics_are_those_of_a_small_report(monkeypatch: pytest.MonkeyPatch) -> None:
    small_report = audit(chunks).to_dict()
    _make_small(monkeypatch)
    large = audit(chunks).to_dict()
    assert len(large["findings"]) == LISTED
    worst = sorted(small_report["findings"], key=lambda one: (-one["lower"], -one["distance"], one["person"]))
    assert {one["person"] for one in large["findings"]} >= {one["person"] for one in worst[: LISTED - 1]}
    quantiles = large["results"][0].pop("quantiles")
    distances = sorted(one["distance"] for one in small_report["findings"])
    assert (quantiles["distance"][0], quantiles["distance"][-1]) == (distances[0], distances[-1])
    assert set(quantiles["distance"]) <= set(distances)
    large.pop("findings_file")
    assert {**large, "findings": 0} == {**small_report, "findings": 0}


def test_the_report_is_the_same_with_and_without_pyarrow(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = audit(chunks, out=tmp_path / "parquet")
    monkeypatch.setattr(findings_file, "_arrow", lambda: None)
    other = audit(chunks, out=tmp_path / "lines")
    assert one.to_json() == other.to_json()
    assert (tmp_path / "lines" / LINES).exists()
    assert any(LINES in line and "follow from it" in line for line in check_folder(tmp_path / "lines").lines)
    assert any("was not checked: reading it needs pyarrow" in line for line in check_folder(tmp_path / "parquet").lines)


def test_no_prediction_is_in_the_file_even_where_the_report_reveals_some(tmp_path: Path, small: None) -> None:
    audit(chunks, out=tmp_path, reveal=True)
    revealed = json.loads((tmp_path / "report.json").read_text())["findings"]
    assert all(one["present"] for one in revealed)
    for row in rows_of_file(tmp_path / PARQUET):
        assert row["present"] is row["absent"] is row["per_value"] is row["changed"] is None
    check_folder(tmp_path)


@pytest.mark.parametrize("change", ["a number", "one less", "one more", "another order"])
def test_an_edited_file_is_refused_with_the_place(
    change: str, tmp_path: Path, small: None, without_pyarrow: None
) -> None:
    audit(chunks, out=tmp_path)
    rows = list(rows_of_file(tmp_path / LINES))
    if change == "a number":
        rows[16]["distance"] = 0.001
    elif change == "one less":
        rows.pop()
    elif change == "one more":
        rows.append(rows[-1])
    else:
        rows[0], rows[1] = rows[1], rows[0]
    with gzip.open(tmp_path / LINES, "wb") as file:
        for row in rows:
            file.write(json.dumps(row).encode() + b"\n")
    expected = {
        "a number": "finding 17: distance is '0.001', but the journal proves",
        "one less": "has fewer findings than the journal proves",
        "one more": "has more findings than the journal proves",
        "another order": "finding 1: person is '1', but the journal proves '0'",
    }
    with pytest.raises(harness.JournalError, match=expected[change]):
        check_folder(tmp_path)
    digest = json.loads((tmp_path / "report.json").read_text())["findings_file"]["sha256"]
    with pytest.raises(harness.JournalError, match="the digest differs"):
        list(read_findings(tmp_path, digest))


@pytest.mark.parametrize("content", [b"", b"PAR1 and nothing", b"half"])
def test_a_damaged_file_is_an_error_and_a_missing_one_is_said(content: bytes, tmp_path: Path, small: None) -> None:
    audit(chunks, out=tmp_path)
    path = tmp_path / PARQUET
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content == b"half" else content)
    with pytest.raises(harness.JournalError, match="findings.parquet: cannot be read"):
        check_folder(tmp_path)
    path.unlink()
    assert any("with all findings: missing, and therefore not checked" in line for line in check_folder(tmp_path).lines)
    with pytest.raises(harness.InputError, match="run the same audit again to have it written"):
        list(Report.load(tmp_path / "report.json").all_findings())
    before = (tmp_path / "report.json").read_bytes()
    audit(chunks, out=tmp_path)
    assert path.exists()
    assert (tmp_path / "report.json").read_bytes() == before


def test_a_file_of_findings_beside_a_small_report_is_refused(tmp_path: Path) -> None:
    audit(chunks, out=tmp_path)
    (tmp_path / LINES).write_bytes(gzip.compress(b""))
    with pytest.raises(harness.JournalError, match="does not follow from the journal: report.json lists all findings"):
        check_folder(tmp_path)


def test_whoever_reads_findings_reads_all_of_them(
    tmp_path: Path, small: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = audit(chunks, out=tmp_path / "one")
    audit(chunks, out=tmp_path / "other", seed=1)
    loaded = Report.load(tmp_path / "one" / "report.json")
    assert len(list(loaded.all_findings())) == len(list(made.all_findings())) == 30
    assert len(loaded.to_frame()) == 30
    assert len(loaded.findings) == LISTED
    assert len(spans_of(loaded, next(iter(loaded.verdicts)))) == 30
    formats = ("text", "details", "md", "html", "junit", "sarif", "certificate")
    reports = (["report", str(tmp_path / "one"), "--format", name] for name in formats)
    for command in (["compare", str(tmp_path / "one"), str(tmp_path / "other")], *reports):
        assert main(command) in (0, 1), command
        shown = capsys.readouterr().out
        assert shown
    page = (tmp_path / "one" / "report.html").read_text()
    assert "Drawn from 1,001 quantiles of 30 records" in page
    assert all(word not in page for word in ("nan", "Traceback"))


def test_two_large_audits_are_compared_by_everybody_and_not_by_the_worst_alone(
    tmp_path: Path, small: None, capsys: pytest.CaptureFixture[str]
) -> None:
    people = table().assign(age=range(30))
    few, many = (audit(Telling(part), people, out=tmp_path / str(part)) for part in (0.4, 0.8))
    assert main(["compare", str(tmp_path / "0.4"), str(tmp_path / "0.8"), "--json", "-o", str(tmp_path / "page")]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["overall"], result["compared"]) == ("worse", 30)
    for report, side in ((few, "before"), (many, "after")):
        mean = report.statistics()["mean"]
        assert result["measures"]["mean distance"][side]["lower"] == pytest.approx(mean)
        share = result["measures"]["share at or above epsilon"][side]["lower"]
        assert share == {"before": 0.4, "after": 0.8}[side]
    assert "30 persons examined in both" in (tmp_path / "page").read_text(encoding="utf-8")


def test_a_report_that_lost_its_file_of_findings_does_not_pass_the_worst_for_all(tmp_path: Path, small: None) -> None:
    made = audit(chunks, out=tmp_path / "one")
    with pytest.raises(harness.InputError, match="this report lists the worst findings only; load report.json"):
        list(Report(made.plain).all_findings())


def test_an_interrupted_large_audit_can_be_reported_and_goes_on(tmp_path: Path, small: None) -> None:
    whole = audit(chunks, out=tmp_path / "whole").to_json()
    lines = (tmp_path / "whole" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut").mkdir()
    shutil.copy(tmp_path / "whole" / KEY, tmp_path / "cut")
    (tmp_path / "cut" / "journal.jsonl").write_bytes(b"".join(lines[:-6]))
    assert Report.of_journal(tmp_path / "cut" / "journal.jsonl").plain["unfinished"]["examined"] > 20
    assert audit(chunks, out=tmp_path / "cut").to_json() == whole


def test_a_trillion_draws_that_are_needed_are_kept_as_they_are() -> None:
    store = PairStore(2, exact=False)
    blank = Finding(
        person=1, rows=(1,), adversary="a", secret="s", distance=0.1, lower=0.0, upper=2.0, exact=False, coupled=True,
        look=1, claim=Claim(0.1),
    )  # fmt: skip
    store.put(1, replace(blank, draws_needed=10**12 - 1))
    assert store.fields(1)["draws_needed"] == 10**12 - 1
    store.put(1, blank)
    assert store.fields(1)["draws_needed"] is None
