"""Every section of the benchmark can still be measured; how long it takes is not judged here."""

from collections.abc import Callable

import pytest

from tests.bench import adversaries, cluster, million, overhead, persons, reports, scaling, stages, transports, workers
from tests.bench.measuring import Section
from tests.bench.people import dataset
from tests.bench.whole import Case, whole

SMALL: dict[str, Callable[[], Section]] = {
    "stages": lambda: stages.stages(dataset(300), 2),
    "encodings": lambda: adversaries.encodings(dataset(200), 2),
    "naive-bayes": lambda: adversaries.naive_bayes(dataset(200), 2),
    "panel": lambda: adversaries.standard_panel(100, 1, 2, left_out=("mlp", "forest")),
    "persons": lambda: persons.persons(300, 2),
    "reports": lambda: reports.reports(300),
    "million": lambda: million.million(1_100),
    "records": lambda: scaling.records([200], 3),
    "quasi": lambda: scaling.quasi_identifiers(200, 2),
    "sensitive": lambda: scaling.sensitive_values(200, 2),
    "draws": lambda: scaling.draws(200, 2),
    "overhead": lambda: overhead.overhead(dataset(200), 1),
    "transports": lambda: transports.transports(dataset(200), 2),
    "workers": lambda: workers.workers(0.02, turns=1),
    "cluster": lambda: cluster.cluster(dataset(200), 60, turns=1),
    "whole": lambda: whole([Case(100, "k = 5", 1)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_section_is_measured(name: str) -> None:
    section = SMALL[name]()
    assert section.rows
    assert str(section)


@pytest.mark.slow
def test_the_examination_travels_to_each_worker_of_a_cluster_and_not_with_every_item() -> None:
    """Once to each, as a rule; Dask may send it again to a worker that it gives stolen tasks."""
    for row in cluster.cluster(dataset(200), 60, turns=1).rows:
        assert row["arrivals of f"] <= 3 * row["workers"]
