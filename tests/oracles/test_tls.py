"""Certificates, tokens and proxies of vendors behind an address: what is shown to whom, and what is refused."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

import oracles
from harness.vocabulary.errors import OracleError
from tests.oracles.servers import Request, serving
from tests.oracles.table_vendors import Reply, asked, good, plain, refused

AUTHORITY = """
[ca]
default_ca = here
[here]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
x509_extensions = local
[any]
commonName = supplied
[local]
subjectAltName = IP:127.0.0.1
basicConstraints = CA:TRUE
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that holds, and one whose time has passed; each is its own authority."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    (folder / "index.txt").touch()
    (folder / "serial").write_text("01")
    (folder / "config").write_text(AUTHORITY)

    def openssl(*words: str) -> None:
        made = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr

    for name, end in (("good", "20400101000000Z"), ("expired", "20200102000000Z")):
        key, request = f"{name}.key", f"{name}.csr"
        openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        signed = ["-in", request, "-keyfile", key, "-out", f"{name}.pem", "-notext"]
        dates = ["-startdate", "20200101000000Z", "-enddate", end]
        openssl("ca", "-batch", "-selfsign", "-config", "config", *dates, *signed)
    return folder


def context_of(certificates: Path, name: str, client: str | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    if client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates / f"{client}.pem")
    return context


def test_a_certificate_of_a_known_authority_is_accepted(certificates: Path) -> None:
    with serving(good, context_of(certificates, "good")) as server:
        assert len(asked(plain(server.address, ca=str(certificates / "good.pem")))) == 1


def test_a_certificate_of_an_unknown_authority_is_refused(certificates: Path) -> None:
    with serving(good, context_of(certificates, "good")) as server:
        refused(plain(server.address), "not safe: self.signed certificate", retryable=False)
        assert server.requests == []


def test_an_address_that_says_tls_or_not_where_the_server_does_the_other(certificates: Path) -> None:
    with serving(good) as server:
        address = server.address.replace("http://", "https://")
        refused(plain(address), "the server does not speak TLS; if that is right, write http://", retryable=False)
        with pytest.raises(OracleError, match="the server does not speak TLS; if that is right, write grpc://"):
            oracles.open(server.address.replace("http://", "grpcs://"), attempts=1)
    with serving(good, context_of(certificates, "good")) as server:
        address = server.address.replace("https://", "http://")
        refused(plain(address), "; if the server speaks TLS, write https:// instead", retryable=True)


def test_an_expired_certificate_is_refused(certificates: Path) -> None:
    with serving(good, context_of(certificates, "expired")) as server:
        refused(plain(server.address, ca=str(certificates / "expired.pem")), "certificate has expired", retryable=False)
        assert server.requests == []


def test_a_server_that_asks_who_we_are_is_shown_our_certificate(certificates: Path) -> None:
    files = (str(certificates / "good.pem"), str(certificates / "good.key"))
    with serving(good, context_of(certificates, "good", client="good")) as server:
        assert len(asked(plain(server.address, ca=files[0], cert=files[0], key=files[1]))) == 1
        with pytest.raises(OracleError):
            asked(plain(server.address, ca=files[0]))


def test_a_token_comes_from_the_environment_and_stays_out_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_TOKEN", "very-secret")

    def guarded(request: Request) -> Reply:
        return good(request) if request.headers.get("authorization") == "Bearer very-secret" else (401, {}, b"who?")

    with serving(guarded) as server:
        assert len(asked(plain(server.address, token_env="VENDOR_TOKEN"))) == 1
        refused(plain(server.address), "status 401: 'who\\?'; give the token", retryable=False)
        monkeypatch.setenv("VENDOR_TOKEN", "wrong-secret")
        error = refused(plain(server.address, token_env="VENDOR_TOKEN"), "status 401", retryable=False)
    assert "wrong-secret" not in str(error)


def test_passwords_of_the_machine_are_not_handed_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with serving(good) as server:
        asked(plain(server.address))
    assert "authorization" not in server.requests[0].headers


def test_proxies_are_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(good) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert len(asked(plain("http://vendor.example"))) == 1
    assert proxy.requests[0].headers["host"] == "vendor.example"
