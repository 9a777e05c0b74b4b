"""Choosing the one meaning among several: candidates, what the declaration decides, and the refusals."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from harness.values.kinds import Raw, Unreadable, Value, quote, show
from harness.values.reading import Reading

Candidate: TypeAlias = tuple[str, Value]  # the notation that says so, and what it says
Form: TypeAlias = Callable[[str, Reading], list[Candidate]]


def meaning(text: str, reading: Reading, forms: Sequence[Form]) -> Value:
    """The only thing a text can mean under some forms; else the first complaint of one that nearly fitted."""
    found: list[Candidate] = []
    complaint: Unreadable | None = None
    for form in forms:
        try:
            found += form(text, reading)
        except Unreadable as problem:
            complaint = complaint or problem
    if not found:
        raise complaint or unreadable(text, reading)
    return _settle(text, found, reading)


def _settle(text: str, found: list[Candidate], reading: Reading) -> Value:
    """The declared notation, or the one meaning that all candidates share on the domain."""
    if len(found) > 1:
        found = [(name, value) for name, value in found if name == reading.notation] or found
    if len({value for _, value in found}) > 1:
        found = _different(found, reading)
    if len({value for _, value in found}) > 1:
        meanings = " or ".join(f"{name} {quote(show(value), 40)}" for name, value in found)
        names = " or ".join(f'notation = "{name}"' for name in dict.fromkeys(name for name, _ in found))
        raise Unreadable(text, f"ambiguous: may be {meanings}", f"declare {names}")
    return found[0][1]


def _different(found: list[Candidate], reading: Reading) -> list[Candidate]:
    """One candidate per meaning on the domain; those that cover nothing there give way to those that do."""
    meanings: dict[tuple[Raw, ...], Candidate] = {}
    idle: list[Candidate] = []
    for name, value in found:
        if covered := tuple(filter(value.covers, reading.domain)):
            meanings.setdefault(covered, (name, value))
        else:
            idle.append((name, value))
    return list(meanings.values()) or idle


def unreadable(text: str, reading: Reading) -> Unreadable:
    """Nothing fits: say what was expected in such a column, and the nearest thing it holds."""
    why = f"neither a {reading.kind} nor a range, bound, set or mask of them"
    remedy = "print plain numbers" if reading.kind == "number" else 'a pattern: notation = "%d.%m.%y"'
    if reading.kind in ("category", "ordered"):
        why, remedy = "neither a raw value of the column nor a set or mask of them", "mend the spelling"
    return Unreadable(text, why, f"{reading.nearest(text)}declare a hierarchy with this name, or {remedy}")
