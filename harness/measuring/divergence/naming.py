"""Divergences by name, as plans, files and people give them, and the distance of two predictions.

`sum` (v2, the default), `half` or `total-variation`, `quarter` (as printed in v1), `kl`, `max-divergence`,
`hellinger`, `jensen-shannon`, `total-variation-of-laws`, and `emd` with a ground distance. An object that offers the
interface of a `Divergence` stands for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.measuring.divergence.foreign import Foreign, guarded
from harness.measuring.divergence.ground import Ground, Labels, earth_mover_over, ground_of
from harness.measuring.divergence.interface import Divergence
from harness.measuring.divergence.laws import TotalVariationOfLaws
from harness.measuring.divergence.means import HELLINGER, JENSEN_SHANNON, KL, MAX_DIVERGENCE
from harness.measuring.divergence.sums import SumOfDistances
from harness.measuring.samples import Floats, Samples, same_values
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.origin import is_ours

SUM = SumOfDistances(
    "sum",
    "how much the probability of each sensitive value changes, added up over the values; where chance plays a part, "
    "how far apart the distributions of these probabilities lie (earth mover's distance of each; paper of 2019, eq. 1)",
)
HALF = SumOfDistances(
    "half",
    "half of the sum: the probability that moves from some sensitive values to others (total variation of two "
    'predictions, paper of 2018, §3.3; what the paper of 2019, §3.2, calls so is "total-variation-of-laws")',
    0.5,
)
QUARTER = SumOfDistances(
    "quarter",
    "a quarter of the sum over the sensitive values, as the paper of 2018 prints it (§3.3); its own tables fit half",
    0.25,
)

FIXED: dict[str, Divergence] = {
    known.name: known for known in (SUM, HALF, QUARTER, KL, MAX_DIVERGENCE, HELLINGER, JENSEN_SHANNON)
}
ALIASES = {"total-variation": "half"}
LAWS, EMD = "total-variation-of-laws", "emd"
NAMES = (*FIXED, *ALIASES, LAWS, EMD)

NEGATIVE, SUMS_TO_ONE = 1e-9, 1e-12  # how far a probability may lie below 0, and a sum from 1, to be taken as it is
INTERFACE = ("name", "describes", "largest", "proves", "between", "paired", "per_value", "interval", "spec")


@dataclass(frozen=True, eq=False)
class Declared:
    """A divergence as it was declared, before the values of a secret are known."""

    name: str
    ground: Ground | None = None  # of "emd"
    own: Any = None  # somebody's own divergence, or what makes one for the values of a secret

    def for_values(self, labels: Labels) -> Divergence:
        """The divergence of predictions about these values."""
        if self.own is not None:
            with guarded(self.name):
                made = self.own.for_values(labels) if hasattr(self.own, "for_values") else self.own
            return _checked(made)
        if self.ground is not None:
            try:
                return earth_mover_over(self.ground, labels)
            except InputError as error:
                raise error.within('distance "emd"') from None
        return TotalVariationOfLaws(float(len(labels))) if self.name == LAWS else FIXED[self.name]

    def spec(self) -> dict[str, Any]:
        """The declaration as plain data, from which `divergence_named` makes it again; an own object gives its own."""
        if self.own is not None:
            with guarded(self.name):
                return dict(self.own.spec())
        return {"name": self.name} | ({} if self.ground is None else {"ground": self.ground.spec()})


def divergence_named(declared: object, base: Path = Path()) -> Declared:
    """The divergence of that name, of a table such as `{name = "emd", ground = "ordered"}`, or somebody's own object.

    An object whose divergence depends on the values of the secret offers `for_values(labels)`. File names in a table
    are relative to `base`.
    """
    if isinstance(declared, Declared):
        return declared
    if isinstance(declared, str):
        return _from_table({"name": declared}, base)
    if isinstance(declared, Mapping):
        return _from_table(dict(declared), base)
    return _from_object(declared)


def _from_table(table: dict[str, Any], base: Path) -> Declared:
    unknown = [str(key) for key in table if key not in ("name", "ground")]
    if unknown:
        raise InputError(f"distance: unknown key {unknown[0]!r}; {did_you_mean(unknown[0], ('name', 'ground'))}")
    given = table.get("name")
    name = ALIASES.get(str(given), given)
    if not isinstance(name, str) or name not in NAMES:
        raise InputError(f"no distance is called {given!r}; {did_you_mean(str(given), NAMES)}")
    if name == EMD:
        return _earth_mover(table.get("ground"), base)
    if "ground" in table:
        raise InputError(f'distance {given!r} takes no ground distance; "emd" does')
    return Declared(name)


def _earth_mover(declared: Any, base: Path) -> Declared:
    if declared is None:
        raise InputError(
            'distance "emd" needs a ground distance between the values: ground = "ordered", "numeric", or a table of '
            'an order, positions, a hierarchy or a matrix; at unit ground distance it is called "half", and the sum '
            'over values is called "sum"'
        )
    try:
        return Declared(EMD, ground_of(declared, base))
    except InputError as error:
        raise error.within('distance "emd"') from None


def _from_object(own: Any) -> Declared:
    """Somebody's own divergence, or what makes one for the values of a secret."""
    if isinstance(own, type):
        raise InputError(f"distance {own.__name__} is a class; make one: {own.__name__}(…)")
    if hasattr(own, "for_values"):
        _require_parts(own, ("name", "spec"))
    else:
        _checked(own)
    return Declared(_name_of(own), own=own)


def _checked(own: Any) -> Divergence:
    """A divergence that somebody made; what goes wrong in one that is not ours names it."""
    _require_parts(own, INTERFACE)
    return own if is_ours(own) else Foreign(_name_of(own), own)


def _name_of(own: Any) -> str:
    with guarded(type(own).__name__):
        return str(own.name)


def _require_parts(own: Any, needed: Sequence[str]) -> None:
    with guarded(type(own).__name__):  # a property may raise anything
        missing = [part for part in needed if not hasattr(own, part)]
    if missing:
        raise InputError(
            f"{own!r:.80} is no divergence: it lacks {', '.join(missing)}; expected a name ({', '.join(NAMES)}), a "
            "table with a name, or an object with the interface of harness.measuring.divergence.Divergence"
        )


def distance(name: object, p: npt.ArrayLike, q: npt.ArrayLike, ground: Any = None) -> float:
    """How far two predictions lie apart: present p, absent q, points of the simplex over the same values.

    `ground`, for "emd": "ordered", a matrix, a table as in a plan, a `Hierarchy` (p and q are then over its leaves in
    order), or any of these with the names of the values: `(ground, labels)`.
    """
    present, absent = same_values(_one_draw("p", p), _one_draw("q", q))
    labels: Labels = tuple(map(str, range(present.values)))
    if ground is not None:
        read, labels = _ground_and_labels(ground, labels)
        name = {"name": name, "ground": read}
    divergence = divergence_named(name).for_values(labels)
    return min(divergence.between(present.draws[0], absent.draws[0]), divergence.largest)


def _one_draw(name: str, point: npt.ArrayLike) -> Samples:
    try:
        row: Floats = np.asarray(point, dtype=np.float64)
        if row.ndim != 1:
            raise InputError(f"expected a list of probabilities, one per value; got shape {row.shape}")
        return _normalised(Samples(row[None]))
    except InputError as error:
        raise error.within(name) from None
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: expected a list of probabilities, one per value; got {point!r:.80}") from None


def _normalised(point: Samples) -> Samples:
    """The same point exactly on the simplex, so that all distances speak of the same one."""
    least = float(point.draws.min())
    if least < -NEGATIVE:
        raise InputError(f"expected probabilities of at least 0; the smallest is {least:g}")
    off = abs(float(point.draws.sum()) - 1)
    return point if least >= 0 and off <= SUMS_TO_ONE else Samples(point.normalised)


def _ground_and_labels(ground: Any, numbers: Labels) -> tuple[Ground, Labels]:
    """A ground distance, and the values that the coordinates of p and q stand for."""
    if isinstance(ground, tuple) and len(ground) == 2 and _is_ground(ground[0]):
        given, labels = ground_of(ground[0]), tuple(map(str, ground[1]))
    else:
        given = ground_of(ground)
        labels = given.labels or numbers
    if len(labels) != len(numbers):
        raise InputError(f"the ground distance is over {len(labels)} values, but p and q are over {len(numbers)}")
    return given, labels


def _is_ground(first: Any) -> bool:
    """Whether the first of two is a ground distance, with the names of the values beside it; else two rows of one."""
    if isinstance(first, list | tuple):
        return len(first) > 0 and isinstance(first[0], list | tuple | np.ndarray)
    return isinstance(first, Hierarchy | str | Mapping) or (isinstance(first, np.ndarray) and first.ndim > 1)
