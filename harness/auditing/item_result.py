"""What becomes of a work item: what a worker sends back. Knows events and packed draws."""

from __future__ import annotations

from dataclasses import dataclass

from harness.auditing.events import Examined, Failed
from harness.auditing.measurement import Measurement
from harness.auditing.prediction_draws import PackedDraws
from harness.vocabulary.errors import HarnessError


@dataclass(frozen=True)
class Measured:
    """One measurement, and the draws that it was made from where they are to be kept."""

    measurement: Measurement
    draws: PackedDraws | None = None


@dataclass(frozen=True)
class ExaminedPerson:
    """One person at one look, and the draws to keep."""

    event: Examined
    draws: tuple[PackedDraws, ...] = ()


@dataclass(frozen=True)
class ItemResult:
    """The persons examined, those who could not be, and the error that ends the audit."""

    examined: tuple[ExaminedPerson, ...] = ()
    failed: tuple[Failed, ...] = ()
    away: bool = False  # a failure because the oracle was not reached, which says nothing about the person
    error: HarnessError | None = None
