"""What an anonymizer is said to do: the claims that its laws are judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from harness.vocabulary.errors import InputError, did_you_mean

WHOLE = ("k", "l")
TRUTHS = ("deterministic", "seedable", "keeps_rows", "keeps_sensitive", "truthful")


@dataclass(frozen=True)
class Claims:
    """None: nothing is claimed. Rows and sensitive values are taken to be kept, and cells to be true, unless denied."""

    k: int | None = None  # every class of equal quasi-identifiers has at least k rows
    l: int | None = None  # noqa: E741 - the name of the field; at least l different sensitive values in every class
    t: float | None = None  # sensitive values of every class are distributed as in the table, up to t
    noise_epsilon: float | None = None  # numbers or counts carry the noise of ε-differential privacy
    epsilon: float | None = None  # no row moves the inference about itself by this much
    deterministic: bool | None = None
    seedable: bool | None = None
    keeps_rows: bool | None = None
    keeps_sensitive: bool | None = None
    truthful: bool | None = None  # False: cells are changed, as by swapping or averaging, and need not be true

    @classmethod
    def of(cls, claim: Mapping[str, Any] | Claims | None) -> Claims:
        """Claims from a table of them, checked."""
        if isinstance(claim, Claims):
            return claim
        known = [each.name for each in fields(cls)]
        for name, value in (claim or {}).items():
            if name not in known:
                raise InputError(f"claim {name!r} is not known; {did_you_mean(name, known)}")
            _check(name, value)
        return cls(**(claim or {}))

    @property
    def adds_noise(self) -> bool:
        """Released numbers are not the true ones, and need not be."""
        return self.noise_epsilon is not None

    @property
    def changes_cells(self) -> bool:
        """Released quasi-identifiers need not cover the values they stand for."""
        return self.adds_noise or self.truthful is False

    @property
    def least_rows(self) -> int:
        """Tables with fewer rows cannot be anonymized as claimed."""
        return max(self.k or 1, self.l or 1)


def _check(name: str, value: Any) -> None:
    if name in TRUTHS:
        good, expected = isinstance(value, bool), "true or false"
    elif name in WHOLE:
        good, expected = isinstance(value, int) and not isinstance(value, bool) and value >= 1, "a whole number from 1"
    else:
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
        expected = "a number from 0"
    if not good:
        raise InputError(f"claim {name} must be {expected}, not {value!r}")
