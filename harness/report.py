"""What an audit tells: as plain data, as a table, as a page of text. Knows results, not how they were got."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

from harness.auditing.examine import GRID
from harness.auditing.finding import Finding
from harness.auditing.plan import Plan
from harness.auditing.probe import REPEATS, Opening, unlikelier_than
from harness.auditing.procedure import Audit
from harness.auditing.select import Look
from harness.auditing.verdict import Verdict, judge
from harness.measuring.tail import curve
from harness.vocabulary.oracle import Card

FORMAT = 1  # of report.json
THRESHOLDS = (1e-3, 10**-2.5, 1e-2, 1e-1)  # v1 §3.4.2 quotes the share above 10^-2.5
WORST = 10  # records listed in the summary


@dataclass(frozen=True, eq=False)
class Report:
    """The verdict with everything it rests on. Raw records are in it only if they were asked for."""

    plan: Plan
    opening: Opening
    findings: tuple[Finding, ...]  # by index
    verdict: Verdict
    looks: tuple[Look, ...]
    examined: int  # records, without those that are equal to another
    noticed: tuple[str, ...] = ()  # what was odd about the oracle and about f(D)
    reveal: bool = False

    @classmethod
    def of(cls, audit: Audit, findings: Sequence[Finding], *, reveal: bool = False) -> Report:
        ordered = tuple(sorted(findings, key=lambda finding: finding.index))
        plan = audit.plan
        course, coupled = audit.course, audit.opening.coupled
        verdict = judge(ordered, plan.claim, plan.data.size, exact=course.exact, coupled=coupled, random=course.random)
        return cls(plan, audit.opening, ordered, verdict, audit.looks, len(audit.course.examined), audit.notes, reveal)

    @property
    def card(self) -> Card:
        return self.opening.card

    @property
    def exact(self) -> bool:
        return not self.plan.randomized(self.card)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd about the oracle, each once, with the number of records it was seen at."""
        at_first = dict.fromkeys(self.noticed)
        later: dict[str, int] = {}
        for finding in self.findings:
            for note in finding.notes:
                if note not in at_first:
                    later[note] = later.get(note, 0) + 1
        return (
            *at_first,
            *(f"{note} (without {count} of the records)" for note, count in later.items()),
            *self._refuted(),
        )

    def _refuted(self) -> list[str]:
        """A claim of differential privacy that the draws contradict."""
        loss = self.privacy_loss()
        if loss is None or not loss["refuted"]:
            return []
        return [
            f"the oracle claims differential privacy with noise_epsilon = {loss['claimed']:g}, but record "
            f"{loss['witness']} shows at least {loss['at_least']:.3g} ({self.plan.claim.confidence:.0%} confidence)"
        ]

    def privacy_loss(self) -> dict[str, Any] | None:
        """The differential privacy that is claimed, and the largest loss that the draws prove."""
        shown = [
            (finding.privacy_loss, -finding.index) for finding in self.findings if finding.privacy_loss is not None
        ]
        if self.card.noise_epsilon is None or not shown:
            return None
        most, index = max(shown)
        claimed = self.card.noise_epsilon
        return {"claimed": claimed, "at_least": most, "witness": -index, "refuted": most > claimed}

    def curve(self) -> list[dict[str, float]]:
        """(ε, δ): the largest share of draws at or above each ε, in a band that holds for all records and ε at once.

        Exact when nothing is random: a record lies at or above ε, or does not.
        """
        epsilons = [share * self.plan.distance.largest for share in GRID]
        if self.exact:
            deltas = [float(self.verdict.epsilon >= epsilon) for epsilon in epsilons]
            shares = lowers = uppers = np.array(deltas)
        else:
            found = [curve(f.above, f.draws, self.looks[f.look - 1].alpha) for f in self.findings]
            shares = np.max([each.shares for each in found], axis=0)
            lowers = np.max([each.lowers for each in found], axis=0)
            uppers = np.max([each.uppers for each in found], axis=0)
        columns = zip(epsilons, shares.tolist(), lowers.tolist(), uppers.tolist(), strict=True)
        return [dict(zip(("epsilon", "delta", "lower", "upper"), point, strict=True)) for point in columns]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a reader must grant, or know, before relying on the verdict."""
        inference, size = self.plan.inference, self.plan.data.size
        said = [
            f"the adversary is {inference.model.name} on {inference.encoder_name} encoding; another may infer more",
            "every person has one record, and the quasi-identifiers are what the adversary knows",
        ]
        if self.exact and inference.randomized:
            said.append("the adversary's own randomness is fixed by one seed; with draws it would be sampled")
        if self.exact:
            often = unlikelier_than(self.plan.claim.confidence)
            said.append(
                f"f is taken as deterministic because {REPEATS} equal questions got equal answers, which alone says "
                f"only that different ones come less than {often:.0%} of the time; then distances are exact"
            )
        else:
            said.append(
                f"all {len(self.findings)} intervals hold together with {self.plan.claim.confidence:.0%} confidence "
                "(union bound over the examined records); so do all tails, the curve, all privacy losses, each alone"
            )
            said.append(
                "both sides were drawn with the same seeds, which leaves each side's law as it is"
                if self.opening.coupled
                else "both sides were drawn independently, so distances carry f's own noise: compare with the floor"
            )
        said.append(
            "f was told which record is left out, and is trusted not to use that"
            if self.card.keeps_data and not self.plan.is_blind(self.card)
            else "f was given D without the record as just another table"
        )
        if self.plan.data.dropped:
            said.append(
                f"{self.plan.data.dropped} rows with missing values were left out; {size} remain and are numbered "
                "anew: `row` in the report is the row of the source"
            )
        if self.opening.row_order_invariant and len(self.findings) > self.examined:
            said.append(
                f"{self.examined} records were examined for all {len(self.findings)}: the oracle vouches that the "
                "order of rows makes no difference, a permuted table agreed, so equal records need one examination"
            )
        return tuple(said)

    def statistics(self) -> dict[str, Any]:
        distances = np.array([finding.distance for finding in self.findings])
        thresholds = sorted({*THRESHOLDS, self.plan.claim.epsilon})
        return {
            "largest": float(distances.max()),
            "mean": float(distances.mean()),
            "deviation": float(distances.std()),
            "share_at_or_above": {f"{limit:.4g}": float((distances >= limit).mean()) for limit in thresholds},
            "share_of_changed_predictions": float(np.mean([finding.changed for finding in self.findings])),
        }

    def at_the_claim(self) -> dict[str, dict[str, float]]:
        """The claim read both ways, over all records: δ at its ε, ε at its δ, each with limits and the record it is of.

        `indifferentiability` is the δ of v2, Definition 1: the largest distance itself.
        """
        worst = max(self.findings, key=lambda finding: (finding.distance, -finding.index))
        far = {"value": worst.distance, "lower": max(f.lower for f in self.findings)}
        far |= {"upper": max(f.upper for f in self.findings), "witness": worst.index}
        if self.exact:
            delta = float(worst.distance >= self.plan.claim.epsilon)
            often = {"value": delta, "lower": delta, "upper": delta, "witness": worst.index}
            return {"smallest_delta": often, "smallest_epsilon": far, "indifferentiability": far}
        read = {}
        for name in ("delta", "epsilon"):
            limits = [(getattr(finding, name), finding.index) for finding in self.findings]
            most, witness = max(limits, key=lambda found: (found[0].value, found[0].upper, -found[1]))
            lower, upper = (max(getattr(each, end) for each, _ in limits) for end in ("lower", "upper"))
            read[f"smallest_{name}"] = {"value": most.value, "lower": lower, "upper": upper, "witness": witness}
        return {**read, "indifferentiability": far}

    def to_dict(self) -> dict[str, Any]:
        """The whole report as plain data; equal audits give equal reports, byte for byte."""
        verdict = asdict(self.verdict)
        verdict["outcome"] = self.verdict.outcome.value
        return {
            "format": FORMAT,
            "verdict": verdict,
            "statistics": self.statistics(),
            "curve": self.curve(),
            **self.at_the_claim(),
            "privacy_loss": self.privacy_loss(),
            "notes": list(self.notes),
            "assumptions": list(self.assumptions),
            "plan": self.plan.summary(),
            "plan_digest": self.plan.digest,
            "card": asdict(self.card),
            "coupled": self.opening.coupled,
            "sensitive_domain": list(self.plan.data.sensitive_labels),
            "findings": [self._finding(finding) for finding in self.findings],
            "versions": versions(),
        }

    def _finding(self, finding: Finding) -> dict[str, Any]:
        plain = {**finding.entry(), "row": self.plan.data.row(finding.index)}
        del plain["seconds"]  # differs from run to run
        plain["changed"] = finding.changed
        if self.reveal:
            plain["record"] = self._record(finding.index)
        return plain

    def _record(self, index: int) -> dict[str, Any]:
        table = self.plan.data.table
        spelled = (cells.taking(np.array([index])).values()[0] for cells in table.columns)
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in zip(table.names, spelled, strict=True)
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict()) + "\n"

    def to_frame(self) -> pd.DataFrame:
        """One row per examined record."""
        return pd.DataFrame([self._finding(finding) for finding in self.findings]).set_index("index")

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A page for a terminal: verdict first, then what it rests on."""
        parts = [str(self.verdict), "", *self._facts(), "", *self._curve(), "", *self._worst(), *self._small_print()]
        return "\n".join(parts)

    def _facts(self) -> list[str]:
        data, card, numbers = self.plan.data, self.card, self.statistics()
        quasi = ", ".join(column.name for column in data.schema.quasi)
        sensitive = ", ".join(column.name for column in data.schema.sensitive)
        drawn = sorted({finding.draws for finding in self.findings})
        span = f"{drawn[0]}" if len(drawn) == 1 else f"{drawn[0]} to {drawn[-1]}"
        draws = "exact" if self.exact else f"{span} draws a side"
        shares = "   ".join(f"{share:.1%} at ≥ {limit}" for limit, share in numbers["share_at_or_above"].items())
        kind = "randomized" if card.randomized else "deterministic"
        lines = {
            "oracle": f"{card.title}, {kind}, releases {card.releases}",
            "data": f"{data.size} records; {quasi} → {sensitive} ({len(data.sensitive_domain)} values)",
            "adversary": f"{self.plan.inference.model.name}, {self.plan.inference.encoder_name} encoding",
            "examined": f"{len(self.findings)} of {data.size} records, {draws}",
            "distance": f"largest {numbers['largest']:.4g}   mean {numbers['mean']:.4g} ± {numbers['deviation']:.4g}"
            f"   ({self.plan.distance.name}: {self.plan.distance.describes})",
            "records": shares,
            "predictions": f"{numbers['share_of_changed_predictions']:.1%} name another likeliest value without the "
            "record (of equals the first)",
        }
        if not self.exact:
            lines["(ε, δ)"] = self._epsilon_and_delta()
            floors = [finding.floor for finding in self.findings if finding.floor is not None]
            lines["noise floor"] = (
                f"{np.mean(floors):.4g} on average: what sampling alone would show" if floors else "-"
            )
        return [f"  {name:<12} {text}" for name, text in lines.items()]

    def _epsilon_and_delta(self) -> str:
        """The claim read both ways, over all records."""
        claim, read = self.plan.claim, self.at_the_claim()
        delta, epsilon = read["smallest_delta"], read["smallest_epsilon"]
        return (
            f"δ at ε = {claim.epsilon:g}: {delta['value']:.3g}, at most {delta['upper']:.3g}   "
            f"ε at δ = {claim.delta:g}: {epsilon['value']:.3g}, at most {epsilon['upper']:.3g}"
        )

    def _curve(self) -> list[str]:
        """The distribution of distances by decade, as bars."""
        distances = np.array([finding.distance for finding in self.findings])
        edges = [0.0, *(10.0**power for power in range(-5, 1)), np.inf]
        counts = np.histogram(distances, edges)[0]
        labels = ["< 0.00001", *(f"≥ {edge:.5f}".rstrip("0").rstrip(".") for edge in edges[1:-1])]
        return ["  how far records move the inference about themselves"] + [
            f"  {label:>10} {_bar(count / len(distances)):<30} {count}"
            for label, count in zip(labels, counts, strict=True)
        ]

    def _worst(self) -> list[str]:
        labels = self.plan.data.sensitive_labels
        moving = [finding for finding in self.findings if finding.distance > 0]
        worst = sorted(moving, key=lambda finding: (-finding.distance, finding.index))[:WORST]
        if not worst:
            return ["  no record moves it at all"]
        lines = ["  records that move it most", "       index  distance  largest change of confidence"]
        for finding in worst:
            value = int(np.argmax(np.abs(np.subtract(finding.present, finding.absent))))
            said = f"{labels[value]}: {finding.present[value]:.3f} with, {finding.absent[value]:.3f} without"
            lines.append(f"  {finding.index:>10}  {finding.distance:<8.4g}  {said}" + self._revealed(finding))
        return lines

    def _revealed(self, finding: Finding) -> str:
        return f"   {self._record(finding.index)}" if self.reveal else ""

    def _small_print(self) -> list[str]:
        lines: list[str] = []
        for title, items in (("noticed", self.notes), ("assumed", self.assumptions)):
            if items:
                lines += ["", f"  {title}", *(f"  - {item}" for item in items)]
        return lines


def _bar(share: float, width: int = 30) -> str:
    """A bar with eighths of a cell, so that one record in a thousand still shows."""
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    found = {"python": platform.python_version()}
    for package in ("anonymizer-harness", "numpy", "pandas", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
