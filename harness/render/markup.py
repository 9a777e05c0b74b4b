"""Markup that cannot be broken by what others wrote: the one place where text is escaped for HTML and SVG.

Pages are built of `element`s. A child or an attribute that is plain text is escaped, one that is `Markup` is taken as
it is, and only this module and constants of the page make `Markup`. Signs that steer a terminal or a line of text
(control characters, marks of direction) are shown as their codes.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from harness.render.text import printable

WITHOUT_END = frozenset({"meta", "br", "hr", "wbr"})  # HTML elements that have no content

BARE = frozenset({"hidden", "open"})  # attributes that are there or not

Attributes = Mapping[str, str | int | float | None]


class Markup(str):
    """Text that is HTML or SVG already."""

    __slots__ = ()


def escape(text: object) -> Markup:
    """Any text as text of a page."""
    return text if isinstance(text, Markup) else Markup(html.escape(printable(str(text)), quote=True))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """All parts one after the other, each escaped unless it is markup."""
    return Markup(escape(between).join(escape(part) for part in parts))


def element(name: str, attributes: Attributes | None = None, *children: object) -> Markup:
    """One element; attributes that are None are left out."""
    given = [(key, value) for key, value in (attributes or {}).items() if value is not None]
    opening = "".join(f" {key}" if key in BARE else f' {key}="{escape(value)}"' for key, value in given)
    if name in WITHOUT_END:
        return Markup(f"<{name}{opening}>")
    return Markup(f"<{name}{opening}>{joined(children)}</{name}>")


def foreign(text: object) -> Markup:
    """A name or text that was chosen by others, kept from changing the direction of what stands around it."""
    return element("bdi", None, text)
