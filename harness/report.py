"""The result of an audit as a value: read from its events or from report.json, written as JSON, frame or page.

Holds plain data only, no dataset and no oracle; raw records are beside it, and only if they were asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from harness.auditing.compile_report import FORMAT, compile_report
from harness.auditing.finding import Finding, from_plain
from harness.auditing.plan import Claim
from harness.auditing.state import AuditState
from harness.auditing.verdict import Outcome, Verdict
from harness.measuring.certificate import Certificate
from harness.render import Beside, render, text
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Card

RUN = "run.json"  # beside report.json: what differs from run to run

Plain = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """The verdict with everything it rests on. Two reports are equal if their report.json is."""

    plain: Plain = field(repr=False)
    records: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict, repr=False, compare=False)
    run: Plain | None = field(default=None, repr=False, compare=False)  # run.json: calls, seconds, versions

    @classmethod
    def of(cls, state: AuditState, records: Mapping[int, Sequence[Mapping[str, Any]]] | None = None) -> Report:
        """The report of an audit at its end; `records` are raw rows by person, to be shown on the page."""
        return cls(compile_report(state), records or {})

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """What a run wrote as report.json, and beside it as run.json."""
        path = Path(path)
        plain = _read(path)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            version = plain.get("format") if isinstance(plain, dict) else None
            raise InputError(f"{path}: a report of format {version!r}; this version reads format {FORMAT}")
        return cls(plain, run=load_run(path.with_name(RUN)))

    @cached_property
    def claim(self) -> Claim:
        return Claim(**self.plain["plan"]["claim"])

    @cached_property
    def verdict(self) -> Verdict:
        """The judgement over all adversaries and secrets."""
        return _verdict(self.plain["verdict"])

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], Verdict]:
        """The judgement by adversary and secret."""
        return {(one["adversary"], one["secret"]): _verdict(one["verdict"]) for one in self.plain["results"]}

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """By person, then adversary, then secret."""
        return tuple(from_plain(entry, self.claim) for entry in self.plain["findings"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd about the oracle and its releases."""
        return tuple(self.plain["notes"])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a reader must grant, or know, before relying on the verdict."""
        return tuple(self.plain["assumptions"])

    @property
    def card(self) -> Card:
        """The oracle's card, as far as it was believed."""
        card = self.plain["oracle"]["card"]
        noise = card["noise_epsilon"]
        return Card(**{**card, "noise_epsilon": None if noise is None else float(noise)})

    @property
    def coupled(self) -> bool:
        """Whether both sides were drawn with the same seeds."""
        return bool(self.plain["oracle"]["coupled"])

    def result(self, adversary: str | None = None, secret: str | None = None) -> Plain:
        """Everything about one adversary and secret; without names, the ones that the verdict is about."""
        chosen = (adversary or self.verdict.adversary, secret or self.verdict.secret)
        if chosen not in self.verdicts:
            known = "; ".join(f"{one}, {other}" for one, other in self.verdicts)
            raise InputError(f"the report has no adversary and secret {chosen}; it has {known}")
        return dict(text.result_of(self.plain, *chosen))

    def statistics(self, adversary: str | None = None, secret: str | None = None) -> Plain:
        """Largest, mean and deviation of the distances, and shares of persons at or above some thresholds."""
        return dict(self.result(adversary, secret)["statistics"])

    def curve(self, adversary: str | None = None, secret: str | None = None) -> list[Plain]:
        """The (ε, δ) curve with its band."""
        return list(self.result(adversary, secret)["curve"])

    def to_dict(self) -> Plain:
        """The content of report.json."""
        return self.plain

    def to_json(self) -> str:
        """The text of report.json."""
        return self.render("json")

    def render(self, name: str, *, reveal: bool = False) -> str:
        """The report in a format of `harness.render.RENDERERS`, such as "text" or "html".

        With `reveal` a page names what was inferred about persons, and shows what the anonymizer said and, where the
        audit was run with reveal, raw records.
        """
        return render(self.plain, name, Beside(reveal, self.records if reveal else {}, self.run))

    def to_frame(self) -> pd.DataFrame:
        """One row per person, adversary and secret."""
        return pd.DataFrame(self.plain["findings"]).set_index("person")

    def summary(self) -> str:
        """A page for a terminal."""
        return text.summary(self.plain, self.records)

    def __str__(self) -> str:
        return self.summary()


def load_run(path: Path) -> Plain | None:
    """The content of run.json, if it is there."""
    if not os.path.lexists(path):
        return None
    run = _read(path)
    if not isinstance(run, dict):
        raise InputError(f"{path}: not the description of a run: expected an object")
    return run


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not a report: {error}") from None


def _verdict(plain: Mapping[str, Any]) -> Verdict:
    fields = dict(plain)
    certificate = fields["certificate"]
    if certificate is not None:
        certificate = Certificate(**{key: value for key, value in certificate.items() if key != "share"})
    return Verdict(
        **{
            **fields,
            "outcome": Outcome(fields["outcome"]),
            "claim": Claim(**fields["claim"]),
            **{name: float(fields[name]) for name in ("epsilon", "at_least", "at_most")},
            "rows": tuple(fields["rows"]),
            "certificate": certificate,
        }
    )
