"""What a report holds, and what it must not hold."""

import json
from pathlib import Path

import pandas as pd
import pytest

import harness
from harness.auditing.statistics_of_findings import THRESHOLDS
from harness.cli import main
from harness.render import RENDERERS, Renderer
from oracles import as_oracle
from oracles.reference import Laplace
from tests.anonymizers import jittered
from tests.small_audits import audit, table


@pytest.fixture(scope="module")
def report() -> harness.Report:
    return audit(lambda data: data.assign(age=data["age"] // 10 * 10).assign(age="*"))


def test_the_json_has_everything_an_auditor_relies_on(report: harness.Report) -> None:
    plain = json.loads(report.to_json())
    assert plain["verdict"]["outcome"] in ("holds", "violated", "inconclusive")
    assert plain["verdict"]["epsilon"] == max(finding["distance"] for finding in plain["findings"])
    assert plain["verdict"]["witness"] in [finding["person"] for finding in plain["findings"]]
    assert set(plain["findings"][0]) >= {"person", "rows", "adversary", "secret", "distance", "lower", "upper"}
    assert len(report.findings[0].present or ()) == len(plain["plan"]["secrets"][0]["values"]) == 3
    assert len(plain["plan"]["data"]["digest"]) == 64
    assert plain["oracle"]["card"]["randomized"] is False


def test_without_chance_the_claim_is_read_exactly_both_ways(report: harness.Report) -> None:
    result = report.result()
    assert result["smallest_epsilon"]["value"] == result["smallest_epsilon"]["upper"] == result["verdict"]["epsilon"]
    assert result["smallest_delta"]["value"] == float(result["verdict"]["outcome"] == "violated")
    assert result["indifferentiability"]["witness"] == result["smallest_epsilon"]["witness"]
    deltas = [point["delta"] for point in result["curve"]]
    assert deltas == sorted(deltas, reverse=True)
    assert set(deltas) <= {0.0, 1.0}


def test_the_frame_has_a_row_per_record(report: harness.Report) -> None:
    frame = report.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == list(range(30))
    assert {"distance", "lower", "upper", "present", "absent", "changed"} <= set(frame.columns)


def test_raw_records_are_in_the_report_only_when_asked_for() -> None:
    data = table().assign(sex=["secret-f", "secret-m"] * 15)
    for reveal in (False, True):
        report = audit(lambda data: data, data, reveal=reveal)
        assert "secret-" not in report.to_json()
        assert ("secret-" in report.summary()) == reveal


def test_the_summary_begins_with_the_verdict_and_names_the_worst_record(report: harness.Report) -> None:
    summary = report.summary()
    assert summary.startswith(report.verdict.outcome.name)
    worst = max(report.findings, key=lambda finding: finding.distance)
    assert f"row label {worst.rows[0]}" in summary
    assert "30 of 30 records; nothing is random: distances are exact" in summary
    assert str(report) == summary


def test_statistics_are_those_of_the_distances(report: harness.Report) -> None:
    distances = report.to_frame()["distance"]
    numbers = report.statistics()
    assert numbers["mean"] == pytest.approx(distances.mean())
    assert numbers["deviation"] == pytest.approx(distances.std(ddof=0))
    for limit in THRESHOLDS:
        assert numbers["share_at_or_above"][f"{limit:.4g}"] == pytest.approx((distances >= limit).mean())


def test_the_summary_of_a_randomized_audit_names_draws_floor_and_coupling() -> None:
    report = audit(Laplace(noise_epsilon=1.0), draws=50)
    assert "50 draws with and without each" in report.summary()
    assert "sampling noise alone would show" in report.render("details")
    assert any("same seeds" in line for line in report.assumptions)
    assert any("union bound" in line for line in report.assumptions)


def test_what_only_some_releases_show_is_noted_with_its_number() -> None:
    def sometimes(data: pd.DataFrame) -> pd.DataFrame:
        return data.reset_index() if len(data) == 29 else data

    assert audit(sometimes).notes == (
        "the release adds column 'index', which the data did not have (without 30 of the records)",
    )


def test_dropped_rows_are_reported() -> None:
    data = table().astype({"age": float})
    data.loc[3, "age"] = None
    assert any(
        "1 row with missing cells was left out" in line for line in audit(lambda d: d, data, missing="drop").assumptions
    )


def test_reports_of_equal_audits_are_equal_to_the_byte() -> None:
    assert audit(jittered, draws=3).to_json() == audit(jittered, draws=3).to_json()


def test_names_and_values_chosen_by_others_cannot_touch_the_terminal() -> None:
    data = table().assign(ill=["\x1b[2Jflu", "none\nHOLDS"] * 15)
    summary = audit(lambda rows: rows, data, adversaries=[{"name": "\x1b[31mred"}]).summary()
    assert "\x1b" not in summary
    assert "\nHOLDS" not in summary
    assert "\\x1b[31mred" in summary


def test_require_raises_for_a_test_suite() -> None:
    with pytest.raises(AssertionError, match="VIOLATED"):
        audit(lambda data: data, epsilon=1e-6).verdict.require()


def test_an_address_opens_the_same_oracle() -> None:
    by_address = audit("reference:laplace", draws=10)
    assert by_address.findings == audit(Laplace(), draws=10).findings
    assert isinstance(as_oracle("reference:identity"), harness.Oracle)


def test_control_characters_in_the_name_of_an_oracle_do_not_reach_the_terminal(tmp_path: Path) -> None:
    class Named:
        card = harness.Card("\x1b[2J\ud800\nHOLDS", randomized=False)

        def answer(self, ask: harness.Ask) -> list[harness.Table]:
            return [ask.table]

        def close(self) -> None: ...

    report = audit(Named(), out=tmp_path)
    assert "\\x1b[2J\\ud800\\nHOLDS" in report.summary()
    assert json.loads(report.to_json())["oracle"]["card"]["name"] == Named.card.name


def test_a_report_is_rendered_in_every_format_of_the_registry(report: harness.Report) -> None:
    assert report.render("text") == report.summary() + "\n"
    assert report.render("json") == report.to_json()
    assert all(report.render(name) for name in RENDERERS if name != "certificate")
    with pytest.raises(harness.InputError, match=r"there is no certificate.json beside the report"):
        report.render("certificate")  # of an audit without a folder
    with pytest.raises(harness.InputError, match="format 'jsn' is not known; did you mean 'json'"):
        report.render("jsn")


def test_a_new_renderer_is_one_entry_and_reaches_the_command(
    report: harness.Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(RENDERERS, "short", Renderer("the outcome", lambda plain, _: str(plain["verdict"]["outcome"])))
    (tmp_path / "report.json").write_text(report.to_json())
    assert main(["report", str(tmp_path), "--format", "short"]) == 0
    assert capsys.readouterr().out == report.verdict.outcome.value
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.txt")]) == 0
    assert (tmp_path / "page.txt").read_text() == report.summary() + "\n"
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "no" / "page")]) == 2
    assert "cannot be written" in capsys.readouterr().err
