"""From a released cell to the one value it can mean; knows one Reading and no table.

The raw domain is matched first (`<=50K`, `1st-4th` and `?` may be raw values), then the names of hierarchy
nodes, then what says nothing. What is left is tried as every notation; see `meaning` for how one is chosen.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from harness.vocabulary.values.atoms import MISSING, cell_text
from harness.vocabulary.values.kinds import Exact, Interval, Number, OneOf, Other, Suppressed, Unreadable, Value
from harness.vocabulary.values.masks import masks, only_mask
from harness.vocabulary.values.meaning import meaning
from harness.vocabulary.values.ranges import bounds, grouped, points, ranges
from harness.vocabulary.values.reading import Reading
from harness.vocabulary.values.sets import sets, strings, union

LONGEST_CELL = 100_000
OTHERS = frozenset(("other", "others"))

_FORMS = (points, ranges, bounds, sets, masks, grouped)


def parse(cell: object, reading: Reading) -> Value:
    """What a released cell means in this column; raises Unreadable rather than guess."""
    text = cell if type(cell) is str else cell_text(cell)
    known = reading.known.get(text)
    if known is not None:
        return _with_printed_ends(known, text, reading)
    if len(text) > LONGEST_CELL:
        raise Unreadable(text, f"longer than {LONGEST_CELL:,} characters", "print one value per cell")
    return _read(text.strip(), reading, listed=False)


def suppression_sign(reading: Reading) -> str | None:
    """A raw value of the column that would be read as a suppressed cell if the data did not have it, if any."""
    texts = (raw for raw in reading.domain if isinstance(raw, str) and raw)
    return next((text for text in texts if only_mask(text, reading) or text in MISSING), None)


def resolve_other(values: Sequence[Value], reading: Reading) -> list[Value]:
    """The values of one released column, each Other replaced by the raw values not printed as themselves."""
    printed = {value.raw for value in values if isinstance(value, Exact)}
    hidden = frozenset(raw for raw in reading.domain if raw not in printed)
    rest: Value = OneOf(hidden) if hidden else Suppressed()
    return [rest if isinstance(value, Other) else value for value in values]


def _read(text: str, reading: Reading, *, listed: bool) -> Value:
    """A stripped text; `listed` once it came out of a printed list, which cannot hold another."""
    known = reading.known.get(text)
    if known is not None:
        return _with_printed_ends(known, text, reading)
    if text == "" or only_mask(text, reading) or (text in MISSING and _unlike_any(text, reading)):
        return Suppressed()
    if reading.kind in ("category", "ordered") and text.casefold() in OTHERS and _unlike_any(text, reading):
        return Other()
    if not listed and (listing := strings(text)):
        bracket, names = listing
        if len(names) == 1 and bracket != "{":
            return _read(names[0].strip(), reading, listed=True)
        return union(text, names, reading, nested=True)
    return meaning(text, reading, _FORMS)


def _with_printed_ends(value: Value, text: str, reading: Reading) -> Value:
    """A node of numbers or dates whose name is a range covers its leaves, and has the ends that its name prints."""
    if not isinstance(value, OneOf) or reading.kind not in ("number", "date"):
        return value
    printed: set[tuple[Number, Number]] = set()
    for form in (ranges, bounds):
        with suppress(Unreadable):
            printed |= {found.printed for _, found in form(text, reading) if isinstance(found, Interval)}
    return replace(value, printed=printed.pop()) if len(printed) == 1 else value


def _unlike_any(text: str, reading: Reading) -> bool:
    """No raw value or node is this word in another case: taking it for nothing would be a guess."""
    return text.casefold() not in reading.folded
