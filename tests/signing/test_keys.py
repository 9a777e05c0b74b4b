"""Private and public keys from files: what is accepted, and what each wrong file is told."""

import builtins
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

import harness
from harness.signing.keys import load_signing_key, load_verifying_key, passphrase_from
from tests.signing.keys import write_keys


def test_what_the_private_key_signs_the_public_key_accepts(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path)
    signing, verifying = load_signing_key(private), load_verifying_key(public)
    assert signing.id == verifying.id
    signature = signing.sign(b"a message")
    assert verifying.accepts(signature, b"a message")
    assert not verifying.accepts(signature, b"another message")
    assert not verifying.accepts(signature[:-1] + bytes([signature[-1] ^ 1]), b"a message")
    assert not verifying.accepts(b"short", b"a message")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_keys_are_those_that_openssl_makes_and_openssl_accepts_the_signature(tmp_path: Path) -> None:
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=tmp_path, check=True, capture_output=True)

    openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem")
    openssl("pkey", "-in", "key.pem", "-pubout", "-out", "public.pem")
    key = load_signing_key(tmp_path / "key.pem")
    assert key.id == load_verifying_key(tmp_path / "public.pem").id
    (tmp_path / "message").write_bytes(b"a message")
    (tmp_path / "signature").write_bytes(key.sign(b"a message"))
    openssl("pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin", "-in", "message", "-sigfile", "signature")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o610])
def test_a_private_key_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    private, _ = write_keys(tmp_path)
    os.chmod(private, mode)
    with pytest.raises(harness.InputError, match=rf"key.pem: others may use this private key too .*{mode:04o}"):
        load_signing_key(private)


def test_an_encrypted_key_needs_its_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = write_keys(tmp_path, passphrase=b"open sesame")
    with pytest.raises(harness.InputError, match="the private key is encrypted; .* --passphrase-env NAME"):
        load_signing_key(private)
    with pytest.raises(harness.InputError, match="or another passphrase") as error:
        load_signing_key(private, "shut sesame")
    assert "shut" not in str(error.value)
    monkeypatch.setenv("SESAME", "open sesame")
    assert load_signing_key(private, passphrase_from("SESAME")).id == load_verifying_key(public).id
    plain, _ = write_keys(tmp_path, "plain")
    with pytest.raises(harness.InputError, match="is not encrypted; leave out --passphrase-env"):
        load_signing_key(plain, "open sesame")


def test_a_passphrase_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SESAME", raising=False)
    assert passphrase_from(None) is None
    with pytest.raises(harness.InputError, match="'SESAME' with the passphrase is not set"):
        passphrase_from("SESAME")


def other_keys() -> list[Any]:
    return [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())]


@pytest.mark.parametrize("key", other_keys(), ids=["rsa", "ec"])
def test_keys_of_another_kind_are_refused(tmp_path: Path, key: Any) -> None:
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private, public = tmp_path / "key.pem", tmp_path / "public.pem"
    private.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    private.chmod(0o600)
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(key.public_key().public_bytes(pem, spki))
    with pytest.raises(harness.InputError, match="a key of another kind .*openssl genpkey -algorithm ed25519"):
        load_signing_key(private)
    with pytest.raises(harness.InputError, match="a key of another kind"):
        load_verifying_key(public)


def test_files_that_hold_no_key_are_refused(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path)
    with pytest.raises(harness.InputError, match="this is a private key; verify with its public key"):
        load_verifying_key(private)
    public.chmod(0o600)
    with pytest.raises(harness.InputError, match="no private key can be read from it"):
        load_signing_key(public)
    with pytest.raises(harness.InputError, match=r"nowhere.pem: a private key cannot be read: No such file"):
        load_signing_key(tmp_path / "nowhere.pem")
    with pytest.raises(harness.InputError, match="a public key cannot be read"):
        load_verifying_key(tmp_path)
    noise = tmp_path / "noise"
    noise.write_bytes(os.urandom(200_000))
    noise.chmod(0o600)
    with pytest.raises(harness.InputError, match="larger than 100000 bytes"):
        load_signing_key(noise)
    noise.write_bytes(b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
    with pytest.raises(harness.InputError, match="no public key can be read"):
        load_verifying_key(noise)


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = write_keys(tmp_path)
    original = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    for load in (lambda: load_signing_key(private), lambda: load_verifying_key(public)):
        with pytest.raises(harness.InputError, match=r"pip install 'anonymizer-harness\[sign\]'"):
            load()
