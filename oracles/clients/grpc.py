"""An anonymizer behind gRPC: grpc:// and grpcs:// addresses. All errors of gRPC are translated in one place here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import grpc
from google.protobuf.message import Message

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import NO_ANSWER_IN_TIME, REPLY_LOST, AwayError, InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card, Release
from oracles.addresses import shown_address, without_secrets
from oracles.clients.credentials import check_certificates, read_token
from oracles.clients.tls_faults import Connection, find_fault
from oracles.clients.upload import Sender
from oracles.untrusted import SAID, quoted
from oracles.wire import answers, messages, questions
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description, Refused
from oracles.wire.questions import Question

SCHEMES: Final = ("grpc://", "grpcs://")
NOT_STARTED: Final = "Connection refused"  # in this library's words: nobody listens there
SERVICE: Final = "/oracle.v1.Oracle/"
PROBLEM: Final = "oracle-problem-bin"  # the trailer that holds a serialised Problem
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
RETRYABLE: Final = {  # of statuses that come without a Problem: PROTOCOL.md §7
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,  # among others a stream that was reset
    grpc.StatusCode.ABORTED,
}
OPTIONS: Final = {
    "grpc.max_receive_message_length": messages.MESSAGE_BYTES,
    "grpc.max_send_message_length": -1,  # the server's limit is checked before sending
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.enable_retries": 0,  # retries are counted, and belong to oracles.middleware
    "grpc.use_local_subchannel_pool": 1,
    "grpc.compression_enabled_algorithms_bitset": 1,  # none: a small reply that unpacks into a large one is no use
}

Some = TypeVar("Some")


class GrpcOracle:
    """The oracle at grpc://host:port or grpcs://host:port; may be asked by many threads at once."""

    def __init__(
        self,
        address: str,  # grpc://host:port, or grpcs://host:port for TLS
        *,
        token_env: str | None = None,  # environment variable that holds the token to present
        ca: str | None = None,  # file of certificates to trust instead of the system's
        cert: str | None = None,  # file with the certificate of this side (mutual TLS)
        key: str | None = None,  # file with the key of that certificate
        server_name: str | None = None,  # name in the server's certificate, where it is not the host's
        timeout: float = 300.0,  # seconds to wait for one answer, without what the asker does between its releases
        max_reply_bytes: int = messages.MOST_BYTES,  # largest release that is accepted, in bytes
        max_rows: int | None = None,  # rows of a release that are read (None: 10 per row sent, at least 100,000)
    ) -> None:
        self._recipe = (address, {
            "token_env": token_env, "ca": ca, "cert": cert, "key": key, "server_name": server_name,
            "timeout": timeout, "max_reply_bytes": max_reply_bytes, "max_rows": max_rows,
        })  # fmt: skip
        self.address, self.timeout, self.max_reply_bytes = address, timeout, max_reply_bytes
        target, secure = _target(address)
        self._metadata = _metadata(token_env, address, secure)
        self._counting = threading.Lock()
        self._sent = self._received = 0
        parts = urlsplit(address)
        self._connection = Connection(
            str(parts.hostname), parts.port or 0, secure, SCHEMES, ca=ca, cert=cert, key=key, server_name=server_name
        )
        self._channel = _channel(target, secure, _files(secure, ca, cert, key), server_name)
        try:
            self._sender = Sender(self, self._describe(), max_rows)
        except OracleError:
            self._channel.close()
            raise
        self.card: Card = self._sender.description.card

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._recipe

    def spec(self) -> dict[str, Any]:
        """What tells this oracle from another; what may be secret in it is a `Secret`."""
        return without_secrets(*self._recipe)

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes of messages sent and received so far."""
        return self._sent, self._received

    def answer(self, ask: Ask) -> Iterator[Release]:
        return self._sender.answer(ask)

    def close(self) -> None:
        self._channel.close()

    def _describe(self) -> Description:
        call = self._channel.unary_unary(SERVICE + "Describe", self._out, self._into(pb.DescribeReply))
        seconds = min(self.timeout, messages.DESCRIBE_SECONDS)
        request = messages.describe_request()
        try:
            reply = self._called(lambda: call(request, timeout=seconds, metadata=self._metadata), seconds)
        except OracleError as error:
            fault = find_fault(self._connection) if error.retryable and NOT_STARTED not in str(error) else None
            raise (error if fault is None else OracleError(f"{self.address}: {fault}")) from None
        try:
            return messages.unpack_description(reply)
        except ReleaseError as error:
            raise error.within(self.address) from None

    def pack(self, data: Dataset) -> bytes:
        return messages.pack_dataset(data).SerializeToString()

    def put(self, digest: str, body: bytes) -> str:
        call = self._channel.stream_unary(SERVICE + "Put", self._out, self._into(pb.PutReply))
        pieces = messages.put_requests(digest, body)
        kept: pb.PutReply = self._called(lambda: call(pieces, timeout=self.timeout, metadata=self._metadata))
        return kept.digest

    def ask(self, question: Question) -> Iterator[Release]:
        request = questions.sized(questions.pack_question(question), self._sender.description.request_bytes)
        most = 1 if self.card.releases == "predictions" else question.draws
        body = request.SerializeToString()
        yield from answers.assembled(self._parts(body), most, self.max_reply_bytes, messages.digest_of(body))

    def _parts(self, request: bytes) -> Iterator[pb.Part]:
        """The pieces of an answer; only the waiting for them counts against the timeout."""
        open_call = self._channel.unary_stream(SERVICE + "Answer", self._counted, self._into(pb.Part))
        call: Any = open_call(request, metadata=self._metadata)
        left = self.timeout
        try:
            while True:
                began = time.monotonic()
                part = self._called(lambda: _next_within(call, left))  # noqa: B023  (called at once)
                if part is None:
                    return
                left -= time.monotonic() - began
                yield part
        finally:
            call.cancel()

    def _out(self, message: Message) -> bytes:
        return self._counted(message.SerializeToString())

    def _counted(self, data: bytes) -> bytes:
        with self._counting:
            self._sent += len(data)
        return data

    def _into(self, kind: type[Message]) -> Callable[[bytes], Any]:
        def read(data: bytes) -> Message:
            with self._counting:
                self._received += len(data)
            return kind.FromString(data)

        return read

    def _called(self, call: Callable[[], Some], seconds: float | None = None) -> Some:
        try:
            return call()
        except grpc.RpcError as error:
            raise _translated(error, seconds or self.timeout, self.address) from None
        except ValueError as error:  # grpc: the channel is closed
            raise OracleError(f"{self.address}: {error}") from None


def _again(address: str, options: dict[str, Any]) -> GrpcOracle:
    return GrpcOracle(address, **options)


def _next_within(call: Any, seconds: float) -> Any:
    """The next message of a stream, None at its end; cancels the call when it is late."""
    late = threading.Event()

    def cancel() -> None:
        late.set()
        call.cancel()

    timer = threading.Timer(max(0.0, seconds), cancel)
    timer.daemon = True
    timer.start()
    try:
        return next(call, None)
    except grpc.RpcError:
        if late.is_set():
            raise _Late from None
        raise
    finally:
        timer.cancel()


class _Late(grpc.RpcError):
    """This side waited long enough."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.DEADLINE_EXCEEDED

    def details(self) -> str:
        return ""

    def trailing_metadata(self) -> tuple[()]:
        return ()


def _translated(error: Any, timeout: float, address: str) -> OracleError:
    """What a failed call means, and whether it may be made again."""
    for key, value in error.trailing_metadata() or ():
        if key == PROBLEM:
            return messages.placed_problem(messages.unpack_problem(messages.parsed(pb.Problem, value)), address)
    code, text = error.code(), error.details() or ""
    details = quoted(text, SAID)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return OracleError(f"{address} did not answer within {timeout:g} s", retryable=True, reason=NO_ANSWER_IN_TIME)
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return messages.placed_problem(messages.read_problem(text, "UNAUTHENTICATED", None), address)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Refused(f"{address} does not speak oracle.v1: {details}", code="UNSUPPORTED")
    if code is grpc.StatusCode.NOT_FOUND:
        return Refused(f"{address}: {details}", code="UNKNOWN_DATA")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in text:
        return ReleaseError(f"{address}: {details}; a release must come in parts below a megabyte")
    if code is grpc.StatusCode.INTERNAL and "deserializing" in text:  # in this library's words
        return ReleaseError(f"{address} sent a message that cannot be read")
    words = f"{address}: {code.name}: {details}{_hint(text)}"
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED or (code is grpc.StatusCode.UNAVAILABLE and not _is_cut_off(text)):
        return AwayError(words)
    reason = REPLY_LOST if code in RETRYABLE else f"the server of f answered with {code.name}"
    return OracleError(words, retryable=code in RETRYABLE, reason=reason)


def _is_cut_off(text: str) -> bool:
    """Whether a connection that stood was lost in the middle of a call, in this library's words."""
    return any(word in text for word in ("Socket closed", "reset by peer", "Broken pipe", "GOAWAY", "recvmsg"))


def _hint(text: str) -> str:
    """What the words of this library mean where the other side speaks something else."""
    return "; this is no gRPC server: is it one for http://?" if "Failed parsing HTTP/2" in text else ""


# ---- connecting


def _target(address: str) -> tuple[str, bool]:
    """host:port, and whether the connection is to be encrypted."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("grpc", "grpcs") and bool(parts.hostname) and bool(parts.port)
        good = good and not (parts.path.strip("/") or parts.query or parts.fragment)
    except ValueError:
        good = False
    if not good:
        shown = shown_address(address)
        raise InputError(f"{shown!r} is no gRPC address; expected grpc://host:port or grpcs://host:port")
    if parts.username is not None or parts.password is not None:
        raise InputError("a password in the address would end up in reports; use the option token_env")
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    return f"{host}:{parts.port}", parts.scheme == "grpcs"


def _metadata(token_env: str | None, address: str, secure: bool) -> tuple[tuple[str, str], ...]:
    if token_env is None:
        return ()
    token = read_token(token_env, address)
    if not secure and urlsplit(address).hostname not in LOOPBACK:
        raise InputError(f"{address}: a token would travel readable for everybody; use grpcs://")
    return (("authorization", f"Bearer {token}"),)


def _files(secure: bool, ca: str | None, cert: str | None, key: str | None) -> dict[str, bytes | None]:
    """The contents of the certificates' files."""
    if not secure and (ca or cert or key):
        raise InputError("ca, cert and key are for grpcs:// addresses; this one is not encrypted")
    if (cert is None) != (key is None):
        raise InputError("cert and key belong together; give both or neither")
    check_certificates(ca, cert, key)
    paths = {"ca": ca, "cert": cert, "key": key}
    return {name: Path(path).read_bytes() if path else None for name, path in paths.items()}


def _channel(target: str, secure: bool, files: Mapping[str, bytes | None], server_name: str | None) -> grpc.Channel:
    options = list(OPTIONS.items())
    if target.rpartition(":")[0].strip("[]") in LOOPBACK:
        options.append(("grpc.enable_http_proxy", 0))
    if server_name is not None:
        options.append(("grpc.ssl_target_name_override", server_name))  # type: ignore[arg-type]
    if not secure:
        return grpc.insecure_channel(target, options)
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(files["ca"], files["key"], files["cert"]), options)
