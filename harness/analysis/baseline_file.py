"""The file of a baseline: JSON, sorted, with a line for each short innermost object: a review shows what changed.

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
from harness.analysis.check_baseline import CheckBaseline
from harness.analysis.person_digest import VARIABLE, DigestKey
from harness.vocabulary.errors import InputError, did_you_mean

FORMAT = 1
WIDTH = 120  # signs of an object or a list that is written in one line
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
    limit: float | None = None  # what was accepted; a number that is proven to be worse is a new finding

    def plain(self) -> Plain:
        return {
            "audit": self.audit,
            "finding": self.finding,
            "reason": self.reason,
            "until": self.until.isoformat(),
            "limit": self.limit,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Acceptance:
        limit = plain["limit"]
        if not str(plain["reason"]).strip():
            raise ValueError("an accepted finding needs a reason")
        return cls(
            audit=str(plain["audit"]),
            finding=str(plain["finding"]),
            reason=str(plain["reason"]),
            until=date.fromisoformat(plain["until"]),
            limit=None if limit is None else float(limit),
        )


@dataclass(frozen=True)
class Baseline:
    """All that a file holds."""

    audits: Mapping[str, AuditBaseline] = field(default_factory=dict)
    accepted: tuple[Acceptance, ...] = ()
    recorded: Mapping[str, Any] = field(default_factory=dict)  # date, commit, machine, versions
    key_check: str | None = None  # of the key of its digests; None where it has none
    tolerance: float = 0.0  # a distance may grow by so much and still be the same
    checks: Mapping[str, CheckBaseline] = field(default_factory=dict)

    def with_audits(self, audits: Mapping[str, AuditBaseline], recorded: Mapping[str, Any]) -> Baseline:
        """The same with these audits instead of, or beside, its own."""
        return replace(self, audits={**self.audits, **audits}, recorded=recorded)

    def with_checks(self, checks: Mapping[str, CheckBaseline], recorded: Mapping[str, Any]) -> Baseline:
        """The same with these checks instead of, or beside, its own."""
        return replace(self, checks={**self.checks, **checks}, recorded=recorded)

    def with_accepted(self, acceptance: Acceptance) -> Baseline:
        """The same with one more finding accepted; an earlier acceptance of it is replaced."""
        others = [one for one in self.accepted if (one.audit, one.finding) != (acceptance.audit, acceptance.finding)]
        return replace(self, accepted=(*others, acceptance))

    def audit(self, name: str) -> AuditBaseline:
        """The audit of this name."""
        if name not in self.audits:
            raise InputError(f"the baseline has no audit {name!r}; {did_you_mean(name, self.audits)}")
        return self.audits[name]

    def check(self, name: str) -> CheckBaseline:
        """The check of this name."""
        if name not in self.checks:
            raise InputError(f"the baseline has no check {name!r}; {did_you_mean(name, self.checks)}")
        return self.checks[name]

    def require_same_key(self, key: DigestKey | None) -> None:
        """To add audits: the digests of one file have one key."""
        self.require_no_other_key(key)
        if self.key_check is not None and key is None:
            raise InputError(
                f"the baseline has digests of persons, and their key is not here; set {VARIABLE}, or name its file "
                "with --key"
            )
        if self.key_check is None and key is not None and self.audits:
            raise InputError("the baseline was saved without a key, and you give one; save it anew into another file")

    def require_no_other_key(self, key: DigestKey | None) -> None:
        """With another key every person would be somebody else."""
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
            tolerance=float(plain["tolerance"]),
            checks={name: CheckBaseline.from_plain(one) for name, one in plain.get("checks", {}).items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: the baseline is malformed: {what}; undo the edit, or save it again") from None


def baseline_to_extend(path: Path, key: DigestKey | None) -> Baseline:
    """The baseline of a file that audits are added to, or a new one."""
    if not path.exists():
        return Baseline(key_check=None if key is None else key.check)
    baseline = read_baseline(path)
    try:
        baseline.require_same_key(key)
    except InputError as error:
        raise error.within(str(path)) from None
    return baseline


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
                "tolerance": baseline.tolerance,
                "audits": {name: one.plain() for name, one in sorted(baseline.audits.items())},
                "checks": {name: one.plain() for name, one in sorted(baseline.checks.items())},
                "accepted": [one.plain() for one in accepted],
            }
        )
        + "\n"
    )


def _json(value: Any, indent: int = 0) -> str:
    line = json.dumps(value, allow_nan=False)
    if not isinstance(value, dict | list) or not value:
        return line
    if len(line) <= WIDTH and not any(isinstance(one, dict | list) for one in _inside(value)):
        return line
    space = " " * (indent + 1)
    if isinstance(value, dict):
        lines = [f"{space}{json.dumps(name)}: {_json(one, indent + 1)}" for name, one in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(space + _json(one, indent + 1) for one in value) + "\n" + " " * indent + "]"


def _inside(value: Plain | list[Any]) -> Iterator[Any]:
    yield from value.values() if isinstance(value, dict) else value
