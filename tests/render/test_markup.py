"""Text that others wrote stays text."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from harness.render.markup import Markup, element, escape, foreign, joined
from harness.render.text import printable

HOSTILE = "<script>alert(1)</script>\"'`</style>]]>\x00\x1b[31m\u202eabc\ud800&amp;"


class Parsed(HTMLParser):
    """What a parser sees: elements with attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text() | st.just(HOSTILE))
def test_any_text_in_an_element_or_an_attribute_is_read_back_as_the_same_printable_text(text: str) -> None:
    parsed = Parsed(element("p", {"title": "x" + text}, text))
    assert [name for name, _ in parsed.elements] == ["p"]
    assert parsed.text == printable(text)
    assert parsed.elements[0][1]["title"] == "x" + printable(text)


def test_what_is_markup_already_is_not_escaped_twice() -> None:
    assert escape(escape("a & b")) == "a &amp; b"
    assert element("p", None, element("b", None, "<"), "<") == "<p><b>&lt;</b>&lt;</p>"
    assert joined(["<", Markup("<hr>")], " & ") == "&lt; &amp; <hr>"


def test_attributes_that_are_there_or_not_are_bare_and_those_of_none_are_left_out() -> None:
    assert element("div", {"hidden": "", "class": None, "id": ""}) == '<div hidden id=""></div>'
    assert element("meta", {"charset": "utf-8"}) == '<meta charset="utf-8">'


def test_a_foreign_text_cannot_change_the_direction_of_what_stands_around_it() -> None:
    assert foreign("\u202e<b>") == "<bdi>\\u202e&lt;b&gt;</bdi>"
