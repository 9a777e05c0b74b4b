"""The test report on the page, where there is one: the sections of certificate.json as terms and values."""

from __future__ import annotations

import re

from harness.render.certificate import sections, title
from harness.render.html.parts import LONGEST_SENTENCE, Section, Source, facts, p
from harness.render.markup import Markup, element, foreign, joined

ID = re.compile("HT-[0-9a-f]{20}")


def certificate(source: Source) -> Section | None:
    """Everything that a test report in the sense of ISO/IEC 17025 says."""
    plain = source.beside.certificate
    if plain is None:
        return None
    parts: list[Markup] = [p("The same as certificate.json; what is stated comes from the auditor.", name="small")]
    for section in sections(plain):
        rows = ((foreign(term), foreign(value[:LONGEST_SENTENCE])) for term, value in section.rows)
        parts += [element("h3", None, section.title), facts(rows)]
    return Section("certificate", title(plain), joined(parts))


def print_style(source: Source) -> str:
    """The id of the test report at the foot of every printed page, beside its number."""
    plain = source.beside.certificate
    if plain is None or not ID.fullmatch(str(plain["id"])):  # nothing else may become a part of the style
        return ""
    return f'@page {{ @bottom-left {{ content: "Test report {plain["id"]}"; font: 9pt sans-serif; }} }}\n'
