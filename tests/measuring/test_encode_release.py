"""`encode` and the scikit-learn transformer: what they take, what they refuse, and that they agree."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline

from harness.measuring.encode_release import encode
from harness.measuring.encoding import ENCODINGS, PROPORTIONAL, PairEncoder, QuantilesBeforeEncoder, encoder_named
from harness.measuring.encoding.categories import Hot
from harness.measuring.features import ColumnFeatures, Encoder, Features, Target
from harness.measuring.release_encoder import ReleaseEncoder
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.lexicon import CellIds
from harness.vocabulary.release import TrainingRows
from harness.vocabulary.schema import Column, Schema
from harness.vocabulary.values import Raw
from harness.vocabulary.values.shares import show_with_shares

DATA = pd.DataFrame(
    {
        "age": [20, 25, 31, 60],
        "sex": ["F", "M", "F", "M"],
        "born": ["1990-01-01", "1990-02-01", "1990-03-01", "1990-04-01"],
        "ill": ["yes", "no", "no", "no"],
    }
)
SCHEMA = Schema({"age": "number", "sex": "category", "born": "date"}, "ill", weight="count")
RELEASE = pd.DataFrame(
    {"age": ["[20, 31]", 60, "*"], "sex": ["F", "{F, M}", None], "born": ["1990-02", "[1990-01-01, 1990-04-01]", "*"]}
)
BINNED = RELEASE.assign(age=["{0, 1}", 4, "*"], born=["1", "[0, 4]", "*"])  # a release of DATA's bins
TARGET = {"age": 25, "sex": "M", "born": "1990-02-01"}
OWN_BINS = QuantilesBeforeEncoder("own", Hot())


def release_for(name: str) -> pd.DataFrame:
    if name == PROPORTIONAL:
        return pd.DataFrame({name: [_with_shares(cell, name) for cell in RELEASE[name]] for name in RELEASE.columns})
    return BINNED if name.startswith("quantiles-before") else RELEASE


def _with_shares(cell: object, column: str) -> str:
    """The cell of a class of three, two of whom have the first value of the data and one the second."""
    first, second = map(str, DATA[column].unique()[:2])
    return show_with_shares(str(cell), {first: 2, second: 1})


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_release_needs_no_sensitive_column_and_no_weights(name: str) -> None:
    release = release_for(name)
    X, x = encode(release, TARGET, data=DATA, schema=SCHEMA, encoding=name)
    assert X.shape == (len(release), len(x))
    more = release.assign(ill=["yes", "no", "anything"], count=[1, 0, -1], note="seen")
    again, _ = encode(more[more.columns[::-1]], TARGET, data=DATA, schema=SCHEMA, encoding=name)
    assert np.array_equal(X, again)


@dataclass(frozen=True)
class OwnBins:
    """A user's encoder that begins before f and inherits nothing of ours."""

    inner: QuantilesBeforeEncoder = OWN_BINS
    name: str = "own"
    depends_on_target: bool = False

    def prepare(self, data: Dataset) -> Dataset:
        return self.inner.prepare(data)

    def for_data(self, data: Dataset) -> OwnBins:
        return self

    def encode(self, rows: TrainingRows, target: Target | None) -> Features:
        return self.inner.encode(rows, target)

    def spec(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class OwnBinsAndTarget(OwnBins):
    """The same, which also says what a target becomes and what its features mean."""

    def prepare_target(self, target: Target, data: Dataset) -> Target:
        return self.inner.prepare_target(target, data)

    def labels(self, column: CellIds, features: ColumnFeatures) -> tuple[str, ...]:
        return tuple(f"bin {number}" for number in range(features.cells.shape[1]))


def test_a_users_encoder_that_begins_before_f_says_what_the_target_becomes() -> None:
    own: Any = OwnBinsAndTarget()
    mine = encode(BINNED, TARGET, data=DATA, schema=SCHEMA, encoding=own)
    ours = encode(BINNED, TARGET, data=DATA, schema=SCHEMA, encoding="quantiles-before-hot")
    assert all(np.array_equal(one, other) for one, other in zip(mine, ours, strict=True))


def test_a_users_encoder_that_cannot_say_what_the_target_becomes_is_refused() -> None:
    own: Any = OwnBins()
    with pytest.raises(InputError, match=r"encoder 'own' changes the data .* give it a prepare_target"):
        encode(BINNED, TARGET, data=DATA, schema=SCHEMA, encoding=own)


def test_features_have_the_names_that_a_users_encoder_gives_them_and_numbers_otherwise() -> None:
    for own, first in ((OwnBins(), "age: 0"), (OwnBinsAndTarget(), "age: bin 0")):
        fitted = ReleaseEncoder(own, SCHEMA, DATA).fit(BINNED)  # type: ignore[arg-type]
        assert fitted.get_feature_names_out()[0] == first


@dataclass(frozen=True)
class MeanOfData:
    """A user's encoding of number columns that needs D's rows."""

    mean: float | None = None
    relative: ClassVar[bool] = False

    def for_data(self, data: Dataset) -> MeanOfData:
        return MeanOfData(float(np.mean([data.record(row).raws[0] for row in range(data.size)])))

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        return ColumnFeatures(np.full((len(column.ids), 1), self.mean), column.codes, lambda raw: np.ones(1))

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return ("mean",)

    def parameters(self) -> dict[str, Any]:
        return {}


def test_a_users_encoding_of_a_column_is_given_the_data() -> None:
    own = PairEncoder("own", MeanOfData(), Hot())
    X, _ = encode(RELEASE, TARGET, data=DATA, schema=SCHEMA, encoding=own)
    assert X[:, 0].tolist() == [34.0, 34.0, 34.0]


def test_bins_before_f_are_read_from_the_release_and_made_of_the_target() -> None:
    X, x = encode(
        BINNED[["age"]].assign(sex="F", born="0"), TARGET, data=DATA, schema=SCHEMA, encoding="quantiles-before-hot"
    )
    assert X[:, :5].tolist() == [[1, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]]
    assert x.tolist() == [1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0]  # 25 < 28; M; the second fifth of 90 days


def test_a_dataset_brings_its_own_schema() -> None:
    data = Dataset.from_frame(DATA, SCHEMA)
    X, x = encode(RELEASE, TARGET, data=data, encoding="tf")
    other, _ = encode(RELEASE, TARGET, data=DATA, schema=SCHEMA, encoding=encoder_named("tf-tf"))
    assert X.tolist() == other.tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 1]]
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(InputError, match="has its own schema"):
        encode(RELEASE, TARGET, data=data, schema=Schema({"age": "number"}, "ill"), encoding="tf")


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, ""])
def test_a_missing_value_of_the_target_is_a_value_of_its_own(missing: Any) -> None:
    _, x = encode(RELEASE, TARGET | {"age": missing, "sex": missing}, data=DATA, schema=SCHEMA, encoding="bounds-hot")
    assert x[:4].tolist() == [0, 1, 0, 0]  # says nothing of the age, and is no sex that the data has


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"age": 25, "Sex": "M", "born": "1990-02-01"}, "the target has no 'sex'; did you mean 'Sex'?"),
        (TARGET | {"age": "old"}, "the target's 'age': 'old': not a number"),
        (TARGET | {"born": "spring"}, "the target's 'born': 'spring': not a date"),
    ],
)
def test_what_is_wrong_with_a_target_is_said(target: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(RELEASE, target, data=DATA, schema=SCHEMA, encoding="tf")


def test_what_is_wrong_with_a_release_is_said() -> None:
    with pytest.raises(InputError, match="the release has no column 'age'; did you mean 'Age'?"):
        encode(RELEASE.rename(columns={"age": "Age"}), TARGET, data=DATA, schema=SCHEMA, encoding="tf")
    with pytest.raises(ReleaseError, match="column 'age', row 2 of the release: 'old'"):
        encode(RELEASE.assign(age=[20, 25, "old"]), TARGET, data=DATA, schema=SCHEMA, encoding="tf")
    with pytest.raises(InputError, match="the data is a DataFrame; give its schema"):
        encode(RELEASE, TARGET, data=DATA, encoding="tf")


def transformer(name: str | Encoder) -> ReleaseEncoder:
    return ReleaseEncoder(name, SCHEMA, DATA, target=TARGET)


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_transformer_gives_what_encode_gives(name: str) -> None:
    release = release_for(name)
    X, x = encode(release, TARGET, data=DATA, schema=SCHEMA, encoding=name)
    fitted = transformer(name).fit(release)
    assert np.array_equal(fitted.transform(release), X)
    assert np.array_equal(transformer(name).fit_transform(release), X)
    assert np.array_equal(fitted.transform_target(TARGET), x)
    assert np.array_equal(fitted.transform(release.iloc[[2, 0]]), X[[2, 0]])


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_feature_has_a_name_of_its_own(name: str) -> None:
    names = transformer(name).fit(release_for(name)).get_feature_names_out()
    assert len(set(names)) == len(names) == transformer(name).fit_transform(release_for(name)).shape[1]
    assert {text.split(": ")[0] for text in names} == {"age", "sex", "born"}


def test_features_are_named_for_what_they_say() -> None:
    def names(encoding: Any, column: str) -> list[str]:
        fitted = transformer(encoding).fit(RELEASE)
        return [name.removeprefix(f"{column}: ") for name in fitted.get_feature_names_out() if name.startswith(column)]

    assert names("bounds-hot", "age") == ["low", "high"]
    assert names({"name": "quantiles-hot", "bins": 3, "binning": "quantiles"}, "age") == [
        "bin 0 [20, 25)",
        "bin 1 [25, 31)",
        "bin 2 [31, 60]",
    ]
    assert names("binary-binary", "age") == [f"bit {bit}" for bit in (5, 4, 3, 2, 1, 0)]
    assert names("tf-hot", "sex") == ["F", "M"]
    assert names("tf-hot-cells", "sex") == ["F", "*"]  # the shorter text of {F, M}
    assert names("one-class", "sex") == ["F", "M", "*"]


@pytest.mark.parametrize(
    ("name", "F", "M"), [("scaling-hot-cells", [1, 0], [0, 0]), ("scaling-binary", [0, 1], [0, 0])]
)
def test_a_later_release_is_encoded_with_the_categories_of_the_fitted_one(
    name: str, F: list[int], M: list[int]
) -> None:
    fitted = transformer(name).fit(RELEASE)  # its categories are F and everything
    later = RELEASE.assign(sex=["M", "F", "M"])
    assert fitted.transform(later)[:, 1:3].tolist() == [M, F, M]


def test_the_transformer_is_an_estimator_like_any_other() -> None:
    original = transformer("scaling-hot")
    copied = clone(original)
    assert set(original.get_params()) == {"encoding", "schema", "data", "target"}
    assert copied.get_params()["encoding"] == "scaling-hot"
    assert np.array_equal(copied.fit_transform(RELEASE), original.fit_transform(RELEASE))
    with pytest.raises(NotFittedError):
        clone(original).transform(RELEASE)
    frame = transformer("scaling-hot").set_output(transform="pandas").fit_transform(RELEASE)
    assert list(frame.columns) == ["age: middle", "sex: F", "sex: M", "born: middle"]


def test_the_transformer_stands_before_a_classifier_in_a_pipeline() -> None:
    pipeline = make_pipeline(transformer("tf-tf"), BernoulliNB())
    pipeline.fit(RELEASE, ["yes", "no", "no"])
    X, _ = encode(RELEASE, TARGET, data=DATA, schema=SCHEMA, encoding="tf-tf")
    expected = BernoulliNB().fit(X, ["yes", "no", "no"]).predict_proba(X)
    np.testing.assert_allclose(pipeline.predict_proba(RELEASE), expected)


def test_the_transformer_says_what_it_lacks() -> None:
    with pytest.raises(InputError, match="needs the data that was anonymized"):
        ReleaseEncoder("scaling-hot", SCHEMA).fit(RELEASE)
    with pytest.raises(InputError, match="'tf-tf' depends on the target; give its raw values"):
        ReleaseEncoder("tf-tf", SCHEMA, DATA).fit(RELEASE)
    assert ReleaseEncoder("scaling-hot", SCHEMA, DATA).fit_transform(RELEASE).shape == (3, 4)


def test_a_fitted_transformer_can_be_saved_and_loaded() -> None:
    frame = pd.DataFrame({"age": [20, 30, 40], "ill": ["flu", "flu", "ulcer"]})
    encoder = ReleaseEncoder("bounds-hot", Schema({"age": "number"}, "ill"), frame).fit(frame)
    again = pickle.loads(pickle.dumps(encoder))  # noqa: S301  (our own bytes)
    assert (again.transform(frame) == encoder.transform(frame)).all()


def test_something_that_is_no_encoding_is_refused() -> None:
    frame = pd.DataFrame({"age": [20, 30], "ill": ["flu", "ulcer"]})
    nothing: Any = None
    with pytest.raises(InputError, match="an encoding is a name"):
        encode(frame, {"age": 20}, data=frame, schema=Schema({"age": "number"}, "ill"), encoding=nothing)


def test_a_node_that_is_named_like_a_range_has_the_ends_that_it_prints() -> None:
    """The node covers its leaves; where it lies is what it prints, as for a range without any hierarchy."""
    data = pd.DataFrame({"age": [20, 25, 29, 30, 40], "ill": list("abbab")})
    tree = {"*": {"[20, 30)": ["20", "25", "29"], ">= 30": ["30", "40"]}}
    release = pd.DataFrame({"age": ["[20, 30)", ">= 30"]})
    plain = Schema({"age": "number"}, "ill")
    nodes = Schema([Column("age", "number", hierarchy=Hierarchy.from_nested(tree))], "ill")
    for encoding in ("bounds-hot", "scaling-hot", "tf-tf"):
        expected, _ = encode(release, {"age": 25}, data=data, schema=plain, encoding=encoding)
        found, _ = encode(release, {"age": 25}, data=data, schema=nodes, encoding=encoding)
        assert found.tolist() == expected.tolist()
    bounds, _ = encode(release, {"age": 25}, data=data, schema=nodes, encoding="bounds-hot")
    assert bounds.tolist() == [[0.0, 0.5], [0.5, 1.0]]


@pytest.mark.parametrize(
    ("ages", "binning", "below", "above"),
    [([0, 0, 0, 0, 10, 20, 30, 40], "quantiles", -5, 45), ([42, 42], "width", 5, 80), ([7, 9], "quantiles", 1, 10)],
)
@pytest.mark.parametrize("name", ["quantiles-hot", "quantiles-before-hot"])
def test_a_target_beyond_the_domain_is_in_the_bin_of_its_nearest_number(
    ages: list[int], binning: str, below: int, above: int, name: str
) -> None:
    data = pd.DataFrame({"age": ages, "ill": ["a", "b"] * (len(ages) // 2)})
    encoding = {"name": name, "bins": 4, "binning": binning}

    def encoded(age: int) -> list[float]:
        _, x = encode(
            pd.DataFrame({"age": ["*"]}), {"age": age}, data=data, schema=Schema({"age": "number"}, "ill"),
            encoding=encoding,
        )  # fmt: skip
        return list(x)

    assert encoded(below) == encoded(min(ages))
    assert encoded(above) == encoded(max(ages))
