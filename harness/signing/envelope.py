"""A signed text in a file: a DSSE 1.0 envelope. Knows keys and bytes, and nothing of audits.

    signature = Ed25519(PAE(payload type, payload)),  PAE(t, p) = "DSSEv1" SP len(t) SP t SP len(p) SP p

The file is {"payload": base64, "payloadType": …, "signatures": [{"keyid": …, "sig": base64}]}. What is read must be,
byte for byte, what is written here: one signature, base64 in its only canonical form, nothing beside.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from harness.signing.keys import SigningKey, VerifyingKey
from harness.vocabulary.errors import JournalError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
FIELDS = ("payload", "payloadType", "signatures")
LARGEST = 10_000_000  # bytes


def sealed(payload: bytes, key: SigningKey) -> str:
    """The text of an envelope with this payload, signed."""
    signature = key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
    return _text(payload, PAYLOAD_TYPE, key.id, signature)


def opened(text: str, key: VerifyingKey) -> bytes:
    """The payload of an envelope, if this key signed it; a JournalError says what else is wrong."""
    envelope = _parsed(text)
    kind, (signature,) = envelope["payloadType"], envelope["signatures"]
    if kind != PAYLOAD_TYPE:
        raise JournalError(f"the signed text is of the type {kind!r:.80}; expected {PAYLOAD_TYPE!r}")
    payload, bytes_signed = _decoded("payload", envelope["payload"]), _decoded("signatures[0].sig", signature["sig"])
    if signature["keyid"] != key.id:
        raise JournalError(
            f"signed with another key: its id is {signature['keyid']!r:.80}, that of the given public key {key.id!r}"
        )
    if not key.accepts(bytes_signed, pre_authentication_encoding(kind, payload)):
        raise JournalError("the signature does not fit: payload or signature was changed, or another key made it")
    if text != _text(payload, kind, key.id, bytes_signed):
        raise JournalError("the file is not written as a signature is: something was added or moved in it")
    return payload


def key_id_in(text: str) -> str:
    """Which key an envelope says it was signed with; nothing is proven."""
    return str(_parsed(text)["signatures"][0]["keyid"])


def pre_authentication_encoding(kind: str, payload: bytes) -> bytes:
    """PAE: type and payload with their lengths, so that neither can be taken for a part of the other."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def _text(payload: bytes, kind: str, keyid: str, signature: bytes) -> str:
    encoded, signed = (base64.b64encode(part).decode() for part in (payload, signature))
    envelope = {"payload": encoded, "payloadType": kind, "signatures": [{"keyid": keyid, "sig": signed}]}
    return json.dumps(envelope, indent=1) + "\n"


def _parsed(text: str) -> dict[str, Any]:
    """An envelope with exactly the fields of one, each a text, and one signature."""
    try:
        envelope = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"cannot be read as JSON: {error}") from None
    if not isinstance(envelope, dict) or set(envelope) != set(FIELDS):
        raise JournalError(f"not an envelope; its fields must be {', '.join(FIELDS)}")
    signatures = envelope["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        raise JournalError("not an envelope with one signature")
    (signature,) = signatures
    if not isinstance(signature, dict) or set(signature) != {"keyid", "sig"}:
        raise JournalError("signatures[0] must have the fields keyid and sig")
    texts = (envelope["payload"], envelope["payloadType"], *signature.values())
    if not all(isinstance(one, str) for one in texts):
        raise JournalError("payload, payloadType, keyid and sig must be texts")
    return envelope


def _decoded(place: str, text: str) -> bytes:
    """Canonical base64: a cut, or bits behind the end, are refused."""
    try:
        decoded = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise JournalError(f"{place} is not base64, or was cut: {error}") from None
    if base64.b64encode(decoded).decode() != text:
        raise JournalError(f"{place} is not written as base64 is: it was changed")
    return decoded
