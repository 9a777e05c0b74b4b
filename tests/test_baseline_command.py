"""`harness baseline` as a vendor uses it: save, compare, accept; and what a job of GitHub Actions shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.render.check_report import FORMATS
from harness.testing import check
from harness.vocabulary.schema import Column, Schema
from tests.small_audits import audit

PAIR = "bernoulli-on-tf-tf/ill"
LARGEST = f"largest-distance/{PAIR}"


def coarse(frame: Any) -> Any:
    return frame.assign(age="*", sex="*")


def identity(frame: Any) -> Any:
    return frame


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Finished audits of an anonymizer and of a leaking one, in folders."""
    place = tmp_path_factory.mktemp("audits")
    for name, f in (("coarse", coarse), ("identity", identity)):
        audit(f, epsilon=0.6, out=place / name)
    return {name: str(place / name) for name in ("coarse", "identity")}


@pytest.fixture
def file(tmp_path: Path, folders: dict[str, str]) -> str:
    """A baseline of the anonymizer, with persons; its key is beside it."""
    path = str(tmp_path / "baseline.json")
    assert main(["baseline", "save", folders["coarse"], "-o", path, "--key", key_of(path)]) == 0
    return path


def key_of(file: str) -> str:
    return str(Path(file).with_suffix(".key"))


def compare(folder: str, file: str, *words: str) -> int:
    return main(["baseline", "compare", folder, file, "--key", key_of(file), *words])


def accept(folder: str, file: str, name: str, until: str = "2099-01-31") -> int:
    given = ["--reason", "customers need it", "--until", until]
    return main(["baseline", "accept", folder, file, name, "--key", key_of(file), *given])


def test_the_same_audit_is_not_worse(file: str, folders: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(folders["coarse"], file) == 0
    assert capsys.readouterr().out.startswith("NOT WORSE than the baseline\n")


def test_a_leak_is_worse_and_every_finding_has_its_numbers(
    file: str, folders: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(folders["identity"], file) == 1
    out = capsys.readouterr().out
    assert out.startswith("WORSE than the baseline\nFAILS: ")
    assert f"  {LARGEST}: " in out
    assert re.search(r"  person/[0-9a-f]{16}/\S+: .*; this person is row label \d+ \(worse than the baseline\)", out)
    assert "commit " in out
    assert "chance" not in out  # nothing is random here


def test_a_person_cannot_be_accepted_without_the_key_and_the_message_says_so(
    file: str, folders: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_BASELINE_KEY", raising=False)
    given = ["--reason", "known", "--until", "2099-01-31"]
    assert main(["baseline", "accept", folders["identity"], file, "person/*", *given]) == 2
    told = capsys.readouterr().err
    assert "persons cannot be compared without the key of their digests: give --key FILE" in told
    assert main(["baseline", "accept", folders["identity"], file, "persn/*", *given]) == 2
    assert "there is no finding 'persn/*' to accept" in capsys.readouterr().err


def test_accepted_findings_pass_and_others_still_fail(
    file: str, folders: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert accept(folders["identity"], file, LARGEST) == 0
    assert compare(folders["identity"], file) == 1
    assert accept(folders["identity"], file, "*") == 0
    capsys.readouterr()
    assert compare(folders["identity"], file) == 0
    assert "accepted until 2099-01-31: customers need it" in capsys.readouterr().out


def test_an_expired_acceptance_fails(file: str, folders: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert accept(folders["identity"], file, "*") == 0
    path = Path(file)
    path.write_text(path.read_text().replace("2099-01-31", "2020-01-31"))
    assert compare(folders["identity"], file) == 1
    assert "accepted only until 2020-01-31, which has passed" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "until", "message"), [
    ("largest-distanse/bernoulli-on-tf-tf/ill", "2099-01-31", f"did you mean '{LARGEST}'?"),
    (LARGEST, "soon", "--until 'soon': expected a date such as 2027-01-31"),
    (LARGEST, "2020-01-31", "that day has passed"),
])  # fmt: skip
def test_what_cannot_be_accepted_is_told_and_changes_nothing(
    file: str, folders: dict[str, str], name: str, until: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(file).read_text()
    assert accept(folders["identity"], file, name, until) == 2
    assert message in capsys.readouterr().err
    assert Path(file).read_text() == before


def test_without_its_key_only_numbers_over_all_persons_are_compared(
    file: str, folders: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["baseline", "compare", folders["identity"], file]) == 1
    out = capsys.readouterr().out
    assert "persons were not compared" in out
    assert "person/" not in out


def test_another_key_is_refused(
    file: str, folders: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HARNESS_BASELINE_KEY", "another key than the one of the file")
    assert main(["baseline", "compare", folders["coarse"], file]) == 2
    assert "error E240: the key is not the one" in capsys.readouterr().err


def test_saving_without_a_key_says_what_is_missing(
    tmp_path: Path, folders: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.json"
    assert main(["baseline", "save", folders["coarse"], "-o", str(path)]) == 0
    assert "without a key the baseline holds no persons" in capsys.readouterr().err
    assert json.loads(path.read_text())["key_check"] is None


def test_a_file_holds_several_audits_by_name(file: str, folders: dict[str, str]) -> None:
    save = ["baseline", "save", folders["identity"], "-o", file, "--key", key_of(file)]
    assert main([*save, "--name", "raw", "--tolerance", "0.01"]) == 0
    content = json.loads(Path(file).read_text())
    assert list(content["audits"]) == ["audit", "raw"]
    assert content["tolerance"] == 0.01
    assert compare(folders["identity"], file, "--name", "raw") == 0
    assert compare(folders["identity"], file, "--name", "rew") == 2


LAW = "unique-rows-are-not-copied"


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files check.json of an anonymizer and of a leaking one, as `harness check` writes them."""
    place = tmp_path_factory.mktemp("checks")
    schema = Schema((Column("age", "number", min=0, max=9), Column("sex", values=("F", "M"))), [SICK])
    for name, f in (("coarse", coarse), ("identity", identity)):
        report = check(f, schema, laws=[LAW, "rows-are-accounted-for"], budget_calls=30, max_time=600)
        (place / f"{name}.json").write_text(FORMATS["json"].render(report.plain()))
    return {name: str(place / f"{name}.json") for name in ("coarse", "identity")}


SICK = Column("ill", values=("flu", "none"))


def test_laws_of_a_check_are_compared_beside_an_audit(
    file: str, folders: dict[str, str], checks: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(folders["coarse"], file, "--check", checks["coarse"]) == 0
    assert compare(folders["coarse"], file, "--check", checks["identity"]) == 1
    assert f"law/{LAW}: not tested → failed (worse than the baseline)" in capsys.readouterr().out
    Path(file).with_name("check.json").write_text("{}")
    assert compare(folders["coarse"], file, "--check", str(Path(file).with_name("check.json"))) == 2


def test_a_check_has_a_baseline_of_its_own(
    tmp_path: Path, checks: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "laws.json")
    assert main(["baseline", "save", checks["coarse"], "-o", file, "--name", "laws"]) == 0
    saved = json.loads(Path(file).read_text())["checks"]["laws"]
    assert saved["laws"] == {LAW: "passed", "rows-are-accounted-for": "passed"}
    assert main(["baseline", "compare", checks["coarse"], file, "--name", "laws"]) == 0
    assert main(["baseline", "compare", checks["identity"], file, "--name", "laws"]) == 1
    assert f"law/{LAW}: passed → failed (worse than the baseline)" in capsys.readouterr().out
    words = ["--name", "laws", "--reason", "known", "--until", "2099-01-31"]
    assert main(["baseline", "accept", checks["identity"], file, f"law/{LAW}", *words]) == 0
    assert main(["baseline", "compare", checks["identity"], file, "--name", "laws"]) == 0
    assert main(["baseline", "compare", checks["identity"], file, "--name", "lows"]) == 2
    assert "did you mean 'laws'?" in capsys.readouterr().err


def test_a_check_with_other_claims_is_not_compared(tmp_path: Path, checks: dict[str, str]) -> None:
    file, other = str(tmp_path / "laws.json"), tmp_path / "other.json"
    assert main(["baseline", "save", checks["coarse"], "-o", file]) == 0
    other.write_text(json.dumps({**json.loads(Path(checks["coarse"]).read_text()), "claims": {"k": 5}}))
    assert main(["baseline", "compare", str(other), file]) == 2


def test_two_checks_are_compared_side_by_side(checks: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", checks["coarse"], checks["identity"]]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("WORSE: ")
    assert f"WORSE        {LAW}: passed, then failed" in printed
    assert main(["compare", checks["identity"], checks["coarse"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["overall"] == "better"


@pytest.mark.parametrize("words", [
    ("{file}", "{folder}"), ("{folder}", "{folder}"), ("{folder}", "nothing.json"), ("nothing", "{file}"),
])  # fmt: skip
def test_arguments_that_are_mixed_up_are_told(
    file: str, folders: dict[str, str], words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word.format(file=file, folder=folders["coarse"]) for word in words]
    assert main(["baseline", "compare", *given]) == 2
    error = capsys.readouterr().err
    assert error.startswith("harness: error E2")
    assert "Traceback" not in error


def test_a_job_of_github_gets_annotations_and_a_summary(
    tmp_path: Path, file: str, folders: dict[str, str], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert compare(folders["identity"], file) == 1
    shown = capsys.readouterr()
    assert "::" not in shown.out
    lines = [line for line in shown.err.splitlines() if line.startswith("::error ")]
    assert any(LARGEST in line for line in lines)
    assert "❌ failed" in summary.read_text()
    assert main(["baseline", "compare", "nothing", file]) == 2
    assert "::error title=harness%3A error E216::" in capsys.readouterr().err
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "folder"))
    assert compare(folders["coarse"], file) == 0
    assert "the summary of the step cannot be written" in capsys.readouterr().err


def test_elsewhere_nothing_of_that_is_printed(
    file: str, folders: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    compare(folders["identity"], file)
    shown = capsys.readouterr()
    assert "::" not in shown.out + shown.err
