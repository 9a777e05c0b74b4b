"""Both papers run again, small: every table and figure is there, with what the papers print beside it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ENVIRONMENT, ROOT
from tests.data import adult, folder, needs_data


def reproduce(data: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(ROOT / "examples" / "papers" / "reproduce.py"),
        "--data",
        str(data),
        "--out",
        str(out),
    ]
    return subprocess.run(
        [*command, "--small", "--workers", "1"],
        capture_output=True, text=True, timeout=600, env=ENVIRONMENT, check=False,
    )  # fmt: skip


@needs_data
@pytest.mark.slow
def test_where_every_class_is_one_record_proportional_tables_are_those_of_fill_parent() -> None:
    """Viton et al. §IV-D: "for k = 1, proportional and fillParent representations are the same"."""
    place = folder()
    assert place is not None
    sys.path.insert(0, str(ROOT / "examples" / "papers"))
    from representation_study import compare_representations  # type: ignore[import-not-found]

    found = compare_representations(adult(150), place / "hierarchies", (1, 20), 1)
    scores = {(one.learnt_k, one.learnt, one.k, one.tested): one.auc for one in found}
    assert len(scores) == 5 * 2 * 4
    for learnt in ((1, "fill-parent"), (100, "proportional"), (100, "one-class")):
        assert scores[(*learnt, 1, "proportional")] == scores[(*learnt, 1, "fill-parent")]
    assert all(0 <= score <= 1 for score in scores.values())


@needs_data
@pytest.mark.slow
def test_every_table_and_figure_of_both_papers_is_rendered_beside_the_printed_values(tmp_path: Path) -> None:
    place = folder()
    assert place is not None
    run = reproduce(place, tmp_path / "papers")
    assert run.returncode == 0, run.stderr
    text, page = ((tmp_path / "papers" / name).read_text() for name in ("papers.md", "papers.html"))
    for table in ("v1 Table 1", "v1 Table 2", "v1 Table 3", "v1 Table 4", "v2 Table 3", "v2 Table 4", "v2 §4.5.1"):
        assert table in text
    assert "| 5 | " in text
    assert " | 0.137 | " in text, "the printed value of Adult at k = 5"
    for figure in ("v1 Figures 3", "v1 Figures 4", "v2 Figures 3", "v2 Figure 5", "v2 Figure 6"):
        assert figure in page
    for data in ("adult", "internet"):
        assert f"{data}: v1 Figures 8 to 10" in page
        assert f"agrees: {data}: e14, e44 and e64 need the fewest features, one a column" in text
    assert "| e24 | bounds-tf |" in text
    assert page.count("<svg") > 26
    assert "agrees: adult: the mean distance falls as k grows" in text
    (drawing,) = (tmp_path / "papers" / "figures").glob("*-internet-v1-largest-distance-k-anonymity-v1-table-3.svg")
    assert "printed" in drawing.read_text()
    assert "AUC of a network that learnt from k = 100, fill-child (Viton et al. Figure 4)" in text
    assert "Viton et al. Figure 3: learnt from k = 1, fill-parent" in page


def test_without_data_nothing_is_run_and_it_is_said_what_is_missing(tmp_path: Path) -> None:
    run = reproduce(tmp_path, tmp_path / "papers")
    assert run.returncode == 0
    assert "adult.csv is not there: its figures are left out" in run.stderr
