"""The draws of predictions that one measurement was made from, as bytes and back, and their digest.

A measurement of draws says their digest in the journal, whether the draws are kept (`prediction_file`) or not. Whoever
has them makes the measurement again (`derived_from_predictions`). The digest is also over whom and what they are about,
so that draws of one person do not prove the numbers of another. Knows arrays; no disk and no oracle.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from harness.auditing.measure import Sides
from harness.measuring.samples import Samples

HEAD = struct.Struct("<10q")
NUMBER = np.dtype("<f8")
DIGEST = 24  # bytes of it that are kept, of 32
LEVEL = 1  # of compression: most of the gain for a small part of the time
SAMPLE, WORTH = 1 << 15, 0.8  # bytes that are compressed to see whether it is worth it, and what may be left of them


@dataclass(frozen=True)
class PackedDraws:
    """Draws as they are kept."""

    digest: bytes
    packed: bytes


@dataclass(frozen=True, eq=False)
class PredictionDraws:
    """What a measurement was made from: both sides, as many draws of each, and where they belong."""

    person: int
    look: int
    adversary: int
    secret: int
    row: int
    value: int  # place of the true value of the row among the predicted ones
    last: bool  # no look was planned to follow
    sides: Sides

    @property
    def place(self) -> tuple[int, int, int, int, int]:
        """What they are about: person, look, adversary, secret and row."""
        return self.person, self.look, self.adversary, self.secret, self.row

    def content(self) -> bytes:
        """All of it as bytes: ten whole numbers, then both matrices draw by draw."""
        matrices = self.sides.present.draws, self.sides.absent.draws
        head = HEAD.pack(*self.place, self.value, self.last, *self.sides.uncovered, len(matrices[0]))
        return head + b"".join(matrix.astype(NUMBER, copy=False).tobytes() for matrix in matrices)

    @classmethod
    def from_content(cls, content: bytes) -> PredictionDraws:
        """The draws again. Raises ValueError or struct.error for what is not content of any."""
        person, look, adversary, secret, row, value, last, with_her, without, draws = HEAD.unpack_from(content)
        numbers = np.frombuffer(content, NUMBER, offset=HEAD.size).astype(np.float64)
        present, absent = numbers.reshape(2, draws, -1)
        sides = Sides(Samples(present), Samples(absent), (with_her, without))
        return cls(person, look, adversary, secret, row, value, bool(last), sides)


def size_of(draws: int, values: int) -> int:
    """How many bytes the content of so many draws of so many values has."""
    return HEAD.size + 2 * draws * values * NUMBER.itemsize


def digest_of(content: bytes) -> bytes:
    """What the journal says of them."""
    return hashlib.sha256(content).digest()[:DIGEST]


def spelled_digest(digest: bytes) -> str:
    """A digest as the journal spells it."""
    return base64.b64encode(digest).decode()


def read_digest(spelled: str) -> bytes:
    """The digest again. Raises ValueError."""
    return base64.b64decode(spelled, validate=True)


def packed(content: bytes, digest: bytes) -> PackedDraws:
    """The draws as they are kept; predictions of a continuous law hardly get smaller, and are stored as they are."""
    sample = content[:SAMPLE]
    level = LEVEL if len(zlib.compress(sample, LEVEL)) <= WORTH * len(sample) else 0
    return PackedDraws(digest, zlib.compress(content, level))


def unpacked(draws: PackedDraws, size: int) -> bytes | None:
    """The content, which has this size; None if these are other draws than their digest says."""
    try:
        content = zlib.decompressobj().decompress(draws.packed, size)
    except zlib.error:
        return None
    return content if digest_of(content) == draws.digest else None
