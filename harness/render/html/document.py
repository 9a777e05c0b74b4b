"""The file: content policy, style and script with their hashes, and the sections in their order."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from importlib.resources import files

from harness.render import Beside, Plain
from harness.render.html.certificate import certificate, print_style
from harness.render.html.distances import distances
from harness.render.html.opening import opening, section_of_sample
from harness.render.html.panel import baselines, panel
from harness.render.html.parts import Section, Source
from harness.render.html.persons import persons
from harness.render.html.released import released
from harness.render.html.terms import definitions
from harness.render.html.tested import evidence, probes, running, tested
from harness.render.markup import Markup, element, joined
from harness.render.text import cut, headline

SECTIONS: tuple[Callable[[Source], Section | None], ...] = (
    tested, section_of_sample, distances, persons, panel, baselines, released, probes, running, evidence, certificate,
)  # fmt: skip


def page(report: Plain, beside: Beside | None = None) -> str:
    """The whole page; equal reports give equal bytes."""
    source = Source(report, beside or Beside())
    sections = [section for build in SECTIONS if (section := build(source)) is not None]
    content = joined([opening(source), *(section.markup() for section in sections)])
    body = element("main", None, content, definitions(content).markup())
    name = cut(report["oracle"]["card"]["name"], 60)
    return document(f"{headline(report)}: audit of {name}", body, print_style(source))


def document(title: str, body: Markup, further_style: str = "") -> str:
    """A file of its own with this body: nothing is fetched, and nothing but our style and script is allowed."""
    head = _head(title, further_style)
    return f"<!DOCTYPE html>\n{element('html', {'lang': 'en'}, head, element('body', None, body))}\n"


def _head(title: str, further_style: str) -> Markup:
    style, script = Markup(_resource("page.css") + further_style), Markup(_resource("page.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return element(
        "head", None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "referrer", "content": "no-referrer"}),
        element("title", None, title),
        element("style", None, style),
        element("script", {"type": "module"}, script),
    )  # fmt: skip


def _resource(name: str) -> str:
    return files("harness.render.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
