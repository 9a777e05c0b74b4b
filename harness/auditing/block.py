"""Persons who are examined together, with draws of f(D) of their own: what was inferred about them so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.auditing.infer import Inferred, Pair, Prediction
from harness.vocabulary.dataset import Record


class Block:
    """What was inferred so far about the persons of a block, from f(D) and from f without each of them."""

    def __init__(self, targets: Mapping[int, Sequence[Record]]) -> None:
        self.everybody = [target for hers in targets.values() for target in hers]
        self.present = Inferred()
        self.absent = {person: Inferred() for person in targets}
        starts = np.cumsum([0, *(len(hers) for hers in targets.values())])
        self._places = {
            person: range(int(start), int(start) + len(hers))
            for start, (person, hers) in zip(starts, targets.items(), strict=False)
        }

    def both_sides(self, pair: Pair, person: int) -> tuple[list[Prediction], list[Prediction]]:
        """What f(D), and f without her, say about each of her targets."""
        places = self._places[person]
        return (
            [self.present.prediction(pair, place) for place in places],
            [self.absent[person].prediction(pair, place) for place in range(len(places))],
        )
