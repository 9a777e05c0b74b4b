"""A page that stands alone: headings, tables and figures in one HTML file that loads nothing and runs nothing."""

from __future__ import annotations

from harness.render.markup import Markup, element

STYLE = Markup(
    "body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}table{border-collapse:collapse;display:block;overflow-x:auto}"
    "th,td{padding:.15rem .6rem;text-align:left;border-bottom:1px solid #8884;font-variant-numeric:tabular-nums}"
    ".figure svg{max-width:100%;height:auto}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, *body: object) -> str:
    """The text of an HTML file; what is not markup in `body` is escaped."""
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY}),
        element("meta", {"name": "viewport", "content": "width=device-width"}),
        element("title", None, title),
        element("style", None, STYLE),
    )
    whole = element("html", {"lang": "en"}, head, element("body", None, element("h1", None, title), *body))
    return f"<!DOCTYPE html>\n{whole}\n"


def paragraph(text: object) -> Markup:
    return element("p", None, text)


def heading(text: object) -> Markup:
    return element("h2", None, text)
