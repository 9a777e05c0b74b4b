"""How a journal spells the entry of an examined person in few bytes, and the same entry again. Knows plain data only.

An audit of a million persons has a million such entries, so nothing is written that another part of the entry says:

    {"x": [person, look, [[adversary, secret, row, numbers, value], …]]}

`numbers` is base64 of the distance and both predictions, exact to the bit. `value` is the place of the person's own
value in the predictions, which gives the confidence in it. Limits that are the distance itself and parts per value that
are |present − absent| are left out. Whatever else a measurement has follows in an object with short keys; notes follow
the measurements. A measurement without two predictions of one length has all it says in that object.

`expanded(compacted(entry))` is the entry, for every entry that an event writes.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Any

import numpy as np

Entry = dict[str, Any]

EXAMINED, SHORT = "examined", "x"
FIELDS = {
    "distance": "t", "lower": "l", "upper": "u", "own_upper": "o", "present": "q", "absent": "a", "per_value": "v",
    "confidence": "c", "draws": "n", "floor": "f", "delta_at_epsilon": "d", "epsilon_at_delta": "e", "exceedances": "x",
    "hits": "h", "own_delta_upper": "D", "delta_beyond_noise": "b", "placebo": "p", "kept": "k", "broken": "B",
    "privacy_loss": "P", "draws_needed": "N", "copied": "C", "unpaired": "U", "uncovered": "w", "draws_digest": "s",
    "failure": "F",
}  # fmt: skip
NAMES = {short: name for name, short in FIELDS.items()}
LIMITS = ("lower", "upper", "own_upper")
DEFAULTS: Entry = {"distance": 0.0, **dict.fromkeys(LIMITS, 0.0), "per_value": None}
NUMBER = struct.Struct("<d")


def compacted(entry: Entry) -> Entry:
    """The entry as it is written."""
    content = entry.get(EXAMINED)
    if content is None or len(entry) > 1 or set(content) != {"person", "look", "measurements", "notes"}:
        return entry
    short = [content["person"], content["look"], [_short(one) for one in content["measurements"]]]
    return {SHORT: [*short, content["notes"]] if content["notes"] else short}


def expanded(entry: Entry) -> Entry:
    """The entry as it was before it was compacted."""
    if set(entry) != {SHORT}:
        return entry
    person, look, measurements, *notes = entry[SHORT]
    content = {
        "person": person,
        "look": look,
        "measurements": [_long(*one) for one in measurements],
        "notes": notes[0] if notes else [],
    }
    return {EXAMINED: content}


def _short(measurement: Entry) -> list[Any]:
    rest = dict(measurement)
    key = [rest.pop(name) for name in ("adversary", "secret", "row")]
    distance = rest.get("distance", 0.0)
    present, absent = (_bytes(rest.get(side)) for side in ("present", "absent"))
    if present is None or absent is None or len(present) != len(absent) or not isinstance(distance, float):
        return [*key, _with_short_keys(rest)]
    for name in ("distance", "present", "absent"):
        rest.pop(name, None)
    for name in LIMITS:
        rest.setdefault(name, 0.0)
        if rest[name] == distance:
            del rest[name]
    rest["per_value"] = rest.get("per_value")
    if rest["per_value"] == _apart(present, absent):
        del rest["per_value"]
    numbers = NUMBER.pack(distance) + present + absent
    value = _place(rest.get("confidence"), present, absent)
    if value is not None:
        del rest["confidence"]
    return [*key, _base64(numbers), value, *([_with_short_keys(rest)] if rest else [])]


def _long(adversary: int, secret: int, row: int, numbers: str | Entry, value: Any = None, rest: Any = None) -> Entry:
    measurement: Entry = {"adversary": adversary, "secret": secret, "row": row}
    if isinstance(numbers, dict):
        return measurement | _with_long_keys(numbers)
    content = _required_bytes(numbers)
    half = (len(content) - NUMBER.size) // 2
    distance = NUMBER.unpack(content[: NUMBER.size])[0]
    present, absent = content[NUMBER.size : NUMBER.size + half], content[NUMBER.size + half :]
    known = {
        "distance": distance,
        **dict.fromkeys(LIMITS, distance),
        "present": _base64(present, padded=True),
        "absent": _base64(absent, padded=True),
        "per_value": _apart(present, absent),
        **({} if value is None else {"confidence": [_number(side, value) for side in (present, absent)]}),
        **_with_long_keys(rest or {}),
    }
    for name, default in DEFAULTS.items():  # Measurement.entry leaves out what is at its default
        if known[name] == default:
            del known[name]
    return measurement | known


def _with_short_keys(fields: Entry) -> Entry:
    return {FIELDS.get(name, name): value for name, value in fields.items()}


def _with_long_keys(fields: Entry) -> Entry:
    return {NAMES.get(short, short): value for short, value in fields.items()}


def _place(confidence: Any, present: bytes, absent: bytes) -> int | None:
    """The first value whose two predictions are these."""
    if not isinstance(confidence, list) or len(confidence) != 2:
        return None
    pairs = zip(*(np.frombuffer(side, dtype="<f8").tolist() for side in (present, absent)), strict=True)
    return next((place for place, pair in enumerate(pairs) if list(pair) == confidence), None)


def _number(vector: bytes, place: int) -> float:
    number: float = NUMBER.unpack_from(vector, NUMBER.size * place)[0]
    return number


def _apart(present: bytes, absent: bytes) -> str:
    """|present − absent| per value, as a measurement spells it."""
    one, other = (np.frombuffer(side, dtype="<f8") for side in (present, absent))
    return _base64(np.abs(one - other).tobytes(), padded=True)


def _base64(content: bytes, *, padded: bool = False) -> str:
    text = binascii.b2a_base64(content, newline=False).decode()
    return text if padded else text.rstrip("=")


def _bytes(text: Any) -> bytes | None:
    """What a vector holds if it is one that we spell; None otherwise."""
    if not isinstance(text, str) or not text:
        return None
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content if len(content) % NUMBER.size == 0 and _base64(content, padded=True) == text else None


def _required_bytes(text: str) -> bytes:
    content = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    if len(content) % (2 * NUMBER.size) != NUMBER.size or _base64(content) != text:
        raise ValueError(f"{text!r:.40} is no distance with two predictions")
    return content
