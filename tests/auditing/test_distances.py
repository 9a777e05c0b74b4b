"""Every distance in an audit: exact where nothing is random, and with what it can prove where f is."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.measuring.divergence import FromFormula, divergence_named
from tests.anonymizers import chunks, jittered
from tests.small_audits import audit, table, values_of

DISTANCES: list[Any] = [
    "sum", "half", "total-variation", "quarter", "kl", "max-divergence", "hellinger", "jensen-shannon",
    "total-variation-of-laws", {"name": "emd", "ground": {"order": ["none", "flu", "ulcer"]}},
]  # fmt: skip


@pytest.mark.parametrize("distance", DISTANCES, ids=str)
def test_an_exact_distance_is_that_of_the_two_predictions(distance: Any) -> None:
    report = audit(chunks, distance=distance)
    labels = values_of(report)
    ground = None
    name = distance
    if isinstance(distance, dict):
        name, order = distance["name"], distance["ground"]["order"]
        places = [order.index(label) for label in labels]
        ground = np.abs(np.subtract.outer(places, places)).astype(float)
    for finding in report.findings:
        assert finding.present is not None
        assert finding.absent is not None
        expected = harness.distance(name, finding.present, finding.absent, ground=ground)
        assert finding.distance == pytest.approx(expected, abs=1e-12)
        assert finding.lower == finding.distance == finding.upper


@pytest.mark.parametrize("distance", DISTANCES, ids=str)
def test_a_randomized_f_never_holds_at_delta_0_by_a_distance_that_proves_nothing(distance: Any) -> None:
    def shuffling(data: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """Ignores everything but the frequencies of the illnesses, and says so in random order."""
        return data.assign(age="*", sex="*").sample(frac=1, random_state=rng)

    report = audit(shuffling, table(12), distance=distance, draws=60, epsilon=0.49, records=3)
    proves = report.plain["plan"]["divergence"][0]["proves"]
    if proves == "nothing":
        assert report.verdict.outcome is harness.Outcome.INCONCLUSIVE
        assert "no confidence limits where f is randomized and delta = 0" in report.verdict.reason
    else:
        assert report.verdict.outcome is not harness.Outcome.VIOLATED
        assert all(0 <= one.lower <= one.distance <= one.upper for one in report.findings)


def test_with_delta_even_a_distance_without_limits_is_judged_by_its_pairs() -> None:
    report = audit(jittered, distance="kl", draws=400, epsilon=5.0, delta=0.2, records=4)
    assert all(one.satisfies(report.claim) for one in report.findings)


def test_an_infinite_distance_breaks_every_claim_and_can_be_printed() -> None:
    alone = pd.DataFrame({"age": [20, 30], "sex": "M", "ill": ["flu", "ulcer"]})
    report = audit(lambda data: data.assign(age="*"), alone, distance="kl", model="conditional", epsilon=1e6)
    assert report.verdict.outcome is harness.Outcome.VIOLATED
    assert report.verdict.epsilon == np.inf
    assert '"distance": "inf"' in report.to_json()
    assert "by inf; the claim allows less than 1e+06" in str(report.verdict)


def test_ordered_values_are_numbers_or_have_a_declared_order() -> None:
    """The distance must not depend on which value happens to come first in the data."""
    ordered = pd.DataFrame({"age": [1, 2, 3, 4, 5], "s": [1, 2, 3, 4, 5]})
    mixed = ordered.iloc[[2, 0, 4, 1, 3]].reset_index(drop=True)
    options: dict[str, Any] = {"quasi": {"age": "number"}, "sensitive": "s", "epsilon": 2.4, "model": "conditional"}
    emd = {"name": "emd", "ground": "ordered"}
    by_age = [
        {data["age"][one.person]: one.distance for one in report.findings}
        for data in (ordered, mixed)
        for report in [harness.audit(lambda rows: rows, data, distance=emd, **options)]
    ]
    assert by_age[0] == pytest.approx(by_age[1])
    assert by_age[0][3] == pytest.approx(1.5)
    with pytest.raises(harness.InputError, match="ground = \"ordered\" needs an order of the values of 'ill'"):
        audit(chunks, distance=emd)


def test_an_unknown_distance_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(harness.InputError, match="helinger.*did you mean 'hellinger'"):
        audit(chunks, distance="helinger")


def test_the_report_says_what_the_distance_means() -> None:
    assert "total variation" in audit(chunks, distance="half").render("details")


class Raising:
    """A user's own distance that does not work."""

    name, describes, largest, proves = "mine", "nothing", 2.0, "nothing"

    def between(self, p: Any, q: Any) -> float:
        raise KeyError("boom")

    paired = per_value = between

    def interval(self, *sides: Any, **options: Any) -> tuple[float, float]:
        return 0.0, 2.0

    def spec(self) -> dict[str, Any]:
        return {}


class Own:
    """A user's own distance, half of the sum; subclasses break one part."""

    name, describes, largest, proves = "mine", "half of the sum", 1.0, "upper"

    def between(self, p: Any, q: Any) -> float:
        return float(np.abs(p - q).sum() / 2)

    def paired(self, x: Any, y: Any) -> Any:
        return np.abs(x.draws - y.draws).sum(axis=1) / 2

    def per_value(self, x: Any, y: Any) -> Any:
        return np.array([self.between(x.draws.mean(axis=0), y.draws.mean(axis=0))])

    def interval(self, *sides: Any, **options: Any) -> tuple[float, float]:
        return 0.0, 1.0

    def spec(self) -> dict[str, Any]:
        return {"name": self.name}


def boom(*arguments: Any, **options: Any) -> Any:
    raise KeyError("boom")


@pytest.mark.parametrize("part", ["between", "paired", "per_value", "interval", "spec", "for_values"])
@pytest.mark.parametrize("adaptive", [False, True])
def test_whatever_a_users_own_distance_raises_names_it(part: str, adaptive: bool) -> None:
    f = chunks if part == "between" else jittered
    broken = type("Broken", (Own,), {part: boom})()
    with pytest.raises(harness.InputError, match="distance 'mine' raised KeyError: 'boom'"):
        audit(
            f,
            distance=broken,
            draws=60,
            records=2,
            adaptive=adaptive and f is jittered,
            epsilon=1.0,
            delta=0.3 * adaptive,
        )


@pytest.mark.parametrize("part", ["largest", "describes", "proves"])
def test_a_property_of_a_users_own_distance_that_raises_names_it(part: str) -> None:
    broken = type("Broken", (Own,), {part: property(boom)})()
    with pytest.raises(harness.InputError, match="distance '(mine|Broken)' raised KeyError: 'boom'"):
        audit(chunks, distance=broken)


@pytest.mark.parametrize(
    ("part", "wrong"), [("interval", None), ("per_value", "far"), ("paired", {}), ("spec", 3), ("for_values", None)]
)
def test_what_a_users_own_distance_returns_in_error_names_it(part: str, wrong: Any) -> None:
    broken = type("Broken", (Own,), {part: lambda *arguments, **options: wrong})()
    with pytest.raises(
        harness.InputError, match="distance 'mine' raised TypeError|'mine' raised ValueError|lacks name"
    ):
        audit(jittered, distance=broken, draws=60, records=2)


def test_a_users_own_formula_that_raises_is_named() -> None:
    formula = FromFormula("mine", "nothing", boom, largest=1.0)
    with pytest.raises(harness.InputError, match="distance 'mine' raised KeyError: 'boom'"):
        audit(chunks, distance=formula)


def test_a_users_own_distance_is_identified_by_its_own_class_and_travels_to_workers() -> None:
    plan = audit(chunks, distance=Own()).plain["plan"]["divergence"][0]
    assert plan["identity"]["class"] == f"{__name__}:Own"
    copied = pickle.loads(pickle.dumps(divergence_named(Own()).for_values(("a", "b"))))  # noqa: S301
    assert copied.between(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1.0


def test_a_users_own_distance_that_raises_is_named() -> None:
    with pytest.raises(harness.InputError, match="distance 'mine' raised KeyError: 'boom'"):
        audit(chunks, distance=Raising())
    with pytest.raises(harness.InputError, match=r"Raising is a class; make one"):
        audit(chunks, distance=Raising)
