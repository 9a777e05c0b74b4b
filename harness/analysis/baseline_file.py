"""The file of a baseline: JSON with one line for each innermost object, sorted, so that a review shows what changed.

Holds audits by name, what is accepted with reason and expiry date, and what it was recorded with. Knows the disk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from harness.analysis.baseline import AuditBaseline
from harness.analysis.person_digest import VARIABLE, DigestKey
from harness.vocabulary.errors import InputError, did_you_mean

FORMAT = 1
ABOUT = (
    "Baseline of anonymizer audits, written by `harness baseline`. Persons are keyed digests; numbers are limits "
    "(at least, at most). No raw row is in it."
)

Plain = dict[str, Any]


@dataclass(frozen=True)
class Acceptance:
    """A known finding that does not fail a comparison until a date, as long as it does not get worse."""

    audit: str
    finding: str
    reason: str
    until: date
    at_most: float | None = None  # what was accepted; a number that is proven to be larger is a new finding

    def plain(self) -> Plain:
        return {
            "audit": self.audit,
            "finding": self.finding,
            "reason": self.reason,
            "until": self.until.isoformat(),
            "at_most": self.at_most,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Acceptance:
        most = plain["at_most"]
        if not str(plain["reason"]).strip():
            raise ValueError("an accepted finding needs a reason")
        return cls(
            audit=str(plain["audit"]),
            finding=str(plain["finding"]),
            reason=str(plain["reason"]),
            until=date.fromisoformat(plain["until"]),
            at_most=None if most is None else float(most),
        )


@dataclass(frozen=True)
class Baseline:
    """All that a file holds."""

    audits: Mapping[str, AuditBaseline] = field(default_factory=dict)
    accepted: tuple[Acceptance, ...] = ()
    recorded: Mapping[str, Any] = field(default_factory=dict)  # date, commit, machine, versions
    key_check: str | None = None  # of the key of its digests; None where it has none

    def with_audits(self, audits: Mapping[str, AuditBaseline], recorded: Mapping[str, Any]) -> Baseline:
        """The same with these audits instead of, or beside, its own."""
        return replace(self, audits={**self.audits, **audits}, recorded=recorded)

    def with_accepted(self, acceptance: Acceptance) -> Baseline:
        """The same with one more finding accepted; an earlier acceptance of it is replaced."""
        others = [one for one in self.accepted if (one.audit, one.finding) != (acceptance.audit, acceptance.finding)]
        return replace(self, accepted=(*others, acceptance))

    def audit(self, name: str) -> AuditBaseline:
        """The audit of this name."""
        if name not in self.audits:
            raise InputError(f"the baseline has no audit {name!r}; {did_you_mean(name, self.audits)}")
        return self.audits[name]

    def require_key(self, key: DigestKey | None) -> None:
        """The key must be the one of its digests: with another, every person would be somebody else."""
        if self.key_check is not None and key is None:
            raise InputError(
                f"the baseline has digests of persons, and their key is not here; set {VARIABLE}, or name its file "
                "with --key"
            )
        if self.key_check is not None and key is not None and key.check != self.key_check:
            raise InputError("the key is not the one that the digests of the baseline were made with")


def read_baseline(path: Path) -> Baseline:
    """The content of a file."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: the baseline cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a baseline: {error}") from None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        version = plain.get("format") if isinstance(plain, dict) else None
        raise InputError(f"{path}: a baseline of format {version!r}; this version reads format {FORMAT}")
    try:
        return Baseline(
            audits={name: AuditBaseline.from_plain(one) for name, one in plain["audits"].items()},
            accepted=tuple(Acceptance.from_plain(one) for one in plain["accepted"]),
            recorded=dict(plain["recorded"]),
            key_check=plain["key_check"],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: the baseline is malformed: {what}; undo the edit, or save it again") from None


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write the file completely or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text_of(baseline), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"{path}: the baseline cannot be written: {error.strerror}") from None


def text_of(baseline: Baseline) -> str:
    """The text of the file; equal baselines have equal texts."""
    accepted = sorted(baseline.accepted, key=lambda one: (one.audit, one.finding))
    return (
        _json(
            {
                "format": FORMAT,
                "about": ABOUT,
                "recorded": dict(baseline.recorded),
                "key_check": baseline.key_check,
                "audits": {name: one.plain() for name, one in sorted(baseline.audits.items())},
                "accepted": [one.plain() for one in accepted],
            }
        )
        + "\n"
    )


def _json(value: Any, indent: int = 0) -> str:
    if not isinstance(value, dict | list) or not any(isinstance(one, dict | list) for one in _inside(value)):
        return json.dumps(value, allow_nan=False)
    space = " " * (indent + 1)
    if isinstance(value, dict):
        lines = [f"{space}{json.dumps(name)}: {_json(one, indent + 1)}" for name, one in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(space + _json(one, indent + 1) for one in value) + "\n" + " " * indent + "]"


def _inside(value: Plain | list[Any]) -> Iterator[Any]:
    yield from value.values() if isinstance(value, dict) else value
