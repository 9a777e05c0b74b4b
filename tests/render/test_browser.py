"""report.html in a real browser: narrow, wide, dark, printed, without scripts, under a strict policy, accessible."""

import io
import json
import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from harness.render.html import page
from harness.render.repair import prune_page
from harness.render.sweep import sweep_page
from harness.render.text import printable
from tests.analysis.test_sweep_page import row
from tests.render.browser import STRICT, needs_browser, running, served
from tests.render.reports import ENDLESS, HOSTILE, comparison, hostile, identity, report, with_findings
from tests.small_audits import audit

pytestmark = [needs_browser, pytest.mark.slow]

SWEEP = {"cells": [row(f"k={k}", k, mean=1 / k, utility=1 - k / 10) for k in (2, 5, 7)]}
DISTANCES = {f"k={k}": [0.0, 0.1 / k, 1 / k] for k in (2, 5, 7)}
ROUND = {"round": 0, "removed_so_far": 0, "persons": 9, "verdict": "violated", "at_least": 0.4, "at_most": 0.4}
REPAIR = {
    "rounds": [
        {**ROUND, "mean": 0.1, "breaking_the_claim": 2},
        {**ROUND, "round": 1, "removed_so_far": 2, "mean": 0.05, "breaking_the_claim": 1},
    ],
    "best_round": 0, "outcome": "violated", "stopped": "the budget is spent", "removed": [3, 4], "rose": [],
    "holds": False,
}  # fmt: skip
PAGES: dict[str, Callable[[], str]] = {
    "violated": lambda: page(report("violated")),
    "holds": lambda: page(report("holds")),
    "randomized": lambda: page(report("randomized")),
    "persons": lambda: page(report("persons")),
    "panel": lambda: page(report("panel")),
    "hostile": lambda: page(hostile(report("panel"))),
    "endless": lambda: page(hostile(report("panel"), ENDLESS)),
    "many": lambda: page(with_findings(report("violated"), 10_000)),
    "comparison": lambda: comparison(("a", "b", "c"), report("violated"), report("holds"), report("violated")),
    "comparison-random": lambda: comparison(("a", "b"), report("randomized"), report("randomized")),
    "comparison-panel": lambda: comparison(("a", "b"), report("panel"), report("panel")),
    "comparison-hostile": lambda: comparison((HOSTILE, ENDLESS), hostile(report("panel")), hostile(report("panel"))),
    "comparison-many": lambda: comparison(
        ("a", "b"), with_findings(report("violated"), 10_000), with_findings(report("violated"), 10_000, 1)
    ),
    "sweep": lambda: sweep_page(SWEEP, DISTANCES, "Sweep sweep.toml"),
    "repair": lambda: prune_page(REPAIR),
}


WHOLE = "certificate"  # the page that a run writes, with the test report at its end
STATED = {"auditor": HOSTILE[:200].replace("\ud800", ""), "received": date(2026, 3, 1), "deviations": ["none"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages")
    for name, make in PAGES.items():
        (place / f"{name}.html").write_text(make(), encoding="utf-8")
    audit(identity, out=place / "audited", evidence=STATED)
    (place / "audited" / "report.html").rename(place / f"{WHOLE}.html")
    return place


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running() as opened:
        yield opened


class Opened:
    """A page in a browser, with what it complained about and what it asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def visible(opened: Opened, selector: str) -> int:
    count: int = opened.page.locator(f"{selector}:visible").count()
    return count


VIEWS = [
    *((name, *view) for name in ("violated", "holds") for view in ((390, "light"), (1400, "dark"))),
    *((name, *view) for name in (*PAGES, WHOLE) for view in ((390, "dark"), (1400, "light"))),
]


@pytest.mark.parametrize(("name", "width", "scheme"), VIEWS)
def test_a_page_opens_without_complaint_request_scrolling_sideways_or_barrier(
    browser: Any, folder: Path, name: str, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    address = (folder / f"{name}.html").as_uri()
    with Opened(browser, address, viewport={"width": width, "height": 900}, color_scheme=scheme) as opened:
        assert opened.complaints == []
        assert opened.requests == [address]
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visible(opened, "div.narrow svg") == (0 if width > 640 else visible(opened, ".figure svg"))
        violations = Axe().run(opened.page).response["violations"]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in violations] == []


@pytest.mark.parametrize("name", ["hostile", "comparison-hostile"])
def test_hostile_names_are_shown_as_text_and_run_nothing(browser: Any, folder: Path, name: str) -> None:
    with Opened(browser, (folder / f"{name}.html").as_uri()) as opened:
        assert "owned" not in opened.page.title().split(":")[0]
        assert opened.page.evaluate("document.querySelectorAll('img, iframe, object, main script').length") == 0
        assert printable(HOSTILE) in opened.page.inner_text("main")


@pytest.mark.parametrize("name", ["panel", "comparison", "sweep"])
def test_without_scripts_everything_is_there(browser: Any, folder: Path, name: str) -> None:
    address = (folder / f"{name}.html").as_uri()
    with Opened(browser, address) as with_scripts, Opened(browser, address, java_script_enabled=False) as without:
        assert without.page.locator("main").inner_text() == with_scripts.page.locator("main").inner_text()
        assert visible(without, ".figure svg") == visible(with_scripts, ".figure svg") >= 5


@pytest.mark.parametrize(("name", "word"), [("panel", "VIOLATED"), ("comparison", "BETTER"), ("sweep", "holds")])
def test_under_a_strict_policy_text_and_colours_of_figures_stay(
    browser: Any, folder: Path, name: str, word: str
) -> None:
    with (
        served(folder, STRICT) as root,
        Opened(browser, f"{root}/{name}.html", viewport={"width": 1400, "height": 900}) as strict,
    ):
        assert word in strict.page.locator("main").inner_text()
        assert visible(strict, "div.narrow svg") == 0  # one of the two drawings
        fills = strict.page.evaluate(
            "[...document.querySelectorAll('.figure path, .figure rect')].flatMap(shape =>"
            " [getComputedStyle(shape).fill, getComputedStyle(shape).stroke])"
        )
        assert "rgb(15, 108, 189)" in fills
        assert set(fills[::2]).isdisjoint({"rgb(0, 0, 0)"})


def test_tables_are_sorted_by_their_numbers(browser: Any, folder: Path) -> None:
    with Opened(browser, (folder / "panel.html").as_uri()) as opened:
        table = opened.page.locator("#panel table")
        for descending in (True, False):
            table.locator("th button", has_text="mean").click()
            values = [
                float(value)
                for value in table.locator("tbody td:nth-child(6) data").evaluate_all(
                    "all => all.map(one => one.value)"
                )
            ]
            assert values == sorted(values, reverse=descending)
            assert len(values) == 3


def test_numbers_that_are_written_as_text_are_sorted_as_numbers(browser: Any, folder: Path) -> None:
    with Opened(browser, (folder / "sweep.html").as_uri()) as opened:
        table = opened.page.locator("table")
        table.locator("th button", has_text="mean").click()
        assert table.locator("tbody tr td:nth-child(5)").all_inner_texts() == ["0.5", "0.2", "0.1429"]


def test_what_is_pointed_at_says_its_numbers(browser: Any, folder: Path) -> None:
    with Opened(browser, (folder / "violated.html").as_uri(), viewport={"width": 1400, "height": 900}) as opened:
        place = opened.page.locator("#distances .wide .hint").first
        said = place.locator("title").text_content()
        place.hover()
        assert opened.page.locator("#hint").inner_text() == said
        assert "share at or above" in said


def test_printed_it_is_a_document_with_numbered_pages(browser: Any, folder: Path) -> None:
    with Opened(browser, (folder / "violated.html").as_uri()) as opened:
        printed = opened.page.pdf(prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 4 <= pages <= 16
    assert re.search(rb"/MediaBox\s*\[\s*0 0 59[45](\.\d+)? 84[12]", printed)  # A4


def test_the_test_report_is_printed_with_its_id_and_the_number_of_the_page_on_every_page(
    browser: Any, folder: Path
) -> None:
    reader = pytest.importorskip("pypdf", reason="pypdf reads printed pages; pip install '.[test]'")
    certificate = json.loads((folder / "audited" / "certificate.json").read_text(encoding="utf-8"))
    with Opened(browser, (folder / f"{WHOLE}.html").as_uri()) as opened:
        printed = opened.page.pdf(prefer_css_page_size=True)
    pages = [" ".join(each.extract_text().split()) for each in reader.PdfReader(io.BytesIO(printed)).pages]
    assert len(pages) >= 5
    for number, text in enumerate(pages, start=1):
        assert f"page {number} of {len(pages)}" in text
        assert f"Test report {certificate['id']}" in text
    whole = " ".join(pages)
    for heading in ("Conformity", "Decision rule and risks", "Limits of this report", "How to verify"):
        assert heading in whole
    assert "<script>document.title='owned'</script>" in whole  # stated by an auditor: text, on paper too


@pytest.mark.parametrize("name", ["many", "comparison-many"])
def test_ten_thousand_records_open_quickly(browser: Any, folder: Path, name: str) -> None:
    assert (folder / f"{name}.html").stat().st_size < 1_000_000
    with Opened(browser, (folder / f"{name}.html").as_uri()) as opened:
        timing = opened.page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
        assert timing < 5_000  # about 200 ms on a quiet machine
        assert opened.page.evaluate("document.querySelectorAll('*').length") < 5_000
