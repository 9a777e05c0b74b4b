"""Equal specifications mean equal parts; what cannot be identified says so."""

from __future__ import annotations

import functools
import importlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import __version__ as sklearn_version
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from harness.measuring.adversary import adversary_from, panel_named
from harness.measuring.models import Bernoulli, model_named
from harness.measuring.specification import specification, unidentified

MODULE = """
from dataclasses import dataclass

class Base:
    def step(self):
        return {step}

@dataclass
class Part(Base):
    alpha: float = 1.0

    def run(self):
        return self.step() + self.alpha

def function(x):
    return x + {step}
"""


@dataclass(frozen=True)
class OwnPart:
    alpha: float = 1.0
    cache: dict[str, int] = field(default_factory=dict, init=False, compare=False)


def own_function(x: float) -> float:
    return x


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Any]:
    """A user's module `vendor_part`, in as many versions as are asked for."""

    def version(step: int) -> Any:
        folder = tmp_path / str(step)
        folder.mkdir()
        (folder / "vendor_part.py").write_text(MODULE.format(step=step), encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, "vendor_part", raising=False)
        return importlib.import_module("vendor_part")

    return version


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda part: st.lists(part) | st.dictionaries(st.text(), part),
)


@given(PLAIN)
def test_plain_data_identifies_itself(data: Any) -> None:
    assert specification(data) == data


@given(PLAIN | st.floats() | st.tuples(st.floats()))
def test_every_specification_is_strict_json_and_its_own_specification(data: Any) -> None:
    spec = specification(data)
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec
    assert specification(spec) == spec


def test_infinite_and_undefined_floats_are_text() -> None:
    assert specification([float("inf"), -np.inf, np.nan, np.float64(0.5), np.int64(3)]) == [
        "inf",
        "-inf",
        "nan",
        0.5,
        3,
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Bernoulli(alpha=1), Bernoulli(alpha=0.01)),
        (LogisticRegression(C=1), LogisticRegression(C=2)),
        (
            make_pipeline(StandardScaler(), LogisticRegression(C=1)),
            make_pipeline(StandardScaler(), LogisticRegression(C=2)),
        ),
        (FunctionTransformer(np.log1p), FunctionTransformer(np.log2)),
        (CalibratedClassifierCV(cv=KFold(3)), CalibratedClassifierCV(cv=KFold(4))),
        (OwnPart(1.0), OwnPart(2.0)),
        (np.arange(3), np.arange(3.0)),
        (np.arange(6), np.arange(6).reshape(2, 3)),
        (np.array(["a", "b"], dtype=object), np.array(["a", "c"], dtype=object)),
        (pd.Series([1, 2]), pd.Series([1, 3])),
        (pd.Series([1, 2]), pd.Series([1, 2], index=[1, 0])),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
        ({1: 0.5}, {"1": 0.5}),
        ({1, 2}, {1, 3}),
        (b"a", b"b"),
        (Path("a"), Path("b")),
        (functools.partial(own_function, 1), functools.partial(own_function, 2)),
        (own_function, specification),
        (np.float64, np.float32),
    ],
)
def test_different_things_have_different_specifications(one: Any, other: Any) -> None:
    assert specification(one) != specification(other)
    assert unidentified(specification([one, other])) == []
    assert specification(one) == specification(one)


def test_a_pipeline_is_identified_by_every_part_and_the_version_of_the_library() -> None:
    spec = specification(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)))
    assert spec["class"] == "sklearn.pipeline:Pipeline"
    assert (spec["library"], spec["version"]) == ("sklearn", sklearn_version)
    (_, scaler), (_, tree) = spec["parameters"]["steps"]
    assert scaler["parameters"] == {"copy": True, "with_mean": True, "with_std": True}
    assert tree["parameters"]["max_depth"] == 3


def test_a_users_class_is_identified_by_its_parameters_and_its_source(module: Callable[[int], Any]) -> None:
    first = module(1)
    of_first = specification(first.Part()), specification(first.function)
    assert of_first[0]["class"] == "vendor_part:Part"
    assert of_first[0] == specification(first.Part(1.0)) != specification(first.Part(2.0))
    second = module(2)  # only the base class of Part differs
    of_second = specification(second.Part()), specification(second.function)
    assert of_first[0]["fields"] == of_second[0]["fields"]
    assert of_first[0] != of_second[0]
    assert of_first[1] != of_second[1]
    assert unidentified(list(of_first)) == []


def test_a_cache_is_no_part_of_an_identity() -> None:
    used = OwnPart()
    used.cache["a"] = 1
    assert specification(used) == specification(OwnPart())


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (lambda x: x, "a lambda has no name"),
        (np.random.default_rng(0), "a random number generator"),
        (np.random.RandomState(0), "a random number generator"),
        (object(), r"it has no spec\(\)"),
        (functools.partial(lambda x: x, 1), "partial: .*a lambda"),
        (np.array([object()]), "values: .*it has no spec"),
    ],
)
def test_what_cannot_be_identified_says_why(thing: Any, reason: str) -> None:
    (gap,) = unidentified(specification(thing))
    assert re.search(reason, gap)


def test_what_a_function_or_a_script_defines_cannot_be_identified() -> None:
    class Local:
        def spec(self) -> dict[str, Any]:
            return {}

    assert "defined inside a function" in unidentified(specification(Local()))[0]
    Script = type("Script", (), {"__module__": "__main__", "spec": lambda self: {}})
    assert "belongs to no module" in unidentified(specification(Script()))[0]


def test_an_object_that_contains_itself_cannot_be_identified() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "contains itself" in unidentified(specification(loop))[0]


def test_the_place_of_what_cannot_be_identified_is_named() -> None:
    pipeline = make_pipeline(
        FunctionTransformer(lambda X: X), RandomForestClassifier(random_state=np.random.RandomState(0))
    )
    spec = specification(adversary_from({"model": pipeline}))
    places = [reason.split(": ")[0] for reason in unidentified(spec)]
    assert places == [
        "spec.model.spec.estimator.parameters.steps[0][1].parameters.func",
        "spec.model.spec.estimator.parameters.steps[1][1].parameters.random_state",
    ]


def test_every_part_of_the_standard_panel_is_identified() -> None:
    specs = [specification(adversary) for adversary in panel_named("standard")]
    assert unidentified(specs) == []
    assert len({json.dumps(spec, sort_keys=True) for spec in specs}) == len(specs)


def test_a_named_model_and_the_same_classifier_by_hand_are_one() -> None:
    by_hand = model_named(DecisionTreeClassifier(random_state=0))
    assert specification(model_named("tree")) == specification(by_hand)
