"""Servers that are broken or mean harm: each ask ends in time as a success or as one clear error, in little memory."""

import gzip
import io
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.vocabulary.answers import checked_answers
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.table import Table
from oracles.clients.table_api import TableApi
from oracles.middleware import Retrying
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description
from tests.clock import Clock
from tests.oracles.filters import dataset, decades
from tests.oracles.servers import Request, listening, read_request, serving

DATA = dataset()
CSV = {"Content-Type": "text/csv"}
ROOT = Path(__file__).parents[2]


Reply = tuple[int, dict[str, str], bytes]


def asked(oracle: Oracle) -> list[Table]:
    """What the harness gets for f(D)."""
    return [release for release in checked_answers(oracle, Ask(DATA)) if isinstance(release, Table)]


def refused(oracle: Oracle, complaint: str, *, retryable: bool) -> OracleError:
    """One clear error: it says what was wrong, in one paragraph, and whether asking again may help."""
    with pytest.raises(OracleError, match=complaint) as caught:
        asked(oracle)
    text = str(caught.value)
    assert len(text) < 900
    assert text.isprintable()
    assert caught.value.retryable is retryable
    return caught.value


def plain(address: str, **options: Any) -> TableApi:
    return TableApi(address, plain={"path": "/anonymize"}, name="the vendor", **options)


def good(request: Request) -> Reply:
    return 200, CSV, decades(pd.read_csv(io.BytesIO(request.body))).to_csv(index=False).encode()


def always(status: int, headers: dict[str, str], body: bytes) -> Callable[[Request], Reply]:
    return lambda request: (status, headers, body)


def in_turn(*replies: Reply) -> Callable[[Request], Reply]:
    """A server that gives these replies one after the other, then good ones."""
    waiting = list(replies)
    return lambda request: waiting.pop(0) if waiting else good(request)


def test_a_refused_connection_is_told_and_may_be_tried_again() -> None:
    with socket.socket() as silent:  # bound, so that nobody else has this port, but not listening
        silent.bind(("127.0.0.1", 0))
        refused(plain(f"http://127.0.0.1:{silent.getsockname()[1]}"), "Connection refused", retryable=True)


def test_a_name_that_does_not_exist_is_told() -> None:
    refused(plain("http://no-such-host.invalid"), "no-such-host.invalid", retryable=True)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_server_that_recovers_is_asked_again(status: int) -> None:
    with serving(in_turn((status, {}, b"oops"), (status, {}, b"oops"))) as server:
        assert len(asked(Retrying(plain(server.address), first=0.01))) == 1
    assert len(server.requests) == 3


def test_a_server_that_says_when_to_come_back_is_not_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("oracles.middleware.time", clock)
    with serving(in_turn((429, {"Retry-After": "70"}, b"slow down"))) as server:
        assert len(asked(Retrying(plain(server.address), first=0.01))) == 1
    assert clock.sleeps == [70.0]


def test_a_date_to_come_back_at_is_understood_too() -> None:
    with serving(always(503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"")) as server:
        with pytest.raises(OracleError) as caught:
            list(plain(server.address).answer(Ask(DATA)))
        assert caught.value.retry_after == 0.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422, 501])
def test_a_server_that_will_not_recover_is_not_asked_again(status: int) -> None:
    with serving(always(status, {}, b"no")) as server:
        refused(Retrying(plain(server.address), first=0.01), f"status {status}: 'no'", retryable=False)
    assert len(server.requests) == 1


def dropping(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 9999\r\n\r\nage,sex\n1,")


def dropping_chunks(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nage,sex\n\r\n"
    )


def silent(connection: socket.socket) -> None:
    read_request(connection)
    connection.recv(1)  # returns when the client gives up


def trickle(connection: socket.socket, piece: bytes) -> None:
    """One piece after the other, for a minute; then the connection ends, and so does a client without a deadline."""
    for _ in range(600):
        connection.sendall(piece)
        time.sleep(0.1)


def deaf(connection: socket.socket) -> None:
    time.sleep(60)


def trickling_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 100000\r\n\r\n")
    trickle(connection, b"a")


def trickling_endless_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nConnection: close\r\n\r\nage\n")
    trickle(connection, b"1\n")


def trickling_head(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    trickle(connection, b"a")


def nonsense(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"220 mail.example ESMTP\r\n")


def hanging_up(connection: socket.socket) -> None:
    read_request(connection)


@pytest.mark.parametrize("behave", [dropping, dropping_chunks, nonsense, hanging_up])
def test_a_connection_that_breaks_off_is_told(behave: Callable[[socket.socket], None]) -> None:
    with listening(behave) as address:
        refused(plain(address), "dropped in the middle", retryable=True)


@pytest.mark.parametrize("behave", [silent, deaf, trickling_body, trickling_endless_body, trickling_head])
def test_a_connection_without_an_end_is_left_at_the_deadline(behave: Callable[[socket.socket], None]) -> None:
    with listening(behave) as address:
        refused(plain(address, timeout=1.0), "had not answered completely after 1 s", retryable=True)


def test_a_redirect_to_another_host_is_refused_and_nothing_is_sent_there() -> None:
    with serving(good) as elsewhere:
        there = elsewhere.address.replace("127.0.0.1", "localhost")
        for status in (301, 302, 303, 307, 308):
            with serving(always(status, {"Location": f"{there}/x"}, b"")) as server:
                refused(plain(server.address), "redirects to another host, 'http://localhost", retryable=False)
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    "location", ["http://[", "http://127.0.0.1:99999/", "//other.example/", "https:evil", "ftp://127.0.0.1/"]
)
def test_a_redirect_that_leads_nowhere_good_is_refused(location: str) -> None:
    with serving(always(307, {"Location": location}, b"")) as server:
        refused(plain(server.address), "redirects to another host", retryable=False)


def endless_redirect(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\n\r\n")
    while True:
        connection.sendall(bytes(1_000_000))


def test_the_body_of_a_redirect_is_not_read() -> None:
    with listening(endless_redirect) as address:
        refused(plain(address), "redirects to another host", retryable=False)


def test_a_redirect_on_the_same_host_keeps_the_question() -> None:
    def moved(request: Request) -> Reply:
        return good(request) if request.path == "/new" else (307, {"Location": "/new"}, b"")

    with serving(moved) as server:
        assert len(asked(plain(server.address))) == 1
        assert server.requests[1].method == "POST"


def test_a_redirect_that_would_lose_the_question_is_refused() -> None:
    with serving(always(302, {"Location": "/login"}, b"")) as server:
        refused(plain(server.address), "would lose the question", retryable=False)


def test_redirects_in_a_circle_end() -> None:
    with serving(always(307, {"Location": "/"}, b"")) as server:
        refused(plain(server.address), "redirects more than 5 times", retryable=False)


def test_a_web_page_is_quoted_briefly_and_escaped() -> None:
    page = b"<!DOCTYPE html><html>\x1b[31m\r\n" + b"<p>Our site is under maintenance</p>" * 1000
    with serving(always(200, {"Content-Type": "text/html"}, page)) as server:
        error = refused(plain(server.address), "content type 'text/html'", retryable=False)
    assert "\\x1b[31m" in str(error)
    with serving(always(502, {"Content-Type": "text/html"}, page)) as server:
        refused(plain(server.address), "status 502: a web page beginning", retryable=True)


def test_gzip_is_understood_and_broken_gzip_is_told() -> None:
    def packed(request: Request) -> Reply:
        status, headers, body = good(request)
        return status, {**headers, "Content-Encoding": "gzip"}, gzip.compress(body)

    with serving(packed) as server:
        assert len(asked(plain(server.address))) == 1
    cut = gzip.compress(b"age\n1")[:-9]
    for body, complaint, again in ((b"plain", "cannot be decompressed", False), (cut, "ends in the middle", True)):
        with serving(always(200, {**CSV, "Content-Encoding": "gzip"}, body)) as server:
            refused(plain(server.address), complaint, retryable=again)
    with serving(always(200, {**CSV, "Content-Encoding": "gzip, gzip"}, b"")) as server:
        refused(plain(server.address), "only gzip was accepted", retryable=False)


def test_a_reply_of_several_gzip_members_is_read_to_its_end() -> None:
    def packed(request: Request) -> Reply:
        status, headers, body = good(request)
        members = b"".join(gzip.compress(body[start : start + 50]) for start in range(0, len(body), 50))
        return status, {**headers, "Content-Encoding": "gzip"}, members

    with serving(packed) as server, serving(good) as other:
        (table,), (expected,) = asked(plain(server.address)), asked(plain(other.address))
    assert table.digest == expected.digest


@pytest.mark.parametrize(
    ("behind", "complaint"),
    [
        (b"garbage", "cannot be decompressed"),
        (bytes(1 << 20), "cannot be decompressed"),
        (gzip.compress(b"") * 50_000, "no way to compress a reply"),
        (b"\0\0\0\xff\xff" * 200_000, "cannot be decompressed"),
    ],
)
def test_bytes_of_gzip_that_hold_nothing_are_refused(behind: bytes, complaint: str) -> None:
    body = gzip.compress(b"age\n1") + behind
    with serving(always(200, {**CSV, "Content-Encoding": "gzip"}, body)) as server:
        refused(plain(server.address), complaint, retryable=False)


# ---- memory: asked from a process of its own, which says how much it needed

MEASURED = """
import sys
from pathlib import Path
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask
from tests.oracles.filters import dataset
from oracles.clients.table_api import TableApi
from oracles.clients.http import HttpOracle
form = sys.argv[2]
oracle = HttpOracle(sys.argv[1]) if form == "protocol" else TableApi(sys.argv[1], plain={"format": form}, timeout=300.0)
try:
    list(oracle.answer(Ask(dataset())))
    print("no error")
except OracleError as error:
    print(error)
# VmHWM and not ru_maxrss: the latter begins with the size of the process that started this one
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024)
"""


def measured(address: str, form: str = "csv") -> tuple[str, int]:
    """What the ask ended with, and its memory in MB."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, address, form], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    text, memory = done.stdout.splitlines()
    return text, int(memory)


def two_gigabytes(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 2147483648\r\n\r\nage\n")
    piece = b"1\n" * 500_000
    for _ in range(2148):
        connection.sendall(piece)


def test_two_gigabytes_are_not_taken() -> None:
    with listening(two_gigabytes) as address:
        text, memory = measured(address)
    assert "more than 16777216 bytes" in text
    assert memory < 500


def test_a_gzip_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(300_000_000))
    assert len(bomb) < 400_000
    with serving(always(200, {**CSV, "Content-Encoding": "gzip"}, bomb)) as server:
        text, memory = measured(server.address)
    assert "more than 16777216 bytes (decompressed)" in text
    assert memory < 500


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("csv", b"age,sex\n" + b"," * 16_000_000),
        ("csv", b"," * 16_000_000),
        ("csv", b"age\n" + b"1\n" * 1_000_000),
        ("csv", b"age\n" + b"".join(b"%x\n" % number for number in range(2_300_000))),
        ("json-records", b"[" + b"[]," * 5_000_000 + b"[]]"),
        ("json-records", b"[" + b"1.5," * 2_000_000 + b"1]"),
        ("json-records", b"[" + b'{"":1},' * 900_000 + b'{"":1}]'),
        ("json-records", b"[" + b'{"":1},' * 500_000 + b'{"":1}]'),
    ],
)
def test_a_reply_that_swells_when_it_is_read_stays_small(form: str, body: bytes) -> None:
    kind = "text/csv" if form == "csv" else "application/json"
    with serving(always(200, {"Content-Type": kind}, body)) as server:
        _, memory = measured(server.address, form)
    assert memory < 500


def endless_answer(connection: socket.socket) -> None:
    """Describes itself well, then sends pieces of one release for ever: new cells, or ever more rows."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
    card = messages.pack_description(Description(Card("endless"))).SerializeToString()
    read_request(connection)
    connection.sendall(head + f"Content-Length: {len(card)}\r\n\r\n".encode() + card)
    read_request(connection)
    connection.sendall(head + b"Connection: close\r\n\r\n")
    column = pb.Column(name="age", ints=pb.Ints(values=[1]), codes=bytes(900_000))
    piece = messages.frame(pb.Reply(part=pb.Part(table=pb.Table(rows=900_000, columns=[column]), more=True)))
    for _ in range(2400):
        connection.sendall(piece)


def test_a_release_without_end_is_not_taken() -> None:
    with listening(endless_answer) as address:
        text, memory = measured(address, "protocol")
    assert "bytes" in text
    assert memory < 500


# ---- TLS and tokens


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
