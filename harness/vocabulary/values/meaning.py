"""Choosing the one meaning among several: candidates, what the declaration decides, and the refusals."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from harness.vocabulary.values.kinds import Raw, Unreadable, Value, quote, show
from harness.vocabulary.values.reading import Reading

Candidate: TypeAlias = tuple[str, Value]  # the notation that says so, and what it says
Form: TypeAlias = Callable[[str, Reading], list[Candidate]]

THOUSANDS = "dots between thousands"  # no notation: such candidates are only there to raise a doubt
_NUMBERS = "print a number, a range such as [20, 30), a bound such as >= 20, a set, a mask, or *"
_DATES = 'print a date, a range such as [1980, 1990), a set, a mask, or *; or declare a pattern: notation = "%d.%m.%y"'


def meaning(text: str, reading: Reading, forms: Sequence[Form]) -> Value:
    """The only thing a text can mean under some forms; else the first complaint of one that nearly fitted."""
    candidates: list[Candidate] = []
    complaint: Unreadable | None = None
    for form in forms:
        try:
            candidates += form(text, reading)
        except Unreadable as problem:
            complaint = complaint or problem
    if not candidates:
        raise complaint or unreadable(text, reading)
    return _settle(text, candidates, reading)


def _settle(text: str, candidates: list[Candidate], reading: Reading) -> Value:
    """The declared notation, or the one meaning that all candidates share on the domain."""
    if any(name == reading.notation for name, _ in candidates):
        candidates = [(name, value) for name, value in candidates if name in (reading.notation, THOUSANDS)]
    if len({value for _, value in candidates}) > 1:
        candidates = _different(candidates, reading)
    if len({value for _, value in candidates}) > 1:
        meanings = " or ".join(f"{name} {quote(show(value), 40)}" for name, value in candidates)
        raise Unreadable(text, f"ambiguous: may be {meanings}", _declare([name for name, _ in candidates]))
    name, value = candidates[0]
    if name == THOUSANDS:
        why = f"fits the raw data only with {THOUSANDS} {quote(show(value), 40)}"
        raise Unreadable(text, why, "print plain numbers")
    return value


def _declare(names: list[str]) -> str:
    """How to choose between candidates; dots between thousands cannot be declared, only left out."""
    if THOUSANDS in names:
        return 'print plain numbers, or declare notation = "number" if the dot is a decimal point'
    return "declare " + " or ".join(f'notation = "{name}"' for name in dict.fromkeys(names))


def _different(candidates: list[Candidate], reading: Reading) -> list[Candidate]:
    """One candidate per meaning on the domain; those that cover nothing there give way to those that do."""
    meanings: dict[tuple[Raw, ...], Candidate] = {}
    idle: list[Candidate] = []
    for name, value in candidates:
        if covered := tuple(filter(value.covers, reading.domain)):
            meanings.setdefault(covered, (name, value))
        else:
            idle.append((name, value))
    return list(meanings.values()) or idle


def unreadable(text: str, reading: Reading) -> Unreadable:
    """Nothing fits: say what was expected in such a column, and the nearest thing it holds."""
    if reading.kind in ("category", "ordered"):
        why, remedy = "neither a raw value of the column nor a set or mask of them", "correct the spelling"
        return Unreadable(text, why, f"{reading.nearest(text)}declare a hierarchy with this name, or {remedy}")
    why = f"neither a {reading.kind} nor a range, bound, set or mask of them"
    forms = _NUMBERS if reading.kind == "number" else _DATES
    return Unreadable(text, why, f"{reading.nearest(text)}{forms}; or declare a hierarchy that has this name")
