"""The command explain: the terms of the output and the codes of errors, from the tables that the manual is made of."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterable

from harness.glossary import TERMS, Term, find_term
from harness.vocabulary.error_codes import ERROR_CODES, ErrorCode
from harness.vocabulary.errors import InputError, nearest

NEAR = 0.8  # how alike a word and a term must be to be offered: a letter or two apart, else it is another word
WIDEST = 88  # columns of a line, where the terminal has as many


def explain(chosen: argparse.Namespace) -> int:
    """Print what a term or a code means; without a name, what can be explained."""
    print(explanation(" ".join(chosen.words)) if chosen.words else overview())
    return 0


def explanation(words: str) -> str:
    """The text about a term or a code."""
    known = {one.code: one for one in ERROR_CODES}
    if one := known.get(words.upper()):
        return _about_code(one)
    if term := find_term(words):
        return _about_term(term)
    names = (name for each in TERMS for name in (each.name, *each.aliases))
    near = nearest(words, names, NEAR)
    raise InputError(f"nothing is explained under {words!r}; {near}`harness explain` lists what can be explained")


def overview() -> str:
    """All terms and all codes."""
    terms = ", ".join(term.name for term in TERMS)
    codes = (f"  {one.code}  {one.title}" for one in ERROR_CODES)
    return "\n".join(["Terms", *_paragraph(terms), "", "Errors", *codes, "", "harness explain TERM or CODE"])


def _about_term(term: Term) -> str:
    more = [f"More in the manual: docs/{term.see}"] if term.see else []
    also = [f"Also: {', '.join(term.aliases)}"] if term.aliases else []
    return "\n".join([term.name, *_paragraph(term.text), *_paragraph(*also), *_paragraph(*more)])


def _about_code(known: ErrorCode) -> str:
    lines = [f"{known.code}: {known.title}", *_paragraph(known.meaning), *_paragraph(f"What to do: {known.remedy}")]
    return "\n".join(lines)


def _paragraph(*texts: str) -> Iterable[str]:
    width = min(shutil.get_terminal_size().columns, WIDEST)
    for text in texts:
        yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
