"""The command `harness`: demo, plan, run, verify, serve. A door: words become plans, outcomes exit codes."""

from __future__ import annotations

import argparse
import json
import os
import ssl
import sys
import time
import tomllib
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.vocabulary.errors import HarnessError, InputError

if TYPE_CHECKING:
    from oracles.serve.binding import Running

INTERRUPTED = 130
DEFECT, UNHEARD = 70, 141  # EX_SOFTWARE; as a shell tells of SIGPIPE
REPORT, SUMMARY = "report.json", "summary.txt"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 holds, 1 violated, 2 your input, 3 the oracle, 4 inconclusive, 130 interrupted."""
    chosen = _parser().parse_args(arguments)
    perform: Callable[[argparse.Namespace], int] = chosen.perform
    try:
        return perform(chosen)
    except HarnessError as error:
        _tell(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has left; there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNHEARD
    except Exception:  # not a verdict, and not the auditor's fault: no exit code of ours may say so
        traceback.print_exc()
        _tell("this is a defect of the harness; what was measured is kept. Please report the lines above")
        return DEFECT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="harness",
        description="Test an anonymizer from outside: how far does a person's own record move what a release says "
        "about that person?",
        epilog=main.__doc__,
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser("demo", help="audit three reference anonymizers on invented people")
    demo.add_argument("--people", type=int, default=1000, metavar="N", help="how many people to invent (1000)")
    demo.add_argument("--json", action="store_true", help="print the reports as JSON")
    demo.set_defaults(perform=_demo)

    plan = commands.add_parser("plan", help="check an audit.toml, and say what the audit will cost")
    plan.add_argument("file", type=Path, help="audit.toml")
    plan.set_defaults(perform=_plan)

    run = commands.add_parser("run", help="run an audit; run it again to go on after an interruption")
    run.add_argument("file", type=Path, help="audit.toml")
    run.add_argument("--out", type=Path, metavar="DIR", help="folder for journal and report (NAME.audit)")
    run.add_argument("--json", action="store_true", help="print the report as JSON instead of the summary")
    run.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler, tcp://host:8786, or local:N")
    run.add_argument("--reveal", action="store_true", help="show raw records in the report")
    run.set_defaults(perform=_run)

    serve = commands.add_parser("serve", help="the vendor's kit: offer an anonymizer to an auditor")
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
    serve.set_defaults(perform=_serve)

    verify = commands.add_parser("verify", help="recompute chain and verdict from a journal, without the oracle")
    verify.add_argument("folder", type=Path, help="the --out folder of a run")
    verify.set_defaults(perform=_verify)
    return parser


def _tell(text: str) -> None:
    print(f"harness: {text}", file=sys.stderr)


def _demo(chosen: argparse.Namespace) -> int:
    from harness.demo import show

    if chosen.people < 20:
        raise InputError("--people must be at least 20, or there is nothing to hide in")
    reports = show(_silent if chosen.json else print, chosen.people)
    if chosen.json:
        print(json.dumps({name: report.to_dict() for name, report in reports.items()}))
    return 0


def _silent(text: str) -> None:
    """Says nothing."""


def _plan(chosen: argparse.Namespace) -> int:
    import oracles
    from harness.auditing.config import load
    from harness.auditing.cost import estimated_cost
    from harness.auditing.procedure import Audit

    _let_import(chosen.file)
    planned = load(chosen.file)
    oracle = oracles.open(planned.address, **planned.options)
    try:
        print(estimated_cost(Audit(planned.plan, oracle), planned.workers))
    finally:
        oracle.close()
    return 0


def _run(chosen: argparse.Namespace) -> int:
    import oracles
    from harness.api import audited, executor_for, shown
    from harness.auditing.config import load
    from harness.executors import Cluster
    from harness.report import Report

    _let_import(chosen.file)
    planned = load(chosen.file)
    out = chosen.out or Path(f"{chosen.file.stem}.audit")
    source = {"address": planned.address, "options": planned.options}
    oracle = oracles.open(planned.address, **planned.options)
    start = time.monotonic()
    executor = Cluster(chosen.cluster) if chosen.cluster else executor_for(planned.workers, oracle)
    with audited(planned.plan, oracle, executor, out=out, source=source) as audit:
        findings = []
        try:
            for finding in shown(audit):
                findings.append(finding)
        except (KeyboardInterrupt, HarnessError) as error:
            if findings or isinstance(error, KeyboardInterrupt):
                _tell_kept(len(findings), chosen.file, out)
            if isinstance(error, KeyboardInterrupt):
                return INTERRUPTED
            raise
        report = Report.of(audit, findings, reveal=chosen.reveal)
    _write(out / REPORT, report.to_json())
    _write(out / SUMMARY, report.summary() + "\n")
    print(report.to_json() if chosen.json else report.summary(), end="" if chosen.json else "\n")
    _tell(f"{len(findings)} findings in {time.monotonic() - start:.1f} s; report in {out / REPORT}")
    if needed := report.verdict.draws_needed:
        how = (
            "raise draws and run the same command again" if planned.plan.adaptive else "audit anew with adaptive = true"
        )
        _tell(f"to settle it with about {needed:,} draws: {how}")
    if counts := getattr(oracle, "counts", None):  # of an oracle that is waited for
        _tell(f"it took {counts}")
    return report.verdict.outcome.exit_code


def _serve(chosen: argparse.Namespace) -> int:
    import oracles
    from oracles.serve.binding import until_stopped

    sink = None
    if chosen.stdio:
        from oracles.serve import stdio

        sink = stdio.claimed_stdout()  # before the vendor's module is imported, which may print
    _let_import(Path.cwd() / "audit.toml")
    oracle = oracles.open(chosen.address, **_options(chosen.option))
    if chosen.stdio:
        stdio.serve(oracle, sink=sink)
        return 0
    token = _token(chosen.token_env)
    if chosen.grpc:
        from oracles.serve.grpc import Tls, serve

        tls = Tls(*(path.read_bytes() for path in _certificates(chosen))) if chosen.cert else None
        server: Running = serve(oracle, chosen.grpc, token=token, tls=tls)
    else:
        from oracles.serve import http

        server = http.serve(oracle, chosen.http, token=token, tls=_tls_context(chosen) if chosen.cert else None)
    _tell(f"{oracle.card.name} is served at {server.address}; stop it with Ctrl-C")
    until_stopped(server)
    return 0


def _options(words: Sequence[str]) -> dict[str, object]:
    """NAME=VALUE with values as in TOML; a word that is none is a text."""
    options: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"--option {word!r}: expected NAME=VALUE, such as k=5")
        try:
            options[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            options[name] = value
    return options


def _token(name: str | None) -> str | None:
    if name is None:
        return None
    if not os.environ.get(name):
        raise InputError(f"--token-env {name}: that environment variable is not set, or empty")
    return os.environ[name]


def _certificates(chosen: argparse.Namespace) -> list[Path]:
    if chosen.key is None:
        raise InputError("--cert needs --key, the key of that certificate")
    return [path for path in (chosen.cert, chosen.key, chosen.client_ca) if path is not None]


def _tls_context(chosen: argparse.Namespace) -> ssl.SSLContext:
    _certificates(chosen)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(chosen.cert, chosen.key)
        if chosen.client_ca is not None:
            context.load_verify_locations(chosen.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise InputError(f"--cert {chosen.cert}: the certificate or its key cannot be used: {error}") from None
    return context


def _verify(chosen: argparse.Namespace) -> int:
    from harness.api import JOURNAL
    from harness.auditing.verify import verified

    report = chosen.folder / REPORT
    verdict = verified(chosen.folder / JOURNAL, report if report.exists() else None)
    print(f"the journal is whole, and what it holds gives\n{verdict}")
    return 0


def _tell_kept(found: int, file: Path, out: Path) -> None:
    _tell(f"stopped; {found} findings are kept in {out}. To go on: harness run {file} --out {out}")


def _let_import(file: Path) -> None:
    """`python:` addresses mean modules beside the audit.toml, or where the command was given."""
    for folder in (os.getcwd(), str(file.resolve().parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)


def _write(path: Path, text: str) -> None:
    """Whole or not at all: nobody reads half a report."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


if __name__ == "__main__":
    sys.exit(main())
