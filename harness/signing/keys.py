"""Ed25519 keys from PEM files: to sign with, or to verify with. `cryptography` is loaded here, and only when needed."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.vocabulary.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

LARGEST = 100_000  # bytes of a file with a key
OTHERS = stat.S_IRWXG | stat.S_IRWXO
MAKE_A_KEY = "openssl genpkey -algorithm ed25519 -out KEY.pem"
MAKE_PUBLIC = "openssl pkey -in KEY.pem -pubout -out PUBLIC.pem"


@dataclass(frozen=True)
class SigningKey:
    """A private key, and the id of its public one."""

    id: str
    private: Ed25519PrivateKey = field(repr=False)

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


@dataclass(frozen=True)
class VerifyingKey:
    """A public key, and its id."""

    id: str
    public: Ed25519PublicKey = field(repr=False)

    def accepts(self, signature: bytes, message: bytes) -> bool:
        """Whether this signature of this message was made with the private key that belongs to this one."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.public.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def load_signing_key(path: Path, passphrase: str | None = None) -> SigningKey:
    """The private key in a file that nobody but its owner may read."""
    serialization = _library()
    content = _content(path, "a private key")
    _require_private(path)
    secret = None if passphrase is None else passphrase.encode()
    try:
        key = serialization.load_pem_private_key(content, secret)
    except TypeError:  # it is encrypted and there is no passphrase, or the other way round
        raise InputError(f"{path}: {_about_the_passphrase(passphrase)}") from None
    except Exception as error:  # of a foreign library, for whatever a file may hold
        raise InputError(
            f"{path}: no private key can be read from it ({type(error).__name__}): not a PEM file with a private key, "
            f"or another passphrase. To make a key: {MAKE_A_KEY}"
        ) from None
    _require_ed25519(path, key, "Ed25519PrivateKey")
    return SigningKey(_id_of(key.public_key()), key)


def load_verifying_key(path: Path) -> VerifyingKey:
    """The public key in a file."""
    serialization = _library()
    content = _content(path, "a public key")
    if b"PRIVATE KEY" in content:
        raise InputError(f"{path}: this is a private key; verify with its public key: {MAKE_PUBLIC}")
    try:
        key = serialization.load_pem_public_key(content)
    except Exception as error:  # as above
        raise InputError(
            f"{path}: no public key can be read from it ({type(error).__name__}); expected a PEM file with a public "
            f"key, as made by: {MAKE_PUBLIC}"
        ) from None
    _require_ed25519(path, key, "Ed25519PublicKey")
    return VerifyingKey(_id_of(key), key)


def passphrase_from(variable: str | None) -> str | None:
    """The passphrase in an environment variable that was named, so that it is in no list of commands."""
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise InputError(f"the environment variable {variable!r} with the passphrase is not set, or empty")
    return os.environ[variable]


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise InputError(
            "signatures need the package cryptography; install it: pip install 'anonymizer-harness[sign]'"
        ) from None
    return serialization


def _content(path: Path, what: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path}: {what} cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise InputError(f"{path}: larger than {LARGEST} bytes, so it is no file with {what}")
    return content


def _require_private(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & OTHERS:
        raise InputError(
            f"{path}: others may use this private key too (its mode is {mode:04o}); chmod 600 {path.name}, and make "
            "a new key if somebody may have read it"
        )


def _about_the_passphrase(passphrase: str | None) -> str:
    if passphrase is None:
        return "the private key is encrypted; name an environment variable with its passphrase: --passphrase-env NAME"
    return "the private key is not encrypted; leave out --passphrase-env"


def _require_ed25519(path: Path, key: object, name: str) -> None:
    if not any(base.__name__ == name for base in type(key).__mro__):
        kind = type(key).__name__.lstrip("_")
        raise InputError(f"{path}: a key of another kind ({kind}); signatures here are Ed25519: {MAKE_A_KEY}")


def _id_of(public: Any) -> str:
    """The SHA-256 of the 32 bytes of a public key."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()
