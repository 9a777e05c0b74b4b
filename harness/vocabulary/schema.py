"""How columns are declared: what their raw values are, how released cells are written, which are sensitive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.values import Kind, Raw, Reading, date_order

MOST_BINS = 10_000
MISSING = ""  # the raw value of a missing cell that is kept as a category


@dataclass(frozen=True)
class Column:
    """How one column is declared: what its raw values are, and how released cells of it are written."""

    name: str
    kind: Kind = "category"
    hierarchy: Hierarchy | None = None
    order: tuple[str, ...] = ()
    notation: str | None = None
    closed: Literal["both", "left", "right", "neither"] | None = None
    points: bool = False
    bins: int | None = None  # numbers are replaced by the number of their bin before anything else sees them
    binning: Literal["quantiles", "width"] = "quantiles"
    edges: tuple[float, ...] = ()  # the ends of the bins, outermost ones included, instead of `bins` and `binning`
    edge: Literal["left", "right"] = "right"  # the end of a bin that belongs to it
    min: float | None = None  # the least number there may be, if it is not that of D
    max: float | None = None  # the greatest, likewise
    values: tuple[str, ...] = ()  # all values of a category there may be, if D need not have them all

    @classmethod
    def of(cls, name: str, declaration: object, base: Path = Path()) -> Column:
        """A column from what people write: a kind, or a table of kind, hierarchy, order, notation, …"""
        if isinstance(declaration, Column):
            return declaration
        if isinstance(declaration, str):
            declaration = {"kind": declaration}
        if not isinstance(declaration, Mapping):
            raise InputError(f'column {name!r}: expected a kind such as "number" or a table, not {declaration!r}')
        options = dict(declaration)
        unknown = sorted(set(options) - set(cls.__dataclass_fields__) - {"name"})
        if unknown:
            known = did_you_mean(unknown[0], set(cls.__dataclass_fields__) - {"name"})
            raise InputError(f"column {name!r}: unknown key {unknown[0]!r}; {known}")
        if "hierarchy" in options:
            options["hierarchy"] = _hierarchy(name, options["hierarchy"], base)
        for key in ("order", "values"):
            if isinstance(options.get(key), list | tuple):
                options[key] = tuple(str(value) for value in options[key])
        if isinstance(options.get("edges"), list):
            options["edges"] = tuple(options["edges"])
        return cls(name, **options)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            hint = did_you_mean(str(self.kind), get_args(Kind))
            raise InputError(f"column {self.name!r}: kind {self.kind!r} is not known; {hint}")
        self._require("order", isinstance(self.order, tuple), "a list of values, lowest first")
        self._require("order", len(set(self.order)) == len(self.order), "a list without repeated values")
        self._require("values", isinstance(self.values, tuple), "a list of texts")
        self._require("values", len(set(self.values)) == len(self.values), "a list without repeated values")
        self._require("values", not self.values or self.kind == "category", "given for a category alone")
        self._require("values", not (self.values and self.order), "given without `order`, which lists the values too")
        self._require("notation", self.notation is None or isinstance(self.notation, str), "a text")
        self._require("points", isinstance(self.points, bool), "true or false")
        if self.kind == "ordered" and not self.order and self.hierarchy is None:
            raise InputError(
                f"column {self.name!r} is declared ordered but has no order; "
                'give its values from lowest to highest: order = ["low", "middle", "high"]'
            )

        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool) and 1 <= self.bins <= MOST_BINS
        expected = f"a whole number from 1 to {MOST_BINS:,}, of a number column"
        self._require("bins", self.bins is None or (whole and self.kind == "number"), expected)
        for key, known in (("binning", ("quantiles", "width")), ("edge", ("left", "right"))):
            if (value := getattr(self, key)) not in known:
                raise InputError(
                    f"column {self.name!r}: {key} {value!r} is not known; {did_you_mean(str(value), known)}"
                )
        self._require("edges", self._rising_edges(), "rising finite numbers, at least two, of a number column")
        self._require("edges", not self.edges or self.bins is None, "given without `bins`, which they replace")

        for key in ("min", "max"):
            end = getattr(self, key)
            number = isinstance(end, int | float) and not isinstance(end, bool) and np.isfinite(end)
            self._require(key, end is None or (number and self.kind == "number"), "a finite number, of a number column")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise InputError(f"column {self.name!r}: min = {self.min:g} lies above max = {self.max:g}; exchange them")

    def _require(self, key: str, good: bool, expected: str) -> None:
        if not good:
            raise InputError(f"column {self.name!r}: {key} must be {expected}, not {getattr(self, key)!r}")

    def _rising_edges(self) -> bool:
        if not self.edges:
            return True
        numbers = all(isinstance(end, int | float) and np.isfinite(end) for end in self.edges)
        return self.kind == "number" and len(self.edges) > 1 and numbers and list(self.edges) == sorted({*self.edges})

    @property
    def is_binned(self) -> bool:
        return self.bins is not None or bool(self.edges)

    def binned(self, numbers: pd.Series[Any]) -> pd.Series[Any]:
        """The bin of each number, counted from 0, as v2 §4.5.2 quantises ages: between declared edges, by quantiles
        of D, or in equal widths.
        """
        known = numbers.dropna().to_numpy(np.float64)
        if (beyond := self._beyond(known.tolist())) is not None:
            raise InputError(f"column {self.name!r}: {beyond}")
        inner = self._inner_edges(known)
        outside = (known < self.edges[0]) | (known > self.edges[-1]) if self.edges else np.zeros(len(known), dtype=bool)
        if outside.any():
            number = known[outside][0]
            raise InputError(f"column {self.name!r}: {number:g} lies outside its edges {list(self.edges)}; widen them")
        side: Literal["left", "right"] = "left" if self.edge == "right" else "right"
        bins = pd.Series(np.searchsorted(inner, numbers.to_numpy(np.float64), side=side), index=numbers.index)
        return bins if len(known) == len(numbers) else bins.where(numbers.notna())

    def _inner_edges(self, known: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.edges:
            return np.array(self.edges[1:-1], dtype=np.float64)
        assert self.bins is not None
        inner = np.arange(1, self.bins)
        if self.binning == "quantiles":
            quantiles: npt.NDArray[np.float64] = np.quantile(known, inner / self.bins)
            return quantiles
        low = known.min() if self.min is None else self.min
        high = known.max() if self.max is None else self.max
        # Multiplied before it is divided: 0.7 · 90 is 62.99999999999999.
        ends: npt.NDArray[np.float64] = low + inner * (high - low) / self.bins
        return ends

    def _beyond(self, numbers: Iterable[Raw]) -> str | None:
        """What to say if one of these numbers lies beyond the declared least or greatest one."""
        low = -np.inf if self.min is None else self.min
        high = np.inf if self.max is None else self.max
        beyond = next((each for each in numbers if isinstance(each, int | float) and not low <= each <= high), None)
        return None if beyond is None else f"{beyond:g} lies outside the declared min and max; widen them"

    def summary(self) -> dict[str, Any]:
        """The declaration as plain data: what differs from the defaults."""
        summary: dict[str, Any] = {"kind": self.kind}
        if self.hierarchy is not None:
            summary["hierarchy"] = {name: sorted(leaves) for name, leaves in self.hierarchy.nodes.items()}
        summary |= {key: list(listed) for key in ("order", "values") if (listed := getattr(self, key))}
        summary |= {key: value for key in ("notation", "closed", "points", "bins") if (value := getattr(self, key))}
        summary |= {key: value for key in ("min", "max") if (value := getattr(self, key)) is not None}
        if self.edges:
            summary["edges"] = list(self.edges)
        return (
            summary | ({"binning": self.binning} if self.bins else {}) | ({"edge": self.edge} if self.is_binned else {})
        )

    def untyped(self, texts: Iterable[object] = ()) -> Reading:
        """How raw texts are typed before the domain is known; dates are looked at together for day and month."""
        notation = self.notation
        if self.kind == "date" and notation is None:
            notation = date_order([str(text).strip() for text in texts])
        return Reading(self.kind, (), notation=notation, closed=self.closed, points=self.points)

    def reading(self, untyped: Reading, raws: Sequence[Raw]) -> Reading:
        """How this column's cells are read, once the raw values of D are known."""
        reading = untyped if self.hierarchy is None else untyped.with_nodes(self.hierarchy.nodes)
        leaves = {MISSING}.union(*reading.nodes.values())
        unknown = next((raw for raw in raws if reading.nodes and raw not in leaves), None)
        if unknown is not None:
            raise InputError(f"raw value {unknown!r} is not a leaf of its hierarchy; add a line for it")
        if self.is_binned:  # what is read are numbers of bins
            return replace(reading, domain=self._in_order(raws))
        if (beyond := self._beyond(raws)) is not None:
            raise InputError(beyond)
        return replace(reading, domain=self._in_order(raws), least=self.min, greatest=self.max)

    def _in_order(self, raws: Sequence[Raw]) -> tuple[Raw, ...]:
        """The domain: by the declared order or the hierarchy's leaves where there is one, else sorted."""
        order: Sequence[str] = self.order or self.values
        if not order and self.hierarchy is not None and self.kind in ("category", "ordered"):
            order = self.hierarchy.leaves(self.hierarchy.root)
        if not order:
            return tuple(sorted(set(raws), key=lambda raw: (raw != MISSING, raw)))
        missing = sorted(set(raws) - set(order) - {MISSING}, key=str)
        if missing:
            listed = "values" if self.values else "order"
            raise InputError(
                f"raw value {missing[0]!r} is not in its declared {listed}; {did_you_mean(str(missing[0]), order)}"
            )
        return ((MISSING,) if MISSING in set(raws) else ()) + tuple(order)


def sensitive_columns(sensitive: object, base: Path = Path()) -> Iterator[Column]:
    """The sensitive columns: by name, by tables with a name, or as a table of columns with what is declared of each."""
    if isinstance(sensitive, Mapping) and not isinstance(sensitive.get("name"), str):
        for name, declaration in sensitive.items():
            yield Column.of(str(name), declaration, base)
        return
    for item in list(sensitive) if isinstance(sensitive, list | tuple) else [sensitive]:
        yield sensitive_column(item, base)


def sensitive_column(item: object, base: Path = Path()) -> Column:
    """A sensitive column from its name, or from a table of its name and what is declared of it."""
    if isinstance(item, Column):
        return item
    if isinstance(item, str | int) and not isinstance(item, bool):
        return Column(str(item))
    if isinstance(item, Mapping) and isinstance(item.get("name"), str):
        return Column.of(item["name"], {key: value for key, value in item.items() if key != "name"}, base)
    raise InputError(
        f"sensitive must name one column or several, or be a table with a name and values or an order, not {item!r:.80}"
    )


def _texts(suppressed: str | Sequence[str]) -> tuple[str, ...]:
    texts = (suppressed,) if isinstance(suppressed, str) else suppressed
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return tuple(text.strip() for text in texts)
    raise InputError(f'suppressed must be a text such as "*" or a list of texts, not {suppressed!r:.80}')


def _hierarchy(name: str, source: object, base: Path) -> Hierarchy:
    if isinstance(source, Hierarchy):
        return source
    if isinstance(source, str | Path):
        return Hierarchy.from_csv(base / source)
    if isinstance(source, Mapping):
        return Hierarchy.from_nested(dict(source))
    raise InputError(f"column {name!r}: hierarchy must be a file name or a nested table, not {source!r}")


@dataclass(frozen=True)
class Schema:
    """Which columns an adversary knows (quasi), which she wants to know (sensitive).

    `Schema(quasi={"age": "number"}, sensitive="disease")`. `weight` names a count column of the releases ("": none is
    one), `person` the column of the data that says whose row it is; f never sees that column unless it is declared as
    well. `suppressed` lists the texts by which releases show a suppressed cell; without it `*`, `?`, `NA` and the like
    are such texts, and the data may not have them as values.
    """

    quasi: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    weight: str | None = None
    person: str | None = None
    suppressed: tuple[str, ...] | None = None

    def __init__(
        self,
        quasi: Mapping[str, object] | Sequence[Column],
        sensitive: str | Mapping[str, object] | Sequence[str | Column | Mapping[str, object]],
        weight: str | None = None,
        person: str | None = None,
        suppressed: str | Sequence[str] | None = None,
    ) -> None:
        if isinstance(quasi, Mapping):
            columns = tuple(Column.of(str(name), declaration) for name, declaration in quasi.items())
        elif isinstance(quasi, list | tuple) and all(isinstance(column, Column) for column in quasi):
            columns = tuple(quasi)
        else:
            raise InputError(f'quasi must map each column to its kind, such as {{"age": "number"}}, not {quasi!r:.80}')
        secrets = tuple(sensitive_columns(sensitive))
        object.__setattr__(self, "quasi", columns)
        object.__setattr__(self, "sensitive", secrets)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "person", person)
        object.__setattr__(self, "suppressed", None if suppressed is None else _texts(suppressed))
        if person is not None and not isinstance(person, str):
            raise InputError(f"person must name the column that says whose row it is, not {person!r:.80}")
        self._check()

    def _check(self) -> None:
        if not self.quasi:
            raise InputError("no quasi-identifier is declared; name at least one column and its kind under quasi")
        if not self.sensitive:
            raise InputError("no sensitive column is declared; name at least one")
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            raise InputError(f"column {twice[0]!r} is declared twice; a column is quasi or sensitive, once")
        if self.weight and self.weight in self.names:
            raise InputError(f"weight names {self.weight!r}, a column of the data; expected one that releases add")
        if self.person in [column.name for column in self.sensitive]:
            raise InputError(f"person names {self.person!r}, a sensitive column; expected one that says whose a row is")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of D in the order in which f gets them: quasi-identifiers, then sensitive."""
        return tuple(column.name for column in (*self.quasi, *self.sensitive))
