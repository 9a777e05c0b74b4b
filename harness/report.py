"""The result of an audit as a value: read from its events or from report.json, written as JSON, frame or page.

Holds plain data only, no dataset and no oracle; raw records are beside it, and only if they were asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from harness.auditing.compile_report import FORMAT, compile_report
from harness.auditing.confidential import withheld
from harness.auditing.finding import Finding, from_plain
from harness.auditing.findings_file import read_findings
from harness.auditing.folder import CERTIFICATE, RUN
from harness.auditing.list_findings import FINDINGS_FILE, rows_of_findings
from harness.auditing.plan import Claim
from harness.auditing.state import AuditState
from harness.auditing.state_columns import reported_columns
from harness.auditing.verdict import Outcome, Verdict
from harness.auditing.verify import recompile_unfinished
from harness.measuring.certificate import Certificate
from harness.render import Beside, render, text
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Card

Plain = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """The verdict with everything it rests on. Two reports are equal if their report.json is."""

    plain: Plain = field(repr=False)
    records: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict, repr=False, compare=False)
    complete: Plain | None = field(default=None, repr=False, compare=False)  # of an audit made in this process
    run: Plain | None = field(default=None, repr=False, compare=False)  # run.json: calls, seconds, versions
    certificate: Plain | None = field(default=None, repr=False, compare=False)  # certificate.json: the test report
    rows: Callable[[], Iterator[Plain]] | None = field(default=None, repr=False, compare=False)  # of a large audit

    @classmethod
    def of(cls, state: AuditState, records: Mapping[int, Sequence[Mapping[str, Any]]] | None = None) -> Report:
        """The report of an audit at its end; `records` are raw rows by person, to be shown on the page.

        Without them nothing is revealed: what was inferred about a person is in `findings`, but in no file.
        """
        complete = compile_report(state)
        rows = _rows_of(state) if FINDINGS_FILE in complete else None
        return cls(withheld(complete) if records is None else complete, records or {}, complete, rows=rows)

    @classmethod
    def of_journal(cls, journal: Path) -> Report:
        """What a journal proves so far; an audit that was interrupted has no verdict."""
        complete, state = recompile_unfinished(journal)
        rows = _rows_of(state) if FINDINGS_FILE in complete else None
        return cls(withheld(complete), complete=complete, rows=rows)

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """What a run wrote as report.json, and beside it as run.json and certificate.json."""
        path = Path(path)
        plain = _read(path)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            version = plain.get("format") if isinstance(plain, dict) else None
            raise InputError(f"{path}: a report of format {version!r}; this version reads format {FORMAT}")
        rows = None
        if FINDINGS_FILE in plain:
            rows = partial(read_findings, path.parent, plain[FINDINGS_FILE]["sha256"])
        return with_files_beside(cls(plain, rows=rows), path.parent)

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
        """Those that report.json lists, by person, then adversary, then secret: all, or of a large audit the worst.

        Predictions are in those of an audit made in this process, and in those of a file that was to reveal them.
        """
        return tuple(from_plain(entry, self.claim) for entry in (self.complete or self.plain)["findings"])

    def all_findings(self) -> Iterator[Finding]:
        """Every finding, one by one; those of a large audit come from the file beside report.json.

        That file holds no predictions.
        """
        if self.rows is None and FINDINGS_FILE in self.plain:
            raise InputError("this report lists the worst findings only; load report.json from its folder to read all")
        if self.rows is None:
            yield from self.findings
            return
        for row in self.rows():
            yield from_plain(row, self.claim)

    @property
    def number_of_findings(self) -> int:
        """How many there are, listed or not."""
        plain = self.plain
        return int(plain[FINDINGS_FILE]["findings"]) if FINDINGS_FILE in plain else len(plain["findings"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd about the oracle and its releases; with the vendor's texts where findings have predictions."""
        return tuple((self.complete or self.plain)["notes"])

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
        audit was run with reveal, raw records. report.json is what the audit was run to reveal.
        """
        plain = self.plain
        if name != "json":
            plain = (self.complete or plain) if reveal else withheld(plain)
        return render(plain, name, Beside(self.records if reveal else {}, self.run, self.certificate))

    def to_frame(self) -> pd.DataFrame:
        """One row per person, adversary and secret."""
        findings = (self.complete or self.plain)["findings"] if self.rows is None else self.rows()
        return pd.DataFrame(findings).set_index("person")

    def summary(self) -> str:
        """A page for a terminal."""
        return text.summary(self.plain, self.records)

    def __str__(self) -> str:
        return self.summary()


def _rows_of(state: AuditState) -> Callable[[], Iterator[Plain]]:
    """All findings of an audit whose state is known, spelled anew each time."""
    return lambda: rows_of_findings(reported_columns(state))


def with_files_beside(report: Report, folder: Path) -> Report:
    """The report with run.json and certificate.json of a folder, as far as they are there."""
    return replace(report, run=_read_if_any(folder / RUN), certificate=_read_if_any(folder / CERTIFICATE))


def _read_if_any(path: Path) -> Plain | None:
    if not os.path.lexists(path):
        return None
    content = _read(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: not what a run writes: expected an object")
    return content


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
