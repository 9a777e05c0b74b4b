"""The reference of the command line: every command with its options, exit codes, error codes and the glossary."""

from __future__ import annotations

import argparse
import os
import signal
import textwrap
from collections.abc import Iterator, Mapping

from describe import WIDTH, code, generated, table

from harness import cli
from harness.auditing.verdict import Outcome
from harness.cli import arguments
from harness.cli.interruption import Interrupted
from harness.glossary import TERMS
from harness.vocabulary.error_codes import ERROR_CODES
from harness.vocabulary.errors import InputError, NotWrittenError, OracleError

VERIFY = (
    "Codes of a claim are those of `harness run`. `harness verify` ends with 0 if the evidence is intact, whatever the "
    "verdict, with 2 if it is not, and with 4 if it is but some numbers rest on draws that were not kept or are gone.\n"
)


def commands_page() -> str:
    """Every command with its options, and what it returns."""
    intro = (
        "The command `harness`, also `python -m harness.cli`. Completion for bash, zsh and fish: "
        "`harness completion SHELL` prints the script and how to install it."
    )
    return "\n".join([generated("Commands", intro), _commands(), _exit_codes()])


def errors_page() -> str:
    """Every code of an error, with what it means and what to do."""
    intro = (
        "Every message of an error begins with a code, such as `harness: error E202: …`. Messages may be worded anew "
        "in a later version; codes stay. `harness explain E202` prints the same text. In Python the code of an "
        "exception is `harness.vocabulary.error_codes.code_of(error)`."
    )
    parts = [generated("Error codes", intro)]
    for known in ERROR_CODES:
        what = f"`{known.kind.__name__}`, exit code {known.kind.exit_code}."
        parts.append(
            f"## {known.code}\n\n**{known.title}.** {what}\n\n{known.meaning}\n\n*What to do:* {known.remedy}\n"
        )
    return "\n".join(parts)


def glossary_page() -> str:
    """Every term of the output."""
    intro = "The words of reports, messages and this manual. `harness explain TERM` prints the same text."
    parts = [generated("Glossary", intro)]
    for term in TERMS:
        also = f" Also: {', '.join(term.aliases)}." if term.aliases else ""
        more = f" More: [{term.see.rpartition('/')[2]}](../{term.see})." if term.see else ""
        parts.append(f"## {term.name}\n\n{term.text}{also}{more}\n")
    return "\n".join(parts)


def _commands() -> str:
    parts: list[str] = []
    for name, each in arguments.all_parsers(arguments.parser(), "harness"):
        parts += [f"## {name}\n", code(_help(each))]
    return "\n".join(parts)


def _help(parser: argparse.ArgumentParser) -> str:
    """The help text in lines of WIDTH, wrapped here because argparse wraps differently from version to version."""
    before = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR")}
    os.environ.update(COLUMNS="10000", NO_COLOR="1")
    try:
        lines = parser.format_help().rstrip().splitlines()
    finally:
        _restore(before)
    return "\n".join(piece for line in lines for piece in _wrapped(line))


def _restore(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _wrapped(line: str) -> Iterator[str]:
    indent = 24 if line.startswith("  ") else 7 if line.startswith("usage:") else 0
    yield from textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False) or [""]


def _exit_codes() -> str:
    rows = [(str(outcome.exit_code), f"the claim: {outcome.value}") for outcome in Outcome]
    rows += [
        (str(InputError.exit_code), "something you gave is wrong: a file, a column, an option, a journal"),
        (str(OracleError.exit_code), "the oracle failed, or sent something that is no release"),
        *(
            (str(Interrupted(number).exit_code), f"interrupted by {number.name}; the same command continues")
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
        ),
        (str(cli.NO_READER), "the reader of the output closed it, as `harness … | head` does"),
        (str(cli.DEFECT), "a defect of the harness"),
        (str(NotWrittenError.exit_code), "a file of the audit cannot be written: the disk takes no more, or a quota"),
    ]
    return "\n".join(["## Exit codes\n", table(("code", "meaning"), sorted(rows, key=lambda row: int(row[0]))), VERIFY])
