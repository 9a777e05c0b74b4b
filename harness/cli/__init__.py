"""The command `harness`: the exit code of every outcome. Arguments and commands are in modules beside it."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from harness.cli.arguments import parser
from harness.cli.interruption import Interrupted, interruptible
from harness.vocabulary.error_codes import code_of
from harness.vocabulary.errors import HarnessError

DEFECT, NO_READER = 70, 141  # EX_SOFTWARE; as a shell reports SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Perform one command; returns its exit code, see `arguments.EXIT_CODES`."""
    chosen = parser().parse_args(arguments)
    module, _, name = chosen.perform.partition(":")
    try:
        with interruptible():
            perform: Callable[[argparse.Namespace], int] = getattr(import_module(f"harness.cli.{module}"), name)
            return perform(chosen)
    except HarnessError as error:
        if chosen.debug:
            traceback.print_exception(error)
        tell(f"error {code_of(error)}: {error}")
        from harness.github_job import show_error  # when it is needed: `harness --help` should answer at once

        show_error(f"harness: error {code_of(error)}", str(error))
        if error.log is not None:
            tell(f"what the anonymizer printed and raised is in {error.log} (it may hold raw rows)")
        tell(f"what {code_of(error)} means: harness explain {code_of(error)}")
        return error.exit_code
    except Interrupted as interruption:
        tell(f"interrupted by {interruption}")
        return interruption.exit_code
    except BrokenPipeError:  # the reader of our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    except Exception:  # not a verdict, and not the auditor's fault: no exit code of ours may say so
        traceback.print_exc()
        tell("this is a defect of the harness; what was measured is kept. Please report the lines above")
        return DEFECT


def tell(text: str) -> None:
    """A line for the person at the terminal, on standard error."""
    with suppress(OSError):  # the terminal may be gone: SIGHUP says so
        print(f"harness: {text}", file=sys.stderr)


@contextmanager
def telling_how_to_continue(command: str, file: Path, out: Path) -> Iterator[None]:
    """After an interruption, says that what was measured is kept."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"stopped; what was measured is kept in {out}. To continue: harness {command} {file} --out {out}")
        raise


def allow_imports_beside(file: Path) -> None:
    """`python:` addresses name modules beside the audit.toml, or where the command was given."""
    for folder in (os.getcwd(), str(file.resolve().parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
