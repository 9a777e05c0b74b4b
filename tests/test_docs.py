"""The manual says what the code does: its snippets run, its outputs are real, its links lead somewhere."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
import harness.testing
import oracles
from harness.analysis.sweep_file import read_sweep
from harness.auditing.config import OPTIONS, build, read_toml
from harness.demo import comparison
from harness.testing.domains import domains_from

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages whose commands are run, with the files they show.
TUTORIALS = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "docs" / "how-to" / "measure-a-release.md"]
GENERATED = sorted((ROOT / "docs" / "reference").glob("*.md"))
WITH_SNIPPETS = [page for page in PAGES if page not in (*TUTORIALS, *GENERATED)]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_SCREEN = 35  # lines
OUTCOMES = ("HOLDS", "VIOLATED", "INCONCLUSIVE")
QUASI = {"age": "number", "zip": "category"}

# What a block of audit.toml that shows only a part is completed with.
REST = {
    "[data]": 'path = "people.csv"\nsensitive = "disease"',
    "[data.quasi]": 'age = "number"\nzip = "category"',
    "[oracle]": 'address = "python:anonymizer:anonymize"',
    "[claim]": "epsilon = 0.1",
}
EDUCATION = "primary;low;*\nsecondary;low;*\nbachelor;high;*\n"


def people() -> pd.DataFrame:
    """The invented people of all pages."""
    numbers = range(240)
    diseases = [("Flu", "Cold", "Cancer")[number % 5 % 3] for number in numbers]
    return pd.DataFrame(
        {
            "age": [20 + number * 7 % 60 for number in numbers],
            "zip": [("1010", "1020", "2340", "2500")[number * number % 7 % 4] for number in numbers],
            "education": [("primary", "secondary", "bachelor")[number % 3] for number in numbers],
            "grade": [("low", "middle", "high")[number % 4 % 3] for number in numbers],
            "born": [f"{1 + number % 28:02d}/{1 + number % 12:02d}/{1940 + number % 60}" for number in numbers],
            "patient_id": [number // 2 for number in numbers],
            "last_year": ["Flu", *diseases[:-1]],
            "disease": diseases,
            "occupation": [("farmer", "nurse")[number % 11 % 2] for number in numbers],
        }
    )


def anonymize(frame: pd.DataFrame) -> pd.DataFrame:
    """A stand-in that keeps every promise: all quasi-identifiers are suppressed."""
    known = [name for name in frame.columns if name not in ("disease", "occupation")]
    return frame.assign(**dict.fromkeys(known, "*"))


def blocks(page: Path, language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [block for name, block in fenced if name == language]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def write_modules(page: Path, folder: Path) -> None:
    """The snippets that are files, and begin with their name."""
    for block in blocks(page, "python"):
        first = block.splitlines()[0]
        if first.startswith("# ") and first.endswith(".py"):
            (folder / first.removeprefix("# ")).write_text(block, encoding="utf-8")
            sys.modules.pop(first.removeprefix("# ").removesuffix(".py"), None)


@pytest.fixture
def docs(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a module of docs/ by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as the pages suppose it, which is also the current one; modules in it are forgotten afterwards."""
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "education.csv").write_text(EDUCATION, encoding="utf-8")
    shares = pd.DataFrame({"Flu": 0.5, "Cold": 0.3, "Cancer": 0.2}, index=range(len(people())))
    shares.to_csv(tmp_path / "prior.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name, module in list(sys.modules.items()):  # other tests may have modules of the same name
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", GENERATED, ids=named)
def test_the_reference_is_what_its_generator_writes(page: Path, docs: Callable[[str], Any]) -> None:
    written = page.read_text(encoding="utf-8")
    assert written == docs("generate").REFERENCE[page.stem](), (
        f"{named(page)} is out of date: python docs/generate.py writes it"
    )


def test_every_page_of_the_reference_is_written(docs: Callable[[str], Any]) -> None:
    assert {page.stem for page in GENERATED} == set(docs("generate").REFERENCE)


def test_the_options_of_a_plan_in_the_schema_of_reports_are_those_of_the_table(docs: Callable[[str], Any]) -> None:
    written = (ROOT / "harness" / "report.schema.json").read_text(encoding="utf-8")
    assert written == docs("generate").report_schema(), (
        "report.schema.json is out of date: python docs/generate.py writes it"
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=named)
def test_the_commands_of_a_tutorial_print_what_it_shows(page: Path, docs: Callable[[str], Any]) -> None:
    sessions = docs("sessions")
    written = page.read_text(encoding="utf-8")
    assert sessions.comparable(sessions.with_output(page)) == sessions.comparable(written), (
        f"{named(page)} is out of date: python docs/generate.py writes it"
    )


def test_only_times_are_left_out_when_outputs_are_compared(docs: Callable[[str], Any]) -> None:
    comparable = docs("sessions").comparable
    assert comparable("120 findings in 2.0 s; 1 passed in 6.39s") == comparable("120 findings in 31 s; 1 passed in 7s")
    assert comparable("record 72 moves it by 0.7803") != comparable("record 72 moves it by 0.7804")


def test_a_parameter_that_its_source_does_not_explain_is_refused(docs: Callable[[str], Any]) -> None:
    describe = docs("describe")
    assert "| `k` | `int` |  | least rows of a class |" in describe.parameters_of(Explained)
    for unexplained in (HalfExplained, half_explained):
        with pytest.raises(SystemExit, match="'t' has no comment beside it"):
            describe.parameters_of(unexplained)
    with pytest.raises(SystemExit, match="the option 'scale' has no explanation"):
        describe.require_explained("encoding", ["scale"], {})


class Explained:
    def __init__(
        self,
        k: int,  # least rows of a class
        **more: Any,  # whatever else
    ) -> None: ...


@dataclass(frozen=True)
class HalfExplained:
    k: int  # least rows of a class
    t: float = 0.5


def half_explained(
    k: int,  # least rows of a class
    t: float,
) -> None: ...


def test_every_transport_of_the_table_is_in_the_reference(
    docs: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = oracles.Transport(lambda rest, options: None, {"mail:somebody": (f"{__name__}:Explained",)})  # type: ignore
    monkeypatch.setitem(oracles.SCHEMES, "mail", mail)
    page = docs("pages_oracles").oracles_page()
    assert "## `mail:somebody`" in page
    assert "least rows of a class" in page


def test_every_option_of_the_file_is_a_keyword_of_audit_unless_it_says_otherwise() -> None:
    keywords = set(inspect.signature(harness.audit).parameters)
    assert {option.name for option in OPTIONS if not option.in_file_only} <= keywords


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), f"{named(page)} links to {target}"
        if heading:
            assert heading in headings(linked), f"{named(page)} links to {target}"


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=named)
def test_every_part_of_an_audit_file_on_a_page_can_be_loaded(page: Path, folder: Path) -> None:
    write_modules(page, folder)
    for number, block in enumerate(blocks(page, "toml")):
        if block.startswith("# schema.toml\n"):
            (folder / "schema.toml").write_text(block, encoding="utf-8")
            domains_from(folder / "schema.toml")
            continue
        missing = {head: rest for head, rest in REST.items() if f"{head}\n" not in f"{uncommented(block)}\n"}
        whole = "\n".join([*(f"{head}\n{rest}" for head, rest in missing.items()), block])
        file = folder / f"audit{number}.toml"
        file.write_text(whole, encoding="utf-8")
        contents = [cell.content for cell in read_sweep(file)] if "sweep]" in block else [read_toml(file)]
        for content in contents:
            build(file, content).plan.spec()  # binds priors and distances to the data, too


def uncommented(block: str) -> str:
    return "\n".join(line.partition("#")[0].rstrip() for line in block.splitlines())


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=named)
def test_the_python_snippets_of_a_page_run_and_print_what_it_quotes(
    page: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for block in blocks(page, "toml"):
        if block.startswith("# schema.toml\n"):
            (folder / "schema.toml").write_text(block, encoding="utf-8")
    given: dict[str, Any] = {"anonymize": anonymize, "df": people(), "QUASI": QUASI, "__name__": "__main__"}
    for block in blocks(page, "python"):
        exec(compile(block, f"<{named(page)}>", "exec"), given)  # no file: a page is no source
    for name, test in list(given.items()):
        if name.startswith("test_"):
            fixtures = {"audit": harness.audit, "check_laws": harness.testing.check}
            test(**{argument: fixtures[argument] for argument in inspect.signature(test).parameters})
    printed = capsys.readouterr().out.splitlines()
    for quoted in blocks(page, ""):
        if quoted.startswith(OUTCOMES):
            assert [line for line in quoted.splitlines() if line not in ["", *printed]] == []


def test_the_first_screen_of_the_readme_has_the_command_of_the_demo_and_that_of_ci() -> None:
    screen = README.splitlines()[:FIRST_SCREEN]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (tests,) = (line for line in ci.splitlines() if line.endswith("-m pytest"))
    assert tests in screen
    assert "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/harness demo" in screen


def test_the_readme_is_short_and_leads_to_every_page() -> None:
    assert len(README.splitlines()) < 100
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        waiting += [linked for linked in linked_pages(page) if linked not in reached]
    assert set(PAGES) <= reached


def linked_pages(page: Path) -> set[Path]:
    targets = re.findall(r"\]\(([^)\s#]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets if "://" not in target}


@pytest.mark.slow
def test_the_tables_of_readme_and_manual_are_what_the_demo_measures(docs: Callable[[str], Any]) -> None:
    for name, report in comparison(1000, 1).items():
        (line,) = (line for line in README.splitlines() if line.startswith(f"  {name} "))
        quoted = line.removeprefix(f"  {name}").split()
        numbers = (report.verdict.at_least, report.verdict.at_most, report.statistics()["mean"])
        expected = [report.verdict.outcome.name, *(f"{number:.4g}" for number in numbers)]
        assert quoted == [*expected, str(report.verdict.rows[0])]
        assert_measured(docs("measure"), name, report)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["none: the data as they are", "Mondrian, k = 200", "Mondrian, ℓ = 9"])
def test_the_measured_table_of_the_manual_is_current(name: str, docs: Callable[[str], Any]) -> None:
    measure = docs("measure")
    assert_measured(measure, name, measure.measured(name))


def assert_measured(measure: Any, name: str, report: harness.Report) -> None:
    """The table of what-0.1-means.md has the line of this anonymizer as it is measured now."""
    (written,) = (one for one in measure.MEANING_PAGE.read_text().splitlines() if one.startswith(f"| {name} |"))
    assert written == f"| {' | '.join(measure.line(name, report))} |", "python docs/generate.py --measure writes it"


def test_every_anonymizer_that_is_measured_has_a_line_in_the_manual(docs: Callable[[str], Any]) -> None:
    measure = docs("measure")
    table = measure.PLACE.search(measure.MEANING_PAGE.read_text(encoding="utf-8"))[0]
    assert re.findall(r"^\| (.+?) \|", table, re.MULTILINE)[2:] == list(measure.ANONYMIZERS)


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = [
        f"/{(Path(place) / name).relative_to(ROOT)}"
        for package in ("harness", "oracles", "proto", "tests", "docs")
        for place, _, names in os.walk(ROOT / package)
        for name in names
    ]
    for name in re.findall(r"`([\w/.]+\.(?:py|proto))`", text):
        assert any(file.endswith(f"/{name}") for file in files), name
