"""One HTTP exchange with a server nobody trusts: bounded in time and size. Knows requests, not what they mean."""

from __future__ import annotations

import email.utils
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests

from harness.vocabulary.errors import REPLY_LOST, AwayError, InputError, OracleError, ReleaseError
from oracles.addresses import shown_address
from oracles.clients.credentials import check_certificates, checked_headers, read_token
from oracles.clients.tls_faults import Connection
from oracles.clients.web_errors import BAD_ADDRESS, stream, translated, valid_http
from oracles.deadline import Watch, WatchedAdapter
from oracles.untrusted import LONGEST_PAUSE, SAID, TOKEN_HINT, quoted

PIECE = 1 << 16
MOST_REDIRECTS = 5
LOOPBACK = ("localhost", "127.0.0.1", "::1")
JSON_BYTES = 8 << 20  # of a JSON reply: read, it may take twenty times as much
BYTES_PER_PART = 16  # of what is allowed, for each list or object
TRY_AGAIN = frozenset((408, 425, 500, 502, 504))
BUSY = frozenset((429, 503))  # the server itself says that it is to be asked later


@dataclass(frozen=True)
class Reply:
    """A whole reply, decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def may_be_cut(self) -> bool:
        """Whether the end of the body may be missing unseen: nothing says where that is but the connection's own."""
        return not self.headers.keys() & {"content-length", "transfer-encoding"}

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True)
class Incoming:
    """A reply whose body is still on its way."""

    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]  # decompressed, each at most PIECE bytes

    def whole(self, most: int) -> Reply:
        """The reply with all of its body, which may have so many bytes at most."""
        body = bytearray()
        for piece in self.pieces:
            body += piece
            if len(body) > most:
                large = f"the reply has more than {most} bytes (decompressed)"
                raise ReleaseError(f"{large}; raise the option max_reply_bytes if that is right")
        return Reply(self.status, self.headers, bytes(body))


@contextmanager
def whole_or_lost(reply: Reply) -> Iterator[None]:
    """Inside, a reply is read; one that cannot be read, and may have been cut, was lost on the way: ask again."""
    try:
        yield
    except ReleaseError as error:
        if not reply.may_be_cut:
            raise
        words = f"the connection ended before the reply was whole: {error}"
        raise OracleError(words, retryable=True, reason=REPLY_LOST) from None


def require_few_parts(body: bytes, most_bytes: int) -> None:
    """A megabyte of JSON can hold so many small lists and objects that they fill the memory when read."""
    most = most_bytes // BYTES_PER_PART
    if body.count(b"[") + body.count(b"{") > most:
        large = f"the JSON reply has more than {most} lists and objects"
        raise ReleaseError(f"{large}; raise the option max_reply_bytes if that is right")


class Web:
    """A base address and how to talk to it: one session per thread, TLS verified, a token, proxies as configured."""

    def __init__(
        self,
        base: str,  # the address
        *,
        timeout: float = 300.0,  # seconds that one answer may take in all
        ca: str | None = None,  # file of certificates to trust instead of the system's
        cert: str | None = None,  # file with the certificate of this side (mutual TLS)
        key: str | None = None,  # file with the key of that certificate
        token_env: str | None = None,  # environment variable that holds the token to present
        headers: Mapping[str, str] | None = None,  # further headers of every request
    ) -> None:
        self.base, self.timeout = _base(base), timeout
        if key is not None and cert is None:
            raise InputError("key belongs to a certificate; give that as the option cert")
        check_certificates(ca, cert, key)
        self._verify: str | bool = ca if ca else True
        self._cert: Any = (cert, key) if key else cert
        self._connection = _connection(self.base, ca, cert, key)
        self._auth = _Bearer(_token(token_env, self.base))
        own = checked_headers(headers or {}, "headers")
        self._headers = {"Accept-Encoding": "gzip", "User-Agent": "anonymizer-harness", **own}
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._sessions: list[requests.Session] = []
        self._sent = self._received = 0

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes of bodies sent and received so far, as they were on the wire."""
        return self._sent, self._received

    def close(self) -> None:
        with self._lock:
            for session in self._sessions:
                session.close()

    @contextmanager
    def exchange(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> Iterator[Incoming]:
        """Sends a request and gives its reply; all of it must be over within the timeout, however it trickles."""
        address = path if "://" in path else self.base + path
        seconds = self.timeout if seconds is None else min(seconds, self.timeout)
        with Watch(seconds) as watch, translated(self._connection, self.base, watch):
            response = self._followed(method, address, body, {**self._headers, **(headers or {})}, params, seconds)
            self._connection = replace(self._connection, works=True)
            with response:
                lowered = {name.lower(): value for name, value in response.headers.items()}
                yield Incoming(response.status_code, lowered, self._pieces(response))

    def _followed(
        self,
        method: str,
        address: str,
        body: bytes | None,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None,
        seconds: float,
    ) -> requests.Response:
        """The first reply that is no redirect."""
        for redirects in range(MOST_REDIRECTS):
            with self._lock:
                self._sent += len(body or b"")
            try:
                with valid_http():
                    response = self._session().request(
                        method, address, data=body, headers=dict(headers), params=params, timeout=seconds, stream=True,
                        allow_redirects=False, verify=self._verify, cert=self._cert,
                    )  # fmt: skip
            except BAD_ADDRESS as error:
                if redirects == 0:
                    raise InputError(f"{self.base} is no address of a web service: {type(error).__name__}") from None
                raise OracleError(f"{self.base} redirects to {quoted_place(address)}, which is no address") from None
            if response.status_code not in (301, 302, 303, 307, 308):
                return response
            response.close()
            address, params = self._redirected(method, address, response), None
        raise OracleError(f"{self.base} redirects more than {MOST_REDIRECTS} times")

    def _redirected(self, method: str, address: str, response: requests.Response) -> str:
        """Where the server wants us to go: only elsewhere on the same host, and never with a lost body."""
        location = response.headers.get("location", "")
        target = on_the_same_host(address, location)
        if target is None:
            raise OracleError(
                f"{self.base} redirects to another host, {quoted_place(location)}; the data goes only where you "
                "address it, so give that address itself if it is right"
            )
        if method != "GET" and response.status_code not in (307, 308):
            raise OracleError(
                f"{self.base} answers {method} with the redirect {response.status_code} to {quoted_place(target)}, "
                "which would lose the question; give that address itself if it is right"
            )
        return target

    def _pieces(self, response: requests.Response) -> Iterator[bytes]:
        """The body, decompressed a bounded piece at a time."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", ""):
            raise ReleaseError(f"the reply is encoded as {quoted(encoding)}; only gzip was accepted")
        raw = stream(response.raw, PIECE)
        yield from _gunzipped(self._counted(raw)) if encoding == "gzip" else self._counted(raw)

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            with self._lock:
                self._received += len(piece)
            yield piece

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._mine, "session", None)
        if session is None:
            session = self._mine.session = _Session()
            session.auth = self._auth  # set even without a token, or requests would look into ~/.netrc
            for scheme in ("http://", "https://"):
                session.mount(scheme, WatchedAdapter())
            with self._lock:
                self._sessions.append(session)
        return session


def _base(address: str) -> str:
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment
        good = good and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InputError(f"{shown_address(address)!r} is no address of a web service; expected https://host/path")
    if parts.username is not None or parts.password is not None:
        raise InputError("a password in the address would end up in reports; use the option token_env or headers")
    return address.rstrip("/")


def _connection(base: str, ca: str | None, cert: str | None, key: str | None) -> Connection:
    parts = urlsplit(base)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    return Connection(str(parts.hostname), port, secure, ("http://", "https://"), ca=ca, cert=cert, key=key)


def _token(name: str | None, base: str) -> str | None:
    if name is None:
        return None
    token = read_token(name, base)
    parts = urlsplit(base)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise InputError(f"{base}: a token would travel readable for everybody; use https://")
    return token


def on_the_same_host(here: str, location: str) -> str | None:
    """Where a location leads from here, unless it leads to another host, scheme or port, or nowhere.

    The step from http up to https on the same name is allowed.
    """
    try:
        target = urljoin(here, location)
        one, other = urlsplit(here), urlsplit(target)
        upgrade = (one.scheme, other.scheme) == ("http", "https")
        ports = one.port, other.port  # each is read: a bad one raises
        same = upgrade or (one.scheme, ports[0]) == (other.scheme, ports[1])
    except ValueError:
        return None
    return target if same and one.hostname == other.hostname and target.isprintable() else None


def quoted_place(location: str) -> str:
    """Where a server sends us, as errors quote it: without the query, which may repeat ours."""
    return quoted(shown_address(location))


class _Session(requests.Session):
    """Looks into no redirect by itself: it would read the whole body of one, however large."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        return None


class _Bearer(requests.auth.AuthBase):
    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def _gunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """All members, never more than PIECE bytes at once, whatever a kilobyte of gzip claims to be.

    Bytes that hold nothing would escape every limit, which are of what was unpacked: so there may be few of them.
    What stands behind the last member is no member, and zlib refuses it.
    """
    stream = zlib.decompressobj(wbits=31)
    taken = given = 0
    for packed in pieces:
        taken += len(packed)
        while packed:
            if stream.eof:
                stream = zlib.decompressobj(wbits=31)
            unpacked = stream.decompress(packed, PIECE)
            given += len(unpacked)
            yield unpacked
            packed = stream.unconsumed_tail or stream.unused_data
        if taken > 4 * (given + PIECE):
            raise ReleaseError(f"{taken} bytes of gzip hold {given} bytes; such a reply is refused")
    while rest := stream.decompress(b"", PIECE):
        yield rest
    if not stream.eof:
        raise OracleError("the compressed reply ends in the middle", retryable=True, reason=REPLY_LOST)


# ---- what a reply says went wrong


def problem(reply: Reply, what: str, message: str = "") -> OracleError:
    """A reply with another status than success, as an error; `message` is what a protocol found in its body."""
    reason = message or _brief(reply)
    text = f"{what} answered with status {reply.status}{': ' + reason if reason else ''}"
    if reply.status in (401, 403):
        text += f"; {TOKEN_HINT}"
    after = retry_after(reply.headers)
    if reply.status in BUSY:
        return AwayError(text, retry_after=after)
    reason = f"the server of f answered with status {reply.status}"
    return OracleError(text, retryable=reply.status in TRY_AGAIN, retry_after=after, reason=reason)


def _brief(reply: Reply) -> str:
    if "html" in reply.content_type:
        return f"a web page beginning {quoted(reply.body.strip())}"
    return quoted(reply.body.strip(), SAID) if reply.body.strip() else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a Retry-After header asks for, written as a number or as a date."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_PAUSE)
    with suppress(ValueError, TypeError, OverflowError):
        return min(max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time()), LONGEST_PAUSE)
    return None
