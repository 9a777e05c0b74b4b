"""Several adversaries in one audit: each release is asked for once, and each has a verdict of its own."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

import harness
from tests.anonymizers import chunks, jittered
from tests.small_audits import QUASI, audit, table

PANEL: list[dict[str, Any]] = [
    {"encoder": "tf-tf", "model": "bernoulli"},
    {"encoder": "bounds-hot", "model": "tree"},
    {"encoder": "scaling-hot", "model": "gaussian"},
    {"encoder": "fill-parent", "model": "bernoulli"},
]


class Counted:
    """An anonymizer that counts how often it is called."""

    def __init__(self, f: Any) -> None:
        self.f, self.calls = f, 0

    def __call__(self, data: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
        self.calls += 1
        released: pd.DataFrame = self.f(data)
        return released


def calls(**options: Any) -> int:
    counted = Counted(chunks)
    audit(lambda data: counted(data), **options)
    return counted.calls


def test_a_panel_makes_as_many_calls_as_one_adversary() -> None:
    assert calls(adversaries=PANEL) == calls() == calls(adversaries=PANEL[2:])


def test_an_encoding_that_begins_before_f_asks_about_a_table_of_its_own() -> None:
    alone = calls()
    both = [PANEL[0], {"encoder": "quantiles-before-hot", "model": "bernoulli"}]
    assert calls(adversaries=both[1:]) == alone
    assert calls(adversaries=both) == alone + 31 + 12  # f(D) and f(D without each of 30) of the table with bins, again


def test_each_adversary_of_a_panel_finds_what_it_finds_alone() -> None:
    together = audit(chunks, adversaries=PANEL)
    for declaration in PANEL:
        alone = audit(chunks, **declaration)
        name = alone.verdict.adversary
        same = [finding for finding in together.findings if finding.adversary == name]
        assert same == list(alone.findings)
        assert together.verdicts[name, "ill"] == alone.verdict


def naive_distance(data: pd.DataFrame, person: int, encoding: str, model: Any) -> float:
    """dⁱ by hand: encode both releases, train scikit-learn on each, predict at the target."""
    schema, domain = harness.Schema(QUASI, "ill"), sorted(data["ill"].unique())
    target = {name: data.loc[person, name] for name in QUASI}
    predictions = []
    for people in (data, data.drop(index=person).reset_index(drop=True)):
        release = chunks(people.copy())
        rows, features = harness.encode(release, target, data=data, schema=schema, encoding=encoding)
        fitted = model.fit(rows, release["ill"].to_numpy(dtype=object))
        confidence = dict(zip(fitted.classes_, fitted.predict_proba(features[None])[0], strict=True))
        predictions.append(np.array([confidence.get(value, 0.0) for value in domain]))
    return float(np.abs(predictions[0] - predictions[1]).sum())


def is_defined(distance: float) -> bool:
    """scikit-learn's Gaussian naive Bayes has no answer where all rows are alike."""
    return not np.isnan(distance)


@pytest.mark.parametrize("encoding", ["tf-tf", "bounds-hot-cells", "quantiles-tf", "fill-child"])
@pytest.mark.parametrize(
    ("model", "naive"),
    [
        ("bernoulli", BernoulliNB()),
        ("gaussian", GaussianNB()),
        ("tree", DecisionTreeClassifier(random_state=0)),
        ({"name": "logistic", "tol": 1e-10, "max_iter": 10_000}, LogisticRegression(tol=1e-10, max_iter=10_000)),
    ],
)
def test_distances_are_those_of_scikit_learn_on_the_same_features(encoding: str, model: Any, naive: Any) -> None:
    data = table(14, seed=3)
    report = audit(chunks, data, encoder=encoding, model=model)
    for finding in report.findings[::3]:
        expected = naive_distance(data, finding.person, encoding, naive)
        if is_defined(expected):
            assert finding.distance == pytest.approx(expected, abs=1e-9 if isinstance(model, str) else 1e-7)


def test_a_model_of_f_of_d_is_trained_once_for_everybody_where_the_encoding_allows_it() -> None:
    class Counting(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
        fits = 0

        def fit(self, *args: Any, **options: Any) -> Any:
            Counting.fits += 1
            return super().fit(*args, **options)

    for encoding, fits in (("bounds-hot", 31), ("tf-tf", 30 + len(table().drop(columns="ill").drop_duplicates()))):
        Counting.fits = 0
        audit(chunks, encoder=encoding, model=Counting(random_state=0), confirm=2)
        again = 2 if encoding == "bounds-hot" else Counting.fits - fits
        assert Counting.fits == fits + again
        assert again <= 4  # two persons are examined again, each at most with both sides


@pytest.mark.slow
def test_the_standard_panel_has_nine_adversaries_and_a_verdict_for_each() -> None:
    report = audit(chunks, table(14), panel="standard", draws=3, records=2)
    assert len(report.verdicts) == 9
    assert len(report.findings) == 18
    random = {result["adversary"] for result in report.plain["results"] if not result["exact"]}
    assert random == {"forest on bounds-hot", "mlp on scaling-hot"}
    assert "worst of 9 adversaries" in report.verdict.reason


def test_a_random_model_is_drawn_with_seeds_that_do_not_depend_on_the_person() -> None:
    forest = {"name": "forest", "n_estimators": 3}
    report = audit(lambda data: data.assign(age="*", sex="*"), model=forest, draws=4, records=3)
    present = {finding.present for finding in report.findings}
    assert len(present) == 1  # everybody is covered by every row, so f(D) says the same of all
    assert all(finding.draws == 4 and not finding.exact for finding in report.findings)


def test_a_model_that_fails_costs_its_own_verdict_and_no_other() -> None:
    class Broken(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
        def predict_proba(self, rows: Any) -> Any:
            return np.full((1, len(self.classes_)), np.nan)

    report = audit(chunks, adversaries=[{"model": "conditional"}, {"model": Broken(random_state=0), "name": "broken"}])
    verdict = report.verdicts["broken", "ill"]
    assert verdict.outcome is harness.Outcome.INCONCLUSIVE
    assert "30 records could not be measured" in verdict.reason
    assert report.verdicts["conditional on tf-tf", "ill"] == audit(chunks, model="conditional").verdict


def test_one_bad_prediction_costs_one_person_and_no_other() -> None:
    class Choosy(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
        def predict_proba(self, rows: Any) -> Any:
            answer = super().predict_proba(rows)
            return answer * np.nan if rows[0, 0] > 0.9 else answer

    data = table()
    oldest = int((data["age"] > 20 + 0.9 * (data["age"].max() - data["age"].min())).sum())
    report = audit(chunks, data, model=Choosy(random_state=0), encoder="bounds-hot")
    failed = [finding for finding in report.findings if finding.failure is not None]
    assert 0 < len(failed) <= oldest + 2
    assert all(one["distance"] is None for one in report.plain["findings"] if one["failure"] is not None)
    assert report.verdict.outcome is harness.Outcome.VIOLATED


def test_a_model_that_cannot_be_trained_costs_its_own_verdict_and_no_other() -> None:
    """Nearest neighbours take no weights, and need five rows."""

    def counted(data: pd.DataFrame) -> pd.DataFrame:
        return data.assign(count=1)

    panel = [{"model": name, "encoder": "bounds-hot"} for name in ("neighbours", "tree")]
    report = audit(counted, adversaries=panel, records=1)
    assert "takes no sample_weight" in report.verdicts["neighbours on bounds-hot", "ill"].reason
    assert report.verdicts["tree on bounds-hot", "ill"].outcome is not None
    assert "statistics" in report.result("tree on bounds-hot", "ill")


def test_an_unseeded_f_whose_first_adversary_says_nothing_is_audited_to_the_end() -> None:
    rng = np.random.default_rng(0)

    class Silent(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
        def predict_proba(self, rows: Any) -> Any:
            return super().predict_proba(rows) * np.nan

    report = audit(lambda data: jittered(data, rng), table(8), model=Silent(random_state=0), draws=25, records=2)
    assert report.verdict.outcome is harness.Outcome.INCONCLUSIVE


def test_a_column_that_reaches_further_than_floats_measure_is_refused_with_a_way_out() -> None:
    far = table(4).assign(age=[-1.7e308, 1.7e308, 0.0, 1.0], ill=["flu", "flu", "none", "none"])
    with pytest.raises(harness.InputError, match="further than 64 bits can measure; divide its values"):
        audit(lambda data: data, far, encoder="scaling-hot", model="gaussian")


def test_adversaries_given_in_two_ways_are_refused() -> None:
    with pytest.raises(harness.InputError, match="more than one way"):
        audit(chunks, panel="standard", model="tree")
    with pytest.raises(harness.InputError, match="no adversary is declared"):
        audit(chunks, adversaries=[])


def test_how_often_the_conditional_adversary_had_no_evidence_is_reported() -> None:
    def hiding(data: pd.DataFrame) -> pd.DataFrame:
        return data[data["age"] < 40].reset_index(drop=True)

    data = table()
    old = int((data["age"] >= 40).sum())
    report = audit(hiding, data, model="conditional")
    alone = len(data) - old - len(data[data["age"] < 40][data[data["age"] < 40].duplicated(list(QUASI), keep=False)])
    assert report.result()["uncovered"] == {"present": old, "absent": old + alone}
    assert any(f"no released row is evidence about {old} of the records" in note for note in report.notes)


def test_an_oracle_that_predicts_names_no_adversary_it_did_not_use() -> None:
    report = audit("reference:laplace", draws=20, adversaries=PANEL)
    assert [result["adversary"] for result in report.plain["results"]] == ["as released"]
    assert "bernoulli" not in report.summary()
    assert any("f releases predictions itself" in line for line in report.assumptions)


def test_ties_between_neighbours_are_broken_alike_in_all_processes() -> None:
    """With more threads scikit-learn breaks them in another way, and workers compute with one."""
    data = table(600, seed=7)
    one, two = (audit(chunks, data, model="neighbours", encoder="bounds-hot", records=12,
                      workers=workers) for workers in (1, 2))  # fmt: skip
    assert one.to_json() == two.to_json()


def test_workers_do_not_change_what_a_panel_finds() -> None:
    panel = [PANEL[1], {"model": "forest", "encoder": "scaling-hot"}]
    one, two = (audit(jittered, draws=2, records=3, adversaries=panel, workers=workers) for workers in (1, 2))
    assert one.to_json() == two.to_json()
