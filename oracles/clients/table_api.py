"""A web service that takes a table and gives one back, and knows nothing of our protocol: CSV or JSON records."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args
from urllib.parse import quote

from harness.vocabulary.errors import InputError, OracleError, ReleaseError, did_you_mean
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.table import Cells, Table
from oracles.addresses import without_secrets
from oracles.clients.credentials import checked_headers, checked_texts
from oracles.clients.web import (
    JSON_BYTES,
    Reply,
    Web,
    on_the_same_host,
    problem,
    quoted_place,
    require_few_parts,
    whole_or_lost,
)
from oracles.untrusted import checked_columns, checked_most_rows, most_rows, quoted, require_few_rows
from oracles.wire.csv_text import checked_delimiter, from_csv, to_csv

Format = Literal["csv", "json-records"]
CSV_TYPES = ("text/csv", "application/csv", "text/plain", "application/octet-stream", "")
CSV_BYTES = 16 << 20  # of a CSV reply: read, it may take thirty times as much
SEED_PLACES = ("query", "field", "header")


@dataclass(frozen=True)
class EndpointMapping:
    """How one service wants to be asked, as written under `plain` in audit.toml.

    A reply 202 with a Location is asked again until the release is there.
    """

    path: str = ""  # behind the address
    method: Literal["POST", "PUT"] = "POST"  # of the request
    format: Format = "csv"  # of both tables: "csv", or "json" for a list of records
    field: str | None = None  # form field that carries the table (None: it is the raw body)
    fields: Mapping[str, str] | None = None  # what else the form holds
    names: Mapping[str, str] | None = None  # our columns and what the service calls them
    headers: Mapping[str, str] | None = None  # further headers of every request
    seed: str | None = None  # where the seed goes: "query:NAME", "field:NAME" or "header:NAME" (None: there is no seed)
    delimiter: str | None = None  # between the cells of a CSV release (None: found out)
    columns: Sequence[str] = ()  # names of the columns of a CSV release that has no header
    request_key: str | None = None  # key under which the JSON records are sent (None: they are the whole body)
    reply_key: str | None = None  # key under which they come back, such as "result.rows" (None: likewise)
    interval: float = 1.0  # seconds between two looks after a 202
    deadline: float = 600.0  # seconds to wait for a release after a 202

    @classmethod
    def of(cls, declaration: Mapping[str, Any]) -> EndpointMapping:
        if not isinstance(declaration, Mapping):
            kind = type(declaration).__name__
            raise InputError(f'plain must be a table such as {{ format = "csv" }}, not a {kind}')
        known = [item.name for item in fields(cls)]
        unknown = next((name for name in declaration if name not in known), None)
        if unknown is not None:
            raise InputError(f"plain: unknown key {unknown!r}; {did_you_mean(unknown, known)}")
        return cls(**declaration)

    def __post_init__(self) -> None:
        if self.format not in get_args(Format):
            hint = did_you_mean(str(self.format), get_args(Format))
            raise InputError(f"plain: format {self.format!r} is not known; {hint}")
        checked_delimiter(self.delimiter)
        checked_headers(self.headers or {}, "plain.headers")
        checked_texts(self.fields or {}, "plain.fields")
        if not isinstance(self.path, str) or not self.path.isprintable() or "#" in self.path:
            raise InputError("plain: path must be printable text without #, such as /anonymize")
        if self.method not in ("POST", "PUT"):
            raise InputError(f'plain: method must be "POST" or "PUT", not {self.method!r}')
        if self.seed is not None and (self.seed_place not in SEED_PLACES or not self.seed_name):
            raise InputError(f'plain: seed must be "query:NAME", "field:NAME" or "header:NAME", not {self.seed!r}')
        if self.seed_place == "field" and self.field is None and (self.format == "csv" or self.request_key is None):
            needed = "field" if self.format == "csv" else "request_key"
            raise InputError(f"plain: a seed can only be a field beside the table; say where that goes with {needed}")

    @property
    def shown_path(self) -> str:
        """The path without its query, which may hold a key."""
        return self.path.partition("?")[0]

    @property
    def seed_place(self) -> str:
        return (self.seed or "").partition(":")[0]

    @property
    def seed_name(self) -> str:
        return (self.seed or "").partition(":")[2]

    def renamed(self, names: Sequence[str], *, back: bool = False) -> tuple[str, ...]:
        pairs = self.names or {}
        changes = {theirs: ours for ours, theirs in pairs.items()} if back else pairs
        return tuple(changes.get(name, name) for name in names)


class TableApi:
    """The oracle at an address that is posted a table and replies with a table: one request per release.

    A reply should have a Content-Length or come in chunks: a CSV whose end is that of the connection alone looks whole
    where it was cut behind a row.
    """

    def __init__(
        self,
        address: str,  # where the service is
        *,
        plain: Mapping[str, Any],  # how it wants to be asked: the keys of EndpointMapping
        randomized: bool | None = None,  # equal questions may get other answers (None: tried out, or true with a seed)
        name: str | None = None,  # how reports call it (the address)
        max_reply_bytes: int | None = None,  # largest release that is accepted, in bytes (None: 16 MiB, JSON 8)
        max_rows: int | None = None,  # rows of a release that are read (None: 10 per row sent, at least 100,000)
        **web: Any,  # the options of Web
    ) -> None:
        self.max_rows = checked_most_rows(max_rows)
        limits = {"max_reply_bytes": max_reply_bytes, "max_rows": max_rows}
        own = {"plain": plain, "randomized": randomized, "name": name, **limits}
        self._recipe = address, {**web, **own}
        self.mapping = EndpointMapping.of(plain)
        self.max_reply_bytes = max_reply_bytes or (CSV_BYTES if self.mapping.format == "csv" else JSON_BYTES)
        self._web = Web(address, **web)
        seedable = self.mapping.seed is not None
        if randomized is None and seedable:  # else two equal questions, having equal seeds, would prove nothing
            randomized = True
        self.card = Card(name or address, randomized=randomized, seedable=seedable, in_process=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._recipe

    def spec(self) -> dict[str, Any]:
        """What tells this oracle from another; what may be secret in it is a `Secret`."""
        return without_secrets(*self._recipe)

    @property
    def traffic(self) -> tuple[int, int]:
        return self._web.traffic

    def answer(self, ask: Ask) -> Iterator[Table]:
        table = Table(self.mapping.renamed(ask.table.names), ask.table.columns)
        written = to_csv(table) if self.mapping.format == "csv" else _records(table)
        for seed in ask.seeds():
            arrived = self._asked(written, seed)
            with whole_or_lost(arrived.reply):
                release = self._release(arrived, table)
            yield release

    def close(self) -> None:
        self._web.close()

    def _asked(self, written: Any, seed: int) -> _Arrived:
        mapping = self.mapping
        params: dict[str, str] = {}
        fields, headers = dict(mapping.fields or {}), dict(mapping.headers or {})
        if mapping.seed is not None:
            {"query": params, "field": fields, "header": headers}[mapping.seed_place][mapping.seed_name] = str(seed)
        body, kind = self._body(written, fields)
        accepted = "text/csv" if mapping.format == "csv" else "application/json"
        headers = {"Content-Type": kind, "Accept": accepted, **headers}
        began = time.monotonic()
        with self._web.exchange(mapping.method, mapping.path, body=body, headers=headers, params=params) as incoming:
            reply = incoming.whole(self.max_reply_bytes)
        if reply.status == 202:
            return self._awaited(reply, headers)
        return _Arrived(self._good(reply), began + self._web.timeout)

    def _body(self, written: Any, fields: Mapping[str, str]) -> tuple[bytes, str]:
        mapping = self.mapping
        if mapping.format == "json-records":
            whole = written if mapping.request_key is None else {**fields, mapping.request_key: written}
            content, kind = json.dumps(whole, ensure_ascii=False, allow_nan=False).encode(), "application/json"
        else:
            content, kind = written, "text/csv"
        return (content, kind) if mapping.field is None else _form(mapping.field, content, kind, fields)

    def _awaited(self, reply: Reply, headers: Mapping[str, str]) -> _Arrived:
        """The result of a job: what stands at its location once that is there."""
        kept_headers = {name: value for name, value in headers.items() if name != "Content-Type"}
        location = reply.headers.get("location", "")
        place = on_the_same_host(self._web.base + self.mapping.path, location)
        if not location or place is None:
            raise OracleError(f"the reply 202 names no Location on the same host; it says {quoted_place(location)}")
        end = time.monotonic() + self.mapping.deadline
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(self.mapping.interval, left))
            with self._web.exchange("GET", place, headers=kept_headers, seconds=max(1.0, left)) as incoming:
                reply = incoming.whole(self.max_reply_bytes)
            if reply.status != 202:
                return _Arrived(self._good(reply), time.monotonic() + self._web.timeout)
        raise OracleError(
            f"the job at {quoted_place(place)} was not done after {self.mapping.deadline:g} s", retryable=True
        )

    def _good(self, reply: Reply) -> Reply:
        if reply.status != 200:
            raise problem(reply, self._web.base + self.mapping.shown_path)
        kind, csv = reply.content_type, self.mapping.format == "csv"
        if kind not in CSV_TYPES if csv else not ("json" in kind or kind in ("text/plain", "")):
            raise ReleaseError(
                f"the reply has the content type {quoted(kind)}; expected {'text/csv' if csv else 'application/json'}; "
                f"it begins {quoted(reply.body.strip())}"
            )
        return reply

    def _release(self, arrived: _Arrived, sent: Table) -> Table:
        mapping, body = self.mapping, arrived.reply.body
        most = most_rows(sent.rows, self.max_rows)
        if mapping.format == "csv":
            mark, columns = mapping.delimiter, mapping.columns
            table = from_csv(body, sent.names, delimiter=mark, columns=columns, most=most, until=arrived.until)
            missing = next((name for name in sent.names if name not in table.names), None)
            if missing is not None and arrived.reply.may_be_cut:
                raise ReleaseError(f"the reply has no column {quoted(missing)}")
        else:
            table = _from_records(_inside(body, mapping.reply_key, self.max_reply_bytes), most)
        return Table(mapping.renamed(table.names, back=True), table.columns)


@dataclass(frozen=True)
class _Arrived:
    """A reply, and until when it must have been read."""

    reply: Reply
    until: float  # on the monotonic clock


def _again(address: str, options: dict[str, Any]) -> TableApi:
    return TableApi(address, **options)


def _form(field: str, content: bytes, kind: str, others: Mapping[str, str]) -> tuple[bytes, str]:
    """A multipart form with the table as a file."""
    edge = secrets.token_hex(16)
    start = f'--{edge}\r\nContent-Disposition: form-data; name="'
    texts = [f'{start}{quote(name)}"\r\n\r\n{value}\r\n' for name, value in others.items()]
    file = f'{start}{quote(field)}"; filename="table.{kind.rpartition("/")[2]}"\r\nContent-Type: {kind}\r\n\r\n'
    body = b"".join([*(text.encode() for text in texts), file.encode(), content, f"\r\n--{edge}--\r\n".encode()])
    return body, f"multipart/form-data; boundary={edge}"


def _records(table: Table) -> list[dict[str, Any]]:
    columns = [_plain_cells(cells) for cells in table.columns]
    return [dict(zip(table.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain_cells(cells: Cells) -> list[Any]:
    palette = [*cells.palette.tolist(), None]
    return [palette[code] for code in cells.codes.tolist()]


def _inside(body: bytes, key: str | None, most: int) -> Any:
    """The part of a JSON reply that holds the records."""
    require_few_parts(body, most)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise ReleaseError(f"the reply is not JSON; it begins {quoted(body.strip())}") from None
    for part in key.split(".") if key else ():
        if not isinstance(value, dict) or part not in value:
            raise ReleaseError(f"the reply has nothing under {key!r} (reply_key)")
        value = value[part]
    return value


def _from_records(records: Any, most: int) -> Table:
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ReleaseError("the reply is not a JSON list of records; name the key that holds it with reply_key")
    if not records:
        raise ReleaseError("the reply is an empty list; expected one record per released row")
    require_few_rows(len(records), most)
    names = checked_columns(list(records[0]))
    other = next((row for row, record in enumerate(records) if record.keys() != records[0].keys()), None)
    if other is not None:
        raise ReleaseError(f"record {other} of the reply has not the fields of the first, {quoted(str(list(names)))}")
    try:
        return Table(names, tuple(Cells.of([record[name] for record in records]) for name in names))
    except (UnicodeError, OverflowError) as error:
        raise ReleaseError(f"the reply holds a cell that is no text or number: {error}") from None
