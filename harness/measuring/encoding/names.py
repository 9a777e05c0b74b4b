"""From what an auditor writes to an encoder: the names of all encodings, and the options that each takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, get_args

from harness.measuring.encoding.bins import Bins
from harness.measuring.encoding.categories import BinaryCells, Hot, HotCells
from harness.measuring.encoding.column import ColumnEncoding, TrueFalse
from harness.measuring.encoding.encoders import HierarchyEncoder, PairEncoder, QuantilesBeforeEncoder
from harness.measuring.encoding.hierarchies import PROPORTIONAL, Fill, Nodes, Proportions
from harness.measuring.encoding.numbers import BinaryNumbers, Bounds, Quantiles, Scale, Scaling
from harness.measuring.features import Encoder
from harness.vocabulary.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Numbers:
    """An encoding of number and date columns."""

    make: Callable[[Mapping[str, Any]], ColumnEncoding | Bins]  # from its options; bins: numbers are binned before f
    options: tuple[str, ...] = ()
    paper: int | None = None  # i of e_ij in v1 appendix A; None for what the paper does not have


@dataclass(frozen=True)
class Categories:
    """An encoding of category and ordered columns; it takes no options."""

    encoding: ColumnEncoding
    paper: int | None = None  # j of e_ij in v1 appendix A


def _bins(options: Mapping[str, Any]) -> Bins:
    default = Bins()
    return Bins(options.get("bins", default.count), options.get("binning", default.binning))


def _scale(options: Mapping[str, Any]) -> Scale:
    scale = options.get("scale", "unit")
    if scale not in get_args(Scale):
        raise InputError(f"scale {scale!r:.80} is not known; {did_you_mean(str(scale), get_args(Scale))}")
    known: Scale = scale
    return known


OPTIONS = {
    "scale": 'numbers from 0 to 1 ("unit", the default) or from -1 to 1 ("symmetric")',
    "bins": "into how many bins the domain of a column is cut (5)",
    "binning": 'edges of the bins equally far apart ("width", the default) or at quantiles of the data ("quantiles")',
}
NUMBERS: Mapping[str, Numbers] = {
    "scaling": Numbers(lambda options: Scaling(_scale(options)), ("scale",), paper=1),
    "bounds": Numbers(lambda options: Bounds(_scale(options)), ("scale",), paper=2),
    "binary": Numbers(lambda options: BinaryNumbers(), paper=3),
    "quantiles-before": Numbers(_bins, ("bins", "binning"), paper=4),
    "quantiles": Numbers(lambda options: Quantiles(_bins(options)), ("bins", "binning"), paper=5),
    "tf": Numbers(lambda options: TrueFalse(), paper=6),
}
CATEGORIES: Mapping[str, Categories] = {
    "hot": Categories(Hot(), paper=1),
    "binary": Categories(BinaryCells(), paper=2),
    "hot-cells": Categories(HotCells(), paper=3),
    "tf": Categories(TrueFalse(), paper=4),
}
PAIRS = {f"{numbers}-{categories}": (numbers, categories) for numbers, categories in product(NUMBERS, CATEGORIES)}
FILLS: tuple[Fill, ...] = get_args(Fill)
BY_NODE: Mapping[str, ColumnEncoding] = {**{fill: Nodes(fill) for fill in FILLS}, PROPORTIONAL: Proportions()}
ENCODINGS = (*PAIRS, *BY_NODE)
ALIASES = {"tf": "tf-tf"}


def encoder_named(encoding: str | Mapping[str, Any]) -> Encoder:
    """The encoder of a name, or of a mapping with its options: {"name": "quantiles-hot", "bins": 4}.

    OPTIONS explains the options. An encoder's own `spec()` gives the same encoder again.
    """
    options = _as_options(encoding)
    name = _known(options.pop("name", None))
    if name in BY_NODE:
        _refuse_unknown(name, options, ())
        return HierarchyEncoder(name, BY_NODE[name])
    numbers, categories = PAIRS[name]
    _refuse_unknown(name, options, NUMBERS[numbers].options)
    try:
        return _pair(name, NUMBERS[numbers], CATEGORIES[categories], options)
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


def _pair(name: str, numbers: Numbers, categories: Categories, options: Mapping[str, Any]) -> Encoder:
    made = numbers.make(options)
    if isinstance(made, Bins):
        return QuantilesBeforeEncoder(name, categories.encoding, made)
    return PairEncoder(name, made, categories.encoding)


def paper_name(name: str) -> str | None:
    """What v1 appendix A calls an encoding, such as e11; None for those it does not have."""
    if name not in PAIRS:
        return None
    i, j = NUMBERS[PAIRS[name][0]].paper, CATEGORIES[PAIRS[name][1]].paper
    return None if i is None or j is None else f"e{i}{j}"
