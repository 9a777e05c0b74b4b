"""All findings of a large audit, in a file beside report.json: Parquet, or compressed JSON lines without pyarrow.

One row for each person, adversary and secret, as report.json lists findings, without what `confidential` withholds:
the same file with and without --reveal. report.json holds a digest of the rows, so that it is proven by the journal and
the file by it. Rows are written and read in parts; nobody holds all of them.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from harness.auditing.confidential import OF_A_PERSON
from harness.auditing.finding import LIMITS
from harness.auditing.journal import not_written
from harness.auditing.list_findings import CHUNK
from harness.auditing.plain_differences import plain_differences
from harness.vocabulary.errors import InputError, JournalError
from harness.vocabulary.plain_numbers import plain_number
from harness.vocabulary.private_files import OWNER_ONLY, open_private

PARQUET, LINES = "findings.parquet", "findings.jsonl.gz"
MAYBE_INFINITE = ("distance", "lower", "upper", "own_upper")
ENDS = ("value", "lower", "upper")
SIDES = ("present", "absent")
NEEDS_PYARROW = "reading it needs pyarrow: pip install 'anonymizer-harness[parquet]'"

Plain = dict[str, Any]


def write_findings(folder: Path, rows: Iterator[Plain]) -> Path:
    """Write the file, whole or not at all, readable by its owner alone; one of the other format is removed."""
    arrow = _arrow()
    path, other = (folder / name for name in ((PARQUET, LINES) if arrow else (LINES, PARQUET)))
    partial = path.with_name(path.name + ".partial")
    try:
        with open(open_private(partial, os.O_RDWR | os.O_TRUNC), "wb") as file:
            os.fchmod(file.fileno(), OWNER_ONLY)
            if arrow:
                _write_parquet(arrow, file, rows)
            else:
                _write_lines(file, rows)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        other.unlink(missing_ok=True)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise not_written(path, error) from None
    return path


def read_findings(folder: Path, digest: str) -> Iterator[Plain]:
    """The rows of the file in a folder; an error at the end unless they have this digest."""
    path = next((folder / name for name in (PARQUET, LINES) if os.path.lexists(folder / name)), None)
    if path is None:
        raise InputError(
            f"{folder}: report.json lists the worst findings only, and the file with all of them ({PARQUET} or {LINES})"
            " is missing; put it beside report.json, or run the same audit again to have it written"
        )
    found = hashlib.sha256()
    for row in rows_of_file(path):
        found.update(json.dumps(row).encode() + b"\n")
        yield row
    if found.hexdigest() != digest:
        raise JournalError(f"{path}: not the findings that report.json speaks of: the digest differs")


def rows_of_file(path: Path) -> Iterator[Plain]:
    """The rows as they are written, one by one."""
    try:
        yield from _rows_of_parquet(path) if path.name == PARQUET else _rows_of_lines(path)
    except InputError:
        raise
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise JournalError(f"{path}: cannot be read: {type(error).__name__}: {error}") from None


def require_findings(path: Path, proven: Iterator[Plain]) -> int:
    """How many findings the file has; all of them, and all that they say, must follow from the journal."""
    place = 0
    for place, (row, expected) in enumerate(zip_longest(rows_of_file(path), proven), start=1):
        if row is None or expected is None:
            few = "fewer" if row is None else "more"
            raise JournalError(f"{path}: has {few} findings than the journal proves")
        if json.dumps(row) != json.dumps(expected):
            found = next(plain_differences(_spelled(row), _spelled(expected)))
            claimed, known = f"{found.one!r:.80}", f"{found.other!r:.80}"
            raise JournalError(f"{path}, finding {place}: {found.place} is {claimed}, but the journal proves {known}")
    return place


def can_be_read(path: Path) -> bool:
    """Whether what the format needs is installed."""
    return path.name != PARQUET or _arrow() is not None


def _spelled(row: Plain) -> Any:
    return json.loads(json.dumps(row), parse_float=str, parse_int=str)


def _write_lines(file: BinaryIO, rows: Iterable[Plain]) -> None:
    with gzip.GzipFile("", "wb", compresslevel=3, fileobj=file, mtime=0) as packed:
        for row in rows:
            packed.write(json.dumps(row, allow_nan=False).encode() + b"\n")


def _rows_of_lines(path: Path) -> Iterator[Plain]:
    with gzip.open(path, "rb") as lines:
        for line in lines:
            row = json.loads(line)
            if json.dumps(row).encode() + b"\n" != line:
                raise JournalError(f"{path}: a line is not written as it was")
            yield row


def _arrow() -> Any:
    try:
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")
    except ImportError:
        return None


def _write_parquet(arrow: Any, file: BinaryIO, rows: Iterator[Plain]) -> None:
    schema, writer = None, None
    while part := list(islice(rows, CHUNK)):
        flat = [_flat(row) for row in part]
        schema = schema or _schema(arrow, part[0])
        writer = writer or arrow.parquet.ParquetWriter(file, schema, compression="zstd")
        writer.write_table(arrow.Table.from_pylist(flat, schema=schema))
    if writer is not None:
        writer.close()


def _flat(row: Mapping[str, Any]) -> Plain:
    """A row without objects inside; infinite numbers as numbers, names of rows that are no numbers as JSON."""
    flat = {name: value for name, value in row.items() if name not in OF_A_PERSON and not isinstance(value, Mapping)}
    for name in MAYBE_INFINITE:
        flat[name] = None if row[name] is None else float(row[name])
    for name in LIMITS:
        for end in ENDS:
            flat[f"{name}.{end}"] = None if row[name] is None else float(row[name][end])
        flat.pop(name, None)
    flat |= {f"uncovered.{side}": row["uncovered"][side] for side in SIDES}
    if not all(isinstance(name, int) for name in row["rows"]):
        flat["rows"] = [json.dumps(name) for name in row["rows"]]
        flat["row"] = None if row["row"] is None else json.dumps(row["row"])
    return flat


def _schema(arrow: Any, row: Mapping[str, Any]) -> Any:
    named = arrow.int64() if all(isinstance(name, int) for name in row["rows"]) else arrow.string()
    kinds = {
        **dict.fromkeys(("person", "draws", "drawn", "look", "draws_needed", *_sides()), arrow.int64()),
        **dict.fromkeys(("adversary", "secret", "failure"), arrow.string()),
        **dict.fromkeys(("exact", "coupled", "kept", "broken"), arrow.bool_()),
        "rows": arrow.list_(named),
        "row": named,
        "exceedances": arrow.list_(arrow.int64()),
    }
    return arrow.schema([(name, kinds.get(name, arrow.float64())) for name in _flat(row)])


def _sides() -> list[str]:
    return [f"uncovered.{side}" for side in SIDES]


def _rows_of_parquet(path: Path) -> Iterator[Plain]:
    arrow = _arrow()
    if arrow is None:
        raise InputError(f"{path}: {NEEDS_PYARROW}")
    with arrow.parquet.ParquetFile(path) as file:
        named = arrow.types.is_string(file.schema_arrow.field("row").type)
        for batch in file.iter_batches(CHUNK):
            for flat in batch.to_pylist():
                yield _nested(flat, named=named)


NAMES = (
    "person", "rows", "adversary", "secret", "distance", "lower", "upper", "own_upper", "exact", "coupled", "draws",
    "drawn", "look", "row", "present", "absent", "per_value", "changed", "floor", "delta_at_epsilon",
    "epsilon_at_delta", "placebo", "exceedances", "own_delta_upper", "delta_beyond_noise", "kept", "broken",
    "privacy_loss", "draws_needed", "uncovered", "failure", "alpha",
)  # fmt: skip  # as `finding.to_plain` orders them


def _nested(flat: Plain, *, named: bool) -> Plain:
    """The row that was made flat; a column that no audit writes stays, and is found to differ."""
    for name in MAYBE_INFINITE:
        flat[name] = None if flat[name] is None else plain_number(flat[name])
    for name in LIMITS:
        ends = {end: flat.pop(f"{name}.{end}") for end in ENDS}
        flat[name] = None if ends["value"] is None else {end: plain_number(number) for end, number in ends.items()}
    flat["uncovered"] = {side: flat.pop(f"uncovered.{side}") for side in SIDES}
    if named:
        flat["rows"] = [json.loads(name) for name in flat["rows"]]
        flat["row"] = None if flat["row"] is None else json.loads(flat["row"])
    flat |= dict.fromkeys(OF_A_PERSON)
    return {**{name: flat[name] for name in NAMES}, **flat}
