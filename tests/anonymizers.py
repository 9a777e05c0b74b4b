"""Small anonymizers that are not ours in spirit: callables as a vendor would write them."""

import numpy as np
import pandas as pd


def chunks(data: pd.DataFrame, k: int = 5) -> pd.DataFrame:
    """Sort by the first two columns, cut into runs of k rows, print ranges `a~b` and sets `x~y`; rows reordered."""
    quasi, sensitive = list(data.columns[:-1]), data.columns[-1]
    ordered = data.sort_values(quasi, kind="stable").reset_index(drop=True)
    group = np.minimum(np.arange(len(ordered)) // k, max(len(ordered) // k - 1, 0))
    released = ordered.copy().astype(object)
    for name in quasi:
        printed = ordered.groupby(group)[name].agg(_printed)
        released[name] = printed.loc[group].to_numpy()
    return released[[sensitive, *quasi]]


def _printed(values: pd.Series) -> str:
    if pd.api.types.is_numeric_dtype(values):
        return f"{values.min()}~{values.max()}"
    return "~".join(sorted(set(values)))


def jittered(data: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Random decades: the age's decade, or a neighbouring one; draws its noise from the generator it is given."""
    decade = data["age"] // 10 + rng.integers(-1, 2, len(data))
    return data.assign(age=[f"[{10 * d}, {10 * d + 9}]" for d in decade])


def suppressing(data: pd.DataFrame) -> pd.DataFrame:
    """Drops every record whose quasi-identifiers are unique."""
    quasi = list(data.columns[:-1])
    return data[data.duplicated(quasi, keep=False)].reset_index()
