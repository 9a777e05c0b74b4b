"""What holds for every format of `harness report`: hostile names stay text, and equal reports give equal pages."""

import json

import pytest

from harness.render import RENDERERS, Beside, render
from tests.render.reports import HOSTILE, KINDS, hostile, report

PAGES = sorted(set(RENDERERS) - {"json", "certificate"})  # a certificate is a file of its own


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PAGES)
def test_no_name_steers_a_terminal_or_the_direction_of_text(kind: str, name: str) -> None:
    written = render(hostile(report(kind)), name, Beside())
    assert all(sign.isprintable() or sign == "\n" for sign in written if name != "html")
    assert not {"\x00", "\x1b", "\u202e", "\u2066", "\ud800"} & set(written)
    written.encode()


@pytest.mark.parametrize("kind", KINDS)
def test_json_keeps_hostile_names_as_they_are(kind: str) -> None:
    plain = hostile(report(kind))
    assert json.loads(render(plain, "json")) == plain
    assert HOSTILE in json.loads(render(plain, "json"))["oracle"]["card"]["name"]


@pytest.mark.parametrize("name", PAGES)
def test_equal_reports_give_equal_pages(name: str) -> None:
    assert render(report("panel"), name) == render(json.loads(json.dumps(report("panel"))), name)
