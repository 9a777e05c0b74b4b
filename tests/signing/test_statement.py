"""What is signed about an audit, and what `verify` says about every folder that is not the signed one."""

import base64
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
from harness.cli import main
from harness.cli.evidence import check_folder
from harness.signing.envelope import sealed
from harness.signing.keys import load_signing_key, load_verifying_key
from harness.signing.statement import serialized, statement_of
from tests.anonymizers import chunks
from tests.signing.keys import write_keys
from tests.small_audits import audit

NAMES = ("journal.jsonl", "report.json", "certificate.json")


def coarse(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(age="*", sex="*")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a signed audit, with its keys beside."""
    root = tmp_path_factory.mktemp("signed")
    audit(chunks, out=root / "audit")
    write_keys(root)
    assert main(["sign", str(root / "audit"), "--key", str(root / "key.pem")]) == 0
    return root


@pytest.fixture
def root(original: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy"


def payload_of(root: Path) -> dict[str, Any]:
    envelope = json.loads((root / "audit" / "attestation.json").read_text())
    statement: dict[str, Any] = json.loads(base64.b64decode(envelope["payload"]))
    return statement


def sign_again(root: Path, statement: object) -> None:
    """Another statement under a good signature of the same key."""
    key = load_signing_key(root / "key.pem")
    (root / "audit" / "attestation.json").write_text(sealed(json.dumps(statement, sort_keys=True).encode(), key))


def refused(root: Path, why: str, key: str = "key.public.pem") -> None:
    with pytest.raises(harness.JournalError, match=why):
        check_folder(root / "audit", load_verifying_key(root / key))


def test_the_statement_names_files_plan_and_result(root: Path) -> None:
    statement = payload_of(root)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    digests = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    for name in NAMES:
        assert digests.pop(name) == hashlib.sha256((root / "audit" / name).read_bytes()).hexdigest()
    plan = json.loads((root / "audit" / "report.json").read_text())["plan_digest"]
    assert digests.pop("plan") == plan
    assert set(digests) <= {"report.html"}
    assert statement["predicate"] == {
        "result": "FAILED",
        "configuration": [{"name": "plan", "digest": {"sha256": plan}}],
        "passedTests": [],
        "warnedTests": [],
        "failedTests": ["ill: bernoulli on tf-tf"],
    }


@pytest.mark.parametrize(
    ("options", "result", "tests"),
    [({}, "PASSED", "passedTests"), ({"records": 10}, "WARNED", "warnedTests")],
)
def test_the_verdict_becomes_the_result(tmp_path: Path, options: dict[str, Any], result: str, tests: str) -> None:
    report = audit(coarse, out=tmp_path, **options)
    predicate = statement_of(tmp_path, report.plain)["predicate"]
    assert predicate["result"] == result
    assert [name for name in ("passedTests", "warnedTests", "failedTests") if predicate[name]] == [tests]


def test_a_signed_folder_is_verified_by_the_command(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(root / "audit")
    assert main(["verify", folder, "--key", str(root / "key.public.pem")]) == 0
    said = capsys.readouterr().out
    assert "attestation.json is the signature of journal.jsonl, report.json, certificate.json" in said
    head = said.split("the head of the journal is ")[1].split()[0]
    assert main(["verify", folder, "--head", head]) == 0
    assert "was not checked: name the public key" in capsys.readouterr().out
    assert main(["verify", folder, "--head", "0" * 64]) == 2
    assert "its head is " in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_a_signed_file_that_was_changed_is_named(root: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "audit" / name
    path.write_bytes(path.read_bytes()[:-10] + b"0123456789")
    assert main(["verify", str(root / "audit"), "--key", str(root / "key.public.pem")]) == 2
    assert name in capsys.readouterr().err


def test_a_whole_new_journal_does_not_fit_to_the_signature(root: Path) -> None:
    """All of it is consistent in itself; only the signature tells."""
    signature = root / "audit" / "attestation.json"
    shutil.move(signature, root / "kept")
    shutil.rmtree(root / "audit")
    audit(chunks, out=root / "audit")
    with open(root / "audit" / "run.json") as file:
        assert json.load(file)
    shutil.move(root / "kept", signature)
    refused(root, "certificate.json is not the file that was signed|journal.jsonl is not the file that was signed")


def test_the_signature_of_another_audit_is_told_apart(root: Path) -> None:
    signature = (root / "audit" / "attestation.json").read_text()
    shutil.rmtree(root / "audit")
    audit(coarse, out=root / "audit", epsilon=0.2)
    (root / "audit" / "attestation.json").write_text(signature)
    refused(root, "attestation.json: the signature is of another audit: it names the plan")


def test_a_signature_by_another_key_is_told_apart(root: Path) -> None:
    write_keys(root, "stranger")
    refused(root, "attestation.json: signed with another key", "stranger.public.pem")


def test_a_signed_file_that_is_missing_is_named(root: Path) -> None:
    for name in ("certificate.json", "report.json"):
        (root / "audit" / name).unlink()
        refused(root, f"{name} was signed, but is not in the folder")


def test_subjects_that_are_too_many_too_few_or_twice_are_refused(root: Path) -> None:
    good = payload_of(root)
    extra = {"name": "novel.txt", "digest": {"sha256": "0" * 64}}
    sign_again(root, {**good, "subject": [*good["subject"], extra]})
    refused(root, "the signature names a file that is none of an audit: 'novel.txt'")
    sign_again(root, {**good, "subject": good["subject"][1:]})
    refused(root, "the signature does not name journal.jsonl")
    sign_again(root, {**good, "subject": [*good["subject"], good["subject"][0]]})
    refused(root, "names a subject twice")
    sign_again(root, {**good, "subject": [{"name": "plan"}]})
    refused(root, "no subjects with names and SHA-256 digests")


def test_a_statement_that_says_something_else_is_refused_with_the_place(root: Path) -> None:
    good = payload_of(root)
    sign_again(root, {**good, "predicate": {**good["predicate"], "result": "PASSED"}})
    refused(root, "predicate.result is 'PASSED', but the folder gives 'FAILED'")
    sign_again(root, {**good, "_type": "https://in-toto.io/Statement/v0.1"})
    refused(root, "no in-toto statement")
    sign_again(root, {**good, "predicateType": "https://slsa.dev/provenance/v1"})
    refused(root, "the statement is about something else")
    sign_again(root, {**good, "more": 1})
    refused(root, "more is 1, but the folder gives nothing")
    sign_again(root, [])
    refused(root, "no in-toto statement")


def test_a_page_that_was_not_signed_is_refused(root: Path) -> None:
    good = payload_of(root)
    if any(subject["name"] == "report.html" for subject in good["subject"]):
        sign_again(root, {**good, "subject": [one for one in good["subject"] if one["name"] != "report.html"]})
    else:
        (root / "audit" / "report.html").write_text("<p>HOLDS")
    refused(root, "report.html is in the folder, but was not signed")


def test_what_cannot_be_signed_says_why(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def sign() -> str:
        assert main(["sign", str(root / "audit"), "--key", str(root / "key.pem")]) == 2
        return capsys.readouterr().err

    assert "the audit is signed already; remove this file to sign anew" in sign()
    (root / "audit" / "attestation.json").unlink()
    with pytest.raises(harness.InputError, match="this audit was not signed"):
        check_folder(root / "audit", load_verifying_key(root / "key.public.pem"))
    path = root / "audit" / "summary.txt"
    path.write_text(path.read_text().replace("VIOLATED", "HOLDS"))
    assert "summary.txt, line 1: not what the journal proves" in sign()
    assert not (root / "audit" / "attestation.json").exists()
    path.unlink()
    (root / "audit" / "certificate.json").unlink()
    assert "only a finished audit can be signed" in sign()


def test_running_a_finished_audit_again_keeps_its_dates_and_its_signature(root: Path) -> None:
    written = {path.name: path.read_bytes() for path in (root / "audit").iterdir()}
    with open(root / "audit" / "run.json", "w") as file:
        file.write("{}")  # what was damaged is written again
    audit(chunks, out=root / "audit")
    assert {path.name: path.read_bytes() for path in (root / "audit").iterdir()} == written
    check_folder(root / "audit", load_verifying_key(root / "key.public.pem"))


def test_the_signature_is_private_and_stable(original: Path) -> None:
    path = original / "audit" / "attestation.json"
    assert os.stat(path).st_mode & 0o777 == 0o600
    report = harness.Report.load(original / "audit" / "report.json")
    payload = serialized(statement_of(original / "audit", report.plain))
    assert sealed(payload, load_signing_key(original / "key.pem")) == path.read_text()
