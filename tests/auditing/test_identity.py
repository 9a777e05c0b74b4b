"""What an audit is: a journal goes on only with the same plan, every parameter of every part included."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import harness
from harness.auditing.verify import recompile
from harness.measuring.encoding import encoder_named
from harness.measuring.models import Bernoulli, Fitted
from tests.anonymizers import chunks
from tests.small_audits import audit, table


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"model": Bernoulli(alpha=1)}, {"model": Bernoulli(alpha=0.01)}),
        ({"model": {"name": "bernoulli", "alpha": 1}}, {"model": {"name": "bernoulli", "alpha": 0.01}}),
        ({"model": DecisionTreeClassifier(random_state=0)}, {"model": DecisionTreeClassifier(random_state=1)}),
        ({"encoder": {"name": "quantiles-hot", "bins": 5}}, {"encoder": {"name": "quantiles-hot", "bins": 4}}),
        ({"encoder": "scaling-hot"}, {"encoder": {"name": "scaling-hot", "scale": "symmetric"}}),
        ({"prior": "fitted"}, {"prior": "uniform"}),
        (
            {"prior": {"flu": 0.5, "ulcer": 0.2, "none": 0.3}},
            {"prior": {"flu": 0.5, "ulcer": 0.3, "none": 0.2}},
        ),
        ({"distance": "sum"}, {"distance": "half"}),
        (
            {"distance": {"name": "emd", "ground": {"order": ["none", "flu", "ulcer"]}}},
            {"distance": {"name": "emd", "ground": {"order": ["flu", "none", "ulcer"]}}},
        ),
        ({"joint": False}, {"joint": True}),
    ],
    ids=str,
)
def test_a_journal_is_not_resumed_by_an_audit_that_differs_in_a_parameter(
    first: dict[str, Any], second: dict[str, Any], tmp_path: Path
) -> None:
    people = table(9)
    kept = audit(chunks, people, out=tmp_path, **first)
    with pytest.raises(harness.JournalError, match=r"belongs to another audit \((\[|the adversaries).*"):
        audit(chunks, people, out=tmp_path, **second)
    assert audit(chunks, people, out=tmp_path, **first).to_json() == kept.to_json()


def test_the_row_numbers_of_the_source_are_part_of_what_an_audit_is(tmp_path: Path) -> None:
    """Findings name rows of the source; where the gap stands decides which they are."""
    gap = pd.DataFrame({"age": [np.nan], "sex": ["F"], "ill": ["flu"]})
    above, below = (pd.concat(parts, ignore_index=True) for parts in ((gap, table()), (table(), gap)))
    audit(chunks, above, missing="drop", out=tmp_path)
    with pytest.raises(harness.JournalError, match="belongs to another audit"):
        audit(chunks, below, missing="drop", out=tmp_path)
    audit(chunks, above, missing="drop", out=tmp_path)


def test_what_smoothing_changes_is_measured_and_not_resumed() -> None:
    """The defect that this guards against: a journal of α = 1 answered for α = 0.01."""
    distances = [audit(chunks, model=Bernoulli(alpha=alpha)).verdict.epsilon for alpha in (1, 0.01)]
    assert distances[0] != distances[1]


@dataclass(frozen=True)
class Stubborn:
    """A user's own model: always the same answer."""

    favourite: int = 0
    name: str = "stubborn"
    randomized: bool = False

    def fit(self, features: Any, rows: Any, seed: int) -> Fitted:
        answer = np.eye(rows.values)[self.favourite]

        class Fixed:
            def predict(self, target: Any) -> Any:
                return answer

            def covers(self, target: Any) -> bool:
                return True

        return Fixed()

    def spec(self) -> dict[str, Any]:
        return {"favourite": self.favourite}


def test_a_users_own_model_is_identified_by_what_it_says_of_itself(tmp_path: Path) -> None:
    report = audit(chunks, model=Stubborn(0), out=tmp_path)
    assert report.verdict.epsilon == 0
    with pytest.raises(harness.JournalError, match="belongs to another audit"):
        audit(chunks, model=Stubborn(1), out=tmp_path)


def test_what_cannot_be_identified_is_audited_but_not_kept(tmp_path: Path) -> None:
    class Unidentified(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
        def __init__(self, rule: Any = None, random_state: int = 0) -> None:
            super().__init__(random_state=random_state)
            self.rule = rule

    model = Unidentified(rule=lambda value: value)
    assert audit(chunks, model=model).verdict.epsilon > 0
    with pytest.raises(harness.InputError, match="must be recognised when it continues"):
        audit(chunks, model=model, out=tmp_path)
    assert not (tmp_path / "journal.jsonl").exists()


def test_a_users_own_parts_enter_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_parts.py").write_text(
        "from harness.measuring.divergence import divergence_named\n"
        "from harness.measuring.encoding import encoder_named\n"
        "from harness.measuring.models import Bernoulli\n"
        "model = Bernoulli(alpha=0.5)\n"
        "encoder = encoder_named('bounds-hot')\n"
        "distance = divergence_named('half').for_values(('a', 'b', 'c'))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    own = audit(
        chunks,
        encoder="own_parts:encoder",
        model="own_parts:model",
        distance="own_parts:distance",
        out=tmp_path / "kept",
    )
    assert recompile(tmp_path / "kept" / "journal.jsonl") == own.complete
    ours = audit(chunks, encoder="bounds-hot", model=Bernoulli(alpha=0.5), distance="half")
    assert own.findings == ours.findings
    assert encoder_named("bounds-hot").name in own.verdict.adversary


def test_a_users_own_part_that_raises_is_named_and_is_not_a_defect_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The text of the exception may name raw values: it is logged, once, and kept nowhere."""

    @dataclass(frozen=True)
    class Crashing(Stubborn):
        def fit(self, features: Any, rows: Any, seed: int) -> Fitted:
            raise ZeroDivisionError("nothing to divide by for a woman of 41")

    report = audit(chunks, adversaries=[{"model": Crashing()}, {"model": "conditional"}])
    assert "a woman of 41" not in report.to_json()
    assert caplog.text.count("nothing to divide by for a woman of 41") == 1
    failed = report.verdicts["stubborn on tf-tf", "ill"]
    assert failed.outcome is harness.Outcome.INCONCLUSIVE
    assert "adversary 'stubborn on tf-tf' raised ZeroDivisionError" in failed.reason
    assert report.verdicts["conditional on tf-tf", "ill"] == audit(chunks, model="conditional").verdict


def test_the_text_of_a_classifiers_exception_is_not_kept(tmp_path: Path) -> None:
    report = audit(chunks, model=Telling(), out=tmp_path)
    assert "cannot predict: ValueError" in report.verdict.reason
    for name in ("report.json", "journal.jsonl", "summary.txt"):
        assert "cannot encode" not in (tmp_path / name).read_text()


class Telling(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        raise ValueError(f"cannot encode {X}")
