"""The report as Markdown: the same numbers, and names that stay names."""

import html
import re

import pytest

from harness.render import Beside
from harness.render.markdown import markdown, plainly
from harness.render.text import printable
from tests.render.reports import HOSTILE, KINDS, hostile, report


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_begins_with_the_verdict_and_holds_every_result(kind: str) -> None:
    plain = report(kind)
    text = markdown(plain)
    assert text.startswith(f"# {plain['verdict']['outcome'].upper()}: audit of ")
    for result in plain["results"]:
        numbers = [result["verdict"]["at_least"], result["verdict"]["at_most"], result["statistics"]["mean"]]
        assert " | ".join(f"{float(number):.4g}" for number in numbers) in text


def test_escaped_text_is_read_back_as_it_was() -> None:
    assert html.unescape(re.sub(r"\\(.)", r"\1", plainly(HOSTILE))) == printable(HOSTILE)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_make_no_link_no_html_and_no_column(kind: str) -> None:
    plain = hostile(report(kind))
    text = markdown(plain, Beside(reveal=True))
    assert "<" not in text
    assert re.search(r"(?<!\\)\[", text) is None
    assert re.search(r"(?<!\\)`", text) is None
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 7, 8}
    assert not {"\x00", "\x1b", "\u202e"} & set(text)


def test_texts_of_the_anonymizer_are_shown_only_where_they_were_asked_for() -> None:
    plain = {**report("violated"), "notes": ["the oracle says: Anna"]}
    assert "Anna" not in markdown(plain)
    assert "Anna" in markdown(plain, Beside(reveal=True))
