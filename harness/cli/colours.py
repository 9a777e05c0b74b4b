"""Colours on a terminal, and nowhere else: files, pipes and JSON never hold any. Knows ready texts alone."""

from __future__ import annotations

import os
import re
from typing import TextIO

VERDICTS = {"VIOLATED": "1;31", "HOLDS": "1;32", "INCONCLUSIVE": "1;33"}  # bold red, green and yellow
BOLD = "1"
_VERDICT = re.compile(rf"\b({'|'.join(VERDICTS)})\b")
_HEADING = re.compile(r"^(What it means|Next|More|How to read this|error E\d+):", re.MULTILINE)


def shows_colours(stream: TextIO) -> bool:
    """Whether whoever reads this stream sees colours and wants them (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str, stream: TextIO) -> str:
    """The text for this stream: on a terminal verdicts in their colour and headings bold, else as it is."""
    if not shows_colours(stream):
        return text
    with_headings = _HEADING.sub(lambda found: _in(BOLD, found[0]), text)
    return _VERDICT.sub(lambda found: _in(VERDICTS[found[1]], found[0]), with_headings)


def _in(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"
