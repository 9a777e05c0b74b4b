"""Small anonymizers that are not ours in spirit: callables as a vendor would write them."""

import numpy as np
import pandas as pd


def chunks(data: pd.DataFrame, k: int = 5) -> pd.DataFrame:
    """Sort by the first two columns, cut into runs of k rows, print ranges `a~b` and sets `x~y`; rows reordered.

    Lists and not pandas, whose groups cost more than all else in a small audit.
    """
    *quasi, sensitive = data.columns
    columns = {name: data[name].tolist() for name in data.columns}
    order = sorted(range(len(data)), key=lambda row: [columns[name][row] for name in quasi])
    ends = [*range(k, len(order) - k + 1, k), len(order)]
    runs = [order[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    released = {sensitive: [columns[sensitive][row] for row in order]}
    for name in quasi:
        printed = _range if pd.api.types.is_numeric_dtype(data[name]) else _set
        released[name] = [cell for run in runs for cell in [printed([columns[name][row] for row in run])] * len(run)]
    return pd.DataFrame(released)


def _range(numbers: list[float]) -> str:
    return f"{min(numbers)}~{max(numbers)}"


def _set(words: list[str]) -> str:
    return "~".join(sorted(set(words)))


def jittered(data: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Random decades: the age's decade, or a neighbouring one; draws its noise from the generator it is given."""
    decade = data["age"].to_numpy() // 10 + rng.integers(-1, 2, len(data))
    return data.assign(age=[f"[{10 * d}, {10 * d + 9}]" for d in decade])


def suppressing(data: pd.DataFrame) -> pd.DataFrame:
    """Drops every record whose quasi-identifiers are unique."""
    quasi = list(data.columns[:-1])
    return data[data.duplicated(quasi, keep=False)].reset_index()
