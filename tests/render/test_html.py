"""report.html: every number is report.json's, nothing of a person or a vendor unasked, one small file."""

import base64
import hashlib
import json
import re
from typing import Any

import pytest

from harness.glossary import TERMS
from harness.render import Beside
from harness.render.html import page
from harness.render.text import printable
from tests.render.reports import ENDLESS, HOSTILE, KINDS, Plain, hostile, report, with_findings
from tests.render.test_markup import Parsed

RUN = {
    "started": "2030-01-01T00:00:00+00:00",
    "seconds": 1.5,
    "calls": {"asks": 12, "failures": 1},
    "versions": {"a": "1"},
}
NUMBER = re.compile(r'<data value="([^"]*)" data-at="([^"]*)">([^<]*)</data>')
OURS = {  # all that a page is made of
    "html", "head", "meta", "title", "style", "script", "body", "main", "header", "section", "div", "h1", "h2", "h3",
    "h4", "p", "ul", "li", "dl", "dt", "dd", "dfn", "a", "bdi", "span", "data", "code", "table", "caption", "thead",
    "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "desc", "path", "rect", "line", "text",
}  # fmt: skip


def at(plain: Plain, pointer: str) -> Any:
    found: Any = plain
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found


def rounded(value: Any) -> set[str]:
    """How a number may be written."""
    if value is None:
        return {"-"}
    if isinstance(value, str):
        return {value}
    percent = f"{100 * value:.3g} %"
    return {f"{value:.4g}", f"{value:,}", percent, "below 0.1 %" if value < 0.001 else percent}


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_says_where_in_report_json_it_stands_and_is_the_one_there(kind: str) -> None:
    plain = report(kind)
    numbers = NUMBER.findall(page(plain))
    assert len(numbers) > 12
    for value, pointer, shown in numbers:
        leaf = at(plain, pointer)
        assert value == ("" if leaf is None else str(leaf))
        assert shown in rounded(leaf)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_screen_says_verdict_reason_rule_and_limits(kind: str) -> None:
    plain = report(kind)
    first = Parsed(page(plain).split("</header>")[0].split("<body>")[1]).text
    assert plain["verdict"]["outcome"].upper() in first
    assert plain["verdict"]["reason"][1:] in first
    for heading in ("What it means", "How it was decided", "What it does not say", "Another adversary may infer more"):
        assert heading in first


@pytest.mark.parametrize("kind", KINDS)
def test_equal_reports_give_equal_bytes(kind: str) -> None:
    plain = report(kind)
    assert page(plain, Beside(run=RUN)) == page(json.loads(json.dumps(plain)), Beside(run=dict(RUN)))


def test_the_policy_allows_this_style_and_this_script_and_nothing_else() -> None:
    whole = page(report("violated"))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', whole)
    assert policy is not None
    allowed = policy[1].replace("&#x27;", "'")
    assert allowed.startswith("default-src 'none';")
    for name in ("style", "script"):
        (text,) = re.findall(rf"<{name}[^>]*>(.*?)</{name}>", whole, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in allowed


@pytest.mark.parametrize("kind", KINDS)
def test_no_element_needs_the_style_sheet_or_fetches_anything(kind: str) -> None:
    for name, attributes in Parsed(page(report(kind))).elements:
        assert name in OURS
        assert not {"style", "src", "onclick", "onload", "srcset"} & set(attributes)
        if name == "a":
            assert str(attributes["href"]).startswith("#")
        if name in ("path", "rect", "text"):
            assert "fill" in attributes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reveal", [False, True])
def test_hostile_names_are_shown_as_text(kind: str, reveal: bool) -> None:
    plain = hostile(report(kind))
    records = {finding["person"]: [{HOSTILE: HOSTILE}] for finding in plain["findings"]} if reveal else {}
    run = {"started": HOSTILE, "seconds": 1.0, "calls": None, "versions": {HOSTILE: HOSTILE}}
    whole = page(plain, Beside(reveal, records, run))
    parsed = Parsed(whole)
    assert {name for name, _ in parsed.elements} <= OURS
    assert [name for name, _ in parsed.elements].count("script") == 1
    assert printable(HOSTILE) in parsed.text
    assert HOSTILE not in whole
    assert not {"\x00", "\x1b", "\u202e", "\u2066", "\ud800"} & set(whole)
    for _, attributes in parsed.elements:
        assert not any(key.startswith("on") for key in attributes)


def test_an_endless_word_is_cut() -> None:
    assert len(page(hostile(report("violated"), ENDLESS))) < 1_000_000


@pytest.mark.parametrize("kind", ["violated", "persons", "panel"])
def test_without_reveal_no_value_of_a_secret_is_on_the_page(kind: str) -> None:
    plain = report(kind)
    (secret,) = plain["plan"]["secrets"]
    secret["values"] = [f"illness-{value}" for value in secret["values"]]
    assert "illness-" not in page(plain)
    assert "illness-" in page(plain, Beside(reveal=True))


def test_the_numbers_of_values_are_in_another_order_for_each_person() -> None:
    """Else a bar could be recognised from person to person, and by how common its value is."""
    plain = report("violated")
    for finding in plain["findings"]:
        finding.update(present=[0.7, 0.2, 0.1], absent=[0.1, 0.2, 0.7])
    shown = re.findall(r"value \d, with its record in the data: ([\d.]+)", page(plain))
    orders = [tuple(shown[start : start + 3]) for start in range(0, len(shown), 6)]  # each drawn wide and narrow
    assert {tuple(sorted(order)) for order in orders} == {("0.1", "0.2", "0.7")}
    assert len(orders) == 3
    assert len(set(orders)) > 1


def test_texts_of_the_anonymizer_are_shown_only_where_they_were_asked_for() -> None:
    plain = report("violated")
    plain["notes"] = ["the oracle says: Anna is ill", "rows are left out"]
    hidden, shown = page(plain), page(plain, Beside(reveal=True))
    assert "Anna" not in hidden
    assert "sent 1 text of its own" in hidden
    assert "Rows are left out" in hidden
    assert "Anna is ill" in shown


def test_every_term_on_the_page_is_explained_where_it_stands_and_at_the_end() -> None:
    parsed = Parsed(page(report("randomized")))
    linked = {str(attributes["href"])[1:] for name, attributes in parsed.elements if name == "a"}
    explained = {
        attributes["id"] for _, attributes in parsed.elements if str(attributes.get("id", "")).startswith("term-")
    }
    assert linked == explained
    texts = {term.text for term in TERMS}
    assert all(attributes["title"] in texts for name, attributes in parsed.elements if name == "dfn")
    assert len(explained) > 10


def test_baselines_stand_beside_in_grey_and_what_was_skipped_says_why() -> None:
    plain = report("panel")
    whole = page(plain)
    assert whole.count('<tr class="grey">') == 4  # two adversaries; the tree is skipped
    assert "would slow so small an audit" in whole
    assert "the data as it is" in whole


def test_the_run_is_described_where_it_is_known() -> None:
    plain = report("violated")
    assert "asks: 12; failures: 1" in page(plain, Beside(run=RUN))
    assert "run.json" not in page(plain)


def test_metrics_of_the_release_are_shown_where_the_report_has_them() -> None:
    plain = {**report("violated"), "release": {"class_size": {"smallest": 3, "mean": 4.25}, "suppressed": None}}
    text = Parsed(page(plain)).text
    assert "What the release itself shows" in text
    assert "class size" in text
    assert "4.25" in text


def test_an_interrupted_audit_has_no_verdict() -> None:
    plain = {**report("violated"), "unfinished": {"examined": 3, "of": 30}}
    whole = page(plain)
    assert "NO VERDICT" in whole
    assert "VIOLATED" not in Parsed(whole.split('id="panel-heading"')[1].split("</section>")[0]).text


def test_a_page_of_ten_thousand_records_is_below_a_megabyte() -> None:
    whole = page(with_findings(report("violated"), 10_000))
    assert len(whole.encode()) < 600_000
    assert "Distance against class size" in whole


@pytest.mark.slow
def test_a_page_of_a_million_records_is_below_a_megabyte_and_drawn_from_quantiles() -> None:
    whole = page(with_findings(report("violated"), 1_000_000))
    assert len(whole.encode()) < 600_000
    assert "Distance against class size" not in whole
