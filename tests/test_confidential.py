"""Nothing that an audit writes tells a person's sensitive value, or a vendor's text, unless it was asked to."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.auditing.confidential import OF_A_PERSON, withheld
from harness.cli import main
from harness.render import RENDERERS
from oracles.recording import Recording
from oracles.reference import Mondrian
from tests.anonymizers import chunks
from tests.small_audits import audit, table

SAYS = "Anna Smith has an ulcer"


class Talkative:
    """An anonymizer whose releases say something, and add a column with a telling name."""

    card = harness.Card("talkative", randomized=False)

    def answer(self, ask: harness.Ask) -> Iterator[harness.Table]:
        frame = chunks(ask.table.to_frame()).assign(**{SAYS: 1})
        table = harness.Table.from_frame(frame)
        yield harness.Table(table.names, table.columns, notes=(SAYS,))

    def close(self) -> None:
        """Nothing is open."""

    def spec(self) -> dict[str, Any]:
        return {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("confidential") / "audit"
    audit(Talkative(), out=folder)
    return folder


def shareable(folder: Path) -> dict[str, str]:
    """All that may be shared: files, and every format that is printed from them."""
    report = harness.Report.load(folder / "report.json")
    files = {
        name: (folder / name).read_text() for name in ("report.json", "summary.txt", "certificate.json", "report.html")
    }
    return files | {f"--format {name}": report.render(name) for name in RENDERERS}


def test_no_file_or_format_says_what_the_vendor_wrote(folder: Path) -> None:
    assert SAYS in (folder / "journal.jsonl").read_text(), "it was said"
    for name, content in shareable(folder).items():
        assert "Anna" not in content, name
    assert "says something about its releases" in (folder / "report.json").read_text()


def test_no_finding_tells_a_prediction(folder: Path) -> None:
    """Vectors next to a person's row tell her value, labelled or not; so does that her likeliest value changed."""
    for finding in json.loads((folder / "report.json").read_text())["findings"]:
        assert [finding[name] for name in OF_A_PERSON] == [None] * 4
    measured = audit(Talkative()).findings[0]
    assert measured.present is not None, "in Python, of an audit made here, it is at hand"
    numbers = {repr(number) for number in (*measured.present, *(measured.absent or ())) if 0 < number < 1}
    for name, content in shareable(folder).items():
        assert not [number for number in numbers if number in content], name


def test_the_value_that_moved_most_is_not_named_although_it_is_the_true_one() -> None:
    """Why: for most of the worst records the value whose probability rises with her record is her own."""
    data = table(40)
    report = audit(lambda released: released, data)
    worst = sorted(report.findings, key=lambda finding: -finding.distance)[:10]
    domain = list(dict.fromkeys(data["ill"]))
    rises = [domain[int(np.argmax(np.subtract(one.present or (), one.absent or ())))] for one in worst]
    assert sum(data["ill"][one.person] == value for one, value in zip(worst, rises, strict=True)) == 10
    page = report.summary() + report.render("details")
    assert not any(value in page for value in domain)


def test_the_order_of_the_values_says_nothing_about_the_first_record() -> None:
    """The domain is in order of first appearance, so that its first value would be that of the first record."""
    orders = set()
    for first in ("flu", "ulcer", "none"):
        data = table(12).assign(ill=["flu", "ulcer", "none"] * 4)
        data.loc[0, "ill"] = first
        orders.add(tuple(audit(chunks, data, records=1).plain["plan"]["secrets"][0]["values"]))
    assert orders == {("flu", "none", "ulcer")}


def test_the_digest_of_the_plan_does_not_tell_that_order_either() -> None:
    report = audit(chunks)
    assert report.complete is not None
    assert report.complete["plan_digest"] == report.plain["plan_digest"]
    shuffled = json.loads(json.dumps(report.complete))
    shuffled["plan"]["secrets"][0]["values"].reverse()
    assert withheld(shuffled)["plan"] == report.plain["plan"]


def test_with_reveal_all_of_it_is_shown_and_proven(tmp_path: Path) -> None:
    audit(Talkative(), out=tmp_path, reveal=True)
    report = harness.Report.load(tmp_path / "report.json")
    assert report.plain["revealed"] is True
    assert report.findings[0].present is not None
    assert any(SAYS in note for note in report.notes)
    assert SAYS in (tmp_path / "report.html").read_text()
    assert "'ill': " in (tmp_path / "summary.txt").read_text()
    assert "Anna" not in (tmp_path / "certificate.json").read_text()
    assert main(["verify", str(tmp_path)]) == 0
    assert SAYS not in report.render("html"), "a copy to share reveals nothing, whatever the run revealed"


def test_the_report_command_reveals_from_the_journal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder), "--format", "details"]) == 0
    assert "Anna" not in capsys.readouterr().out
    assert main(["report", str(folder), "--format", "details", "--reveal"]) == 0
    assert SAYS in capsys.readouterr().out


def test_withholding_twice_is_withholding_once() -> None:
    report = audit(Talkative())
    assert withheld(report.plain) == report.plain


RANDOM = {"model": {"name": "sklearn:sklearn.ensemble.RandomForestClassifier", "n_estimators": 2}}


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_every_file_of_an_audit_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        audit(Mondrian(k=2), out=tmp_path / "new" / "audit", adversaries=[{}, RANDOM], draws=2, records=2)
        audit(Recording(Mondrian(k=2), tmp_path / "answers.jsonl"))
    finally:
        os.umask(before)
    names = {path.name for path in (tmp_path / "new" / "audit").iterdir()}
    assert names >= {
        "journal.jsonl", "report.json", "summary.txt", "run.json", "certificate.json", "report.html",
        "present-look-1-0.npz", "predictions.bin",
    }  # fmt: skip
    for name in names:
        assert mode(tmp_path / "new" / "audit" / name) == 0o600, name
    assert mode(tmp_path / "new" / "audit") == 0o700
    assert mode(tmp_path / "answers.jsonl") == 0o600


def test_a_folder_that_is_there_stays_as_open_as_its_owner_made_it_and_old_files_are_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("summary.txt", "summary.txt.partial"):  # a report.json without a journal is refused
        (tmp_path / name).write_text("of before")
        (tmp_path / name).chmod(0o644)
    audit(chunks, table(12), out=tmp_path, records=3)
    assert mode(tmp_path) == 0o755
    assert mode(tmp_path / "summary.txt") == 0o600


def test_a_log_of_the_anonymizer_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noisy_vendor.py").write_text("def f(df):\n    print('raw rows')\n    return df\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    people = pd.DataFrame({"age": range(6), "ill": list("ababab")})
    options: dict[str, Any] = {"quasi": {"age": "number"}, "sensitive": "ill", "epsilon": 0.1}
    harness.audit("python:noisy_vendor:f", people, out=tmp_path / "audit", **options)
    assert "raw rows" in (tmp_path / "audit" / "oracle.log").read_text()
    assert mode(tmp_path / "audit" / "oracle.log") == 0o600
    assert mode(tmp_path / "audit") == 0o700
