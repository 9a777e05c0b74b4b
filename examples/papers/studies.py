"""What both papers ran, as sweep.toml files: which data, which parameters, which distance.

v1 is the first version of Differential Inference Testing (2018), v2 the second (2019). v1's tables fit half the sum of
absolute differences, and so do the numbers that v2 prints for the same experiment; so all studies use `half`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.schema import Schema

ADULT_QUASI = ("age", "education", "marital-status", "hours-per-week", "native-country")
INTERNET_V2 = ("age", "race", "education_attainment", "major_occupation", "marital_status")
INTERNET_V1 = (*INTERNET_V2, "country")  # SPEC of v1: six quasi-identifiers
NUMBERS = ("age", "hours-per-week")
V1_K, V2_K, ELLS = (1, 2, 5, 7, 20, 64, 80), (1, 2, 4, 8, 16, 32, 64), tuple(range(1, 8))
NOISE = (0.1, 0.5, 1.0, 2.0, 5.0, float("inf"))
DRAWS = 1_000  # v2 §4.5.2 has 25,000 independent ones; with equal seeds on both sides fewer say more
ENCODING_KS, ENCODING_RECORDS = (2, 5, 20), 2_000  # of v1 appendix A, which does not say which k
REPRESENTED_KS = (1, 3, 10, 50, 100, 500, 2_000)  # of the text's 14 values from 3 to 15,000, and 1
REPRESENTED_RECORDS, REPRESENTED_SEEDS = 6_000, 5  # the text has 30,162 and 10
SAMPLE = 10_000  # of Adult, at random; the papers do not say which


@dataclass(frozen=True)
class Study:
    """One sweep: the name of its folder, and the file."""

    name: str
    text: str


def read_adult(folder: Path, size: int) -> pd.DataFrame:
    """A random sample of Adult."""
    people = pd.read_csv(folder / "adult.csv")
    return people.sample(min(size, len(people)), random_state=0)


def read_internet(folder: Path, size: int) -> pd.DataFrame:
    """The Internet survey without those who do not say their age: the papers' 9,799 records."""
    survey = pd.read_csv(folder / "internet.csv")
    survey = survey[survey["age"].astype(str) != "Not_Say"]
    return survey if size >= len(survey) else survey.sample(size, random_state=0)


def encoding_data(data: Path) -> dict[str, Dataset]:
    """The data sets of v1 appendix A; those whose file is there."""
    declared = {"adult": (ADULT_QUASI, "occupation"), "internet": (INTERNET_V1, "household_income")}
    return {
        name: Dataset.from_file(path, Schema({column: _kind(column) for column in quasi}, sensitive))
        for name, (quasi, sensitive) in declared.items()
        if (path := data / f"{name}.csv").exists()
    }


def _kind(column: str) -> str:
    return "number" if column in NUMBERS else "category"


def studies(data: Path, trees: Path, draws: int, *, small: bool) -> list[Study]:
    """All sweeps; `trees` is the folder of the hierarchies of Adult, used where it is there."""
    ks, ells, noise = (V1_K, ELLS, NOISE) if not small else ((1, 5), (1, 3), (0.5, float("inf")))
    both = sorted({*V1_K, *V2_K}) if not small else ks
    v2_k = V2_K if not small else ks
    adult, internet = data / "adult.csv", data / "internet.csv"
    return [
        Study("adult", _microdata(adult, "occupation", _columns(ADULT_QUASI, trees), both, ells)),
        Study("internet-v1", _microdata(internet, "household_income", _columns(INTERNET_V1), ks, ells)),
        Study("internet-v2", _microdata(internet, "household_income", _columns(INTERNET_V2), v2_k, ells)),
        Study("adult-noise", _noise(adult, "occupation", ADULT_QUASI, noise, draws)),
        Study("internet-noise", _noise(internet, "household_income", INTERNET_V2, noise, draws)),
    ]


def repair_file(data: Path, trees: Path, option: str) -> str:
    """The audit that v2 §4.5.1 repairs: who reaches 0.1 is removed."""
    head = _head(data / "adult.csv", "occupation", _columns(ADULT_QUASI, trees), "reference:mondrian")
    return f"{head}[oracle.options]\n{option}\n"


def _head(path: Path, sensitive: str, columns: list[str], address: str) -> str:
    return "\n".join(
        [
            "[data]", f'path = "{path}"', f'sensitive = "{sensitive}"', "[data.quasi]", *columns,
            "[oracle]", f'address = "{address}"', "[claim]", "epsilon = 0.1", "[inference]", 'distance = "half"', "",
        ]
    )  # fmt: skip


def _columns(names: tuple[str, ...], trees: Path | None = None) -> list[str]:
    lines = []
    for name in names:
        tree = None if trees is None else trees / f"adult-{name}.csv"
        if name in NUMBERS:
            lines.append(f'{name} = "number"')
        elif tree is not None and tree.exists():
            lines.append(f'{name} = {{ kind = "category", hierarchy = "{tree}" }}')
        else:
            lines.append(f'{name} = "category"')
    return lines


def _microdata(
    path: Path, sensitive: str, columns: list[str], ks: tuple[int, ...] | list[int], ells: tuple[int, ...]
) -> str:
    return _head(path, sensitive, columns, "reference:mondrian") + "\n".join(
        [
            "[oracle.options]", 'infeasible = "generalise"',  # as v1 reports it where no other release has the property
            "[[sweep]]", 'name = "k-anonymity"', f'"oracle.options.k" = {list(ks)}',
            "[[sweep]]", 'name = "l-diversity"', f'"oracle.options.l" = {list(ells)}', "",
        ]
    )  # fmt: skip


def _noise(path: Path, sensitive: str, names: tuple[str, ...], noise: tuple[float, ...], draws: int) -> str:
    columns = [
        f'{name} = {{ kind = "number", bins = 5, binning = "width" }}' if name in NUMBERS else f'{name} = "category"'
        for name in names
    ]
    return _head(path, sensitive, columns, "reference:laplace") + "\n".join(
        [
            "[run]", f"draws = {draws}", "[sweep]", 'name = "differential privacy"',
            f'"oracle.options.noise_epsilon" = {[*noise]}', "",
        ]
    )  # fmt: skip
