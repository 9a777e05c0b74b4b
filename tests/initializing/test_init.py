"""`harness init`: the written file loads, an audit can be planned with it, and it says what was guessed."""

import io
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.cli import main
from tests.data import folder as data_folder
from tests.data import needs_data
from tests.initializing import tables
from tests.initializing.tables import bank, hospital

SCIKIT_LEARN = ("iris", "wine", "breast_cancer", "diabetes", "linnerud", "digits")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def initialized(frame: pd.DataFrame, *words: str, sep: str = ",", code: int = 0) -> dict[str, Any]:
    """What `harness init` writes about a table, as TOML reads it; `harness plan` would accept it."""
    frame.to_csv("people.csv", index=False, sep=sep)
    assert main(["init", "people.csv", "--force", *words]) == code
    return tomllib.loads(Path("audit.toml").read_text(encoding="utf-8"))


def released(anonymize: Callable[[pd.DataFrame], pd.DataFrame], *words: str, code: int = 0) -> dict[str, Any]:
    address = f"python:{tables.__name__}:{anonymize.__name__}"
    return initialized(bank(), "--oracle", address, *words, code=code)


def scikit_learn_table(name: str) -> pd.DataFrame:
    import sklearn.datasets

    frame: pd.DataFrame = getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    return frame


@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_the_file_for_a_table_of_scikit_learn_needs_no_edit(name: str) -> None:
    written = initialized(scikit_learn_table(name).head(60))
    assert len(written["data"]["quasi"]) >= 4
    assert written["claim"] == {"epsilon": 0.1}


def test_an_audit_runs_with_the_file_as_it_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    initialized(scikit_learn_table("iris").head(60).assign(target=lambda iris: iris["target"] * 0 + iris.index % 3))
    assert main(["plan", "audit.toml"]) == 0
    assert "60 to examine" in capsys.readouterr().out
    assert main(["run", "audit.toml", "--quiet", "--out", "out"]) in (0, 1)


def test_the_roles_and_kinds_of_a_table_with_everything_in_it() -> None:
    written = initialized(hospital())["data"]
    assert written["sensitive"] == "diagnosis"
    assert written["person"] == "patient_id"
    assert written["quasi"] == {"born": "date", "zip": "category", "smoker": "category"}


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_gaps_orders_and_bins_of_any_separator(sep: str) -> None:
    written = initialized(bank(), sep=sep)["data"]
    assert written["sensitive"] == {"balance": {"kind": "number", "bins": 5}}
    assert written["missing"] == "drop"
    assert written["quasi"]["satisfaction"] == {"kind": "ordered", "order": ["low", "medium", "high"]}
    assert "id" not in written["quasi"]


@pytest.mark.parametrize("ending", [".parquet", ".xlsx", ".csv.gz"])
def test_other_kinds_of_files(ending: str) -> None:
    name = f"people{ending}"
    frame = hospital().assign(born=pd.to_datetime(hospital()["born"], dayfirst=True))
    writers: dict[str, Callable[..., Any]] = {
        ".parquet": frame.to_parquet,
        ".xlsx": frame.to_excel,
        ".csv.gz": frame.to_csv,
    }
    writers[ending](name, index=False)
    assert main(["init", name]) == 0
    written = tomllib.loads(Path("audit.toml").read_text())["data"]
    assert written["quasi"] == {"born": "date", "zip": "category", "smoker": "category"}


@pytest.mark.parametrize(
    ("anonymize", "column", "declaration"),
    [
        (tables.tens, "age", {"kind": "number", "closed": "left"}),
        (tables.tens_to_the_right, "age", {"kind": "number", "closed": "right"}),
        (tables.groups_of_five, "age", "number"),
        (tables.means, "age", {"kind": "number", "points": True}),
        (tables.tens_as_masks, "age", {"kind": "number", "notation": "mask"}),
    ],
)
def test_a_release_decides_how_its_cells_are_declared(anonymize: Any, column: str, declaration: Any) -> None:
    assert released(anonymize)["data"]["quasi"][column] == declaration
    assert main(["plan", "audit.toml"]) == 0


def test_names_and_signs_of_a_release_are_learnt_from_its_rows() -> None:
    written = released(tables.named_jobs)["data"]
    office, *others = written["quasi"]["job"]["hierarchy"]["*"]
    assert sorted(office["office"]) == ["admin", "clerk"]
    assert sorted(others) == ["driver", "nurse"]
    assert written["suppressed"] == ["*", "REDACTED"]
    assert main(["plan", "audit.toml"]) == 0


def test_what_rows_in_another_order_cannot_decide_is_marked() -> None:
    released(tables.shuffled)
    text = Path("audit.toml").read_text()
    assert "# DECIDE: ranges of the release meet (20-30, 30-40): which end of a range belongs to it?" in text
    assert 'Otherwise: age = { kind = "number", closed = "right" }' in text


def test_of_several_notations_that_read_a_release_one_is_taken_and_the_others_are_named() -> None:
    written = released(tables.listed)["data"]["quasi"]["satisfaction"]
    assert written["notation"] == "set"
    assert 'notation = "run" }' in Path("audit.toml").read_text()


def test_a_hierarchy_beside_the_data_is_found(folder: Path) -> None:
    (folder / "hierarchies").mkdir()
    paths = ["admin;office;*", "clerk;office;*", "nurse;REDACTED;*", "driver;driver;*"]
    (folder / "hierarchies" / "bank-job.csv").write_text("\n".join(paths) + "\n")
    written = released(tables.named_jobs)["data"]
    assert written["quasi"]["job"] == {"kind": "category", "hierarchy": "hierarchies/bank-job.csv"}


def test_a_column_whose_cells_nothing_explains_is_left_out_with_a_question() -> None:
    written = released(tables.private)["data"]
    assert "job" not in written["quasi"]
    text = Path("audit.toml").read_text()
    assert "DECIDE: job: its released cells cannot be read: 'cluster 0'" in text
    assert main(["plan", "audit.toml"]) == 0


def test_a_guess_that_the_release_contradicts_is_given_up() -> None:
    written = released(tables.coarse_balance)["data"]
    assert written["sensitive"] == "job"
    assert released(tables.coarse_balance, "--sensitive", "balance")["data"]["sensitive"]
    assert "DECIDE: the release shows 'some' as 'balance'" in Path("audit.toml").read_text()


def test_an_added_column_that_is_called_count_and_counts_nothing_is_no_weight() -> None:
    assert released(tables.counting)["data"]["weight"] == ""
    assert main(["plan", "audit.toml"]) == 0


def test_a_file_is_written_also_where_the_anonymizer_fails_and_quotes_no_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    released(tables.raising, code=3)
    assert (
        "DECIDE: the anonymizer could not be asked for a release (E301; the command told why)"
        in Path("audit.toml").read_text()
    )
    assert "no use for" not in Path("audit.toml").read_text()
    assert "error E301: " in capsys.readouterr().err


def test_the_same_data_gives_the_same_file_and_none_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    initialized(hospital())
    first = Path("audit.toml").read_text()
    assert main(["init", "people.csv"]) == 2
    assert "error E221: audit.toml exists; give --force" in capsys.readouterr().err
    initialized(hospital())
    assert Path("audit.toml").read_text() == first


def test_no_cell_that_is_not_declared_stands_in_the_file() -> None:
    frame = hospital().assign(age=range(1_000_017, 1_000_017 + 7 * tables.ROWS, 7))
    initialized(frame)
    text = Path("audit.toml").read_text()
    for column in ("patient_id", "note", "name", "zip", "age", "diagnosis"):
        assert not any(str(cell) in text for cell in frame[column])


def test_hostile_names_of_columns_stay_names() -> None:
    name = 'x" = 1\n[claim]\nepsilon = 9 # \x07'
    frame = hospital()[["zip", "diagnosis"]].assign(**{name: [f"v{row % 4}" for row in range(tables.ROWS)]})
    written = initialized(frame)
    assert written["claim"] == {"epsilon": 0.1}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_at_a_terminal_the_sensitive_column_and_open_questions_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    days = [f"0{1 + row % 9}/0{1 + row % 7}/1980" for row in range(tables.ROWS)]
    frame = hospital()[["zip", "smoker", "diagnosis"]].assign(born=days)
    monkeypatch.setattr(sys, "stdin", Terminal("9\n3\n2\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    written = initialized(frame)["data"]
    assert written["sensitive"] == "smoker"
    assert written["quasi"]["born"] == {"kind": "date", "notation": "%m/%d/%Y"}
    assert "DECIDE: does the day" not in Path("audit.toml").read_text()


@pytest.mark.parametrize(
    ("content", "words", "sentence"),
    [
        (b"a,b\n1,\xe9\n2,x\n", (), "is not UTF-8; save the file as UTF-8"),
        (b"a,a\n1,2\n", (), "more than one column 'a'"),
        (b"a,b\n", (), "holds no records"),
        (b"", (), "the file is empty"),
        (b"a,b\n1,x\n2,y\n", ("--sensitive", "c"), "no column 'c'"),
        (b"a,b\n1,x\n2,y\n", ("--oracle", "nowhere"), "has no known scheme"),
        (b"a,b\n1,x\n2,y\n", ("-o", "missing/audit.toml"), "cannot be written"),
        (b"a,b\n1,x\n1,y\n", ("--sensitive", "a"), "needs at least two"),
    ],
)
def test_what_cannot_be_drafted_is_an_error_that_says_why(
    content: bytes, words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("people.csv").write_bytes(content)
    assert main(["init", "people.csv", *words]) == 2
    assert sentence in capsys.readouterr().err


ADULT_COLUMNS = ("age", "education", "marital-status", "hours-per-week", "native-country", "occupation")
RELEASES = (
    "anjana_k", "anonypy_k", "arx_k", "arx_tclose", "mosaicrown_plain", "qymondrian_relax", "qymondrian_strict",
    "qy_basic",
)  # fmt: skip
REPLAYING = """
import pandas as pd
COLUMNS = {columns}
def replay(df):
    header = {{"sep": ";", "names": COLUMNS}} if {headless} else {{}}
    return pd.read_csv({path!r}, dtype=str, keep_default_na=False, **header)
"""


@needs_data
@pytest.mark.parametrize("name", RELEASES)
def test_releases_of_public_anonymizers_are_read_after_init(name: str, folder: Path) -> None:
    place = data_folder()
    assert place is not None
    adult = pd.read_csv(place / "adult.csv")[list(ADULT_COLUMNS)].rename(columns=lambda one: one.replace("-", "_"))
    os.symlink((place / "hierarchies").resolve(), folder / "hierarchies")
    path = str((place / "releases" / f"{name}.csv").resolve())
    code = REPLAYING.format(columns=list(adult.columns), headless=name == "qy_basic", path=path)
    (folder / f"replaying_{name}.py").write_text(code)
    words = ("--oracle", f"python:replaying_{name}:replay", "--sensitive", "occupation")
    written = initialized(adult, *words)["data"]
    assert list(written["quasi"]) == [column for column in adult.columns if column != "occupation"]
    assert "DECIDE: its released cells" not in Path("audit.toml").read_text()
