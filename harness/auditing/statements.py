"""What the auditor states about an audit and no measurement tells: the [evidence] section of audit.toml.

The keyword `evidence` of `audit` is the same. Stated things are printed on the test report as they are, marked as
stated, and decide nothing. All of them are optional; texts are bounded, since they are printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from harness.auditing.options import DATE, TABLES, TEXT, TEXTS, Option
from harness.vocabulary.errors import InputError, did_you_mean

EVIDENCE = "evidence"  # the section
RELEASE_MODELS = ("public", "controlled")
LONGEST, MOST = 500, 50  # letters of a text; texts or tables of a list
ACCEPTED_KEYS = {"finding": TEXT, "reason": TEXT, "until": DATE, "by": TEXT}

Plain = dict[str, Any]


def _stated(name: str, expected: str, purpose: str) -> Option:
    return Option(EVIDENCE, name, expected, purpose, in_file_only=True)


OPTIONS = (
    _stated("auditor", TEXT, "who carried out the test, with address"),
    _stated("authorised_by", TEXT, "who authorises the test report"),
    _stated("place", TEXT, "where the test was carried out"),
    _stated("client", TEXT, "who ordered the test"),
    _stated("recipient", TEXT, "who receives the test report"),
    _stated("release_model", TEXT, 'who will see the releases: "public" or "controlled"'),
    _stated("operated_by", TEXT, "who ran the anonymizer during the test: the vendor, the auditor, …"),
    _stated("received", DATE, "when the anonymizer and the data were received"),
    _stated("review_by", DATE, "when the result should be looked at again"),
    _stated("auxiliary_data", TEXTS, "what else the adversaries were given, beside the quasi-identifiers"),
    _stated("deviations", TEXTS, "where the test deviated from the method"),
    _stated("previous", TEXT, "id of the test report that this one follows or replaces"),
    _stated(
        "accepted",
        TABLES,
        "findings that are accepted for a time: [[evidence.accepted]] with finding, reason, until and by",
    ),
)  # fmt: skip


def stated(section: Mapping[str, Any]) -> Plain:
    """The section as plain data, dates as text, after its values were checked; keys were checked with all others."""
    for name in ("received", "review_by"):
        if name in section:
            _require_date(name, section[name])
    if "release_model" in section and section["release_model"] not in RELEASE_MODELS:
        model = section["release_model"]
        raise InputError(
            f"[{EVIDENCE}] release_model {_bounded('release_model', model)!r} is not known; "
            f"{did_you_mean(model, RELEASE_MODELS)}"
        )
    return {name: _plain(name, value) for name, value in section.items()}


def _plain(name: str, value: Any) -> Any:
    if name == "accepted":
        return [_accepted(table) for table in _few(name, value)]
    if isinstance(value, date):
        return value.isoformat()
    if name in ("auxiliary_data", "deviations"):
        return [_bounded(name, text) for text in _few(name, [value] if isinstance(value, str) else value)]
    return _bounded(name, value)


def _accepted(table: Mapping[str, Any]) -> Plain:
    """One accepted finding; who accepts something says what, why and until when."""
    for key in ("finding", "reason", "until"):
        if key not in table:
            raise InputError(f"[[{EVIDENCE}.accepted]] {key} is missing; it must be {ACCEPTED_KEYS[key]}")
    _require_date("accepted.until", table["until"])
    return {
        "finding": _bounded("accepted.finding", table["finding"]),
        "reason": _bounded("accepted.reason", table["reason"]),
        "until": table["until"].isoformat(),
        "by": _bounded("accepted.by", table["by"]) if "by" in table else None,
    }


def _require_date(name: str, value: date) -> None:
    if isinstance(value, datetime):
        raise InputError(f"[{EVIDENCE}] {name} must be {DATE}, not a time of a day: {value.isoformat()}")


def _bounded(name: str, text: str) -> str:
    if not text.strip():
        raise InputError(f"[{EVIDENCE}] {name} is an empty text; leave it out")
    if len(text) > LONGEST:
        raise InputError(f"[{EVIDENCE}] {name} has {len(text)} letters; at most {LONGEST} are printed")
    return text


def _few(name: str, values: Sequence[Any]) -> Sequence[Any]:
    if len(values) > MOST:
        raise InputError(f"[{EVIDENCE}] {name} has {len(values)} entries; at most {MOST} are printed")
    return values
