"""What went wrong in an HTTP exchange, in our words: all errors of requests, urllib3 and http.client are translated.

An error says what happened and whether asking again may help. A reply that is not HTTP is no reason to end with a
traceback: whatever these libraries raise while they read one is a ReleaseError.
"""

from __future__ import annotations

import http.client
import ssl
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
import urllib3

from harness.vocabulary.errors import NO_ANSWER_IN_TIME, REPLY_LOST, AwayError, HarnessError, OracleError, ReleaseError
from oracles.clients.tls_faults import Connection, find_fault, sentence_of
from oracles.deadline import Watch

NOT_CONNECTED = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
KNOWN = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, zlib.error)
BAD_ADDRESS = (requests.exceptions.InvalidURL, urllib3.exceptions.LocationParseError, http.client.InvalidURL)


@contextmanager
def valid_http() -> Iterator[None]:
    """Inside, the libraries read what the server sends; whatever else they raise says that it is not HTTP."""
    try:
        yield
    except (HarnessError, *BAD_ADDRESS, *KNOWN):
        raise
    except Exception as error:
        raise ReleaseError(f"the reply is not valid HTTP ({type(error).__name__})") from None


def stream(raw: Any, size: int) -> Iterator[bytes]:
    """The body of a reply as it arrives, in pieces of at most so many bytes."""
    _refuse_negative_chunks(raw)
    pieces = raw.stream(size, decode_content=False)
    while True:
        with valid_http():
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _refuse_negative_chunks(raw: Any) -> None:
    """urllib3 takes a chunk of -1 bytes for all that ever comes."""
    inherited = getattr(raw, "_update_chunk_length", None)
    if inherited is None:
        return

    def update() -> None:
        inherited()
        if raw.chunk_left is not None and raw.chunk_left < 0:
            raise ReleaseError("the reply is not valid HTTP: the length of a chunk is negative")

    raw._update_chunk_length = update


@contextmanager
def translated(at: Connection, base: str, watch: Watch) -> Iterator[None]:
    """Whatever the libraries raise as an OracleError that says what happened, and whether asking again may help."""
    try:
        yield
        if watch.late:  # a body without a length just ends when it is cut
            raise TimeoutError
    except KNOWN as error:
        raise _translation(error, at, base, watch) from None
    except OracleError:
        if watch.late:
            raise _late(base, watch) from None
        raise


def _translation(error: Exception, at: Connection, base: str, watch: Watch) -> OracleError:
    if any(isinstance(link, NOT_CONNECTED) for link in _chain(error)):
        return AwayError(f"{base}: {_cause(error)}")
    if watch.late or isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError):
        return _late(base, watch)
    if isinstance(error, zlib.error):
        return ReleaseError(f"the reply says it is gzip but cannot be decompressed: {error}")
    fault = _tls_fault(error, at)
    if fault is not None:
        return OracleError(f"{base}: {fault}")
    return OracleError(f"{base}: {_cause(error)}", retryable=True, reason=REPLY_LOST)


def _tls_fault(error: Exception, at: Connection) -> str | None:
    """The mistake with TLS that an error shows, or that a look of our own finds where nothing has worked yet."""
    told = next((link for link in _chain(error) if isinstance(link, ssl.SSLError)), None)
    if told is not None and not isinstance(told, ssl.SSLEOFError):
        return sentence_of(told, at)
    hung_up = told is not None or any(
        isinstance(link, ConnectionError | http.client.BadStatusLine) for link in _chain(error)
    )
    return find_fault(at) if hung_up and not at.works else None


def _late(base: str, watch: Watch) -> OracleError:
    words = f"{base} had not answered completely after {watch.seconds:g} s"
    return OracleError(words, retryable=True, reason=NO_ANSWER_IN_TIME)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and everything it was made from, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        inside = getattr(error, "reason", None) or next((a for a in error.args if isinstance(a, Exception)), None)
        error = inside if isinstance(inside, BaseException) else error.__cause__ or error.__context__


def _cause(error: Exception) -> str:
    """The innermost reason that has words."""
    words = "the connection failed"
    for link in _chain(error):
        if isinstance(link, OSError) and link.strerror:
            words = link.strerror
        elif isinstance(link, urllib3.exceptions.ProtocolError | urllib3.exceptions.IncompleteRead):
            words = "the connection was dropped in the middle of the reply"
    return words
