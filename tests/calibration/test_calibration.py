"""No limit misses more often than it says: thirteen laws, coupled and independent, and every other procedure."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.calibration.laws import LAWS
from tests.calibration.simulate import ALPHA, PROCEDURES, misses_of, of_distance
from tests.measuring.mechanisms import Mechanism, allowed, coupled_or_not, name_of

every_law = pytest.mark.parametrize("law", LAWS, ids=name_of)
every_procedure = pytest.mark.parametrize("procedure", PROCEDURES, ids=lambda procedure: procedure.__name__)


@every_law
@coupled_or_not
@pytest.mark.parametrize(("draws", "runs"), [(2, 30), (25, 15), (150, 15)])
def test_distances_are_seldom_missed(law: Mechanism, coupled: bool, draws: int, runs: int) -> None:
    found = of_distance(law, coupled, draws, runs)
    assert max(found.lower, found.upper) <= allowed(runs, ALPHA / 2)


@pytest.mark.slow
@every_law
@coupled_or_not
@pytest.mark.parametrize(("draws", "runs"), [(2, 150), (25, 100), (300, 60), (2_000, 20), (10_000, 6)])
def test_distances_are_seldom_missed_in_many_runs(law: Mechanism, coupled: bool, draws: int, runs: int) -> None:
    found = of_distance(law, coupled, draws, runs, seed=2)
    assert max(found.lower, found.upper) <= allowed(runs, ALPHA / 2)


@every_procedure
def test_procedures_seldom_miss(procedure: Callable[[np.random.Generator], bool]) -> None:
    assert misses_of(procedure, 60) <= allowed(60, ALPHA)


@pytest.mark.slow
@every_procedure
def test_procedures_seldom_miss_in_many_runs(procedure: Callable[[np.random.Generator], bool]) -> None:
    assert misses_of(procedure, 600) <= allowed(600, ALPHA)
