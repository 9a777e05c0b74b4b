"""Every leaf of report, journal, certificate and signature that is edited by one character is caught, and named."""

import base64
import json
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import harness
from harness.cli import main
from harness.cli.evidence import check_folder
from harness.signing.keys import VerifyingKey, load_verifying_key
from tests.anonymizers import chunks
from tests.signing.keys import write_keys
from tests.small_audits import audit, table

SIGNED = ("journal.jsonl", "report.json", "certificate.json", "attestation.json", "report.html")
Place = tuple[Any, ...]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small signed audit; tests put back what they change."""
    root = tmp_path_factory.mktemp("tampering")
    audit(chunks, table(12), out=root / "audit", records=4)
    write_keys(root)
    assert main(["sign", str(root / "audit"), "--key", str(root / "key.pem")]) == 0
    return root


def caught(root: Path, name: str, content: bytes, key: VerifyingKey | None) -> str | None:
    """What `verify` says of the folder with another content of one file; None if it accepts that."""
    path = root / "audit" / name
    good = path.read_bytes()
    path.write_bytes(content)
    try:
        check_folder(root / "audit", key)
    except harness.JournalError as error:
        return str(error)
    finally:
        path.write_bytes(good)
    return None


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [leaf for key, one in inner for leaf in leaves(one, (*place, key))]
    yield from found or [place]


def with_another_character(text: str, at: int) -> str:
    """One character replaced by one of its own kind."""
    kind = next((kind for kind in (string.digits, string.ascii_letters) if text[at] in kind), "#+")
    return text[:at] + kind[(kind.index(text[at]) + 1) % len(kind) if text[at] in kind else 0] + text[at + 1 :]


def edited_leaf(leaf: Any, at: int) -> str:
    """The JSON of a leaf with one character changed; a digit stays one, even where the number stays the same."""
    if isinstance(leaf, str):
        return json.dumps(with_another_character(leaf, at % len(leaf)) if leaf else "x")
    if isinstance(leaf, bool) or leaf is None:
        return json.dumps(not leaf)
    if isinstance(leaf, int | float):
        spelled = json.dumps(leaf)
        return with_another_character(spelled, len(spelled.partition("e")[0]) - 1)  # not of the exponent
    return '["x"]' if isinstance(leaf, list) else '{"x": 1}'


def written(name: str, plain: Any, place: Place = (), at: int = 0) -> bytes:
    """The file as a run writes it, with one leaf edited."""
    mark, copy = "the edited leaf", json.loads(json.dumps(plain))
    inner, leaf = copy, None
    for step in place[:-1]:
        inner = inner[step]
    if place:
        leaf, inner[place[-1]] = inner[place[-1]], mark
    text = json.dumps(copy) if name == "report.json" else json.dumps(copy, indent=1)
    return (text.replace(json.dumps(mark), edited_leaf(leaf, at)) + "\n").encode()


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_edit_of_one_character_of_a_signed_file_is_caught_and_named(root: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SIGNED))
    good = (root / "audit" / name).read_bytes()
    at = data.draw(st.integers(0, len(good) - 1))
    sign = data.draw(st.sampled_from([code for code in b'09azAZ{}[]":,.+-/= \n\x00\xff' if code != good[at]]))
    found = caught(root, name, good[:at] + bytes([sign]) + good[at + 1 :], load_verifying_key(root / "key.public.pem"))
    assert found is not None
    assert name in found


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_edited_leaf_is_caught_without_any_key(root: Path, data: st.DataObject) -> None:
    """Of certificate.json also what no journal proves, by the checksum of its section."""
    name = data.draw(st.sampled_from(("report.json", "certificate.json")))
    plain = json.loads((root / "audit" / name).read_text())
    place = data.draw(st.sampled_from(sorted(leaves(plain), key=str)))
    at = data.draw(st.integers(0, 1_000))
    found = caught(root, name, written(name, plain, place, at), None)
    assert found is not None, place
    assert name in found
    assert name != "report.json" or str(place[0]) in found, "the place is named"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report.json", "certificate.json"])
def test_every_leaf_is_caught_without_any_key(root: Path, name: str) -> None:
    plain = json.loads((root / "audit" / name).read_text())
    for number, place in enumerate(leaves(plain)):
        found = caught(root, name, written(name, plain, place, 7 * number), None)
        assert found is not None, place
        assert name in found, place


@pytest.mark.slow
def test_every_leaf_of_the_signature_is_caught(root: Path) -> None:
    key = load_verifying_key(root / "key.public.pem")
    envelope = json.loads((root / "audit" / "attestation.json").read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    for place in leaves(envelope):
        for at in range(0, 60, 7):
            found = caught(root, "attestation.json", written("attestation.json", envelope, place, at), key)
            assert found is not None, place
    for place in leaves(statement):
        payload = base64.b64encode(written("statement", statement, place, 3)).decode()
        found = caught(root, "attestation.json", written("attestation.json", {**envelope, "payload": payload}), key)
        assert found is not None, place
        assert "the signature does not fit" in found


@pytest.mark.slow
def test_every_line_of_the_journal_is_caught_where_it_was_edited(root: Path) -> None:
    good = (root / "audit" / "journal.jsonl").read_bytes()
    lines = good.split(b"\n")
    for number in range(1, len(lines)):
        for part in (0.1, 0.4, 0.7, 0.95):
            line = bytearray(lines[number - 1])
            line[int(part * len(line))] ^= 1
            content = b"\n".join([*lines[: number - 1], bytes(line), *lines[number:]])
            found = caught(root, "journal.jsonl", content, None)
            assert found is not None
            assert f"journal.jsonl, line {number}: " in found


def test_a_certificate_of_stated_lies_names_the_section(root: Path) -> None:
    certificate = json.loads((root / "audit" / "certificate.json").read_text())
    for place, section in (
        (("parties", "auditor"), "parties"),
        (("accepted",), "accepted"),
        (("previous",), "previous"),
    ):
        found = caught(root, "certificate.json", written("certificate.json", certificate, place, 0), None)
        assert found is not None
        assert f"the section {section!r} was changed after the certificate was issued" in found


def test_other_facts_of_the_run_are_caught_by_either_file(root: Path) -> None:
    run = json.loads((root / "audit" / "run.json").read_text())
    for place in leaves(run):
        found = caught(root, "run.json", written("run.json", run, place, 3), None)
        assert found is not None, place
        assert "run.json" in found
