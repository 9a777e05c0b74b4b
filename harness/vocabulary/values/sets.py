"""Several values in one cell: `{a, b}`, `a~b~c`, `20|30`, `[1, 2, 3]`, and lists as Python prints them."""

import ast
import re
from collections.abc import Iterable, Sequence
from functools import partial

from harness.vocabulary.values.kinds import CoversNothing, Exact, OneOf, Raw, Suppressed, Unreadable, Value, quote
from harness.vocabulary.values.masks import masks, only_mask
from harness.vocabulary.values.meaning import Candidate, Form, meaning
from harness.vocabulary.values.ranges import bounds, grouped, points, ranges, refuse_thousands
from harness.vocabulary.values.reading import Reading

MOST_NESTED = 1_000  # each is compared with the whole domain

_SIGNS = ",;|~"
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_STRING = re.compile(r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\"""", re.DOTALL)
_ZEROS = re.compile(r"\s*0\d", re.ASCII)
_GAP = re.compile(r"\s*,?\s*")


def sets(text: str, reading: Reading) -> list[Candidate]:
    """A set in braces, brackets or bare, split at each separator that makes it one."""
    bracket, inner = _enclosed(_without_constructor(text))
    if inner == "":
        raise CoversNothing(text, "an empty set covers nobody", "print `*` for a suppressed cell")
    signs = [sign for sign in _SIGNS if sign in inner] or ([","] if bracket else [])
    candidates: list[Candidate] = []
    complaint: Unreadable | None = None
    for sign in signs:
        try:
            candidates += _split_at(sign, text, bracket, inner, reading)
        except Unreadable as problem:
            complaint = complaint or problem
    if complaint and not candidates:
        raise complaint
    return candidates


def _split_at(sign: str, text: str, bracket: str, inner: str, reading: Reading) -> list[Candidate]:
    pieces = inner.split(sign)
    if not _is_set(sign, bracket, len(pieces), reading):
        return []
    nested = bracket == "{" or sign in ";|"
    if sign == "," and (not bracket or ", " in inner or any(map(_ZEROS.match, pieces))):
        refuse_thousands(text, reading)
    return [("set", union(text, _cover(text, sign, pieces, reading), reading, nested=nested))]


def _is_set(sign: str, bracket: str, count: int, reading: Reading) -> bool:
    """Two numbers or dates in square brackets, or joined by a comma or a tilde, are a range."""
    if bracket == "{" or reading.kind == "category" or reading.notation == "set" or sign == "|":
        return True
    if count > 2 or (count == 1 and bracket == "[") or (sign == ";" and not bracket):
        return True
    return not bracket and reading.kind == "ordered"  # a run as well: ambiguous unless declared


def _cover(text: str, sign: str, pieces: list[str], reading: Reading) -> list[str]:
    """The pieces joined again into known texts, since a raw value may hold the separator itself."""
    reach = reading.joints[sign] + 1
    ways, step = [1] + [0] * len(pieces), [0] * (len(pieces) + 1)
    for end in range(1, len(pieces) + 1):
        for count in range(1, min(reach, end) + 1):
            if ways[end - count] and sign.join(pieces[end - count : end]).strip() in reading.known:
                ways[end] = min(2, ways[end] + ways[end - count])
                step[end] = count
    if ways[-1] > 1:
        raise Unreadable(text, f"ambiguous: splits at {sign!r} in several ways", "print quotes: {'a', 'b'}")
    if not ways[-1]:
        return [piece.strip() for piece in pieces]
    names: list[str] = []
    end = len(pieces)
    while end:
        names.append(sign.join(pieces[end - step[end] : end]).strip())
        end -= step[end]
    return names


def union(text: str, names: Iterable[str], reading: Reading, *, nested: bool) -> OneOf:
    """The raw values of all elements together; `nested` ones may be ranges."""
    distinct = dict.fromkeys(names)
    forms = (points, masks, partial(ranges, nested=True) if nested else _refuse_ranges, bounds, grouped)
    if sum(name not in reading.known for name in distinct) > MOST_NESTED:
        raise Unreadable(text, f"a set of more than {MOST_NESTED:,} ranges or masks", "print raw values")
    alone = len(distinct) == 1
    return OneOf(frozenset().union(*(_members(text, name, reading, forms, alone=alone) for name in distinct)))


def _refuse_ranges(text: str, reading: Reading) -> list[Candidate]:
    """`[20,5-30,5]` and `1,000-2,000` are no sets of ranges: only braces, `;` and `|` hold these for sure."""
    if ranges(text, reading):
        raise Unreadable(text, "a range between commas", "print several ranges in braces or joined by `;`")
    return []


def _refuse_bound(text: str, value: Value, reading: Reading) -> None:
    """`>=20;<30` joined as a set would cover everything, while what its bounds share is probably meant."""
    if any(value == bound for _, bound in bounds(text, reading)):
        raise Unreadable(text, "ambiguous: a bound beside others may widen or narrow", "print a range: [20, 30)")


def _members(text: str, name: str, reading: Reading, forms: Sequence[Form], *, alone: bool) -> frozenset[Raw]:
    """The raw values of one element, which may be a node, a range, a bound or a mask itself."""
    try:
        value = reading.known.get(name) or reading.known.get(name.strip())
        if value is None:
            value = Suppressed() if only_mask(name, reading) else meaning(name.strip(), reading, forms)
            if not alone:
                _refuse_bound(name.strip(), value, reading)
    except Unreadable as problem:
        raise Unreadable(text, f"its element {quote(name)}: {problem.why}", problem.remedy) from None
    if isinstance(value, Exact):
        return frozenset((value.raw,))
    if isinstance(value, OneOf):
        return value.values
    covered = frozenset(filter(value.covers, reading.domain))
    if not covered:
        why = f"its element {quote(name)} covers no raw value"
        raise Unreadable(text, why, "the release is malformed: fix the anonymizer")
    return covered


def strings(text: str) -> tuple[str, list[str]] | None:
    """The bracket and the strings of a list, tuple or set as Python prints it; None if it is no such text."""
    text = _without_constructor(text)
    if _CLOSING.get(text[:1]) != text[-1:]:
        return None
    inner = text[1:-1].strip()
    items, place = [], 0
    while place < len(inner):
        match = _STRING.match(inner, place)
        if not match:
            return None
        items.append(_unescaped(match.group()))
        place = match.end()
        if gap := _GAP.match(inner, place):
            place = gap.end()
    return (text[0], items) if items else None


def _unescaped(literal: str) -> str:
    if "\\" not in literal:
        return literal[1:-1]
    try:
        return str(ast.literal_eval(literal))
    except (ValueError, SyntaxError):
        return literal[1:-1]


def _without_constructor(text: str) -> str:
    """`frozenset({...})` and `set([...])` without their name."""
    for name in ("frozenset(", "set("):
        if text.startswith(name) and text.endswith(")"):
            return "{" + _enclosed(text[len(name) : -1].strip())[1] + "}"
    return text


def _enclosed(text: str) -> tuple[str, str]:
    """The bracket around the whole text and what it holds; no bracket for `[0, 5] | [6, 9]`."""
    opening, closing = text[:1], _CLOSING.get(text[:1], "")
    if not closing or not text.endswith(closing) or len(text) < 2:
        return "", text
    depth = 0
    for match in re.finditer(f"[{re.escape(opening + closing)}]", text[:-1]):
        depth += 1 if match.group() == opening else -1
        if depth == 0:
            return "", text
    return opening, text[1:-1].strip()
