"""The arguments of the command `harness`: one function per command, which names the function that performs it.

Imports no command: those are loaded when they are performed, so that `harness --help` answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from harness.render import RENDERERS

SHELLS = ("bash", "zsh", "fish")
EXIT_CODES = (
    "Exit codes: 0 holds, 1 violated, 2 your input, 3 the oracle, 4 inconclusive, 129, 130, 143 interrupted. Those of "
    "a verdict are of `run`. `verify` ends with 0 if the evidence is intact, whatever the verdict, and with 2 if it is "
    "not; the other commands end with 0 when they did what was asked."
)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    whole = argparse.ArgumentParser(
        prog="harness",
        description="Test an anonymizer from outside: how far does a person's own record move what a release says "
        "about that person?",
        epilog=EXIT_CODES,
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    whole.add_argument("--debug", action="store_true", help="show where an error came from, in the anonymizer too")
    commands = whole.add_subparsers(required=True, metavar="command")
    for name, (text, add_arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=text)
        add_arguments(command)  # harness run --debug as well as harness --debug run
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return whole


class _Version(argparse.Action):
    """Prints the version; looks it up only when it is asked for, because that takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from importlib.metadata import version

        print(f"harness {version('anonymizer-harness')}")
        parser.exit()


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument("--people", type=int, default=1000, metavar="N", help="how many people to invent (1000)")
    command.add_argument("--json", action="store_true", help="print the reports as JSON")
    command.set_defaults(perform="audits:demo")


def _init(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", type=Path, help="CSV, Parquet or Excel file with the records")
    command.add_argument("--oracle", metavar="ADDRESS", help="the anonymizer; it is asked for one release")
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the anonymizer: k=5")
    command.add_argument("--sensitive", metavar="NAME", help="the column that nobody should learn about a person")
    command.add_argument("--quasi", metavar="NAME,NAME", help="the columns that an adversary knows (all that fit)")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", default=Path("audit.toml"), help="(audit.toml)")
    command.add_argument("--force", action="store_true", help="overwrite FILE if it exists")
    command.set_defaults(perform="initializing:init")


def _plan(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path, help="audit.toml")
    command.set_defaults(perform="audits:plan")


def _run(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path, help="audit.toml")
    command.add_argument("--out", type=Path, metavar="DIR", help="folder for journal and report (NAME.audit)")
    command.add_argument("--json", action="store_true", help="print the report as JSON instead of the summary")
    where = "instead of the file's: a number, a Dask scheduler (tcp://host:8786), or local:N"
    command.add_argument("--workers", "--cluster", type=_workers, metavar="N|ADDRESS", help=where)
    command.add_argument("--reveal", action="store_true", help="show raw records in the summary")
    command.add_argument("--quiet", action="store_true", help="print the result and errors, but no progress")
    command.set_defaults(perform="audits:run")


def _workers(word: str) -> int | str:
    return int(word) if word.isdigit() else word


def _verify(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "Exit codes: 0 if every number follows from the journal, whatever the verdict; 2 if one does not. To act on "
        "the verdict, use the exit code of `harness run`, or the last line that verify prints."
    )
    command.add_argument("folder", type=Path, help="the --out folder of a run")
    command.set_defaults(perform="audits:verify")


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="the --out folder of a run")
    formats = "; ".join(f"{name}: {known.describes}" for name, known in RENDERERS.items())
    command.add_argument("--format", choices=list(RENDERERS), default=next(iter(RENDERERS)), help=formats)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="a file to write instead of printing")
    command.set_defaults(perform="audits:report")


def _serve(command: argparse.ArgumentParser) -> None:
    command.add_argument("address", help="python:package.module:function, or any other oracle")
    where = command.add_mutually_exclusive_group(required=True)
    where.add_argument("--http", metavar="HOST:PORT", help="as an HTTP API, protobuf and JSON")
    where.add_argument("--grpc", metavar="HOST:PORT", help="as a gRPC service")
    where.add_argument("--stdio", action="store_true", help="as frames on standard input and output")
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the anonymizer: k=5")
    command.add_argument("--token-env", metavar="NAME", help="environment variable with the token callers must present")
    command.add_argument("--cert", type=Path, help="PEM certificate of this server, for TLS")
    command.add_argument("--key", type=Path, help="PEM key of that certificate")
    command.add_argument("--client-ca", type=Path, help="PEM certificate that signed those of the callers (mutual TLS)")
    command.set_defaults(perform="serving:serve")


def _explain(command: argparse.ArgumentParser) -> None:
    command.add_argument("words", nargs="*", metavar="TERM|CODE", help="such as witness or E202; without it, a list")
    command.set_defaults(perform="explaining:explain")


def _completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=SHELLS, help="which shell; the script says how to install it")
    command.set_defaults(perform="completing:completion")


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "demo": ("audit three reference anonymizers on invented people", _demo),
    "init": ("write a commented audit.toml for a data file, with its guesses marked", _init),
    "plan": ("check an audit.toml, and say what the audit will cost", _plan),
    "run": ("run an audit; run it again to continue after an interruption", _run),
    "verify": ("prove every number of a report from its journal, without the oracle", _verify),
    "report": ("print a finished audit's report in another format", _report),
    "serve": ("for vendors: offer an anonymizer to an auditor", _serve),
    "explain": ("explain a term of the output, or the code of an error", _explain),
    "completion": ("print a script that completes commands and options in a shell", _completion),
}
