"""The command measure as a user gives it: the table, the JSON, and what it refuses."""

import json
from pathlib import Path

import pandas as pd
import pytest

import harness
from harness.auditing.config import load_schema
from harness.vocabulary.errors import InputError
from tests.command_line import run_harness
from tests.data import folder, needs_data
from tests.small_audits import values_of

DECLARED = """
[data]
sensitive = { name = "disease", values = ["flu", "cold", "none"] }
[data.quasi]
age = { kind = "number", min = 0, max = 99 }
city = { kind = "category", values = ["Bern", "Rome"] }
"""
RELEASE = pd.DataFrame({
    "age": ["[20, 30]", "[20, 30]", "40", "40"],
    "city": ["*", "*", "Rome", "Rome"],
    "disease": ["flu", "cold", "flu", "none"],
})  # fmt: skip
ORIGINAL = pd.DataFrame({
    "age": [20, 30, 40, 40], "city": ["Bern", "Rome", "Rome", "Rome"], "disease": ["flu", "cold", "flu", "none"],
})  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(DECLARED, encoding="utf-8")
    RELEASE.to_csv(tmp_path / "release.csv", index=False)
    ORIGINAL.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def test_json_is_what_python_gives(here: Path) -> None:
    run = run_harness("measure", "release.csv", "--schema", "schema.toml", "--original", "data.csv", "--json", cwd=here)
    assert run.returncode == 0, run.stderr
    schema = load_schema(here / "schema.toml")
    expected = harness.metrics(RELEASE, schema.quasi, schema.sensitive, ORIGINAL)
    found = json.loads(run.stdout)
    assert set(found) == set(expected)
    assert found["k"] == expected["k"] == 2
    assert found["t"] == expected["t"]
    assert found["lost_leaves"] == expected["lost_leaves"]
    assert found["outside"] == {"cells": 0.0, "rows": 0.0}


def test_people_get_a_line_for_each_metric(here: Path) -> None:
    run = run_harness("measure", "release.csv", "--schema", "schema.toml", "--by", "age,city", cwd=here)
    lines = [line.strip().split("  ")[0] for line in run.stdout.splitlines()]
    for name in ("k", "distinct l", "entropy l", "t, equal", "discrimination rate", "lost leaves", "untrue cells"):
        assert name in lines
    assert "discrimination rate of disease by age, city" in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 120


def test_a_semantic_partition_is_a_file(here: Path) -> None:
    (here / "parts.toml").write_text('flu = "ill"\ncold = "ill"\nnone = "well"\n', encoding="utf-8")
    words = ("measure", "release.csv", "--schema", "schema.toml", "--by", "city", "--partition", "parts.toml", "--json")
    (found,) = json.loads(run_harness(*words, cwd=here).stdout)["discrimination"]
    partition = {"flu": "ill", "cold": "ill", "none": "well"}
    assert found["rate"] == harness.discrimination_rate(RELEASE, "disease", ["city"], partition=partition)
    assert {tuple(each["value"]) for each in found["values"]} == {("*",), ("Rome",)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("release.csv", "city", "town"), "E202: release.csv: the header has no column 'city'"),
        (("release.csv", "Rome", "Roma"), "E225: release.csv: column 'city', row 2 of the release: 'Roma'"),
        (
            ("schema.toml", 'values = ["Bern", "Rome"]', 'hierarchy = "city.csv"'),
            "E225: release.csv: column 'city', row 2",
        ),
        (
            ("release.csv", RELEASE.to_csv(index=False).partition("\n")[2], ""),
            "E225: release.csv: the release has no rows",
        ),
        (("release.csv", "flu", "fever"), "E225: release.csv: column 'disease': the value 'fever'"),
        (
            ("schema.toml", "values", "valeus"),
            "E203: schema.toml: column 'city': unknown key 'valeus'",
        ),
        (("schema.toml", "[data]", "[date]"), "E201: schema.toml: unknown section [date]"),
        (("schema.toml", "sensitive", "sensitiv"), "E201: schema.toml: [data] unknown key 'sensitiv'; did you mean"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_code(here: Path, change: tuple[str, str, str], message: str) -> None:
    name, old, new = change
    (here / "city.csv").write_text("Bern;*\n", encoding="utf-8")
    (here / name).write_text((here / name).read_text().replace(old, new), encoding="utf-8")
    run = run_harness("measure", "release.csv", "--schema", "schema.toml", cwd=here)
    assert run.returncode == 2
    assert message in run.stderr


def test_an_audit_toml_is_a_schema_too(tmp_path: Path) -> None:
    text = DECLARED.replace("[data]\n", '[data]\npath = "data.csv"\nmissing = "drop"\n')
    (tmp_path / "audit.toml").write_text(
        text + '[oracle]\naddress = "reference:identity"\n[claim]\nepsilon = 0.1\n', encoding="utf-8"
    )
    schema = load_schema(tmp_path / "audit.toml")
    assert schema.names == ("age", "city", "disease")
    assert schema.sensitive[0].values == ("flu", "cold", "none")
    assert (schema.quasi[0].min, schema.quasi[0].max) == (0, 99)


def test_a_schema_without_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text("[claim]\nepsilon = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"schema.toml: \[data\] is missing"):
        load_schema(tmp_path / "schema.toml")


def test_declared_values_are_the_domain_of_an_audit_too() -> None:
    """A value that no row has is still one that an adversary may infer; one that is not declared is refused."""
    secret = {"name": "disease", "values": ["none", "cold", "flu", "ulcer"]}
    quasi = {"age": "number", "city": {"values": ["Rome", "Bern", "Paris"]}}
    report = harness.audit("reference:identity", ORIGINAL, quasi=quasi, sensitive=secret, epsilon=0.5)
    assert values_of(report) == ["none", "cold", "flu", "ulcer"]
    with pytest.raises(InputError, match="'Rome' is not in its declared values"):
        harness.audit(
            "reference:identity", ORIGINAL, quasi={"city": {"values": ["Bern"]}}, sensitive="disease", epsilon=1
        )


@needs_data
@pytest.mark.parametrize(
    ("name", "k", "suppressed"),
    [
        ("anjana_k", 5, 0), ("arx_k", 2, 13), ("arx_tclose", 15, 15), ("mosaicrown_plain", 1, 0),
        ("qymondrian_relax", 4, 0), ("qymondrian_strict", 2, 0),
    ],
)  # fmt: skip
def test_releases_of_real_tools_are_measured_as_printed(name: str, k: int, suppressed: int) -> None:
    """Counted with pandas on the printed text of the six files; the files hold the first 300 rows only."""
    place = folder()
    assert place is not None
    release = pd.read_csv(place / "releases" / f"{name}.csv", dtype=str, keep_default_na=False)
    quasi = ["age", "education", "marital_status", "hours_per_week", "native_country"]
    found = harness.metrics(release, quasi, "occupation")
    sizes = release.groupby(quasi).size()
    stars = (release[quasi] == "*").all(axis=1)
    assert (found["k"], found["suppressed"]) == (k, suppressed) == (sizes.min(), stars.sum())
    shown = release[~stars].groupby(quasi).size()
    assert found["discernibility"] == (shown**2).sum() + 300 * suppressed
    assert found["average_class_size"] == pytest.approx(300 / len(sizes))
    shares = release.groupby(quasi)["occupation"].value_counts(normalize=True).unstack(fill_value=0)
    whole = release["occupation"].value_counts(normalize=True)[shares.columns]
    assert found["t"]["equal"]["release"] == pytest.approx(((shares - whole).abs().sum(axis=1) / 2).max(), abs=1e-12)
    assert found["l"]["distinct"] == release.groupby(quasi)["occupation"].nunique().min()
