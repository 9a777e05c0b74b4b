"""The [evidence] section of audit.toml: what it may say, and what each mistake is told."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.auditing.config import load
from harness.cli import main
from tests.render.reports import identity
from tests.small_audits import audit

FILE = """
[data]
path = "people.csv"
sensitive = "ill"
[data.quasi]
age = "number"
[oracle]
address = "reference:mondrian"
[oracle.options]
k = 2
[claim]
epsilon = 0.1
"""
ALL = """
[evidence]
auditor = "An Authority, 1 Street"
authorised_by = "A. Person"
place = "the auditor's office"
client = "A Hospital"
recipient = "its data protection officer"
release_model = "controlled"
operated_by = "the vendor"
received = 2026-03-01
review_by = 2027-03-01
auxiliary_data = ["voters' register", "a phone book"]
deviations = "none"
previous = "HT-0123456789abcdef0123"
[[evidence.accepted]]
finding = "line 7 breaks the claim"
reason = "the person agreed"
until = 2026-12-31
by = "the controller"
"""


def statements(folder: Path, section: str) -> dict[str, Any]:
    (folder / "people.csv").write_text(
        "age,ill\n" + "\n".join(f"{20 + row},{'yes' if row % 2 else 'no'}" for row in range(9))
    )
    (folder / "audit.toml").write_text(FILE + section)
    return load(folder / "audit.toml").statements


def test_all_of_it_is_optional(tmp_path: Path) -> None:
    assert statements(tmp_path, "") == {}


def test_everything_is_kept_as_plain_data(tmp_path: Path) -> None:
    assert statements(tmp_path, ALL) == {
        "auditor": "An Authority, 1 Street",
        "authorised_by": "A. Person",
        "place": "the auditor's office",
        "client": "A Hospital",
        "recipient": "its data protection officer",
        "release_model": "controlled",
        "operated_by": "the vendor",
        "received": "2026-03-01",
        "review_by": "2027-03-01",
        "auxiliary_data": ["voters' register", "a phone book"],
        "deviations": ["none"],
        "previous": "HT-0123456789abcdef0123",
        "accepted": [
            {
                "finding": "line 7 breaks the claim",
                "reason": "the person agreed",
                "until": "2026-12-31",
                "by": "the controller",
            }
        ],
    }


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ("[evidence]\nauditer = 'x'", r"\[evidence\] unknown key 'auditer'; did you mean 'auditor'\?"),
        ("[evidense]\nauditor = 'x'", r"unknown section \[evidense\]; did you mean 'evidence'\?"),
        ("[evidence]\nauditor = 7", r"auditor must be a text, not 7"),
        ("[evidence]\nauditor = ' '", "auditor is an empty text; leave it out"),
        (f"[evidence]\nauditor = '{'x' * 501}'", "auditor has 501 letters; at most 500"),
        ("[evidence]\nreceived = '2026-03-01'", "received must be a date such as 2026-03-31, without quotes"),
        ("[evidence]\nreceived = 2026-03-01T10:00:00", "received must be a date .*, not a time of a day"),
        ("[evidence]\nrelease_model = 'publik'", "release_model 'publik' is not known; did you mean 'public'"),
        (f"[evidence]\ndeviations = {['x'] * 51}", "deviations has 51 entries; at most 50"),
        ("[evidence]\naccepted = 'all'", "accepted must be a list of tables"),
        ("[[evidence.accepted]]\nfinding = 'x'\nuntil = 2026-01-01", r"\[\[evidence.accepted\]\] reason is missing"),
        ("[[evidence.accepted]]\nfinding = 'x'\nreason = 'y'", "until is missing; it must be a date"),
        ("[[evidence.accepted]]\nreson = 'x'", r"\[\[evidence.accepted\]\] unknown key 'reson'; did you mean 'reason'"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(tmp_path: Path, section: str, why: str) -> None:
    with pytest.raises(harness.InputError, match=rf"audit.toml: .*{why}"):
        statements(tmp_path, section)


def test_statements_are_no_part_of_what_an_audit_is(tmp_path: Path) -> None:
    """An auditor may correct an address without measuring again."""
    statements(tmp_path, "")
    before = load(tmp_path / "audit.toml").plan.digest
    statements(tmp_path, ALL)
    assert load(tmp_path / "audit.toml").plan.digest == before


def test_running_a_finished_audit_again_issues_another_test_report_only_if_it_says_something_else(
    tmp_path: Path,
) -> None:
    def certificate(section: str) -> dict[str, Any]:
        statements(tmp_path, section)
        assert main(["run", str(tmp_path / "audit.toml"), "--out", str(tmp_path / "audit"), "--quiet"]) in (0, 1)
        content: dict[str, Any] = json.loads((tmp_path / "audit" / "certificate.json").read_text())
        return content

    first = certificate("[evidence]\nauditor = 'One'")
    assert certificate("[evidence]\nauditor = 'One'") == first
    second = certificate("[evidence]\nauditor = 'Two'")
    assert second["parties"]["auditor"] == "Two"
    assert certificate("[evidence]\nauditor = 'Two'") == second


def test_in_python_evidence_is_a_keyword_with_the_same_keys_and_checks(tmp_path: Path) -> None:
    stated = {"auditor": "An Authority", "received": date(2026, 3, 1), "auxiliary_data": "a register"}
    audit(identity, out=tmp_path / "audit", evidence=stated)
    certificate = json.loads((tmp_path / "audit" / "certificate.json").read_text())
    assert certificate["parties"]["auditor"] == "An Authority"
    assert certificate["dates"]["received"] == "2026-03-01"
    assert certificate["adversaries"]["auxiliary_data"] == ["a register"]


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        ({"auditer": "x"}, r"\[evidence\] unknown key 'auditer'; did you mean 'auditor'\?"),
        ({"received": "2026-03-01"}, "received must be a date"),
        ({"accepted": [{"finding": "x", "reson": "y"}]}, r"unknown key 'reson'; did you mean 'reason'"),
        ("An Authority", r"evidence must be a section \[evidence\]"),
    ],
)
def test_in_python_a_mistake_is_told_as_in_the_file(tmp_path: Path, evidence: Any, why: str) -> None:
    with pytest.raises(harness.InputError, match=why):
        audit(identity, out=tmp_path / "audit", evidence=evidence)


def test_evidence_without_a_folder_is_refused() -> None:
    with pytest.raises(harness.InputError, match="give out= as well"):
        audit(identity, evidence={"auditor": "An Authority"})
