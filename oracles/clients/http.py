"""An anonymizer behind HTTP: http:// and https:// addresses of servers that speak the protocol (PROTOCOL.md §3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, get_args

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import REPLY_LOST, InputError, OracleError, ReleaseError, did_you_mean
from harness.vocabulary.oracle import Ask, Release
from oracles.addresses import without_secrets
from oracles.clients.upload import Sender
from oracles.clients.web import JSON_BYTES, Incoming, Reply, Web, problem, require_few_parts, retry_after, whole_or_lost
from oracles.untrusted import quoted
from oracles.wire import answers, json_form, messages, questions
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description, Refused
from oracles.wire.questions import Question

Encoding = Literal["auto", "protobuf", "json"]
TYPES = {"protobuf": "application/x-protobuf", "json": "application/json"}
CARD, DATA, ANSWERS = "/v1/card", "/v1/data/", "/v1/answers"
SMALL = 1 << 20  # bytes of a card, a digest or a problem


class HttpOracle:
    """The oracle at an address; may be asked by many threads at once."""

    def __init__(
        self,
        address: str,  # where the server is, such as https://anonymizer.example
        *,
        encoding: Encoding = "auto",  # "protobuf", "json", or "auto": protobuf where the server has it
        max_reply_bytes: int | None = None,  # largest release that is accepted, in bytes (None: 128 MiB, JSON 8)
        max_rows: int | None = None,  # rows of a release that are read (None: 10 per row sent, at least 100,000)
        **web: Any,  # the options of Web
    ) -> None:
        if encoding not in get_args(Encoding):
            hint = did_you_mean(str(encoding), get_args(Encoding))
            raise InputError(f"{address}: encoding {encoding!r} is not known; {hint}")
        self._recipe = address, {**web, "encoding": encoding, "max_reply_bytes": max_reply_bytes, "max_rows": max_rows}
        self._web = Web(address, **web)
        try:
            description = self._described(encoding)
        except BaseException:
            self._web.close()
            raise
        self.max_reply_bytes = max_reply_bytes or (JSON_BYTES if self.encoding == "json" else messages.MOST_BYTES)
        self._sender = Sender(self, description, max_rows)
        self.card = description.card

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._recipe

    def spec(self) -> dict[str, Any]:
        """What tells this oracle from another; what may be secret in it is a `Secret`."""
        return without_secrets(*self._recipe)

    @property
    def traffic(self) -> tuple[int, int]:
        return self._web.traffic

    def answer(self, ask: Ask) -> Iterator[Release]:
        return self._sender.answer(ask)

    def close(self) -> None:
        self._web.close()

    def _described(self, encoding: Encoding) -> Description:
        """The card, and in which form the server speaks from now on."""
        wanted = ", ".join(TYPES.values()) if encoding == "auto" else TYPES[encoding]
        with self._web.exchange("GET", CARD, headers={"Accept": wanted}, seconds=messages.DESCRIBE_SECONDS) as incoming:
            reply = self._good(incoming.whole(SMALL), CARD)
        form = next((name for name, kind in TYPES.items() if kind == reply.content_type), None)
        if form is None or encoding not in ("auto", form):
            raise ReleaseError(f"{self._web.base}{CARD} {_odd_type(reply, wanted)}")
        self.encoding = form
        try:
            with whole_or_lost(reply):
                if form == "json":
                    return json_form.read_description(json_form.loaded(reply.body))
                return messages.unpack_description(messages.parsed(pb.DescribeReply, reply.body))
        except OracleError as error:
            raise error.within(self._web.base) from None

    # ---- the Link that the Sender needs

    def pack(self, data: Dataset) -> bytes:
        if self.encoding == "json":
            return json_form.dumped(json_form.json_dataset(data))
        return messages.pack_dataset(data).SerializeToString()

    def put(self, digest: str, body: bytes) -> str:
        with self._web.exchange("PUT", DATA + digest, body=body, headers=self._headers) as incoming:
            reply = self._good(incoming.whole(SMALL), DATA)
        with whole_or_lost(reply):
            if self.encoding == "json":
                return str(json_form.loaded(reply.body).get("digest"))
            return messages.parsed(pb.PutReply, reply.body).digest

    def ask(self, question: Question) -> Iterator[Release]:
        return self._ask_json(question) if self.encoding == "json" else self._ask_protobuf(question)

    def _ask_protobuf(self, question: Question) -> Iterator[Release]:
        request = questions.sized(questions.pack_question(question), self._sender.description.request_bytes)
        body = request.SerializeToString()
        with self._web.exchange("POST", ANSWERS, body=body, headers=self._headers) as incoming:
            if incoming.status != 200 or not _has_type(incoming, "protobuf"):
                self._good(incoming.whole(SMALL), ANSWERS)
            pieces, most = _parts(incoming.pieces), self._expected(question)
            yield from answers.assembled(pieces, most, self.max_reply_bytes, messages.digest_of(body))

    def _ask_json(self, question: Question) -> Iterator[Release]:
        """JSON cannot be read in pieces, so a long question is cut into shorter ones whose replies stay small."""
        done, step = 0, question.draws if self.card.releases == "predictions" else 1
        while done < question.draws:
            seed = (question.seed + done) % 2**63
            part = replace(question, draws=min(step, question.draws - done), seed=seed)
            asked = json_form.dumped(json_form.json_question(part))
            reply = self._posted(asked)
            require_few_parts(reply.body, self.max_reply_bytes)
            with whole_or_lost(reply):
                message = json_form.loaded(reply.body)
            yield from json_form.read_releases(message, self._expected(part), messages.digest_of(asked))
            done += part.draws
            step = max(1, self.max_reply_bytes // 4 * part.draws // max(1, len(reply.body)))

    def _posted(self, body: bytes) -> Reply:
        limit = self._sender.description.request_bytes
        if len(body) > limit:
            raise Refused(f"the question takes {len(body)} bytes; the oracle takes {limit}", code="TOO_LARGE")
        with self._web.exchange("POST", ANSWERS, body=body, headers=self._headers) as incoming:
            return self._good(incoming.whole(self.max_reply_bytes), ANSWERS)

    def _expected(self, question: Question) -> int:
        return 1 if self.card.releases == "predictions" else question.draws

    @property
    def _headers(self) -> dict[str, str]:
        return {"Content-Type": TYPES[self.encoding], "Accept": TYPES[self.encoding]}

    def _good(self, reply: Reply, path: str) -> Reply:
        """The reply, if it is a success in the form that was asked for."""
        if reply.status not in (200, 201):
            raise _refusal(reply, self._web.base + path)
        if not reply.body:  # no message is empty
            words = f"{self._web.base}{path} replied with status {reply.status} and nothing else"
            raise OracleError(words, retryable=True, reason=REPLY_LOST)
        if path != CARD and reply.content_type != TYPES[self.encoding]:
            raise ReleaseError(f"{self._web.base}{path} {_odd_type(reply, TYPES[self.encoding])}")
        return reply


def _again(address: str, options: dict[str, Any]) -> HttpOracle:
    return HttpOracle(address, **options)


def _has_type(incoming: Incoming, encoding: str) -> bool:
    return incoming.headers.get("content-type", "").partition(";")[0].strip().lower() == TYPES[encoding]


def _odd_type(reply: Reply, wanted: str) -> str:
    kind = f"the content type {quoted(reply.content_type)}" if reply.content_type else "no content type"
    return f"replied with {kind}; expected {wanted}; it begins {quoted(reply.body.strip())}"


def _refusal(reply: Reply, where: str) -> OracleError:
    """What an error status means: the problem in its body if it can be read, else the status itself."""
    refused = _problem_in(reply)
    if refused is None:
        error = problem(reply, where)
        return Refused(str(error), code="TOO_LARGE") if reply.status == 413 else error
    if refused.retry_after is None:
        refused.retry_after = retry_after(reply.headers)
    return messages.placed_problem(refused, where)


def _problem_in(reply: Reply) -> Refused | None:
    """The problem in the body of a reply, if there is one that can be read."""
    try:
        if reply.content_type == TYPES["protobuf"]:
            return messages.unpack_problem(messages.parsed(pb.Problem, reply.body))
        message = json_form.loaded(reply.body) if reply.content_type == TYPES["json"] else {}
    except ReleaseError:
        return None
    return json_form.read_problem(message) if isinstance(message.get("code"), str) else None


def _parts(pieces: Iterator[bytes]) -> Iterator[pb.Part]:
    """The parts of an answer, which must end with `done`."""
    source = _Source(pieces)
    sent = 0
    while (reply := messages.read_frame(source.read, pb.Reply)) is not None:
        kind = reply.WhichOneof("kind")
        if kind == "problem":
            raise messages.unpack_problem(reply.problem)
        if kind == "done":
            answers.check_done(reply.done, sent)
            if source.read(1):
                raise ReleaseError("it said that it was done, and sent something more")
            return
        if kind != "part":
            raise ReleaseError(f"it replied {kind or 'something unknown'} where part or done was expected")
        sent += not reply.part.more
        yield reply.part
    raise OracleError("the reply broke off before it was done", retryable=True, reason=REPLY_LOST)


class _Source:
    """Pieces of any length, read as one stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, bytearray()

    def read(self, size: int) -> bytes:
        """So many bytes, or fewer where the stream ends."""
        while len(self._left) < size and (piece := next(self._pieces, None)) is not None:
            self._left += piece
        taken = bytes(self._left[:size])
        del self._left[:size]
        return taken
