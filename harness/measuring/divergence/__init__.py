"""How far apart two predictions lie: the interface, the built-in divergences, and how they are named.

`divergence_named("sum").for_values(labels)` is how a plan gets one; `distance("kl", p, q)` is for two predictions at
hand. Modules, each importing only those before it: interface, foreign, sums, means, earth_mover, laws, ground,
naming.
"""

from harness.measuring.divergence.earth_mover import EarthMover
from harness.measuring.divergence.foreign import own_object
from harness.measuring.divergence.interface import LONGEST_CURVE, Divergence, Proof, reach, upper_of
from harness.measuring.divergence.laws import TotalVariationOfLaws
from harness.measuring.divergence.means import ByValue, FromFormula
from harness.measuring.divergence.naming import NAMES, Declared, distance, divergence_named
from harness.measuring.divergence.sums import SumOfDistances, Tree

__all__ = [
    "LONGEST_CURVE",
    "NAMES",
    "ByValue",
    "Declared",
    "Divergence",
    "EarthMover",
    "FromFormula",
    "Proof",
    "SumOfDistances",
    "TotalVariationOfLaws",
    "Tree",
    "distance",
    "divergence_named",
    "own_object",
    "reach",
    "upper_of",
]
