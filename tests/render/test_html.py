"""report.html: every number is report.json's, nothing of a person or a vendor unasked, one small file."""

import base64
import copy
import hashlib
import json
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

from harness.auditing.confidential import withheld
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
    "h4", "p", "ul", "li", "dl", "dt", "dd", "dfn", "a", "bdi", "span", "strong", "data", "code", "table", "caption",
    "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "desc", "path", "rect", "line", "text",
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


HINT = re.compile(r'<rect class="hint"[^>]*><title>(.*?)</title>')


def curve_hints(whole: str, what: str) -> list[tuple[str, ...]]:
    """Label, x, y and the ends of the band of every hint of the curves of one quantity."""
    band = r"(?: \(from (\S+) to (\S+)\))?"
    found = [
        re.fullmatch(rf"(.+?)\. {what}: (\S+)\. [^:]+: (.+?){band}", unescape(text)) for text in HINT.findall(whole)
    ]
    return [tuple(part or "" for part in one.groups()) for one in found if one is not None]


def shown(value: float) -> str:
    return np.format_float_positional(float(f"{value:.4g}"), trim="-")


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_that_a_curve_says_when_it_is_pointed_at_follows_from_report_json(kind: str) -> None:
    """Shares of findings at or above each distance, counted anew; points of the (ε, δ) curve as they are."""
    plain = report(kind)
    whole = page(plain)
    groups: dict[tuple[str, str], list[Plain]] = {}
    for finding in plain["findings"]:
        groups.setdefault((finding["adversary"], finding["secret"]), []).append(finding)
    shares = set()
    for pair, findings in groups.items():
        names = {"possible (upper limits)": "upper", "proven (lower limits)": "lower", ", ".join(pair): "lower"}
        for name in [*names, "records", "persons"]:
            ends = [one[names.get(name, "lower")] for one in findings]
            counted = {end: sum(other >= end for other in ends) / len(ends) for end in [0.0, *ends]}
            shares |= {(name, shown(end), f"{100 * share:.3g} %") for end, share in counted.items()}
    hints = curve_hints(whole, "distance")
    assert len(hints) >= 4
    assert {hint[:3] for hint in hints} <= shares
    points = set()
    for result in plain["results"]:
        keys = ("epsilon", "delta") if result["exact"] else ("epsilon", "delta", "lower", "upper")
        points |= {(*(shown(point[key]) for key in keys), "", "") for point in result["curve"]}
    hints = curve_hints(whole, "ε")
    assert len(hints) >= 10
    assert {hint[1:] for hint in hints} <= {point[:4] for point in points}


@pytest.mark.parametrize("kind", ["violated", "randomized", "persons"])
def test_every_bar_of_a_histogram_says_how_many_findings_lie_in_it(kind: str) -> None:
    plain = report(kind)
    distances = np.array([finding["lower"] for finding in plain["findings"]])
    bars = [re.fullmatch(r"distance (\S+) to (\S+): (\d+)", unescape(text)) for text in HINT.findall(page(plain))]
    counted = [(float(one[1]), float(one[2]), int(one[3])) for one in bars if one is not None]
    assert counted
    for left, right, count in counted:  # edges are rounded to four digits
        inside = ((distances >= left * 1.0006) & (distances < right * 0.9994)).sum()
        around = ((distances >= left * 0.9994) & (distances < right * 1.0006)).sum()
        assert inside <= count <= around
    once = dict.fromkeys(counted)  # a figure is drawn twice, for wide and for narrow screens
    assert sum(count for _, _, count in once) == (distances > 0).sum()


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
    plain = hostile(report(kind) if reveal else withheld(report(kind)))
    records = {finding["person"]: [{HOSTILE: HOSTILE}] for finding in plain["findings"]} if reveal else {}
    run = {"started": HOSTILE, "seconds": 1.0, "calls": None, "versions": {HOSTILE: HOSTILE}}
    whole = page(plain, Beside(records, run))
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
    assert "illness-" not in page(withheld(plain))
    assert "illness-" in page(plain)


def test_without_reveal_no_prediction_about_a_person_is_drawn() -> None:
    """Not even without labels: whoever holds the release knows one of the two, and would see which value fell."""
    plain = report("violated")
    for finding in plain["findings"]:
        finding.update(present=[0.7001, 0.2, 0.0999], absent=[0.1, 0.2, 0.7])
    hidden, shown = page(withheld(plain)), page(plain)
    assert "0.7001" in shown
    assert "0.7001" not in hidden
    assert "What was inferred about single persons is shown with --reveal." in hidden


def test_texts_of_the_anonymizer_are_shown_only_where_they_were_asked_for() -> None:
    plain = report("violated")
    plain["notes"] = ["the oracle says: Anna is ill", "rows are left out"]
    hidden, shown = page(withheld(plain)), page(plain)
    assert "Anna" not in hidden
    assert "says something about its releases; --reveal shows it" in hidden
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
    plain = report("violated")
    (secret,) = plain["release"]["secrets"]
    section = page(plain).split('id="release-heading"')[1].split("</section>")[0]
    text = Parsed(section).text
    assert f"How varied {secret} is in a class" in text
    assert 'data-at="/release/k"' in section
    for column in plain["release"]["columns"]:
        assert f'data-at="/release/columns/{column}/lost_leaves"' in section
        assert f'data-at="/release/secrets/{secret}/discrimination_rate/by/{column}"' in section


def test_what_was_not_measured_of_the_release_is_said_or_left_out() -> None:
    plain = copy.deepcopy(report("violated"))
    release = plain["release"]
    release["outside"] = None
    for losses in release["columns"].values():
        losses["lost_leaves"] = None
    for secret in release["secrets"].values():
        secret["l"] = None
    text = Parsed(page(plain).split('id="release-heading"')[1].split("</section>")[0]).text
    assert "not measured" in text
    assert "do not cover their own value" not in text
    assert "distinct ℓ" not in text


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
