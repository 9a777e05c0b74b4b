"""What happens in an audit, in order, as values: the journal holds them, everything else is a fold over them.

    Probed      is the oracle what its card says, and how may its draws be paired
    Selected    who is examined, with how many draws, at which error level
    Drawn       f(D) was drawn for one purpose; the draws themselves are kept beside the journal
    Described   metrics of the first draw of f(D)
    Watched     what early or late draws of f(D) say about one person: does f drift
    Resumed     an interrupted audit went on, after the oracle was recognised
    Salvaged    the journal was damaged, and only what stands before this is left of it
    Merged      the journal was put together from those of shards; what follows was measured by them
    Chosen      who goes on to a further look
    Examined    all measurements of one person at one look
    Failed      one person could not be measured: f failed on her, while it answered others or f(D)
    Confirmed   questions of a deterministic f were asked again
    Baselines, ClassSizes   what distances are shown beside (`reference_events`)
    CardAccepted   the oracle said something else of itself later, and the auditor accepted it (`card_changes`)
    Closed      the last question was asked; further draws may still follow, then the last Closed counts

Knows numbers and names; no oracle, no disk and no dataset.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np

from harness.auditing.card_changes import CardAccepted
from harness.auditing.measurement import Entry, Measurement, packed_vector, unpacked_vector
from harness.auditing.reference_events import Baselines, ClassSizes
from harness.measuring.samples import Samples
from harness.vocabulary.errors import JournalError, did_you_mean
from harness.vocabulary.oracle import Card
from harness.vocabulary.persons import RowName

# Noted of a person by `examine`; no verdict can rest on such answers.
WITHOUT_ANOTHER = "asked without one person, f released the sensitive values of the data without another"
EARLY, LATE = "early", "late"  # draws of f(D) that are compared


@dataclass(frozen=True)
class OracleProfile:
    """What the first questions taught about an oracle."""

    card: Card  # as far as it was believed
    coupled: bool  # both sides can be drawn with the same seeds
    row_order_invariant: bool  # equal persons need one examination only
    notes: tuple[str, ...]
    first: str  # digest of the first answer, to recognise the oracle by
    doubts: tuple[str, ...] = ()  # why no verdict but INCONCLUSIVE can rest on its answers
    says_if_random: bool = True  # else that f is deterministic rests on equal answers to equal questions alone
    shuffles: bool = False  # equal answers come with their rows in different orders, which must not matter
    keeps_secrets: bool = False  # a deterministic f released the sensitive values of every whole table unchanged
    is_still: bool = False  # it is said to be random, but draws of one question were all the same
    ignores_seeds: bool = False  # it says that it honours seeds, but equal seeds got different answers
    stated: Card | None = None  # the card as the oracle shows it

    @property
    def in_blocks(self) -> bool:
        """Whether persons are examined in blocks with draws of f(D) of their own: nothing pairs draws of tables."""
        return self.card.releases == "microdata" and not self.coupled


@dataclass(frozen=True)
class Look:
    """One time of drawing (as in group-sequential tests): `draws` fresh draws a side.

    Intervals of this look miss with probability `alpha` per person, adversary and secret, so that all of them hold
    together. A person's own upper limit, not corrected for the number of persons, misses with probability `own_alpha`:
    that all persons keep a claim needs no more, since it is wrong only if it is wrong for the worst of them, whoever
    that is.
    """

    number: int
    draws: int
    alpha: float
    own_alpha: float

    @property
    def purpose(self) -> str:
        """What its draws are for: seeds and files of draws bear this name."""
        return f"look {self.number}"


@dataclass(frozen=True)
class Probed:
    name: ClassVar = "probed"
    profile: OracleProfile

    def entry(self) -> Entry:
        profile = self.profile
        return {**asdict(profile), "notes": list(profile.notes), "doubts": list(profile.doubts)}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Probed:
        stated = entry.get("stated")
        fixed = {
            "card": Card(**entry["card"]), "notes": tuple(entry["notes"]), "doubts": tuple(entry["doubts"]),
            "stated": None if stated is None else Card(**stated),
        }  # fmt: skip
        return cls(OracleProfile(**{**entry, **fixed}))


@dataclass(frozen=True)
class Selected:
    """The persons to examine, the duplicates that each represents, and the looks at them."""

    name: ClassVar = "selected"
    persons: tuple[int, ...]  # all that findings will speak of
    random: tuple[int, ...]  # those of them drawn at random, who stand for the others
    duplicates: tuple[tuple[int, ...], ...]  # equal persons, of whom only the first is examined; () when none are
    rows: tuple[tuple[RowName, ...], ...] | None  # rows of the source of each person; None: the first + her number
    adversaries: tuple[str, ...]
    exact: tuple[bool, ...]  # per adversary: chance plays no part
    looks: tuple[Look, ...]
    wager: float  # error level of the bets of an adaptive audit that a person alone keeps the claim
    shared_by: int  # persons, at most, who share the error level; a budget may add some of them later

    @property
    def examined(self) -> tuple[int, ...]:
        return tuple(group[0] for group in self.duplicates) or self.persons

    @cached_property
    def places(self) -> dict[int, int]:
        """At which place of `persons` each of them stands."""
        return {person: place for place, person in enumerate(self.persons)}

    def entry(self) -> Entry:
        everyone = list(range(len(self.persons)))
        return {
            "persons": len(self.persons) if list(self.persons) == everyone else list(self.persons),
            "random": len(self.random) if list(self.random) == everyone else list(self.random),
            "duplicates": [list(group) for group in self.duplicates],
            "rows": None if self.rows is None else [list(rows) for rows in self.rows],
            "adversaries": list(self.adversaries),
            "exact": list(self.exact),
            "looks": [asdict(look) for look in self.looks],
            "wager": self.wager,
            "shared_by": self.shared_by,
        }

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Selected:
        persons, chosen = (
            tuple(range(members)) if isinstance(members := entry[key], int) else tuple(members)
            for key in ("persons", "random")
        )
        rows = entry["rows"]
        return cls(
            persons,
            chosen,
            tuple(map(tuple, entry["duplicates"])),
            None if rows is None else tuple(map(tuple, rows)),
            tuple(entry["adversaries"]),
            tuple(entry["exact"]),
            tuple(Look(**look) for look in entry["looks"]),
            entry["wager"],
            entry["shared_by"],
        )


@dataclass(frozen=True)
class Drawn:
    """Draws of f(D) for one purpose: a look, the choice of risky persons, or the comparison of early with late."""

    name: ClassVar = "drawn"
    purpose: str
    question: int  # number of the question in the plan
    digests: tuple[str, ...]
    notes: tuple[str, ...]

    def entry(self) -> Entry:
        return {**vars(self), "digests": list(self.digests), "notes": list(self.notes)}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Drawn:
        return cls(entry["purpose"], entry["question"], tuple(entry["digests"]), tuple(entry["notes"]))


@dataclass(frozen=True)
class Described:
    """Metrics of the first draw of f(D), as plain data: numbers by name, no cell of the release."""

    name: ClassVar = "described"
    metrics: Mapping[str, Any]

    def entry(self) -> Entry:
        return dict(self.metrics)

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Described:
        return cls(dict(entry))


@dataclass(frozen=True, eq=False)
class Watched:
    """What draws of f(D) say about one person, early or late in the audit; the two are compared in the end."""

    name: ClassVar = "watched"
    purpose: str
    samples: Samples

    def entry(self) -> Entry:
        draws = [packed_vector(draw) for draw in self.samples.draws]
        return {"purpose": self.purpose, "samples": draws}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Watched:
        return cls(entry["purpose"], Samples(np.array([unpacked_vector(draw) for draw in entry["samples"]])))


@dataclass(frozen=True)
class Resumed:
    name: ClassVar = "resumed"

    def entry(self) -> Entry:
        return {}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Resumed:
        return cls()


@dataclass(frozen=True)
class Salvaged:
    """The journal was damaged: what stood behind the lines before this one is lost, and is measured anew."""

    name: ClassVar = "salvaged"
    lines: int  # that were lost, the damaged one among them
    size: int  # bytes that were lost
    digest: str  # SHA-256 of the damaged journal

    def entry(self) -> Entry:
        return dict(vars(self))

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Salvaged:
        return cls(**entry)


@dataclass(frozen=True)
class Merged:
    """The journal was put together from those of all shards of the audit: their heads, in their order."""

    name: ClassVar = "merged"
    heads: tuple[str, ...]
    root: str  # digest over the heads

    def entry(self) -> Entry:
        return {"heads": list(self.heads), "root": self.root}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Merged:
        merged = cls(tuple(entry["heads"]), entry["root"])
        if root_of(merged.heads) != merged.root:
            raise JournalError("the root digest is not that of the heads of the shards; the journal cannot be trusted")
        return merged


def root_of(heads: Sequence[str]) -> str:
    """A digest over the heads of all shards: whoever keeps a head can prove that it is among them."""
    return hashlib.sha256("\n".join(heads).encode()).hexdigest()


@dataclass(frozen=True)
class Chosen:
    """Who goes on to a further look, decided by all that was known before it."""

    name: ClassVar = "chosen"
    look: int
    persons: tuple[int, ...]

    def entry(self) -> Entry:
        return {"look": self.look, "persons": list(self.persons)}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Chosen:
        return cls(entry["look"], tuple(entry["persons"]))


@dataclass(frozen=True)
class Examined:
    """All measurements of one person at one look: every adversary, every secret, each of her distinct rows."""

    name: ClassVar = "examined"
    person: int
    look: int
    measurements: tuple[Measurement, ...]
    notes: tuple[str, ...] = ()  # what was odd about the releases without her

    def entry(self) -> Entry:
        measured = [measurement.entry() for measurement in self.measurements]
        return {"person": self.person, "look": self.look, "measurements": measured, "notes": list(self.notes)}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Examined:
        measured = tuple(map(Measurement.from_entry, entry["measurements"]))
        return cls(entry["person"], entry["look"], measured, tuple(entry["notes"]))


@dataclass(frozen=True)
class Failed:
    """One person could not be measured at one look, after all attempts; asked about again only if that is wanted.

    `reason` is in words of ours; `detail` is the whole message, which may quote the vendor, or the data.
    """

    name: ClassVar = "failed"
    person: int
    look: int
    reason: str
    detail: str = ""

    def entry(self) -> Entry:
        return dict(vars(self))

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Failed:
        return cls(**entry)


@dataclass(frozen=True)
class Confirmed:
    """Questions of a deterministic f asked again after all others: did they get the answers they had got?"""

    name: ClassVar = "confirmed"
    persons: tuple[int, ...]  # asked about again, the witness of a violation among them
    repeated: int  # questions that were answered again, those about f(D) among them
    different: int  # of these, how many got another answer
    unanswered: int = 0  # further questions about persons that f answered before and failed on now

    def entry(self) -> Entry:
        return {**vars(self), "persons": list(self.persons)}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Confirmed:
        return cls(tuple(entry["persons"]), entry["repeated"], entry["different"], entry.get("unanswered", 0))


@dataclass(frozen=True)
class Closed:
    name: ClassVar = "closed"
    doubts: tuple[str, ...]  # why no verdict but INCONCLUSIVE can rest on the answers

    def entry(self) -> Entry:
        return {"doubts": list(self.doubts)}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Closed:
        return cls(tuple(entry["doubts"]))


Event = (
    Probed | Selected | Drawn | Described | Watched | Resumed | Salvaged | Merged | Chosen | Examined | Failed
    | Confirmed | Baselines | ClassSizes | Closed | CardAccepted
)  # fmt: skip
KINDS: dict[str, type[Event]] = {kind.name: kind for kind in get_args(Event)}


def to_entry(event: Event) -> Entry:
    """The event as a line of the journal: {its name: its content}."""
    return {event.name: event.entry()}


def from_entry(line: Mapping[str, Any]) -> Event:
    """The event that a line of the journal holds."""
    ((name, content),) = line.items()
    if name not in KINDS:
        raise JournalError(
            f"the journal holds {name!r:.40}, which this version does not know ({did_you_mean(name, KINDS)}); use the "
            "version that wrote it (run.json names it), or measure again with another --out"
        )
    return KINDS[name].from_entry(content)
