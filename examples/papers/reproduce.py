"""Runs both papers again, and a study of the fourth text, and shows figures and tables beside what they print.

    python examples/papers/reproduce.py --data FOLDER --out FOLDER [--workers 2] [--small]

FOLDER of the data holds adult.csv (`harness data adult` fetches it), internet.csv (OpenML kdd_internet_usage) and, if
you have them, hierarchies/adult-*.csv in ARX's format. The environment variable HARNESS_DATA names it as well. What
lacks its file is left out and said so. Interrupted, the same command continues.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from comparison import Papers, figure_files, papers_page, papers_text
from encoding_study import compare_encodings
from representation_study import RepresentationResult, compare_representations
from studies import (
    DRAWS,
    ENCODING_KS,
    ENCODING_RECORDS,
    REPRESENTED_KS,
    REPRESENTED_RECORDS,
    REPRESENTED_SEEDS,
    SAMPLE,
    Study,
    encoding_data,
    read_adult,
    read_internet,
    repair_file,
    studies,
)

from harness.analysis.prune import Budget
from harness.analysis.sweep import distances_by_cell
from harness.experiments.repair import run_prune
from harness.experiments.sweeps import run_sweep

SMALL, SMALL_DRAWS = 300, 200  # records and draws of a quick run
REPAIRED = ("l = 2", "l = 3", "k = 16")  # v2 §4.5.1


def main() -> int:
    chosen = _arguments()
    folder, out = Path(chosen.data).resolve(), Path(chosen.out)
    out.mkdir(parents=True, exist_ok=True)
    data = _prepared(folder, out, SMALL if chosen.small else SAMPLE)
    trees, start = folder / "hierarchies", time.monotonic()
    results = {}
    for study in studies(data, trees, SMALL_DRAWS if chosen.small else chosen.draws, small=chosen.small):
        if (data / f"{study.name.partition('-')[0]}.csv").exists():
            results[study.name] = _swept(study, out, chosen.workers)
    repairs = {} if not (data / "adult.csv").exists() else _repaired(data, trees, out, chosen)
    ks, records = ((5,), 30) if chosen.small else (ENCODING_KS, ENCODING_RECORDS)
    encodings = {name: compare_encodings(table, ks, records) for name, table in encoding_data(data).items()}
    everything = Papers(results, repairs, encodings, _represented(folder, chosen), data, out)
    page = papers_page(everything)
    (out / "papers.html").write_text(page, encoding="utf-8")
    (out / "figures").mkdir(exist_ok=True)
    for name, drawing in figure_files(page):
        (out / "figures" / name).write_text(drawing, encoding="utf-8")
    text = papers_text(everything)
    (out / "papers.md").write_text(text, encoding="utf-8")
    print(text)
    print(f"{time.monotonic() - start:.0f} s; figures in {out / 'papers.html'}", file=sys.stderr)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HARNESS_DATA"), required="HARNESS_DATA" not in os.environ)
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of noisy releases, for each person; v2 has 25000")
    parser.add_argument("--small", action="store_true", help="a few hundred records, to see that all of it works")
    return parser.parse_args()


def _prepared(folder: Path, out: Path, size: int) -> Path:
    """The samples of both data sets, as files."""
    data = (out / "data").resolve()
    data.mkdir(exist_ok=True)
    for name, read in (("adult", read_adult), ("internet", read_internet)):
        if (folder / f"{name}.csv").exists():
            read(folder, size).to_csv(data / f"{name}.csv", index=False)
        else:
            print(f"{folder / name}.csv is not there: its figures are left out", file=sys.stderr)
    return data


def _swept(study: Study, out: Path, workers: int) -> tuple[dict, dict[str, tuple[float, ...]]]:
    """The rows of a sweep, and the distances of all persons by cell."""
    file = out / f"{study.name}.toml"
    file.write_text(study.text, encoding="utf-8")
    plain, results = run_sweep(file, out / study.name, workers, shown=True, tell=print)
    return plain, distances_by_cell(results)


def _repaired(data: Path, trees: Path, out: Path, chosen: argparse.Namespace) -> dict[str, dict]:
    """v2 §4.5.1: the outliers of three audits removed once."""
    repairs = {}
    for option in REPAIRED[:1] if chosen.small else REPAIRED:
        name = option.replace(" ", "")
        file = out / f"repair-{name}.toml"
        file.write_text(repair_file(data, trees, option), encoding="utf-8")
        repairs[name] = run_prune(file, out / f"repair-{name}", Budget(1, 500), chosen.workers, shown=True)
    return repairs


def _represented(folder: Path, chosen: argparse.Namespace) -> list[RepresentationResult]:
    """Viton et al. 2021, Figures 3 and 4; needs Adult and its hierarchies."""
    if not (folder / "adult.csv").exists() or not (folder / "hierarchies").is_dir():
        return []
    if chosen.small:
        return compare_representations(read_adult(folder, SMALL), folder / "hierarchies", (1, 10), 1)
    people = read_adult(folder, REPRESENTED_RECORDS)
    return compare_representations(people, folder / "hierarchies", REPRESENTED_KS, REPRESENTED_SEEDS)


if __name__ == "__main__":
    sys.exit(main())
