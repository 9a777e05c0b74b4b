"""The arguments of the command `harness`: one function per command, which names the function that performs it.

Imports no command: those are loaded when they are performed, so that `harness --help` answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.render import RENDERERS

SHELLS = ("bash", "zsh", "fish")
EXIT_CODES = (
    "Exit codes: 0 holds, 1 violated, 2 your input, 3 the oracle or its workers, 4 inconclusive, 74 the disk "
    "takes no more, 129, 130, 143 interrupted. Those of "
    "a verdict are of `run`. `baseline compare` ends with 1 if something is worse than it was. `verify` ends with 0 if "
    "the evidence is intact, whatever the verdict, and with 2 if it is not; the other commands end with 0 when they "
    "did what was asked."
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


def all_parsers(whole: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command by its whole name, such as `harness baseline save`; for the manual."""
    yield name, whole
    for each in whole._actions:
        if isinstance(each, argparse._SubParsersAction):
            for word, command in each.choices.items():
                yield from all_parsers(command, f"{name} {word}")


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
    command.add_argument(
        "--reveal", action="store_true", help="show raw records, predictions and the vendor's texts in the files"
    )
    most = "stop when more records than that could not be measured (unless given: when the oracle is evidently down)"
    command.add_argument("--max-failures", type=int, metavar="N", help=most)
    again = "ask again about the records that an earlier run could not measure"
    command.add_argument("--retry-failed", action="store_true", help=again)
    accept = "continue although the oracle now has another name, version, abilities or noise; the report says so"
    command.add_argument("--accept-card", action="store_true", help=accept)
    command.add_argument("--quiet", action="store_true", help="print the result and errors, but no progress")
    part = "examine only this part of the records, on this machine; harness merge puts all parts together: 3/16"
    command.add_argument("--shard", metavar="I/N", help=part)
    command.set_defaults(perform="audits:run")


def _merge(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "The last questions, which depend on everybody, are asked here, so that the anonymizer must be within reach. "
        "Exit codes are those of `run`."
    )
    command.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="the --out folders of all shards")
    command.add_argument("--out", type=Path, metavar="DIR", required=True, help="folder for journal and report")
    file = "audit.toml (the one that the shards were run with, where it is still there)"
    command.add_argument("--file", type=Path, metavar="FILE", help=file)
    command.add_argument("--json", action="store_true", help="print the report as JSON instead of the summary")
    where = "instead of the file's: a number, a Dask scheduler (tcp://host:8786), or local:N"
    command.add_argument("--workers", type=_workers, metavar="N|ADDRESS", help=where)
    command.add_argument(
        "--reveal", action="store_true", help="show raw records, predictions and the vendor's texts in the files"
    )
    command.add_argument("--quiet", action="store_true", help="print the result and errors, but no progress")
    command.set_defaults(perform="sharding:merge")


def _workers(word: str) -> int | str:
    return int(word) if word.isdigit() else word


def _verify(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "Exit codes: 0 if every number follows from what was kept, whatever the verdict; 2 if one does not; 4 if none "
        "is contradicted, but some rest on draws that were not kept or are gone. To act on the verdict, use the exit "
        "code of `harness run`, or the last line that verify prints."
    )
    command.add_argument("folder", type=Path, help="the --out folder of a run")
    command.add_argument(
        "--key", type=Path, metavar="PUBLIC.pem", help="public key of the signer: checks the signature"
    )
    kept = "head of the journal as the run printed it: checks that the journal is still that one"
    command.add_argument("--head", metavar="LINK", help=kept)
    command.set_defaults(perform="audits:verify")


def _salvage(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="the --out folder of a run whose journal is damaged")
    command.add_argument("--out", type=Path, metavar="DIR", help="new folder for what is intact (FOLDER.salvaged)")
    command.set_defaults(perform="salvaging:salvage")


def _sign(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "To make a key: openssl genpkey -algorithm ed25519 -out KEY.pem; openssl pkey -in KEY.pem -pubout -out "
        "PUBLIC.pem. Needs the package cryptography: pip install 'anonymizer-harness[sign]'."
    )
    command.add_argument("folder", type=Path, help="the --out folder of a finished run")
    command.add_argument("--key", type=Path, required=True, metavar="KEY.pem", help="private Ed25519 key, PEM")
    secret = "environment variable with the passphrase of an encrypted key"
    command.add_argument("--passphrase-env", metavar="NAME", help=secret)
    command.set_defaults(perform="signing:sign")


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="the --out folder of a run")
    formats = "; ".join(f"{name}: {known.describes}" for name, known in RENDERERS.items())
    command.add_argument("--format", choices=list(RENDERERS), default=next(iter(RENDERERS)), help=formats)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="a file to write instead of printing")
    reveal = "name what was inferred about persons, and show texts of the anonymizer"
    command.add_argument("--reveal", action="store_true", help=reveal)
    command.set_defaults(perform="audits:report")


def _baseline(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "Exit codes of compare: 0 if nothing is worse, 1 if something is and is not accepted (where f is randomized: "
        "worse by more than chance). "
        "Persons are compared if there is a key: in the environment variable HARNESS_BASELINE_KEY or the file of --key."
    )
    actions = command.add_subparsers(required=True, metavar="action")
    save = actions.add_parser("save", help="write what an audit found to a file that is checked in")
    _baseline_audit(save, "baselines:save")
    save.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="the baseline; others in it stay"
    )
    grows = "how much a distance may grow before it is worse; it is kept in the file (0)"
    save.add_argument("--tolerance", type=float, metavar="X", help=grows)
    compare = actions.add_parser("compare", help="say what got better or worse since the baseline")
    accept = actions.add_parser("accept", help="let a known finding pass until a date")
    for action, perform in ((compare, "baselines:compare"), (accept, "baselines:accept")):
        _baseline_audit(action, perform)
        action.add_argument("baseline", type=Path, metavar="FILE", help="the baseline")
    accept.add_argument("finding", metavar="NAME", help="as compare prints it; * stands for any part, as in 'person/*'")
    accept.add_argument("--reason", required=True, help="why; it is kept in the file")
    accept.add_argument("--until", required=True, metavar="DATE", help="the last day it passes, such as 2027-01-31")


def _baseline_audit(action: argparse.ArgumentParser, perform: str) -> None:
    audit = "the --out folder of a run, its report.json, an audit.toml, which is run first, or a check.json"
    action.add_argument("audit", type=Path, metavar="DIR|AUDIT|CHECK", help=audit)
    action.add_argument(
        "--name", default="audit", help="name of the audit or check in the file, which may hold several (audit)"
    )
    action.add_argument("--key", type=Path, metavar="FILE", help="file with the key of the digests of persons")
    action.add_argument("--check", type=Path, metavar="FILE", help="check.json with the outcomes of laws")
    action.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    action.set_defaults(perform=perform)


def _several_audits(command: argparse.ArgumentParser, name: str, what: str) -> None:
    """The arguments of commands that run several audits, each in a folder of its own."""
    command.add_argument("--out", type=Path, metavar="DIR", help=f"folder for {what} and the result (NAME.{name})")
    command.add_argument("--json", action="store_true", help=f"print the content of {name}.json instead of the table")
    command.add_argument("--workers", type=_workers, metavar="N|ADDRESS", help="instead of the file's")
    command.add_argument("--quiet", action="store_true", help="print the result and errors, but no progress")


def _sweep(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "Exit codes: 0 if every cell was audited, whatever the verdicts; else that of the first cell that failed. Run "
        "the same command again to continue."
    )
    command.add_argument("file", type=Path, help="sweep.toml: an audit.toml with a table [sweep]")
    _several_audits(command, "sweep", "all cells")
    command.set_defaults(perform="sweeping:sweep")


def _compare(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "WORSE if the largest distance, the mean distance or the share at the claim is worse; BETTER if one is better "
        "and none is worse; else SAME. Exit codes: 0 whatever the comparison says, 2 if the audits cannot be compared. "
        "To fail a job when something gets worse, use `harness baseline compare`."
    )
    command.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="the --out folders of finished audits, or files check.json; the first is compared with",
    )
    command.add_argument("--json", action="store_true", help="print everything, every changed person too, as JSON")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write a page with figures (HTML)")
    command.set_defaults(perform="comparing:compare")


def _prune(command: argparse.ArgumentParser) -> None:
    command.epilog = "The exit code is the outcome of the last round. Run the same command again to continue."
    command.add_argument("file", type=Path, help="audit.toml")
    command.add_argument("--rounds", type=int, metavar="N", help="audits after the first, at most (10)")
    command.add_argument("--people", type=int, metavar="N", help="persons to remove, at most (one in twenty)")
    command.add_argument("--at-once", type=int, metavar="N", help="persons to remove in one round (all who break it)")
    _several_audits(command, "prune", "all rounds")
    command.set_defaults(perform="pruning:prune")


def _data(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", choices=["adult"], help="adult: census data of UCI, as in the papers")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="file to write (NAME.csv)")
    command.add_argument("--attempts", type=int, default=3, metavar="N", help="how often to try (3)")
    command.set_defaults(perform="fetching:data")


def _measure(command: argparse.ArgumentParser) -> None:
    command.add_argument("release", type=Path, help="the released table: CSV, Parquet or Excel")
    schema = "what its columns are: the section [data] of an audit.toml, where path may be missing"
    command.add_argument("--schema", type=Path, required=True, metavar="FILE", help=schema)
    command.add_argument(
        "--original", type=Path, metavar="FILE", help="the data that was anonymized, for t, loss, truth"
    )
    command.add_argument("--by", metavar="COLUMNS", help="discrimination rate of every value of these: age,city")
    partition = "TOML file that maps sensitive values to what an attacker takes them for, for --by"
    command.add_argument("--partition", type=Path, metavar="FILE", help=partition)
    utility = 'also how well a model predicts the sensitive column (takes a while; "mlp" as in the fourth text)'
    command.add_argument("--utility", nargs="?", const="mlp", metavar="MODEL", help=utility)
    encoder = "what the model of --utility reads: fill-parent (as usual), fill-child, one-class, proportional, …"
    command.add_argument("--encoder", metavar="NAME", help=encoder)
    command.add_argument("--json", action="store_true", help="print the metrics as JSON")
    command.set_defaults(perform="measuring:measure")


def _serve(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "Callers are told only the class of what the anonymizer raises; with --debug also its message and the end of "
        "its traceback."
    )
    command.add_argument("address", help="python:package.module:function, or any other oracle")
    where = command.add_mutually_exclusive_group(required=True)
    where.add_argument("--http", metavar="HOST:PORT", help="as an HTTP API, protobuf and JSON")
    where.add_argument("--grpc", metavar="HOST:PORT", help="as a gRPC service")
    where.add_argument("--stdio", action="store_true", help="as frames on standard input and output")
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the anonymizer: k=5")
    many = command.add_mutually_exclusive_group()
    processes = "questions answered at once, a python: function in a process for each: for one that computes (1)"
    many.add_argument("--workers", type=int, metavar="N", default=1, help=processes)
    threads = "questions answered at once in threads of one process: for a function that waits for something else"
    many.add_argument("--threads", type=int, metavar="N", help=threads)
    memory = "memory that the server may take in all, such as 512M or 2G; requests that need more are refused"
    command.add_argument("--max-memory", metavar="SIZE", help=memory)
    seconds = "seconds that one question may take (3600)"
    command.add_argument("--max-seconds", type=float, metavar="N", default=3600.0, help=seconds)
    command.add_argument("--token-env", metavar="NAME", help="environment variable with the token callers must present")
    command.add_argument("--cert", type=Path, help="PEM certificate of this server, for TLS")
    command.add_argument("--key", type=Path, help="PEM key of that certificate")
    command.add_argument("--client-ca", type=Path, help="PEM certificate that signed those of the callers (mutual TLS)")
    command.set_defaults(perform="serving:serve")


def _check(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "Exit codes: 0 if no law is broken, 1 if one is, 4 if one could not be judged and --inconclusive=fail. "
        "Claims: k, l, t, noise_epsilon, epsilon, deterministic, seedable, keeps_rows, keeps_sensitive."
    )
    command.add_argument("address", help="the anonymizer: python:module:function, cmd:…, https://…, reference:mondrian")
    schema = "the columns and their domains, or a sample of real rows: the section [data] of an audit.toml"
    command.add_argument("--schema", type=Path, required=True, metavar="FILE", help=schema)
    claim = "what the anonymizer is said to do: k=3; may be repeated"
    command.add_argument("--claim", action="append", default=[], metavar="NAME=VALUE", help=claim)
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the anonymizer: k=5")
    command.add_argument("--law", action="append", default=[], metavar="NAME", help="check this law only; repeatable")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="another number asks other tables (0)")
    command.add_argument("--budget-calls", type=int, default=300, metavar="N", help="calls of the anonymizer (300)")
    command.add_argument("--max-time", type=float, default=60.0, metavar="SECONDS", help="time of the whole check (60)")
    command.add_argument("--max-failures", type=int, metavar="N", help="stop after so many broken laws")
    command.add_argument("--report", default="", metavar="FORMATS", help="files to write: json,junit,sarif,md,html")
    command.add_argument("--report-dir", type=Path, default=Path(), metavar="DIR", help="folder for them (.)")
    inconclusive = "whether a law that could not be judged fails the check (warn)"
    command.add_argument("--inconclusive", choices=["warn", "fail"], default="warn", help=inconclusive)
    command.add_argument("--json", action="store_true", help="print check.json instead of the table")
    command.set_defaults(perform="checking:check")


def _replay(command: argparse.ArgumentParser) -> None:
    command.epilog = "Exit codes: 0 if all cases are fixed, 1 if one still fails, 3 if one could not be asked."
    cases = "cases that `harness check` kept (all of .harness)"
    command.add_argument("cases", type=Path, nargs="*", metavar="FILE", help=cases)
    again = "for the anonymizer: options that were not kept because they may be secret, such as headers"
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help=again)
    command.set_defaults(perform="checking:replay")


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
    "merge": ("put the shards of an audit together and go on to its report", _merge),
    "verify": ("prove every number of a report from its journal, without the oracle", _verify),
    "salvage": ("keep what is intact of a damaged journal, to go on from there", _salvage),
    "sign": ("check a finished audit and sign its journal, plan and reports", _sign),
    "report": ("print the report of a finished or interrupted audit in another format", _report),
    "sweep": ("run an audit for every value of some keys: a table, figures and JSON", _sweep),
    "compare": ("compare finished audits: who is better or worse off, with limits", _compare),
    "baseline": ("compare an audit with an earlier one that is kept in the repository", _baseline),
    "prune": ("remove the people who break the claim and audit again, round by round", _prune),
    "data": ("fetch a public data set of the papers from OpenML, as a CSV file", _data),
    "measure": ("measure one released table: k, l, t, discrimination rate, loss, utility", _measure),
    "serve": ("for vendors: offer an anonymizer to an auditor", _serve),
    "check": ("try an anonymizer on generated tables: which laws does it keep", _check),
    "replay": ("try again the tables that broke a law", _replay),
    "explain": ("explain a term of the output, or the code of an error", _explain),
    "completion": ("print a script that completes commands and options in a shell", _completion),
}
