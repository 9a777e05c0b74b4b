"""How a release looks from one target: knows releases and records, never a classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.vocabulary.dataset import Record
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.release import Microdata, Reader


@dataclass(frozen=True, eq=False)
class Encoded:
    """A release in the eyes of a target: per quasi-identifier which cells of the palette are 1.

    The target itself encodes to all ones. Bits live on the palette; `matrix` spells them out per row for
    models that need it.
    """

    release: Microdata
    bits: tuple[npt.NDArray[np.bool_], ...]  # each [palette]

    def matrix(self) -> npt.NDArray[np.bool_]:
        """One row of bits per released row.  # [rows, quasi]"""
        columns = zip(self.bits, self.release.quasi, strict=True)
        return np.stack([bits[column.codes] for bits, column in columns], axis=1)


Encoder = Callable[[Reader, Microdata, Record], Encoded]


def tf(reader: Reader, release: Microdata, target: Record) -> Encoded:
    """TF-TF (v2 §4.3, e64 of v1): a cell is 1 if it covers the target's value, else 0."""
    lexicons = reader.lexicons[: len(release.quasi)]
    bits = tuple(
        lexicon.covering(position)[column.ids]
        for lexicon, column, position in zip(lexicons, release.quasi, target.codes, strict=True)
    )
    return Encoded(release, bits)


ENCODERS: dict[str, Encoder] = {"tf": tf}


def encoder_named(name: str) -> Encoder:
    if name not in ENCODERS:
        raise InputError(f"encoder {name!r} is not known; {did_you_mean(name, ENCODERS)}")
    return ENCODERS[name]
