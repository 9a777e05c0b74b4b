"""From what an auditor writes to an encoder: the names of all encodings, and the options that each takes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, get_args

from harness.measuring.encoding.bins import Bins
from harness.measuring.encoding.categories import BinaryCells, Hot, HotCells
from harness.measuring.encoding.column import ColumnEncoding, TrueFalse
from harness.measuring.encoding.encoders import HierarchyEncoder, PairEncoder, QuantilesBeforeEncoder
from harness.measuring.encoding.hierarchies import Fill
from harness.measuring.encoding.numbers import BinaryNumbers, Bounds, Quantiles, Scale, Scaling
from harness.measuring.features import Encoder
from harness.vocabulary.errors import InputError, did_you_mean

# The options of each encoding of numbers, in v1's order (i = 1 … 6); those of categories take none.
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "scaling": ("scale",),
    "bounds": ("scale",),
    "binary": (),
    "quantiles-before": ("bins", "binning"),
    "quantiles": ("bins", "binning"),
    "tf": (),
}
CATEGORIES: Mapping[str, ColumnEncoding] = {  # j = 1 … 4
    "hot": Hot(),
    "binary": BinaryCells(),
    "hot-cells": HotCells(),
    "tf": TrueFalse(),
}
PAIRS = {f"{numbers}-{categories}": (numbers, categories) for numbers, categories in product(NUMBERS, CATEGORIES)}
FILLS: tuple[Fill, ...] = get_args(Fill)
ENCODINGS = (*PAIRS, *FILLS)
ALIASES = {"tf": "tf-tf"}


def encoder_named(encoding: str | Mapping[str, Any]) -> Encoder:
    """The encoder of a name, or of a mapping with its options: {"name": "quantiles-hot", "bins": 4}.

    `bins` and `binning` ("width", "quantiles") belong to quantiles, `scale` ("unit", "symmetric") to scaling and
    bounds. An encoder's own `spec()` gives the same encoder again.
    """
    options = _as_options(encoding)
    name = _known(options.pop("name", None))
    if name in FILLS:
        _refuse_unknown(name, options, ())
        return HierarchyEncoder(name)
    numbers, categories = PAIRS[name]
    _refuse_unknown(name, options, NUMBERS[numbers])
    try:
        return _pair(name, numbers, CATEGORIES[categories], options)
    except InputError as error:
        raise error.within(f"encoding {name!r}") from None


def _as_options(encoding: object) -> dict[str, Any]:
    if isinstance(encoding, str):
        return {"name": encoding}
    if isinstance(encoding, Mapping):
        return {str(key): option for key, option in encoding.items()}
    raise InputError(f'an encoding is a name such as "tf-tf" or a table with a name, not {encoding!r:.80}')


def _known(name: object) -> Any:
    """The full name of an encoding."""
    if name is None:
        raise InputError('the encoding has no name; give one, such as name = "tf-tf"')
    full = ALIASES.get(str(name), str(name))
    if full not in ENCODINGS:
        raise InputError(f"encoding {name!r:.80} is not known; {did_you_mean(str(name)[:80], (*ENCODINGS, *ALIASES))}")
    return full


def _refuse_unknown(name: str, options: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in options:
        if key not in known:
            raise InputError(f"encoding {name!r} takes no {key!r}; {did_you_mean(key, ('name', *known))}")


def _pair(name: str, numbers: str, categories: ColumnEncoding, options: Mapping[str, Any]) -> Encoder:
    default = Bins()
    bins = Bins(options.get("bins", default.count), options.get("binning", default.binning))
    if numbers == "quantiles-before":
        return QuantilesBeforeEncoder(name, categories, bins)
    scale = _scale(options.get("scale", "unit"))
    encodings: dict[str, ColumnEncoding] = {
        "scaling": Scaling(scale),
        "bounds": Bounds(scale),
        "binary": BinaryNumbers(),
        "quantiles": Quantiles(bins),
        "tf": TrueFalse(),
    }
    return PairEncoder(name, encodings[numbers], categories)


def _scale(scale: Any) -> Scale:
    if scale not in get_args(Scale):
        raise InputError(f"scale {scale!r:.80} is not known; {did_you_mean(str(scale), get_args(Scale))}")
    known: Scale = scale
    return known
