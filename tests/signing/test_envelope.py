"""DSSE envelopes: the protocol's own test vector, and every wrong envelope with its own sentence."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import harness
from harness.signing.envelope import PAYLOAD_TYPE, opened, pre_authentication_encoding, sealed
from harness.signing.keys import SigningKey, VerifyingKey, load_signing_key, load_verifying_key
from tests.signing.keys import write_keys


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[SigningKey, VerifyingKey]:
    private, public = write_keys(tmp_path_factory.mktemp("keys"))
    return load_signing_key(private), load_verifying_key(public)


def test_what_is_signed_is_encoded_as_the_protocol_says() -> None:
    """The example of the DSSE protocol 1.0.0, "Test Vectors"."""
    encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    assert encoded == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_lengths_are_those_of_bytes() -> None:
    assert pre_authentication_encoding("ε", "δ".encode()) == b"DSSEv1 2 \xce\xb5 2 \xce\xb4"


@given(payload=st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_what_was_sealed_is_opened(keys: tuple[SigningKey, VerifyingKey], payload: bytes) -> None:
    signing, verifying = keys
    text = sealed(payload, signing)
    assert opened(text, verifying) == payload
    envelope = json.loads(text)
    assert envelope["payloadType"] == PAYLOAD_TYPE == "application/vnd.in-toto+json"
    assert base64.b64decode(envelope["payload"]) == payload


def test_every_wrong_envelope_has_its_own_sentence(keys: tuple[SigningKey, VerifyingKey], tmp_path: Path) -> None:
    signing, verifying = keys
    good = json.loads(sealed(b"{}", signing))
    (signature,) = good["signatures"]
    _, stranger = write_keys(tmp_path)

    def refused(envelope: object, why: str, key: VerifyingKey = verifying) -> None:
        text = envelope if isinstance(envelope, str) else json.dumps(envelope, indent=1) + "\n"
        with pytest.raises(harness.JournalError, match=why):
            opened(text, key)

    refused("{", "cannot be read as JSON")
    refused("[" * 100_000, "cannot be read as JSON")
    refused([], "not an envelope; its fields must be payload, payloadType, signatures")
    refused({**good, "more": 1}, "not an envelope")
    refused({**good, "signatures": []}, "not an envelope with one signature")
    refused({**good, "signatures": [signature, signature]}, "not an envelope with one signature")
    refused({**good, "signatures": [{"sig": signature["sig"]}]}, "must have the fields keyid and sig")
    refused({**good, "payload": 7}, "must be texts")
    refused({**good, "payloadType": "application/json"}, "of the type 'application/json'; expected")
    refused({**good, "payload": good["payload"][:-1]}, "payload is not base64, or was cut")
    refused({**good, "payload": "ä"}, "payload is not base64")
    refused({**good, "payload": "e31="}, "payload is not written as base64 is")  # bits behind the end
    refused({**good, "payload": "e30K"}, "the signature does not fit")
    cut = {**signature, "sig": signature["sig"][:-5]}
    refused({**good, "signatures": [cut]}, r"signatures\[0\].sig is not base64, or was cut")
    short = {**signature, "sig": base64.b64encode(b"short").decode()}
    refused({**good, "signatures": [short]}, "the signature does not fit")
    refused({**good, "signatures": [{**signature, "keyid": "me"}]}, "signed with another key: its id is 'me'")
    refused(good, "signed with another key", load_verifying_key(stranger))
    refused(json.dumps(good), "not written as a signature is")


def test_a_signature_by_another_key_under_our_id_does_not_fit(
    keys: tuple[SigningKey, VerifyingKey], tmp_path: Path
) -> None:
    private, _ = write_keys(tmp_path)
    forged = json.loads(sealed(b"{}", load_signing_key(private)))
    forged["signatures"][0]["keyid"] = keys[1].id
    with pytest.raises(harness.JournalError, match="the signature does not fit"):
        opened(json.dumps(forged, indent=1) + "\n", keys[1])
