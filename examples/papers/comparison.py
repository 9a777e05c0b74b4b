"""What was measured beside what the papers print, as a page with figures and as text, and what agrees and what not."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from encoding_study import EncodingResult
from printed import ENCODINGS, FIGURES, LARGEST, MINUTES, RECORDS, REPAIRED, SHARES, TABLES
from representation_study import REPRESENTATIONS, RepresentationResult
from studies import ADULT_QUASI, INTERNET_V2

from harness.render.markup import Markup
from harness.render.plain_page import heading, page, page_table, paragraph
from harness.render.svg import Curve, axis_of, figure
from harness.render.sweep import sweep_figures

WIDE = re.compile(r'<div class="wide">(<svg.*?</svg>)</div>', re.DOTALL)  # the drawing for wide screens
HINT = re.compile(r'<rect class="hint".*?</rect>', re.DOTALL)
Rows = list[list[str]]
Study = tuple[Mapping[str, Any], Mapping[str, Sequence[float]]]  # sweep.json, and distances by cell
COLUMNS = {"adult": [*ADULT_QUASI, "occupation"], "internet": [*INTERNET_V2, "household_income"]}


@dataclass(frozen=True)
class Papers:
    """Everything that was measured."""

    results: Mapping[str, Study]
    repairs: Mapping[str, Any]  # prune.json by what was repaired
    encodings: Mapping[str, Sequence[EncodingResult]]  # by data set
    representations: Sequence[RepresentationResult]  # of Adult
    data: Path
    out: Path  # folders of the sweeps, by name


def papers_page(papers: Papers) -> str:
    """All tables and figures as an HTML page."""
    body: list[Markup] = [heading("Tables")]
    for title, head, rows in tables(papers):
        body.append(page_table(title, head, rows))
    body.append(heading("What agrees and what does not"))
    body += [paragraph(f"{'agrees' if true else 'does not agree'}: {text}") for text, true in findings(papers)]
    for name, (plain, distances) in papers.results.items():
        body += [heading(f"{name}: {FIGURES[name]}"), *_beside_printed(name, plain), *sweep_figures(plain, distances)]
    for name, encodings in papers.encodings.items():
        body += [heading(f"{name}: v1 Figures 8 to 10"), *_encoding_figures(name, encodings)]
    body += _representation_figures(papers.representations)
    return page("Differential Inference Testing: both papers run again", *body)


def papers_text(papers: Papers) -> str:
    """The tables in Markdown."""
    lines: list[str] = []
    for title, head, rows in tables(papers):
        lines += [f"### {title}", "", _markdown(head), _markdown(["---"] * len(head)), *map(_markdown, rows), ""]
    lines += ["### What agrees and what does not", ""]
    lines += [f"- {'agrees' if true else '**does not agree**'}: {text}" for text, true in findings(papers)]
    return "\n".join(lines) + "\n"


def _markdown(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def tables(papers: Papers) -> Iterator[tuple[str, list[str], Rows]]:
    """Each table with its title and head."""
    yield "Data (v2 Table 3)", ["data", "records", "printed", "distinct", "printed"], list(_records(papers.data))
    for name, (plain, _) in papers.results.items():
        for series in dict.fromkeys(row["series"] for row in plain["cells"]):
            rows = [row for row in plain["cells"] if row["series"] == series and row["status"] == "finished"]
            place = TABLES.get((name, series), "")
            title = f"{name}, {series}" + (f" ({place})" if place else "")
            head = ["parameter", "largest", "printed", "mean", "deviation", "≥ 10^-2.5", "printed", "changed"]
            yield title, head, [_line(name, series, row) for row in rows]
    head = ["data", "", "minutes for one value", "printed"]
    yield "Time (v2 Table 4)", head, [row for name in papers.results for row in _minutes(papers, name)]
    if papers.repairs:
        head = ["anonymizer", "largest", "removed", "largest then", "printed"]
        rows = [_repair(name, one) for name, one in papers.repairs.items()]
        yield "Adult, outliers removed once (v2 §4.5.1)", head, rows
    head = ["", "encoding", "accuracy", "printed", "features", "printed", "ms a model", "printed minutes"]
    for name, encodings in papers.encodings.items():
        yield f"{name}, 24 encodings (v1 Figures 8 to 10)", head, [_encoding(name, one) for one in encodings]
    for (k, learnt), points in _by_learnt(papers.representations).items():
        title = f"AUC of a network that learnt from k = {k}, {learnt} (Viton et al. Figure {3 if k == 1 else 4})"
        yield title, ["k", *REPRESENTATIONS], _represented(points)


def _by_learnt(found: Sequence[RepresentationResult]) -> dict[tuple[int, str], list[RepresentationResult]]:
    """The points of each figure: what the networks learnt from."""
    return {key: [one for one in found if (one.learnt_k, one.learnt) == key]
            for key in dict.fromkeys((one.learnt_k, one.learnt) for one in found)}  # fmt: skip


def _represented(points: Sequence[RepresentationResult]) -> Rows:
    """A line for each k: the score of each representation that is tested."""
    return [
        [str(k), *(f"{one.auc:.3f} ± {one.deviation:.3f}"
                   for name in REPRESENTATIONS for one in points if (one.k, one.tested) == (k, name))]
        for k in dict.fromkeys(one.k for one in points)
    ]  # fmt: skip


def _representation_figures(found: Sequence[RepresentationResult]) -> Iterator[Markup]:
    """AUC against k, a curve for each representation that is tested."""
    for (k, learnt), points in _by_learnt(found).items():
        title = f"Viton et al. Figure {3 if k == 1 else 4}: learnt from k = {k}, {learnt}"
        curves = [
            Curve(name, [float(one.k) for one in points if one.tested == name],
                  [one.auc for one in points if one.tested == name], shade)
            for shade, name in enumerate(REPRESENTATIONS)
        ]  # fmt: skip
        x = axis_of("k (logarithmic)", [float(one.k) for one in points], log=True)
        yield heading(title)
        yield figure(title, "Area under the ROC curve", x, axis_of("AUC", [one.auc for one in points]), *curves)


def _records(data: Path) -> Iterator[list[str]]:
    for name, (records, distinct) in RECORDS.items():
        path = data / f"{name}.csv"
        if path.exists():
            table = pd.read_csv(path)[COLUMNS[name]]
            yield [name, f"{len(table):,}", f"{records:,}", f"{len(table.drop_duplicates()):,}", f"{distinct:,}"]


def _minutes(papers: Papers, name: str) -> Iterator[list[str]]:
    """The mean over the cells of a series, by the clock; of a cell that was continued, its last part."""
    finished = [row for row in papers.results[name][0]["cells"] if row["status"] == "finished"]
    for series in dict.fromkeys(row["series"] for row in finished):
        files = [papers.out / name / "cells" / row["cell"] / "run.json" for row in finished if row["series"] == series]
        seconds = [float(json.loads(file.read_text(encoding="utf-8"))["seconds"]) for file in files]
        yield [name, series, f"{sum(seconds) / len(seconds) / 60:.2f}", str(MINUTES.get((name, series), ""))]


def _parameter(row: Mapping[str, Any]) -> Any:
    return next(iter(row["parameters"].values()))


def _line(name: str, series: str, row: Mapping[str, Any]) -> list[str]:
    value = _parameter(row)
    printed = LARGEST.get((name, series), {}).get(value)
    share = SHARES.get((name, series)) if value == 5 else None
    largest = f"{row['at_least']:.3g}"
    if not row["exact"]:
        largest = f"{row['at_least']:.3g} to {row['at_most']:.3g}"
    changed = row["share_of_changed_predictions"]
    return [
        str(value), largest, "" if printed is None else f"{printed:.3g}", f"{row['mean']:.3g}",
        "" if row["deviation"] is None else f"{row['deviation']:.3g}",
        f"{row['share_at_or_above']['0.003162']:.1%}", "" if share is None else f"{share:.0%}",
        "" if changed is None else f"{changed:.1%}",
    ]  # fmt: skip


def _repair(name: str, repair: Mapping[str, Any]) -> list[str]:
    first, last = repair["rounds"][0], repair["rounds"][-1]
    printed = REPAIRED.get(name)
    removed = str(last["removed_so_far"])
    return [name, f"{first['at_least']:.3g}", removed, f"{last['at_least']:.3g}", f"{printed:.3g}" if printed else ""]


def _encoding(name: str, one: EncodingResult) -> list[str]:
    accuracy, features, minutes = ENCODINGS.get((name, one.paper), (None, None, None))
    return [
        one.paper, one.name, f"{one.accuracy:.1%}", "" if accuracy is None else f"{accuracy:.1%}",
        f"{one.features:.0f}", "" if features is None else f"{features}",
        f"{one.milliseconds:.2f}", "" if minutes is None else f"{minutes}",
    ]  # fmt: skip


def _beside_printed(name: str, plain: Mapping[str, Any]) -> Iterator[Markup]:
    """Largest distances against the parameter, as measured and as printed."""
    for series in ("k-anonymity", "l-diversity"):
        printed, rows = LARGEST.get((name, series)), _by_parameter(plain, series)
        if printed and rows:
            curves = [
                Curve("measured", [*map(float, sorted(rows))], [rows[value]["at_least"] for value in sorted(rows)]),
                Curve("printed", [*map(float, printed)], [*printed.values()], 1),
            ]
            x = axis_of(series[0], [at for curve in curves for at in curve.x], log=series[0] == "k")
            y = axis_of("largest distance", [at for curve in curves for at in curve.y])
            title = f"{name}: largest distance, {series} ({TABLES[name, series]})"
            yield figure(title, "As measured and as printed", x, y, *curves)


def figure_files(page_text: str) -> Iterator[tuple[str, str]]:
    """Every figure of a page as an SVG file that stands alone: its name, and its text."""
    for number, drawn in enumerate(WIDE.findall(page_text), start=1):
        title = html.unescape(re.search("<title>(.*?)</title>", drawn)[1])  # type: ignore[index]
        ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
        text = HINT.sub("", drawn).replace("<title>", f"{ground}<title>", 1)
        yield f"{number:02}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}.svg", f"{text}\n"


def _encoding_figures(name: str, encodings: Sequence[EncodingResult]) -> Iterator[Markup]:
    """Accuracy, features and time against the number of the encoding: e11 is 1, e64 is 24."""
    places = [float(place) for place in range(1, len(encodings) + 1)]
    for title, numbers in (
        ("Accuracy", [one.accuracy for one in encodings]),
        ("Number of features", [one.features for one in encodings]),
        ("Milliseconds for a model", [one.milliseconds for one in encodings]),
    ):
        x, y = axis_of("encoding, from e11 to e64", places), axis_of(title, numbers)
        yield figure(f"{name}: {title}", f"{title} of each of the 24 encodings", x, y, Curve(name, places, numbers))


def findings(papers: Papers) -> Iterator[tuple[str, bool]]:
    """The papers' statements, and whether these numbers bear them out."""
    yield from _findings_of_sweeps(papers.results)
    yield from _findings_of_representations(papers.representations)
    for name, encodings in papers.encodings.items():
        by_paper = {one.paper: one for one in encodings}
        best = max(encodings, key=lambda one: one.accuracy)
        yield f"{name}: TF-TF (e64) is the most accurate of the 24 encodings (v1 Figure 8)", best.paper == "e64"
        fewest = min(one.features for one in encodings)
        text = f"{name}: e14, e44 and e64 need the fewest features, one a column (v1 Figure 9)"
        yield text, all(by_paper[paper].features == fewest for paper in ("e14", "e44", "e64"))


def _findings_of_representations(found: Sequence[RepresentationResult]) -> Iterator[tuple[str, bool]]:
    figures = list(_by_learnt(found).values())
    for points in figures[:1]:
        text = (
            "Viton et al.: of networks that learnt from the table itself, those that read proportional tables are best"
        )
        yield text, all(_best(points, k) == "proportional" for k in {one.k for one in points if one.k > 1})
        low, high = min(one.k for one in points), max(one.k for one in points)
        falls = (_score(points, low, name) > _score(points, high, name) for name in REPRESENTATIONS)
        yield "Viton et al.: the score falls as k grows, in every representation (Figure 3)", all(falls)
    for points in figures[1:3]:
        text = (
            f"Viton et al.: learnt from a 100-anonymous table, {points[0].learnt}: proportional is read best (Figure 4)"
        )
        yield text, all(_best(points, k) == "proportional" for k in {one.k for one in points if one.k > 1})


def _score(points: Sequence[RepresentationResult], k: int, name: str) -> float:
    return next(one.auc for one in points if (one.k, one.tested) == (k, name))


def _best(points: Sequence[RepresentationResult], k: int) -> str:
    return max(REPRESENTATIONS, key=lambda name: _score(points, k, name))


def _findings_of_sweeps(results: Mapping[str, Study]) -> Iterator[tuple[str, bool]]:
    for name in ("adult", "internet-v1", "internet-v2"):
        if name not in results:
            continue
        k, ell = (_by_parameter(results[name][0], series) for series in ("k-anonymity", "l-diversity"))
        for parameter, rows in (("k", k), ("ℓ", ell)):
            rises = _rises(rows, "mean")
            but = f"; it rises from {', '.join(f'{one} to {other}' for one, other in rises)}" if rises else ""
            yield f"{name}: the mean distance falls as {parameter} grows (v1 Figure 7){but}", not rises
        yield (
            f"{name}: the largest distance does not fall with every k (v1 Tables 1, 3; v2 §4.5.1)",
            bool(_rises(k, "at_least")),
        )
        for value in sorted({5, 7} & set(k) & set(ell)):
            text = f"{name}: ℓ-diversity has a smaller mean than k-anonymity at {value} (v1 §3.4.2)"
            yield text, ell[value]["mean"] < k[value]["mean"]
        if {20, 80} <= set(k):
            text = f"{name}: the largest distance is larger at k = 80 than at k = 20 (v1 Tables 1, 3)"
            yield text, k[80]["at_least"] > k[20]["at_least"]
    for name in ("adult-noise", "internet-noise"):
        if name in results:
            rows = {float(value): row for value, row in _by_parameter(results[name][0], "differential privacy").items()}
            text = f"{name}: the largest distance grows with noise_epsilon (v2 Figures 5a, 6a; upper limits)"
            yield text, not _rises({-value: row for value, row in rows.items()}, "at_most")


def _by_parameter(plain: Mapping[str, Any], series: str) -> dict[Any, Mapping[str, Any]]:
    rows = [row for row in plain["cells"] if row["series"] == series and row["status"] == "finished"]
    return {_parameter(row): row for row in rows}


def _rises(rows: Mapping[Any, Mapping[str, Any]], key: str) -> list[tuple[Any, Any]]:
    """Neighbouring values of the parameter between which a number rises."""
    return [(one, other) for one, other in pairwise(sorted(rows)) if float(rows[other][key]) > float(rows[one][key])]
