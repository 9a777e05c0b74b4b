"""Metrics of a release as a table for people, from their plain data and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.render.text import printable

Plain = Mapping[str, Any]
NOT_MEASURED = "not measured"
MOST_VALUES = 20  # discrimination rates of values that are printed


def metrics_page(metrics: Plain) -> str:
    """One line for each metric: its name, its number, and what it says."""
    lines = [*metrics_lines(metrics), *_utility(metrics), *_values(metrics)]
    return "\n".join([*lines, *(f"note: {note}" for note in metrics["notes"])])


def metrics_lines(metrics: Plain) -> list[str]:
    """What follows from the table alone; no cell of it is shown."""
    return [*_classes(metrics), *_secrets(metrics), *_losses(metrics)]


def _line(name: str, number: object, words: str) -> str:
    return printable(f"{name:<28} {_shown(number):>13}  {words}".rstrip())


def _shown(number: object) -> str:
    if number is None:
        return NOT_MEASURED
    return f"{number:.6g}" if isinstance(number, float) else f"{number:,}" if isinstance(number, int) else str(number)


def _classes(metrics: Plain) -> Iterator[str]:
    yield _line("rows", metrics["rows"], f"in {metrics['classes']:,} classes of equal quasi-identifiers")
    yield _line("k", metrics["k"], "people in the smallest class")
    yield _line("average class size", metrics["average_class_size"], f"C_avg = {metrics['c_avg']:.6g} (divided by k)")
    yield _line("discernibility", metrics["discernibility"], "sum of squared class sizes; |D| for a suppressed row")
    yield _line("suppressed rows", metrics["suppressed"], f"and {100 * metrics['suppressed_cells']:.3g} % of the cells")


def _secrets(metrics: Plain) -> Iterator[str]:
    for name, secret in metrics["secrets"].items():
        yield printable(f"sensitive column {name}")
        if secret["l"] is None:
            yield _line("  l, t", None, "no row shows a value")
            continue
        yield _line("  distinct l", secret["l"]["distinct"], "different values in the worst class")
        yield _line("  entropy l", secret["l"]["entropy"], "exp of the entropy of the worst class")
        yield _line("  probability l", secret["l"]["probability"], "1 / largest share of a value in a class")
        for level, c in list(secret["l"]["recursive_c"].items())[:3]:
            yield _line(f"  recursive (c, {level})", c, "c must be larger than this")
        for ground, sides in secret["t"].items():
            if sides["release"] is not None:
                against = "" if sides["original"] is None else f"; from the original's: {sides['original']:.6g}"
                yield _line(f"  t, {ground}", sides["release"], f"largest distance from the release's values{against}")
        rates = secret["discrimination_rate"]
        yield _line("  discrimination rate", rates["all"], "of all quasi-identifiers together")
        for column, rate in rates["by"].items():
            yield _line(f"    by {column}", rate, "")


def _losses(metrics: Plain) -> Iterator[str]:
    yield "information loss"
    for key, name in (("lost_leaves", "lost leaves"), ("normalized_certainty_penalty", "certainty penalty")):
        mean = metrics[f"mean_{key}"]
        yield _line(f"  {name}", metrics[key], "" if mean is None else f"{mean:.4g} for each cell (0: nothing, 1: all)")
    outside = metrics["outside"]
    words = (
        ""
        if outside is None
        else f"of the cells do not cover their own value; {100 * outside['rows']:.3g} % of the rows"
    )
    share = None if outside is None else f"{100 * outside['cells']:.3g} %"
    yield _line("  untrue cells", share, words or "rows of the release cannot be matched with an original")


def _utility(metrics: Plain) -> Iterator[str]:
    utility = metrics.get("utility")
    if utility is None:
        return
    yield f"utility ({utility['model']} on {utility['encoder']}, {utility['folds']}-fold cross-validation)"
    for name, sides in utility["secrets"].items():
        if sides["release"] is None:
            yield _line(f"  {name}", None, "needs two values with at least as many rows as folds")
        for side, found in sides.items():
            if found is not None:
                yield _line(f"  {name}, {side}", found["auc"], _accuracy(found))


def _accuracy(found: Plain) -> str:
    usual = found["accuracy_of_most_frequent"]
    return f"AUC; accuracy {found['accuracy']:.4g} (the most frequent value alone: {usual:.4g})"


def _values(metrics: Plain) -> Iterator[str]:
    for found in metrics.get("discrimination", ()):
        yield printable(f"discrimination rate of {found['of']} by {', '.join(found['by'])}: {found['rate']:.6g}")
        for each in found["values"][:MOST_VALUES]:
            yield _line(f"  {printable(', '.join(each['value']))[:26]}", each["rate"], "")
        if len(found["values"]) > MOST_VALUES:
            yield f"  and {len(found['values']) - MOST_VALUES} more; --json has all"
