"""An oracle that says something else of itself when an audit goes on: refused, or accepted and reported.

The first answer recognises a deterministic oracle, and nothing recognises a random one; a new version, other abilities
or other noise are another anonymizer until the auditor says that they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from harness.vocabulary.errors import OtherOracleError
from harness.vocabulary.oracle import Card

NOT_COMPARED = ("in_process",)  # how it is reached, which the auditor chooses
NEVER_ACCEPTED = ("releases",)  # what was measured cannot be compared with what would be
MOST_SHOWN = 60  # letters of a value


@dataclass(frozen=True)
class CardAccepted:
    """The auditor went on with an oracle that now has this card."""

    name: ClassVar = "card_accepted"
    before: Card
    now: Card

    def entry(self) -> dict[str, Any]:
        return {"before": asdict(self.before), "now": asdict(self.now)}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> CardAccepted:
        return cls(Card(**entry["before"]), Card(**entry["now"]))

    @property
    def words(self) -> str:
        """What a report says of it."""
        return (
            "the oracle said something else of itself when this audit went on, and the auditor accepted it: "
            f"{'; '.join(card_differences(self.before, self.now))}"
        )


def card_differences(before: Card, now: Card) -> list[str]:
    """Each thing that two cards say differently, such as `version: '1' before, '2' now`."""
    names = [field.name for field in fields(Card) if field.name not in NOT_COMPARED]
    pairs = [(name, getattr(before, name), getattr(now, name)) for name in names]
    return [f"{name}: {_shown(one)} before, {_shown(other)} now" for name, one, other in pairs if one != other]


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def changed_card(before: Card | None, now: Card, *, accept: bool) -> CardAccepted | None:
    """The change of the card, if there is one and it is accepted; an OtherOracleError if it is not."""
    differences = [] if before is None else card_differences(before, now)
    if before is None or not differences:
        return None
    never = any(getattr(before, name) != getattr(now, name) for name in NEVER_ACCEPTED)
    if accept and not never:
        return CardAccepted(before, now)
    hint = "" if never else "; or accept that with --accept-card, which the report then says"
    raise OtherOracleError(
        f"oracle {now.title!r} says something else of itself than when this audit began ({'; '.join(differences)}): it "
        f"is not the same oracle any more. Begin anew with another --out{hint}"
    )
