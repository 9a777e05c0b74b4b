"""What eight public anonymizers printed for Adult: every cell is read and covers someone.

The data are not part of the project; every notation in them also stands as a literal in test_values.
"""

import csv
import os
from functools import cache
from pathlib import Path

import pytest

from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.values import Reading, Suppressed, parse, show

DATA = Path(os.environ.get("HARNESS_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
COLUMNS = ("age", "education", "marital-status", "hours-per-week", "native-country", "occupation")
RELEASES = (
    "anjana_k",
    "anonypy_k",
    "arx_k",
    "arx_tclose",
    "mosaicrown_plain",
    "qy_basic",
    "qymondrian_relax",
    "qymondrian_strict",
)
HEADLESS = {"qy_basic": ";"}  # printed without a header, and with its own delimiter

pytestmark = pytest.mark.skipif(
    not (DATA / "releases").is_dir(),
    reason=f"no releases at {DATA}; point HARNESS_DATA at a folder with adult.csv, hierarchies/ and releases/",
)


def rows(path: Path, delimiter: str = ",") -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


@cache
def raw_columns() -> dict[str, list[str]]:
    header, *records = rows(DATA / "adult.csv")
    return {name: list(dict.fromkeys(record[header.index(name)] for record in records)) for name in COLUMNS}


@cache
def reading(column: str) -> Reading:
    """Numbers need no declaration at all; categories need the hierarchy whose names are printed."""
    texts = raw_columns()[column]
    if column in ("age", "hours-per-week"):
        return Reading.of("number", texts)
    tree = Hierarchy.from_csv(DATA / "hierarchies" / f"adult-{column}.csv")
    return Reading.of("category", texts, nodes=tree.nodes)


@cache
def released(name: str) -> dict[str, list[str]]:
    if name in HEADLESS:
        lines, header = rows(DATA / "releases" / f"{name}.csv", HEADLESS[name]), list(COLUMNS)
    else:
        first, *lines = rows(DATA / "releases" / f"{name}.csv")
        header = [title.replace("_", "-") for title in first]
    return {column: [line[header.index(column)] for line in lines] for column in COLUMNS}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", RELEASES)
def test_every_released_cell_covers_some_raw_value(name: str, column: str) -> None:
    how = reading(column)
    for cell in dict.fromkeys(released(name)[column]):
        value = parse(cell, how)
        assert any(map(value.covers, how.domain)), cell
        assert parse(show(value), how) == value


@pytest.mark.parametrize("name", RELEASES)
def test_only_a_star_says_nothing(name: str) -> None:
    for column, cells in released(name).items():
        silent = {cell for cell in cells if parse(cell, reading(column)) == Suppressed()}
        assert silent <= {"*"}


@pytest.mark.parametrize("path", sorted((DATA / "hierarchies").glob("*.csv")), ids=lambda path: path.stem)
def test_every_hierarchy_holds_the_raw_values_of_its_column(path: Path) -> None:
    tree = Hierarchy.from_csv(path)
    assert tree.root == "*"
    column = path.stem.removeprefix("adult-")
    if column in COLUMNS:
        assert set(raw_columns()[column]) <= set(tree.leaves("*"))
