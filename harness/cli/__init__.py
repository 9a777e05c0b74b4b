"""The command `harness`: its arguments, and the exit code of every outcome. Each command is in a module beside it."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from harness.cli.interruption import Interrupted, interruptible
from harness.render import RENDERERS
from harness.vocabulary.error_codes import code_of
from harness.vocabulary.errors import HarnessError

DEFECT, NO_READER = 70, 141  # EX_SOFTWARE; as a shell reports SIGPIPE
SHELLS = ("bash", "zsh", "fish")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 holds, 1 violated, 2 your input, 3 the oracle, 4 inconclusive, 129, 130, 143 interrupted.

    Those of a verdict are of `run`. `verify` ends with 0 if the evidence is intact, whatever the verdict, and with 2 if
    it is not; the other commands end with 0 when they did what was asked.
    """
    chosen = _parser().parse_args(arguments)
    module, _, name = chosen.perform.partition(":")
    try:
        with interruptible():
            perform: Callable[[argparse.Namespace], int] = getattr(import_module(f"harness.cli.{module}"), name)
            return perform(chosen)
    except HarnessError as error:
        if chosen.debug:
            traceback.print_exception(error)
        tell(f"error {code_of(error)}: {error}")
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


def allow_imports_beside(file: Path) -> None:
    """`python:` addresses name modules beside the audit.toml, or where the command was given."""
    for folder in (os.getcwd(), str(file.resolve().parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="harness",
        description="Test an anonymizer from outside: how far does a person's own record move what a release says "
        "about that person?",
        epilog=" ".join((main.__doc__ or "").split()),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument("--debug", action="store_true", help="show where an error came from, in the anonymizer too")
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser("demo", help="audit three reference anonymizers on invented people")
    demo.add_argument("--people", type=int, default=1000, metavar="N", help="how many people to invent (1000)")
    demo.add_argument("--json", action="store_true", help="print the reports as JSON")
    demo.set_defaults(perform="audits:demo")

    plan = commands.add_parser("plan", help="check an audit.toml, and say what the audit will cost")
    plan.add_argument("file", type=Path, help="audit.toml")
    plan.set_defaults(perform="audits:plan")

    run = commands.add_parser("run", help="run an audit; run it again to continue after an interruption")
    run.add_argument("file", type=Path, help="audit.toml")
    run.add_argument("--out", type=Path, metavar="DIR", help="folder for journal and report (NAME.audit)")
    run.add_argument("--json", action="store_true", help="print the report as JSON instead of the summary")
    where = "instead of the file's: a number, a Dask scheduler (tcp://host:8786), or local:N"
    run.add_argument("--workers", "--cluster", type=_workers, metavar="N|ADDRESS", help=where)
    run.add_argument("--reveal", action="store_true", help="show raw records in the summary")
    run.add_argument("--quiet", action="store_true", help="print the result and errors, but no progress")
    run.set_defaults(perform="audits:run")

    verify = commands.add_parser(
        "verify",
        help="prove every number of a report from its journal, without the oracle",
        epilog="Exit codes: 0 if every number follows from the journal, whatever the verdict; 2 if one does not. To "
        "act on the verdict, use the exit code of `harness run`, or the last line that verify prints.",
    )
    verify.add_argument("folder", type=Path, help="the --out folder of a run")
    verify.set_defaults(perform="audits:verify")

    report = commands.add_parser("report", help="print a finished audit's report in another format")
    report.add_argument("folder", type=Path, help="the --out folder of a run")
    formats = "; ".join(f"{name}: {known.describes}" for name, known in RENDERERS.items())
    report.add_argument("--format", choices=list(RENDERERS), default=next(iter(RENDERERS)), help=formats)
    report.add_argument("-o", "--output", type=Path, metavar="FILE", help="a file to write instead of printing")
    report.set_defaults(perform="audits:report")

    _add_serve(commands.add_parser("serve", help="for vendors: offer an anonymizer to an auditor"))

    explain = commands.add_parser("explain", help="explain a term of the output, or the code of an error")
    explain.add_argument("words", nargs="*", metavar="TERM|CODE", help="such as witness or E202; without it, a list")
    explain.set_defaults(perform="explaining:explain")

    completion = commands.add_parser("completion", help="print a script that completes commands and options in a shell")
    completion.add_argument("shell", choices=SHELLS, help="which shell; the script says how to install it")
    completion.set_defaults(perform="completing:completion")
    for command in commands.choices.values():  # harness run --debug as well as harness --debug run
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return parser


class _Version(argparse.Action):
    """Prints the version; looks it up only when it is asked for, because that takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from importlib.metadata import version

        print(f"harness {version('anonymizer-harness')}")
        parser.exit()


def _workers(word: str) -> int | str:
    return int(word) if word.isdigit() else word


def _add_serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("address", help="python:package.module:function, or any other oracle")
    where = serve.add_mutually_exclusive_group(required=True)
    where.add_argument("--http", metavar="HOST:PORT", help="as an HTTP API, protobuf and JSON")
    where.add_argument("--grpc", metavar="HOST:PORT", help="as a gRPC service")
    where.add_argument("--stdio", action="store_true", help="as frames on standard input and output")
    serve.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the anonymizer: k=5")
    serve.add_argument("--token-env", metavar="NAME", help="environment variable with the token callers must present")
    serve.add_argument("--cert", type=Path, help="PEM certificate of this server, for TLS")
    serve.add_argument("--key", type=Path, help="PEM key of that certificate")
    serve.add_argument("--client-ca", type=Path, help="PEM certificate that signed those of the callers (mutual TLS)")
    serve.set_defaults(perform="serving:serve")
