"""Reference anonymizers: what a harness is tried against before it is believed about others."""

from oracles.reference.extremes import Constant, Identity, Leaky
from oracles.reference.greedy import Greedy
from oracles.reference.laplace import Laplace, NoisyTable
from oracles.reference.mondrian import Mondrian
from oracles.reference.proportional import proportional

REFERENCE: dict[str, type] = {
    "mondrian": Mondrian,
    "greedy": Greedy,
    "laplace": Laplace,
    "noisy-table": NoisyTable,
    "identity": Identity,
    "constant": Constant,
    "leaky": Leaky,
}

__all__ = ["REFERENCE", "Constant", "Greedy", "Identity", "Laplace", "Leaky", "Mondrian", "NoisyTable", "proportional"]
