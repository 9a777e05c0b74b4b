"""The page of a comparison: what the text says, with the papers' figures, in one private file."""

import html
import json
import re
from pathlib import Path

import pytest

from harness.cli import main
from harness.render.comparison_page import letter
from oracles.reference import Mondrian
from tests.render.reports import comparison, report
from tests.small_audits import audit, table


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    place, people = tmp_path_factory.mktemp("audits"), table(60)
    for k in (10, 5):
        audit(Mondrian(k=k), people, out=place / f"k{k}")
    return [str(place / f"k{k}") for k in (10, 5)]


def test_the_command_writes_a_private_page_with_figures_beside_the_text(
    folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "compared.html"
    assert main(["compare", *folders, "--json", "-o", str(file)]) == 0
    told = json.loads(capsys.readouterr().out)
    page = file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600
    assert "B is WORSE than A" in page
    assert f"{told['results'][0]['worse']:,} worse, {told['results'][0]['better']:,} better" in page
    worst = told["results"][0]["persons"][0]
    assert f"row label {worst['rows'][0]}</th><td>worse</td>" in page
    for title in (
        "Largest and mean distance", "Share of changed predictions", "Share of persons at or below each distance",
        "Each person in A and in B", "Privacy against utility", "What else changed from A to B",
    ):  # fmt: skip
        assert title in page


def test_the_page_may_load_and_run_nothing_but_its_own_style_and_script(folders: list[str], tmp_path: Path) -> None:
    file = tmp_path / "compared.html"
    assert main(["compare", *folders, "-o", str(file)]) == 0
    page = file.read_text(encoding="utf-8")
    assert re.search("default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-", html.unescape(page))
    assert " style=" not in page
    assert "http" not in page.replace("http-equiv", "").replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_randomized_audits_say_with_which_confidence_and_that_dots_are_estimates() -> None:
    page = comparison(("one", "other"), report("randomized"), report("randomized"))
    assert "B is the SAME as A" in page
    assert "90 %" in page
    assert "Dots are estimates" in page


def test_each_adversary_of_a_panel_has_its_section() -> None:
    page = comparison(("one", "other", "third"), *(report("panel") for _ in range(3)))
    assert page.count("Each person in A and in C") == 3
    assert "conditional on tf-tf about ill: same (0 worse, 0 better, 30 the same)" in page


def test_audits_have_letters_and_then_numbers() -> None:
    assert [letter(place) for place in (0, 1, 25, 26)] == ["A", "B", "Z", "27"]


def test_a_page_of_checks_and_a_folder_that_is_not_there_are_refused(
    folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = tmp_path / "check.json"
    check.write_text(json.dumps({"laws": [], "claims": {}}), encoding="utf-8")
    assert main(["compare", str(check), str(check), "-o", str(tmp_path / "page.html")]) == 2
    assert "a check.json has none: leave it out" in capsys.readouterr().err
    assert main(["compare", *folders, "-o", str(tmp_path / "missing" / "page.html")]) != 0
    assert "missing" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_what_only_reveal_shows_is_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(tmp_path / name) for name in ("one", "other")]
    for folder in folders:
        audit(Mondrian(k=3), out=folder)
    plain = json.loads((tmp_path / "other" / "report.json").read_text())
    plain["notes"].append("the oracle says: SECRET WORDS")
    (tmp_path / "other" / "report.json").write_text(json.dumps(plain))
    assert main(["compare", *folders, "-o", str(tmp_path / "page.html")]) == 0
    assert "SECRET WORDS" not in capsys.readouterr().out + (tmp_path / "page.html").read_text()
