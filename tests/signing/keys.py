"""Keys for tests, as openssl writes them, and edits of signed files."""

import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from harness.auditing.folder import write_text


def write_keys(folder: Path, name: str = "key", passphrase: bytes | None = None) -> tuple[Path, Path]:
    """A private key that only its owner may read, and its public key."""
    private, public = folder / f"{name}.pem", folder / f"{name}.public.pem"
    key = Ed25519PrivateKey.generate()
    encryption = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    formats = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    write_text(private, key.private_bytes(*formats, encryption).decode())
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    write_text(public, key.public_key().public_bytes(serialization.Encoding.PEM, spki).decode())
    return private, public


def edit_json(path: Path, **changes: Any) -> None:
    """A file of JSON with some keys changed, written as it was."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}, indent=1) + "\n")
