"""sweep.toml: which cells a file describes, and what is wrong with one that describes none."""

from pathlib import Path

import pytest

from harness.analysis.sweep_file import Cell, read_sweep
from harness.vocabulary.errors import InputError

BASE = """
[data]
path = "people.csv"
sensitive = "ill"
quasi = { age = "number" }
[oracle]
address = "reference:mondrian"
[oracle.options]
cells = "ranges"
[claim]
epsilon = 0.1
"""


def cells(tmp_path: Path, sweep: str, base: str = BASE) -> list[Cell]:
    path = tmp_path / "sweep.toml"
    path.write_text(base + sweep)
    return read_sweep(path)


def values(found: list[Cell], key: str) -> list[object]:
    return [cell.parameters[key] for cell in found]


def test_a_grid_has_every_combination_and_zip_goes_along(tmp_path: Path) -> None:
    lists = '"oracle.options.k" = [2, 5]\n"claim.epsilon" = [0.1, 0.2]\n'
    grid = cells(tmp_path, f"[sweep]\n{lists}")
    assert [tuple(cell.parameters.values()) for cell in grid] == [(2, 0.1), (2, 0.2), (5, 0.1), (5, 0.2)]
    zipped = cells(tmp_path, f'[sweep]\nmode = "zip"\n{lists}')
    assert [tuple(cell.parameters.values()) for cell in zipped] == [(2, 0.1), (5, 0.2)]
    assert zipped[1].content["oracle"]["options"] == {"cells": "ranges", "k": 5}
    assert zipped[1].content["claim"] == {"epsilon": 0.2}


def test_what_is_given_to_the_oracle_is_not_quoted_by_the_error_of_a_cell(tmp_path: Path) -> None:
    secrets = 'oracle.options.headers.PIN = ["4711"]\noracle.address = ["https://box.example/?pin=4711"]\n'
    with pytest.raises(InputError, match="must be a number") as error:
        cells(tmp_path, f'[sweep]\n{secrets}claim.epsilon = ["x"]\n')
    assert "cell PIN=(not shown), address=(not shown), epsilon=x: " in str(error.value)
    assert "4711" not in str(error.value)


@pytest.mark.parametrize("key", ['"oracle.options.k"', "oracle.options.k", '"oracle.k"'])
def test_an_option_of_the_oracle_may_be_written_in_three_ways(tmp_path: Path, key: str) -> None:
    found = cells(tmp_path, f"[sweep]\n{key} = [2, 5]\n")
    assert [cell.content["oracle"]["options"]["k"] for cell in found] == [2, 5]


def test_a_key_alone_is_enough_where_one_section_has_it(tmp_path: Path) -> None:
    (first, second) = cells(tmp_path, '[sweep]\nencoder = ["tf-tf", "scaling-hot"]\ncells = "regions"\n')
    assert first.content["inference"] == {"encoder": "tf-tf"}
    assert second.content["oracle"]["options"]["cells"] == "regions"


@pytest.mark.parametrize(
    ("key", "place", "option"),
    [
        ("k", "oracle", "k"), ("l", "oracle", "l"), ("t", "oracle", "t"), ("noise_epsilon", "oracle", "noise_epsilon"),
        ("encoding", "inference", "encoder"), ("distance", "inference", "distance"), ("seed", "run", "seed"),
    ],
)  # fmt: skip
def test_the_parameters_of_the_papers_have_short_names(tmp_path: Path, key: str, place: str, option: str) -> None:
    written = {"encoding": '["tf-tf", "scaling-hot"]', "distance": '["sum", "half"]'}.get(key, "[1, 2]")
    found = cells(tmp_path, f"[sweep]\n{key} = {written}\n")
    settings = [cell.content[place].get("options", cell.content[place]) for cell in found]
    assert [each[option] for each in settings] == values(found, key)


def test_columns_are_chosen_by_their_names_among_those_that_are_declared(tmp_path: Path) -> None:
    base = BASE.replace('{ age = "number" }', '{ age = "number", sex = "category", zip = { kind = "category" } }')
    found = cells(tmp_path, '[sweep]\ncolumns = ["age", ["sex", "zip"]]\n', base)
    assert [cell.content["data"]["quasi"] for cell in found] == [
        {"age": "number"},
        {"sex": "category", "zip": {"kind": "category"}},
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{ from = 1, to = 7 }", [1, 2, 3, 4, 5, 6, 7]),
        ("{ from = 0.1, to = 0.5, step = 0.1 }", pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])),
        ("{ from = 1, to = 64, factor = 2 }", [1, 2, 4, 8, 16, 32, 64]),
        ("[3]", [3]),
        ("3", [3]),
    ],
)
def test_a_range_ends_with_its_last_number(tmp_path: Path, written: str, expected: object) -> None:
    assert values(cells(tmp_path, f"[sweep]\nclaim.epsilon = {written}\n"), "claim.epsilon") == expected


def test_several_tables_follow_each_other_under_their_names(tmp_path: Path) -> None:
    found = cells(tmp_path, '[[sweep]]\nname = "k"\noracle.k = [1, 2]\n[[sweep]]\nname = "l"\noracle.l = [2]\n')
    assert [(cell.series, cell.label) for cell in found] == [("k", "k=1"), ("k", "k=2"), ("l", "l=2")]


def test_columns_adversaries_and_single_keys_of_a_column_can_be_swept(tmp_path: Path) -> None:
    found = cells(tmp_path, '[sweep]\n"data.quasi" = [{ age = "number" }, { age = "number", sex = "category" }]\n')
    assert [len(cell.content["data"]["quasi"]) for cell in found] == [1, 2]
    found = cells(tmp_path, '[sweep]\nadversary = [{ model = "tree" }, { model = "bernoulli" }]\n')
    assert [cell.content["adversary"] for cell in found] == [[{"model": "tree"}], [{"model": "bernoulli"}]]


def test_a_cell_keeps_its_folder_when_values_are_added_or_other_workers_do_the_work(tmp_path: Path) -> None:
    few = {cell.folder for cell in cells(tmp_path, "[sweep]\noracle.k = [2, 5]\n")}
    many = {cell.folder for cell in cells(tmp_path, "[run]\nworkers = 7\n[sweep]\noracle.k = [1, 2, 5]\n")}
    assert few < many
    assert not few & {cell.folder for cell in cells(tmp_path, "[run]\nseed = 7\n[sweep]\noracle.k = [2, 5]\n")}


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("", r"a sweep needs a table \[sweep\]"),
        ("[sweep]\nclaim.epsilom = [1]\n", "did you mean 'epsilon'"),
        ("[sweep]\nclaims.epsilon = [1]\n", "did you mean 'claim'"),
        ("[sweep]\nepsilom = [1]\n", "did you mean 'epsilon'"),
        ("[sweep]\nstrength = [1]\n", 'an option of the oracle is written "oracle.options.strength"'),
        ("[sweep]\nk = [1]\noracle.k = [2]\n", "varied twice"),
        ('[sweep]\ncolumns = [["age"], ["aeg"]]\n', "no quasi-identifier 'aeg' is declared; did you mean 'age'"),
        ("[sweep]\ncolumns = [1]\n", "columns are names of"),
        ('[sweep]\nmode = "gird"\noracle.k = [1]\n', "did you mean 'grid'"),
        ('[sweep]\nmode = "grid"\n', "no key is varied"),
        ("[sweep]\nclaim.epsilon = []\n", "has no values"),
        ("[sweep]\nclaim.epsilon = { from = 5, to = 1 }\n", "a range rises"),
        ("[sweep]\nclaim.epsilon = { from = 1, to = 5, stepp = 2 }\n", "did you mean 'step'"),
        ("[sweep]\nclaim.epsilon = { from = 1, to = 2, step = 1e-9 }\n", "more than 10000 cells"),
        ('[sweep]\nmode = "zip"\noracle.k = [1, 2]\nrun.seed = [1, 2, 3]\n', "lists of one length"),
        ('[sweep]\nclaim.epsilon = [0.1, "x"]\n', "cell epsilon=x: .* must be a number"),
        ("[sweep]\nclaim.epsilon.low = [1]\n", "has no keys of its own"),
        ("[sweep]\nepsilon = [1]\nclaim.epsilon = [2]\n", "varied twice"),
    ],
)
def test_what_is_wrong_is_named_with_the_nearest_valid_name(tmp_path: Path, sweep: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        cells(tmp_path, sweep)
    assert str(caught.value).startswith(str(tmp_path / "sweep.toml"))
