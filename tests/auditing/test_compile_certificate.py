"""The test report: everything that ISO/IEC 17025 asks for is on it, its numbers are true, and it names nobody."""

import base64
import html
import json
import math
import re
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import harness
from harness.api import run_audit
from harness.auditing.config import load
from harness.auditing.journal import linked_entries
from harness.auditing.keyed_digests import KEY
from harness.render.certificate import sections, text
from oracles import as_oracle
from oracles.reference import Laplace
from tests.anonymizers import chunks, jittered
from tests.auditing.test_statements import ALL, FILE
from tests.small_audits import audit, table

SCHEMA = json.loads((Path(harness.__file__).parent / "certificate.schema.json").read_text(encoding="utf-8"))
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&quot;'; DROP"


def certificate_of(folder: Path) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads((folder / "certificate.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(plain)
    return plain


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit whose audit.toml states everything."""
    folder = tmp_path_factory.mktemp("stated")
    rows = "\n".join(f"{20 + row},{'yes' if row % 3 else 'no'}" for row in range(12))
    (folder / "people.csv").write_text(f"age,ill\n{rows}\n")
    (folder / "audit.toml").write_text(FILE + ALL)
    file = load(folder / "audit.toml")
    oracle = as_oracle(lambda data: data.assign(age="*"))
    run_audit(file.plan, oracle, out=folder / "audit", statements=file.statements)
    return folder / "audit"


# Point by point: ISO/IEC 17025 7.8.2.1, 7.8.6.1, and what an audit of an anonymizer adds; each as path and test.
CHECKLIST: dict[str, tuple[str, Any]] = {
    "report id": ("id", r"^HT-[0-9a-f]{20}$"),
    "auditor": ("parties.auditor", "An Authority, 1 Street"),
    "who authorises": ("parties.authorised_by", "A. Person"),
    "place": ("parties.place", "the auditor's office"),
    "client": ("parties.client", "A Hospital"),
    "recipient": ("parties.recipient", "its data protection officer"),
    "release model": ("item.release_model", "controlled"),
    "item: oracle name": ("item.name", "."),
    "item: version": ("item.version", ""),
    "item: address fingerprint": ("item.address_fingerprint", None),
    "item: identity fingerprint": ("item.identity_fingerprint", "^[0-9a-f]{64}$"),
    "item: card": ("item.card.randomized", False),
    "item: black box": ("item.access", "black box"),
    "operated by": ("item.operated_by", "the vendor"),
    "blind or by index": ("item.asked", "^blind|^by index"),
    "data digest": ("data.digest", "^[0-9a-f]{64}$"),
    "rows": ("data.rows", 12),
    "schema": ("data.quasi_identifiers", [{"name": "age", "kind": "number"}]),
    "sensitive": ("data.sensitive", [{"name": "ill", "values": 2}]),
    "unit of privacy": ("data.unit", "one record is one person"),
    "date received": ("dates.received", "2026-03-01"),
    "date run": ("dates.started", r"^20\d\d-"),
    "date issued": ("dates.issued", r"^20\d\d-"),
    "review by": ("dates.review_by", "2027-03-01"),
    "method": ("method.name", "Differential Inference Testing"),
    "method's version": ("method.software", r"^anonymizer-harness \d"),
    "deviations": ("method.deviations", ["none"]),
    "claim": ("claim.epsilon", 0.1),
    "decision rule": ("decision.rule.0", "^VIOLATED if"),
    "risk of false acceptance": ("decision.false_acceptance.at_most", 0.0),
    "risk of false rejection": ("decision.false_rejection.at_most", 0.0),
    "error level": ("claim.confidence", 0.95),
    "multiplicity": ("decision.multiplicity", "12 statements"),
    "adversaries: known columns": ("adversaries.known_columns", ["age"]),
    "adversaries: auxiliary data": ("adversaries.auxiliary_data", ["voters' register", "a phone book"]),
    "adversaries: models": ("adversaries.tried.0.model.class", "Bernoulli"),
    "adversaries: priors": ("adversaries.tried.0.prior.class", "FittedPrior"),
    "sampling plan, N": ("sampling.examined", 12),
    "sampling plan, of M": ("sampling.population", 12),
    "sampling plan, how": ("sampling.how", "everybody"),
    "draws": ("draws.looks.0.draws", 1),
    "seeds": ("draws.seed", 0),
    "results: bounds": ("results.0.at_most", float),
    "results: maximum": ("results.0.largest", float),
    "results: average": ("results.0.mean", float),
    "witness by digest": ("conformity.witness", "^[0-9a-f]{64}$"),
    "probes": ("probes.repeated.different", 0),
    "attempts and retries": ("attempts.calls", None),
    "failures": ("attempts.failures", 0),
    "exclusions": ("attempts.excluded_rows", 0),
    "baselines": ("baselines.known.0.release", "raw|suppressed"),
    "criteria: singling out": ("criteria.singling_out", "not assessed"),
    "criteria: linkability": ("criteria.linkability", "not assessed"),
    "criteria: inference": ("criteria.inference", "^assessed: "),
    "smallest ε": ("detectable.by_secret.ill.holds_from", 0.0),
    "limits: item": ("limits.0", "relates only to the item tested"),
    "limits: no proof": ("limits.1", "is not proof"),
    "limits: evasive vendor": ("limits.2", "An evasive vendor"),
    "digest of the journal": ("digests.journal_head", "^[0-9a-f]{64}$"),
    "digest of the plan": ("digests.plan", "^[0-9a-f]{64}$"),
    "digest of the report": ("digests.report", "^[0-9a-f]{64}$"),
    "software": ("environment.anonymizer-harness", r"^\d"),
    "environment": ("environment.python", r"^3\."),
    "how to verify": ("verify.1", "harness verify"),
    "accepted: finding": ("accepted.0.finding", "line 7"),
    "accepted: reason": ("accepted.0.reason", "agreed"),
    "accepted: expiry": ("accepted.0.until", "2026-12-31"),
    "previous report": ("previous", "HT-0123456789abcdef0123"),
}


@pytest.mark.parametrize("point", list(CHECKLIST))
def test_every_point_is_on_the_test_report(stated: Path, point: str) -> None:
    way, expected = CHECKLIST[point]
    found: Any = certificate_of(stated)
    for step in way.split("."):
        found = found[int(step)] if isinstance(found, list) else found[step]
    if isinstance(expected, str) and expected:
        assert re.search(expected, found), found
    elif expected is float:
        assert isinstance(found, float)
    else:
        assert found == expected


def test_the_print_form_shows_every_point(stated: Path) -> None:
    shown = " ".join(text(certificate_of(stated)).split())
    for words in (
        "An Authority, 1 Street", "A. Person", "A Hospital", "data protection officer", "controlled", "the vendor",
        "2026-03-01", "2027-03-01", "a phone book", "HT-0123456789abcdef0123", "line 7 breaks the claim",
        "the person agreed", "(until 2026-12-31, by the controller)", "false acceptance", "false rejection",
        "singling out not assessed", "linkability not assessed", "relates only to the item tested", "An evasive vendor",
        "journal, last link", "harness verify FOLDER --key PUBLIC.pem", "age (number)", "ill (2 values)",
    ):  # fmt: skip
        assert words in shown, words
    assert [section.title for section in sections(certificate_of(stated))][:2] == [
        "Conformity",
        "Decision rule and risks",
    ]


def test_the_page_ends_with_the_test_report_and_prints_its_id_on_every_page(stated: Path) -> None:
    certificate, page = certificate_of(stated), (stated / "report.html").read_text()
    shown = page.partition('<section id="certificate"')[2]
    for section in sections(certificate):
        assert f"<h3>{section.title}</h3>" in shown
    for words in ("An Authority, 1 Street", "A Hospital", "line 7 breaks the claim", certificate["digests"]["plan"]):
        assert words in shown
    assert f'@page {{ @bottom-left {{ content: "Test report {certificate["id"]}";' in page
    assert "style-src 'sha256-" in html.unescape(page)


def reports(root: Path) -> dict[str, Path]:
    """Folders of audits of every kind."""
    people = table(20)
    kinds: dict[str, dict[str, Any]] = {
        "violated": {"f": chunks},
        "holds": {"f": lambda data: data.assign(age="*", sex="*")},
        "randomized": {"f": jittered, "draws": 10},
        "delta": {"f": jittered, "draws": 10, "delta": 0.05},
        "sample": {"f": lambda data: data.assign(age="*", sex="*"), "records": 8},
        "random sample": {"f": jittered, "draws": 10, "records": 8},
        "adaptive": {"f": Laplace(1.0), "draws": 400, "adaptive": True, "epsilon": 1.0},
        "persons": {"f": chunks, "data": people.assign(pid=np.arange(20) // 2), "person": "pid"},
        "private": {"f": Laplace(5.0), "draws": 10, "privacy": {"epsilon": 0.01}},
    }
    for name, options in kinds.items():
        f, data = options.pop("f"), options.pop("data", people)
        audit(f, data, out=root / name, **options)
    return {name: root / name for name in kinds}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return reports(tmp_path_factory.mktemp("certificates"))


def test_risks_are_those_of_the_plan(folders: dict[str, Path]) -> None:
    """Exact: none. Draws of everybody: each verdict 5 %. A sample: HOLDS is never said, and limits have half of it."""
    expected = {
        "violated": (0.0, 0.0), "holds": (0.0, 0.0), "persons": (0.0, 0.0), "randomized": (0.05, 0.05),
        "delta": (0.05, 0.05), "adaptive": (0.05, 0.05), "sample": (0.0, 0.0), "random sample": (0.0, 0.025),
    }  # fmt: skip
    for name, risks in expected.items():
        decision = certificate_of(folders[name])["decision"]
        found = tuple(decision[kind]["at_most"] for kind in ("false_acceptance", "false_rejection"))
        assert found == pytest.approx(risks), name
    levels = json.loads((folders["random sample"] / "report.json").read_text())["selection"]["looks"][0]
    assert 8 * levels["alpha"] == pytest.approx(0.025), "what all limits of the eight spend together"


def test_equal_answers_bound_how_often_they_may_differ(folders: dict[str, Path]) -> None:
    """r equal answers have chance (1 - p)^r, which is the error level at the bound."""
    decision = certificate_of(folders["violated"])["decision"]
    repeated = 4 + certificate_of(folders["violated"])["probes"]["repeated"]["repeated"]
    assert (1 - decision["different_answers_at_most"]) ** repeated == pytest.approx(0.05, rel=1e-3)
    assert certificate_of(folders["randomized"])["decision"]["different_answers_at_most"] is None


def test_what_could_have_been_detected_is_said_for_every_kind(folders: dict[str, Path]) -> None:
    exact, drawn, tail, sample = (
        certificate_of(folders[name])["detectable"] for name in ("violated", "randomized", "delta", "sample")
    )
    assert exact["by_secret"]["ill"]["holds_from"] == 0
    assert drawn["by_secret"]["ill"]["holds_from"] > 0.1, "30 draws cannot show that a claim of 0.1 holds"
    assert tail["by_secret"]["ill"]["of"] == "probability"
    assert sample["share_of_persons"] == 6 / 20
    assert math.comb(14, 8) / math.comb(20, 8) <= 0.05 < math.comb(15, 8) / math.comb(20, 8), "eight miss all of six"
    assert exact["share_of_persons"] is None


def test_no_test_report_names_a_person_or_a_value(folders: dict[str, Path]) -> None:
    for name, folder in folders.items():
        certificate = certificate_of(folder)
        certificate["verify"] = certificate["limits"] = []
        shown = json.dumps(certificate) + text(certificate_of(folder))
        assert "row label" not in shown, name
        assert not re.search(r"person \d|\bflu\b|ulcer|\"none\"", shown), name


def test_no_test_report_concludes_what_is_not_for_it_to_say(folders: dict[str, Path]) -> None:
    for name, folder in folders.items():
        shown = json.dumps(certificate_of(folder)) + text(certificate_of(folder))
        assert not re.search(r"\b(anonymous|anonymised|anonymized|compliant|compliance)\b", shown, re.I), name


def test_the_witness_is_a_line_of_the_journal(folders: dict[str, Path]) -> None:
    for name in ("violated", "adaptive", "persons"):
        certificate, report = certificate_of(folders[name]), harness.Report.load(folders[name] / "report.json")
        lines = dict(linked_entries(folders[name] / "journal.jsonl"))
        entry = lines[certificate["conformity"]["witness"]]["examined"]
        selected = [line["selected"] for line in lines.values() if "selected" in line][-1]
        group = next((one for one in selected["duplicates"] if report.verdict.witness in one), [report.verdict.witness])
        assert entry["person"] == group[0]


def test_digests_and_id_are_those_of_the_files(folders: dict[str, Path]) -> None:
    import hashlib

    folder = folders["violated"]
    certificate, report = certificate_of(folder), (folder / "report.json").read_bytes()
    digests = certificate["digests"]
    assert digests["report"] == hashlib.sha256(report).hexdigest()
    link = json.loads((folder / "journal.jsonl").read_text().splitlines()[-1])[1]
    assert digests["journal_head"] == base64.b64decode(link + "=").hex()
    assert digests["plan"] == json.loads(report)["plan_digest"]
    parts = [digests["journal_head"], digests["plan"], digests["report"], certificate["dates"]["issued"]]
    assert certificate["id"] == f"HT-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]}"


def test_reports_stay_equal_byte_for_byte_and_test_reports_differ(tmp_path: Path) -> None:
    audit(chunks, table(12), records=4, out=tmp_path / "one")
    (tmp_path / "two").mkdir()
    shutil.copy(tmp_path / "one" / KEY, tmp_path / "two")  # the digests of texts in the anonymizer depend on it
    audit(chunks, table(12), records=4, out=tmp_path / "two")
    assert (tmp_path / "one" / "report.json").read_bytes() == (tmp_path / "two" / "report.json").read_bytes()
    assert certificate_of(tmp_path / "one")["digests"] == certificate_of(tmp_path / "two")["digests"]
    run = json.loads((tmp_path / "one" / "run.json").read_text())
    dates = certificate_of(tmp_path / "one")["dates"]
    assert (dates["started"], dates["seconds"]) == (run["started"], run["seconds"])
    assert datetime.fromisoformat(dates["started"]) <= datetime.fromisoformat(dates["issued"])


def test_hostile_strings_are_shown_as_text(tmp_path: Path) -> None:
    """In what the auditor states, in the card, in columns and in the secret."""

    class Vendor:
        card = harness.Card(HOSTILE + "x" * 10_000, version=HOSTILE, randomized=False)

        def answer(self, ask: harness.Ask) -> list[harness.Table]:
            return [ask.table]

        def close(self) -> None:
            """Nothing is open."""

        def spec(self) -> dict[str, Any]:
            return {}

    data = pd.DataFrame({HOSTILE: range(8), "s" + HOSTILE: list("abababab")})
    schema = harness.Schema({HOSTILE: "number"}, "s" + HOSTILE)
    plan = harness.Plan(harness.Dataset.from_frame(data, schema), harness.Claim(0.1))
    statements = {"auditor": HOSTILE, "deviations": [HOSTILE]}
    run_audit(plan, Vendor(), out=tmp_path, statements=statements)
    certificate = certificate_of(tmp_path)
    assert len(certificate["item"]["name"]) == 200
    assert certificate["parties"]["auditor"] == HOSTILE
    shown = text(certificate)
    assert "<script>alert(1)</script>\\x1b[31m\\u202e" in " ".join(shown.split())
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    for section in sections(certificate):
        for term, value in section.rows:
            assert term.isprintable()
            assert value.isprintable()
            assert len(value) <= 2_000
    assert all(sign.isprintable() or sign == "\n" for sign in (tmp_path / "summary.txt").read_text())
