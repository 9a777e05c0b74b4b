"""What is wrong with a TLS connection, in one sentence for each mistake. Looks by itself where a library does not say.

    the server's certificate    not for this host; of an unknown authority; expired
    ours                        asked for and not given; expired; refused
    which of the two speak      TLS to a port that does not; plain text to one that does

None of these passes by itself, so that none is tried again. A server that refuses our certificate often hangs up
without a word: then `find_fault` opens one connection more, and reads how far it gets.
"""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SECONDS = 5.0  # for one look
NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")  # answers in plain text
WRONG_NAME = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
EXPIRED = 10  # X509_V_ERR_CERT_HAS_EXPIRED
REFUSALS = (  # alerts of a server that does not like our certificate, or that there is none
    "ALERT_HANDSHAKE_FAILURE", "ALERT_BAD_CERTIFICATE", "ALERT_UNSUPPORTED_CERTIFICATE", "ALERT_CERTIFICATE_REVOKED",
    "ALERT_CERTIFICATE_UNKNOWN", "ALERT_UNKNOWN_CA", "ALERT_ACCESS_DENIED",
)  # fmt: skip
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)


@dataclass(frozen=True)
class Connection:
    """One side of a connection: to whom, whether encrypted, and with which files."""

    host: str
    port: int
    secure: bool
    schemes: tuple[str, str]  # how an address says that it is not encrypted, and that it is
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    server_name: str | None = None  # in its certificate, where it is not the host's
    works: bool = False  # it was used before: then nothing is wrong with it in principle

    @property
    def name(self) -> str:
        return self.server_name or self.host


def sentence_of(error: ssl.SSLError, at: Connection) -> str:
    """What an error of OpenSSL means; its own word where it is none of the usual mistakes."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in WRONG_NAME:
            return f"the certificate of the server is not for {at.name!r}; address it by a name in its certificate"
        if error.verify_code == EXPIRED:
            return "the certificate of the server has expired"
        message = error.verify_message
        return f"the certificate of the server is of an unknown authority ({message}); give that as the option ca"
    reason = error.reason or ""
    if reason in NOT_TLS:
        return f"the server does not speak TLS; if that is right, write {at.schemes[0]} instead"
    if "CERTIFICATE_REQUIRED" in reason or (at.cert is None and reason.endswith(REFUSALS)):
        return "the server asks for a certificate of this side; give the options cert and key"
    if "CERTIFICATE_EXPIRED" in reason or (reason.endswith(REFUSALS) and _is_over(at.cert)):
        return "the server refused the certificate of this side (option cert): it has expired"
    if reason.endswith(REFUSALS):
        return f"the server refused the certificate of this side (option cert): {reason}"
    return f"the connection is not safe: {reason or error.strerror or 'the TLS handshake failed'}"


def find_fault(at: Connection) -> str | None:
    """The sentence for what is wrong with such a connection; None if no mistake with TLS is to be seen."""
    try:
        with socket.create_connection((at.host, at.port), SECONDS) as connected:
            connected.settimeout(SECONDS)
            return _fault_of(connected, at) if at.secure else _speaks_tls(connected, at)
    except (OSError, ValueError, UnicodeError):
        return None


def _speaks_tls(connected: socket.socket, at: Connection) -> str | None:
    """Whether the other side answers a TLS greeting, whatever it then thinks of it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    says = f"the server speaks TLS; write {at.schemes[1]} instead"
    try:
        with context.wrap_socket(connected):
            return says
    except ssl.SSLError as error:
        return says if "ALERT" in (error.reason or "") else None


def _fault_of(connected: socket.socket, at: Connection) -> str | None:
    context = ssl.create_default_context(cafile=at.ca)
    if at.cert is not None:
        context.load_cert_chain(at.cert, at.key)
    if at.schemes[1].startswith("grpc"):
        context.set_alpn_protocols(["h2"])
    shaken = False
    try:
        with context.wrap_socket(connected, server_hostname=at.name) as encrypted:
            shaken = True
            encrypted.recv(1)  # a server of TLS 1.3 says only now what it thinks of our certificate
    except (ssl.SSLEOFError, ConnectionError):
        pass
    except ssl.SSLError as error:
        return sentence_of(error, at)
    except TimeoutError:
        return None
    return _hung_up(at) if shaken else None


def _hung_up(at: Connection) -> str:
    """What a server means that ends a connection right behind the handshake, before it was asked anything."""
    if at.cert is None:
        return (
            "the server hung up right after the TLS handshake; if it asks for a certificate of this side, give the "
            "options cert and key"
        )
    why = "it has expired" if _is_over(at.cert) else "is it of an authority that the server trusts?"
    return f"the server refused the certificate of this side (option cert): {why}"


def _is_over(cert: str | None) -> bool:
    """Whether the time of a certificate is over; False also where that cannot be read."""
    with suppress(OSError, ValueError, IndexError, TypeError, AttributeError):
        pem = CERTIFICATE.search(Path(str(cert)).read_text(encoding="latin-1"))
        return pem is not None and _end_of(ssl.PEM_cert_to_DER_cert(pem[0])) < datetime.now(UTC)
    return False


def _end_of(der: bytes) -> datetime:
    """notAfter of a certificate (RFC 5280): the second time of the first sequence of two times."""
    signed = _content(_content(der))
    parts = _parts(signed)
    validity = parts[4 if parts[0][0] == 0xA0 else 3][1]
    kind, text = _parts(validity)[1]
    form = "%y%m%d%H%M%SZ" if kind == 0x17 else "%Y%m%d%H%M%SZ"
    return datetime.strptime(text.decode("ascii"), form).replace(tzinfo=UTC)


def _content(der: bytes) -> bytes:
    return _parts(der)[0][1]


def _parts(der: bytes) -> list[tuple[int, bytes]]:
    """The elements of a DER sequence: tag and content."""
    parts = []
    while der:
        tag, length, start = der[0], der[1], 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(der[2:start], "big")
        parts.append((tag, der[start : start + length]))
        der = der[start + length :]
    return parts
