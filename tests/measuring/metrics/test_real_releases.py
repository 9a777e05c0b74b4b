"""Metrics of what real anonymizers released, in their notations, against the slow second implementation."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import harness
from tests.data import folder, needs_data
from tests.measuring.metrics import naive

QUASI = ["age", "education", "marital_status", "hours_per_week", "native_country"]
SECRET = "occupation"
NAMES = (
    "anjana_k", "anonypy_k", "arx_k", "arx_tclose", "mosaicrown_plain", "qy_basic", "qymondrian_relax",
    "qymondrian_strict",
)  # fmt: skip


def place() -> Path:
    found = folder()
    assert found is not None
    return found


def released(name: str) -> pd.DataFrame:
    """A release with one row per person."""
    path = place() / "releases" / f"{name}.csv"
    if name == "qy_basic":  # no header, semicolons
        return pd.read_csv(path, sep=";", header=None, names=[*QUASI, SECRET])
    frame = pd.read_csv(path)
    if "count" in frame:
        return frame.loc[frame.index.repeat(frame["count"])].drop(columns="count").reset_index(drop=True)
    return frame


def original() -> pd.DataFrame:
    return pd.read_csv(place() / "adult.csv").head(1_000).rename(columns=lambda name: name.replace("-", "_"))


def stars(frame: pd.DataFrame) -> int:
    return int((frame[QUASI].astype(str) == "*").all(axis=1).sum())


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_k_l_t_sizes_and_discrimination_of_a_real_release(name: str) -> None:
    frame, before = released(name), original()
    found = harness.metrics(frame, QUASI, SECRET, before)
    groups = naive.classes(frame, QUASI)
    hidden, missing = stars(frame), len(before) - len(frame)
    assert found["k"] == min(map(len, groups))
    assert found["average_class_size"] == pytest.approx(len(frame) / len(groups), abs=1e-9)
    assert found["suppressed"] == hidden + missing
    # as printed: the class of all stars is the only one whose rows cost |D| each
    assert found["discernibility"] == sum(len(rows) ** 2 for rows in groups) - hidden**2 + (hidden + missing) * 1_000
    for kind, number in naive.diversity(frame, QUASI, SECRET).items():
        assert found["l"][kind] == pytest.approx(number, abs=1e-9)
    for side, whole in (("release", frame[SECRET].tolist()), ("original", before[SECRET].tolist())):
        assert found["t"]["equal"][side] == pytest.approx(float(naive.equal_t(frame, QUASI, SECRET, whole)), abs=1e-9)
    for by in (*([column] for column in QUASI), QUASI):
        rate = naive.discrimination(frame, SECRET, by)
        assert harness.discrimination_rate(frame, SECRET, by) == pytest.approx(rate, abs=1e-9)
    assert found["secrets"][SECRET]["discrimination_rate"]["all"] == pytest.approx(rate, abs=1e-9)


def hierarchies() -> Iterator[tuple[str, str]]:
    for column in ("education", "marital_status", "native_country"):
        yield column, str(place() / "hierarchies" / f"adult-{column.replace('_', '-')}.csv")


def naive_leaves(path: str) -> dict[str, set[str]]:
    """The leaves below every node, from the lines of a file in ARX's format."""
    leaves: dict[str, set[str]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        leaf, *nodes = line.split(";")
        for node in (leaf, *nodes):
            leaves.setdefault(node, set()).add(leaf)
    return leaves


@needs_data
def test_lost_leaves_of_a_real_release_with_hierarchies() -> None:
    """ARX generalises along the same trees; hours are `[0, 100[`, which covers all, or '*'; ages are decades."""
    frame, before = released("arx_k"), original()
    quasi: dict[str, object] = {name: {"hierarchy": path} for name, path in hierarchies()}
    numbers = {"age": "number", "hours_per_week": "number"}
    found = harness.metrics(frame, {**quasi, **numbers}, SECRET, before)
    for column, path in hierarchies():
        leaves = naive_leaves(path)
        total = len(set.union(*leaves.values()))
        lost = sum((len(leaves[str(cell)]) - 1) / (total - 1) for cell in frame[column])
        assert found["columns"][column]["lost_leaves"] == pytest.approx(lost, abs=1e-9)
    for column in numbers:
        values = sorted(set(before[column]))
        lost = sum((len(covered(str(cell), values)) - 1) / (len(values) - 1) for cell in frame[column])
        assert found["columns"][column]["lost_leaves"] == pytest.approx(lost, abs=1e-9)
    assert found["lost_leaves"] == pytest.approx(sum(one["lost_leaves"] for one in found["columns"].values()), abs=1e-9)


def covered(cell: str, values: list[int]) -> list[int]:
    """The numbers of the data in a cell of ARX: `20-39`, `[0, 100[`, `*`."""
    if cell == "*":
        return values
    if cell.startswith("["):
        low, high = cell.strip("[").split(", ")
        return [value for value in values if int(low) <= value < int(high)]
    low, high = cell.split("-")
    return [value for value in values if int(low) <= value <= int(high)]
