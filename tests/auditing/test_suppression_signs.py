"""A value of the data that is written as a suppressed cell: the auditor says which of the two it is."""

from pathlib import Path

import pandas as pd
import pytest

import harness
from harness.auditing.config import load

PEOPLE = pd.DataFrame(
    {
        "job": ["*", "*", "cook", "cook", "cook", "nurse", "nurse", "nurse"],
        "ill": ["flu", "ulcer", "flu", "flu", "ulcer", "none", "none", "flu"],
    }
)


def hides_nurses(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(job=data["job"].replace("nurse", "*"))


def largest(**options: object) -> float:
    return harness.audit(
        hides_nurses, PEOPLE, quasi={"job": "category"}, sensitive="ill", epsilon=0.1, **options  # type: ignore[arg-type]
    ).verdict.epsilon  # fmt: skip


def test_the_two_readings_give_different_distances_so_that_one_must_be_declared() -> None:
    as_value, as_suppressed = largest(suppressed="?"), largest(suppressed="*")
    assert abs(as_value - as_suppressed) > 0.03
    with pytest.raises(harness.InputError, match=r"column 'job': '\*' is a value of the data and also a sign"):
        largest()


def test_the_declared_reading_is_that_of_data_without_the_sign() -> None:
    def hides_with_question_marks(data: pd.DataFrame) -> pd.DataFrame:
        return data.assign(job=data["job"].replace("nurse", "?"))

    renamed = PEOPLE.replace("*", "idle")
    plain = harness.audit(
        lambda data: data.assign(job=data["job"].replace("nurse", "*")), renamed, quasi={"job": "category"},
        sensitive="ill", epsilon=0.1,
    )  # fmt: skip
    signed = harness.audit(
        hides_with_question_marks, PEOPLE, quasi={"job": "category"}, sensitive="ill", epsilon=0.1, suppressed=["?"]
    )
    assert [one.distance for one in signed.findings] == [one.distance for one in plain.findings]


@pytest.mark.parametrize("sign", ["*", "**", "?", "#", "NA", "None"])
@pytest.mark.parametrize("column", ["job", "ill"])
def test_every_sign_must_be_declared_in_quasi_identifiers_and_secrets(sign: str, column: str) -> None:
    data = PEOPLE.replace("*", "idle")
    data.loc[0, column] = sign
    with pytest.raises(harness.InputError, match=f"column '{column}'.* list it under missing_values"):
        harness.audit(lambda rows: rows, data, quasi={"job": "category"}, sensitive="ill", epsilon=0.1)


def test_suppressed_is_an_option_of_the_file(tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    text = '[data]\npath = "people.csv"\nsensitive = "ill"\nsuppressed = "?"\n[data.quasi]\njob = "category"\n'
    text += '[oracle]\naddress = "reference:mondrian"\n[claim]\nepsilon = 0.1\n'
    (tmp_path / "audit.toml").write_text(text)
    assert load(tmp_path / "audit.toml").plan.spec()["suppressed"] == ["?"]


def test_what_is_suppressed_must_be_text() -> None:
    with pytest.raises(harness.InputError, match='suppressed must be a text such as "\\*" or a list of texts'):
        harness.Schema({"job": "category"}, "ill", suppressed=[3])  # type: ignore[list-item]


def test_encode_asks_for_the_declaration_too() -> None:
    schema = harness.Schema({"job": "category"}, "ill")
    with pytest.raises(harness.InputError, match="a sign of a suppressed cell"):
        harness.encode(PEOPLE, {"job": "cook"}, data=PEOPLE, schema=schema)
