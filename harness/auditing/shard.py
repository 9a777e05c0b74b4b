"""One part of an audit that runs on a machine of its own: which persons it examines. Asks nobody.

Persons are shared out by a hash of the plan and the person, so that machines need not speak with each other. Every
shard asks the first questions and draws f(D) itself, examines its persons at the first look, and stops. `merge` puts
the journals together; whatever depends on everybody (further looks, further persons of a budget, questions that are
asked again) happens there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.auditing.events import OracleProfile
from harness.vocabulary.errors import InputError

MOST = 100_000  # shards of an audit


@dataclass(frozen=True)
class Shard:
    """The shard `number` of `of`, counted from 1, of a plan."""

    number: int
    of: int
    plan: str  # digest of the plan

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def holds(self, person: int) -> bool:
        """Whether a person belongs to this shard."""
        digest = hashlib.sha256(f"{self.plan} {person}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1

    def part(self, persons: Iterable[int]) -> tuple[int, ...]:
        """Those of some persons who belong to it."""
        return tuple(person for person in persons if self.holds(person))

    def plain(self) -> dict[str, int]:
        """What its journal says of it."""
        return {"number": self.number, "of": self.of}


def shard_of(text: str) -> tuple[int, int]:
    """Number and count from a text such as 3/16."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    number, of = (int(part) for part in match.groups()) if match else (0, 0)
    if not 1 <= number <= of <= MOST:
        raise InputError(f"--shard {text!r}: expected the number of a shard and how many there are, such as 3/16")
    return number, of


def require_shardable(profile: OracleProfile) -> None:
    """Only answers that do not depend on when and where they are given can be put together to one audit."""
    if not profile.coupled:
        raise InputError(
            "this audit cannot be run in shards: draws with and without a person do not share seeds, so that persons "
            "are compared with draws of f(D) made next to theirs, and parts made on other machines would be another "
            "audit. Run it without --shard, with more workers; or, if f honours seeds, let its card say so and leave "
            "pairs as it is"
        )
