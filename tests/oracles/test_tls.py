"""Certificates, tokens and proxies of vendors behind an address: what is shown to whom, and what is refused."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

import oracles
from harness.vocabulary.errors import InputError, OracleError
from oracles.clients.local import Local
from oracles.serve.grpc import Tls
from oracles.serve.grpc import serve as serve_grpc
from oracles.serve.http import serve as serve_http
from tests.oracles.filters import decades
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
subjectAltName = {name}
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

    def openssl(*words: str) -> None:
        made = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr

    made = (
        ("good", "20400101000000Z", "IP:127.0.0.1"),
        ("expired", "20200102000000Z", "IP:127.0.0.1"),
        ("other", "20400101000000Z", "DNS:elsewhere.example"),
    )
    for name, end, host in made:
        (folder / "config").write_text(AUTHORITY.format(name=host))
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
        refused(plain(server.address), r"unknown authority \(self.signed certificate\)", retryable=False)
        assert server.requests == []


def test_an_address_that_says_tls_or_not_where_the_server_does_the_other(certificates: Path) -> None:
    with serving(good) as server:
        address = server.address.replace("http://", "https://")
        refused(plain(address), "the server does not speak TLS; if that is right, write http://", retryable=False)
        with pytest.raises(OracleError, match="the server does not speak TLS; if that is right, write grpc://"):
            oracles.open(server.address.replace("http://", "grpcs://"), attempts=1)
    with serving(good, context_of(certificates, "good")) as server:
        address = server.address.replace("https://", "http://")
        refused(plain(address), "the server speaks TLS; write https:// instead", retryable=False)


def test_an_expired_certificate_is_refused(certificates: Path) -> None:
    with serving(good, context_of(certificates, "expired")) as server:
        refused(
            plain(server.address, ca=str(certificates / "expired.pem")),
            "the certificate of the server has expired",
            retryable=False,
        )
        assert server.requests == []


def test_a_server_that_asks_who_we_are_is_shown_our_certificate(certificates: Path) -> None:
    files = (str(certificates / "good.pem"), str(certificates / "good.key"))
    with serving(good, context_of(certificates, "good", client="good")) as server:
        assert len(asked(plain(server.address, ca=files[0], cert=files[0], key=files[1]))) == 1
        with pytest.raises(OracleError):
            asked(plain(server.address, ca=files[0]))


MISTAKES: dict[str, tuple[str | None, str | None, bool, dict[str, str], str]] = {
    # case: the certificate of the server, of its clients, whether the address says TLS, options, what is said
    "another host": ("other", None, True, {"ca": "other.pem"}, "certificate of the server is not for '127.0.0.1'"),
    "unknown authority": ("good", None, True, {}, "certificate of the server is of an unknown authority"),
    "expired": ("expired", None, True, {"ca": "expired.pem"}, "the certificate of the server has expired"),
    "none of ours": ("good", "good", True, {"ca": "good.pem"}, "a certificate of this side(;|, give)"),
    "ours expired": (
        "good", "expired", True, {"ca": "good.pem", "cert": "expired.pem", "key": "expired.key"},
        r"refused the certificate of this side \(option cert\): it has expired",
    ),
    "ours of a stranger": (
        "good", "good", True, {"ca": "good.pem", "cert": "other.pem", "key": "other.key"},
        r"refused the certificate of this side \(option cert\)",
    ),
    "plain text to TLS": ("good", None, False, {}, "the server speaks TLS; write (https|grpcs):// instead"),
    "TLS to plain text": (None, None, True, {}, "does not speak TLS; if that is right, write (http|grpc):// instead"),
}  # fmt: skip


@pytest.mark.parametrize("transport", ["http", "grpc"])
@pytest.mark.parametrize("case", MISTAKES)
def test_each_mistake_with_tls_has_its_own_sentence_and_is_made_once(
    case: str, transport: str, certificates: Path
) -> None:
    cert, clients, secure, options, complaint = MISTAKES[case]
    context, tls = None, None
    if cert is not None:
        context = context_of(certificates, cert, clients)
        named = [f"{cert}.pem", f"{cert}.key", *([f"{clients}.pem"] if clients else [])]
        tls = Tls(*((certificates / name).read_bytes() for name in named))
    local = Local(decades)
    server = serve_http(local, tls=context) if transport == "http" else serve_grpc(local, "127.0.0.1:0", tls=tls)
    port = server.address.rpartition(":")[2]
    files = {name: str(certificates / file) for name, file in options.items()}
    try:
        with pytest.raises(OracleError, match=complaint) as caught:
            oracles.open(f"{transport}{'s' if secure else ''}://127.0.0.1:{port}", **files)
    finally:
        server.stop(0.1)
    assert not caught.value.retryable
    assert "asked 4 times" not in str(caught.value)


def test_the_keys_of_two_certificates_are_not_confused(certificates: Path) -> None:
    files = {"cert": str(certificates / "good.pem"), "key": str(certificates / "other.key")}
    for scheme in ("https", "grpcs"):
        with pytest.raises(InputError, match="is not the key of the certificate"):
            oracles.open(f"{scheme}://127.0.0.1:1", **files)


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked_for_it(certificates: Path, tmp_path: Path) -> None:
    locked, key = tmp_path / "locked.key", certificates / "good.key"
    words = ["openssl", "pkey", "-in", str(key), "-aes256", "-passout", "pass:hush", "-out", str(locked)]
    subprocess.run(words, check=True, capture_output=True)
    with pytest.raises(InputError, match="is encrypted; give a key without a passphrase"):
        oracles.open("https://127.0.0.1:1", cert=str(certificates / "good.pem"), key=str(locked))


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
