"""audit.toml: every option reaches the plan, and the same audit comes from a file and from Python."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
from harness.auditing.config import OPTIONS, PLAN, AuditFile, load
from harness.auditing.plan import Plan
from harness.auditing.state import AuditState
from oracles import as_oracle
from tests.anonymizers import chunks
from tests.small_audits import QUASI, table

HEAD = """
[data]
path = "people.csv"
sensitive = "ill"
{data}
[data.quasi]
age = "number"
sex = "category"
[oracle]
address = "reference:identity"
[claim]
epsilon = 0.1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people = table(20).assign(pid=[number // 2 for number in range(20)], poor=["yes", "no"] * 10, guess=["flu"] * 20)
    people.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def loaded(folder: Path, more: str = "", data: str = "") -> AuditFile:
    path = folder / "audit.toml"
    path.write_text(HEAD.format(data=data) + more)
    return load(path)


def audited(file: AuditFile) -> harness.Report:
    events = harness.Audit(file.plan, as_oracle(chunks)).events()
    return harness.Report.of(AuditState.fold(file.plan.spec(), events))


def in_python(folder: Path, **options: Any) -> harness.Report:
    return harness.audit(
        chunks, folder / "people.csv", **{"quasi": QUASI, "sensitive": "ill", "epsilon": 0.1, **options}
    )


@pytest.mark.parametrize(
    ("more", "data", "options"),
    [
        ("", "", {}),
        ('[inference]\nencoder = "bounds-hot"\nmodel = "tree"\ndistance = "hellinger"', "",
         {"encoder": "bounds-hot", "model": "tree", "distance": "hellinger"}),
        ('[inference]\nmodel = { name = "bernoulli", alpha = 0.5 }\nprior = "uniform"', "",
         {"model": {"name": "bernoulli", "alpha": 0.5}, "prior": "uniform"}),
        ('[[adversary]]\nmodel = "conditional"\n[[adversary]]\nencoder = "one-class"\nname = "flat"', "",
         {"adversaries": [{"model": "conditional"}, {"encoder": "one-class", "name": "flat"}]}),
        ('[[adversary]]\nmodel = "tree"\n[inference]\ndistance = "half"', "",
         {"adversaries": [{"model": "tree"}], "distance": "half"}),
        ('[inference]\nprior = { column = "guess", confidence = 0.8 }', "",
         {"prior": {"column": "guess", "confidence": 0.8}}),
        ('[inference.distance]\nname = "emd"\nground = { order = ["none", "flu", "ulcer"] }', "",
         {"distance": {"name": "emd", "ground": {"order": ["none", "flu", "ulcer"]}}}),
        ("", 'person = "pid"', {"person": "pid"}),
        ("[run]\nrecords = 7\nseed = 4", "", {"records": 7, "seed": 4}),
    ],
    ids=str,
)  # fmt: skip
def test_a_file_and_a_call_describe_the_same_audit(folder: Path, more: str, data: str, options: dict[str, Any]) -> None:
    assert audited(loaded(folder, more, data)).plain == in_python(folder, **options).plain


def test_several_secrets_are_separate_unless_the_file_says_joint(folder: Path) -> None:
    text = HEAD.replace('sensitive = "ill"', 'sensitive = ["ill", "poor"]')
    (folder / "audit.toml").write_text(text.format(data=""))
    assert [secret.name for secret in load(folder / "audit.toml").plan.secrets] == ["ill", "poor"]
    (folder / "audit.toml").write_text(text.format(data="joint = true"))
    assert [secret.name for secret in load(folder / "audit.toml").plan.secrets] == ["ill | poor"]


def test_the_standard_panel_is_named_in_the_file(folder: Path) -> None:
    assert len(loaded(folder, '[inference]\npanel = "standard"').plan.adversaries) == 9


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('[[adversary]]\nmodle = "tree"', "unknown key 'modle'; did you mean 'model'"),
        ("[[adversary]]\nmodel = 3", r"\[\[adversary\]\] model must be a text or a table, not 3"),
        ('[adversary]\nmodel = "tree"', "adversary must be a list of tables, each headed"),
        ('[[adversary]]\n[inference]\nmodel = "tree"', "adversaries are given in more than one way"),
        ('[inference]\npanel = "standart"', "panel 'standart' is not known; did you mean 'standard'"),
        ('[inference]\ndistance = "emd"', "emd"),
        ('[inference]\nencoder = "tf-hto"', "'tf-hto'"),
        ('[inference]\nprior = { column = "gues", confidence = 0.5 }', "no column 'gues'; did you mean 'guess'"),
    ],
)
def test_a_mistake_in_the_file_is_named(folder: Path, more: str, message: str) -> None:
    with pytest.raises(harness.InputError, match=message) as error:
        loaded(folder, more)
    assert str(error.value).startswith(str(folder / "audit.toml"))


def test_every_option_of_the_table_is_a_keyword_of_the_call_unless_it_is_the_files_own() -> None:
    keywords = set(inspect.signature(harness.audit).parameters)
    assert {option.name for option in OPTIONS if not option.in_file_only} <= keywords
    assert keywords - {option.name for option in OPTIONS} == {
        "anonymizer", "data", "adversaries", "out", "progress", "reveal",
        "timeout", "max_failures", "retry_failed", "accept_card", "evidence",
    }  # fmt: skip


def test_a_prior_from_a_file_beside_the_audit(folder: Path) -> None:
    rows = pd.DataFrame({"flu": [0.6] * 20, "ulcer": [0.1] * 20, "none": [0.3] * 20})
    rows.to_csv(folder / "prior.csv", index=False)
    by_file = audited(loaded(folder, '[inference]\nprior = { file = "prior.csv" }'))
    by_value = in_python(folder, prior={"flu": 0.6, "ulcer": 0.1, "none": 0.3})
    assert [one.distance for one in by_file.findings] == pytest.approx([one.distance for one in by_value.findings])


def test_a_mistake_in_a_data_file_whose_name_begins_like_the_audits_still_names_the_audit(folder: Path) -> None:
    (folder / "audit.toml.csv").write_text("age,sex\n1,F\n")
    path = folder / "audit.toml"
    path.write_text(HEAD.format(data="").replace("people.csv", "audit.toml.csv"))
    with pytest.raises(harness.InputError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")


def test_the_options_of_a_plan_are_its_fields_keywords_of_the_call_and_parts_of_its_spec(folder: Path) -> None:
    names = {option.name for option in PLAN}
    assert names <= {field.name for field in fields(Plan)}
    assert names <= set(inspect.signature(harness.audit).parameters)
    assert {option.name for option in PLAN if option.plan} <= set(loaded(folder).plan.spec())


def test_every_option_of_a_plan_reaches_it_from_the_file(folder: Path) -> None:
    run = "[run]\ndraws = 7\nseed = 3\nrecords = 5\nadaptive = true\nblind = true"
    plan = loaded(folder, run, "joint = true").plan
    assert (plan.draws, plan.seed, plan.records, plan.adaptive, plan.blind, plan.joint) == (7, 3, 5, True, True, True)


def test_how_much_is_kept_of_predictions_is_no_part_of_the_plan(folder: Path) -> None:
    usual, little = loaded(folder), loaded(folder, '[run]\nkeep_predictions = "10M"')
    assert (usual.keep_predictions, little.keep_predictions) == (1 << 30, 10 << 20)
    assert usual.plan.digest == little.plan.digest
    with pytest.raises(
        harness.InputError, match=r"audit.toml: keep_predictions = 'much': expected a whole number of bytes"
    ):
        loaded(folder, '[run]\nkeep_predictions = "much"')


def test_workers_of_the_file_may_be_an_address(folder: Path) -> None:
    assert loaded(folder, '[run]\nworkers = "local:4"').workers == "local:4"


@pytest.mark.parametrize(("encoding", "ends"), [("utf-8-sig", "\n"), ("utf-8", "\r\n"), ("utf-8-sig", "\r\n")])
def test_a_file_as_editors_of_windows_write_it_is_read(encoding: str, ends: str, folder: Path) -> None:
    text = HEAD.format(data="# größer").replace("\n", ends)
    (folder / "audit.toml").write_bytes(text.encode(encoding))
    assert load(folder / "audit.toml").address == "reference:identity"


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("latin-1", r"audit.toml: line 5: byte 5 of the line \(0xf6\) is not UTF-8; save the file as UTF-8"),
        ("utf-16", "audit.toml: this is UTF-16 text; save it as UTF-8"),
    ],
)
def test_a_file_in_another_encoding_is_refused_with_the_place(encoding: str, message: str, folder: Path) -> None:
    (folder / "audit.toml").write_bytes(HEAD.format(data="# größer").encode(encoding))
    with pytest.raises(harness.InputError, match=message):
        load(folder / "audit.toml")


@pytest.mark.parametrize(
    "oracle", ['address = { x = "hush-hush" }', 'address = "reference:mondrian"\noptions = "hush-hush"']
)
def test_a_wrong_value_of_the_oracle_is_not_shown(oracle: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,ill\n20,a\n30,b\n")
    (tmp_path / "audit.toml").write_text(
        '[data]\npath = "people.csv"\nsensitive = "ill"\nquasi = { age = "number" }\n[claim]\nepsilon = 0.1\n'
        f"[oracle]\n{oracle}\n"
    )
    with pytest.raises(harness.InputError, match="must be a (text|table), not a (dict|str)") as caught:
        load(tmp_path / "audit.toml")
    assert "hush" not in str(caught.value)
