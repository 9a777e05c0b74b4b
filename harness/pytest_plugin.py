"""The plugin of pytest: fixtures `audit`, `check_laws` and `oracle`, options for the contract suite and for baselines.

It is loaded in every run of pytest where the harness is installed, so it imports nothing of the harness until a test
uses it. What happens, in this order:

1. A test calls `audit(…)` or `check_laws(…)`: the audit or check runs, and its report is kept beside the test.
2. The test fails: the message gains what was found and the command that repeats the test (`_explain`).
   It passes and there is a baseline: the test fails if an audit got worse by more than chance, or a law is broken
   that was not.
3. The result travels with the test report, from a worker of xdist too (`pytest_runtest_makereport`).
4. At the end the process that the user started writes baseline, annotations and summary (`_Collector`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.report import Report
    from harness.testing.outcome import CheckReport
    from harness.vocabulary.dataset import Dataset
    from harness.vocabulary.oracle import Oracle

CONTRACT_ROWS = 60  # of the data of an audit.toml that the contract suite asks about
CONTRACT_PEOPLE = 24  # invented ones, where there is no audit.toml


@dataclass(frozen=True)
class Audited:
    """One audit of a test."""

    name: str  # in baselines: the test, and the number of the audit where there are several
    report: Report
    reveal: bool


@dataclass(frozen=True)
class Checked:
    """One check of a test."""

    name: str  # as that of an audit
    report: CheckReport


AUDITED = pytest.StashKey[list[Audited]]()  # of a test
CHECKED = pytest.StashKey[list[Checked]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness", "audits of anonymizers")
    group.addoption(
        "--oracle", metavar="ADDRESS",
        help="the anonymizer for the fixture `oracle` and the contract suite (pytest --pyargs harness.testing.contract)"
        ": an address such as python:module:function, or an audit.toml with address, options and data",
    )  # fmt: skip
    group.addoption("--oracle-option", action="append", default=[], metavar="NAME=VALUE", help="for it, such as k=5")
    group.addoption("--harness-baseline", metavar="FILE", help="fail where an audit is worse than in this file")
    group.addoption("--harness-baseline-key", metavar="FILE", help="file with the key of the digests of persons")
    group.addoption("--harness-update-baseline", action="store_true", help="write what was found to the baseline file")
    group.addoption("--harness-reveal", action="store_true", help="name sensitive values in messages of failed tests")


@pytest.fixture
def audit(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """`harness.audit` with its arguments; when the test fails, its message says what was found and how to repeat it."""

    def run(*arguments: Any, **options: Any) -> Report:
        from harness.api import audit as run_audit

        report = run_audit(*arguments, **options)
        done = request.node.stash.setdefault(AUDITED, [])
        reveal = bool(options.get("reveal")) or request.config.getoption("--harness-reveal")
        done.append(Audited(_name(request.node, len(done)), report, reveal))
        return report

    return run


@pytest.fixture
def check_laws(request: pytest.FixtureRequest) -> Callable[..., CheckReport]:
    """`harness.testing.check` with its arguments; its laws are kept in the baseline, and compared with it."""

    def run(*arguments: Any, **options: Any) -> CheckReport:
        from harness.testing import check

        report = check(*arguments, **options)
        done = request.node.stash.setdefault(CHECKED, [])
        done.append(Checked(_name(request.node, len(done)), report))
        return report

    return run


def _name(item: pytest.Item, done: int) -> str:
    return item.nodeid + (f" #{done + 1}" if done else "")


@pytest.fixture(scope="session")
def oracle(pytestconfig: pytest.Config) -> Iterator[Oracle]:
    """The oracle at the address of `--oracle`, opened once for all tests of this process."""
    from harness.testing.lent import Lent

    opened = _open(pytestconfig)
    try:
        yield Lent(opened)
    finally:
        opened.close()


@pytest.fixture(scope="session")
def oracle_data(pytestconfig: pytest.Config) -> Dataset:
    """The data that the contract suite asks about: the first rows of the audit.toml, else invented people."""
    from harness.auditing.config import load
    from harness.demo import QUASI
    from harness.synthetic_census import people
    from harness.vocabulary.dataset import Dataset
    from harness.vocabulary.schema import Schema

    address = pytestconfig.getoption("--oracle") or ""
    if not address.endswith(".toml"):
        return Dataset.from_frame(people(CONTRACT_PEOPLE), Schema(QUASI, "occupation"))
    data = load(address).plan.data
    return data.without(tuple(range(CONTRACT_ROWS, data.size))) if data.size > CONTRACT_ROWS else data


def _open(config: pytest.Config) -> Oracle:
    import oracles
    from harness.auditing.config import load
    from harness.cli import allow_imports_beside
    from harness.cli.option_words import options_from_words
    from harness.vocabulary.error_codes import code_of
    from harness.vocabulary.errors import HarnessError

    address = config.getoption("--oracle")
    if address is None:
        pytest.fail(
            "the fixture `oracle` needs an anonymizer: pytest --oracle ADDRESS, or an audit.toml", pytrace=False
        )
    try:
        given = options_from_words(config.getoption("--oracle-option"), "--oracle-option")
        if not address.endswith(".toml"):
            allow_imports_beside(config.rootpath / "audit.toml")
            return oracles.open(address, **given)
        allow_imports_beside(Path(address))
        file = load(address)
        options = oracles.options_beside(file.path.parent, file.address, file.options)
        return oracles.open(file.address, **{**options, **given})
    except HarnessError as error:
        pytest.fail(f"--oracle {address}: error {code_of(error)}: {error}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Explain a failed test by its audits; compare those of a test that passes with the baseline."""
    try:
        result = yield
    except Exception as error:
        if _used(item):
            _explain(item, error)
        raise
    if _used(item) and item.config.getoption("--harness-baseline"):
        _compare(item)
    return result


def _used(item: pytest.Item) -> bool:
    return AUDITED in item.stash or CHECKED in item.stash


def _explain(item: pytest.Item, error: Exception) -> None:
    from harness.render.failure import failure

    for checked in item.stash.get(CHECKED, []):
        if checked.report.failed:
            error.add_note(f"laws are broken in {checked.name}")
            error.add_note(f"  seed       {checked.report.seed}")
    for one in item.stash.get(AUDITED, []):
        if one.report.verdict.outcome != "holds":
            error.add_note(f"{one.report.verdict.outcome.name} in {one.name}")
            error.add_note(failure(one.report.complete or one.report.plain, reveal=one.reveal))
    error.add_note(f"  repeat     {_repeat(item)}")


def _repeat(item: pytest.Item) -> str:
    """The command that runs this test alone, with the options that matter to it."""
    words = ["pytest", item.nodeid]
    for option in ("--oracle", "--harness-baseline", "--harness-baseline-key"):
        if value := item.config.getoption(option):
            words += [option, value]
    for value in item.config.getoption("--oracle-option"):
        words += ["--oracle-option", value]
    return shlex.join(words)


def _compare(item: pytest.Item) -> None:
    from harness.testing.baseline_run import failures_of
    from harness.vocabulary.error_codes import code_of
    from harness.vocabulary.errors import HarnessError

    audits = {one.name: one.report for one in item.stash.get(AUDITED, [])}
    checks = {one.name: one.report for one in item.stash.get(CHECKED, [])}
    try:
        failures = failures_of(audits, checks, item.config.option)
    except HarnessError as error:
        failures = [f"error {code_of(error)}: {error}"]
    if failures:
        pytest.fail("\n".join([*failures, f"  repeat     {_repeat(item)}"]), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """What the audits and checks of a test found goes with its report, as plain data, to the process that the user
    started.
    """
    report: Any = yield
    if call.when == "call" and _used(item):
        from harness.testing.baseline_run import travelling, travelling_check

        path, line, _ = item.location
        where = {"file": path, "line": (line or 0) + 1, "test": item.nodeid, "passed": report.passed}
        audits, checks = item.stash.get(AUDITED, []), item.stash.get(CHECKED, [])
        report.harness_found = [
            *({**where, "name": one.name, **travelling(one.report, item.config.option)} for one in audits),
            *({**where, "name": one.name, **travelling_check(one.report)} for one in checks),
        ]
    return report


class _Collector:
    """Of the process that the user started: gathers what tests found, and writes it at the end."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.found += getattr(report, "harness_found", [])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if self.found:
            from harness.testing.baseline_run import closing_lines

            terminalreporter.section("harness")
            for line in closing_lines(self.found, config.option):
                terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # which a worker of xdist has
        config.pluginmanager.register(_Collector(), "harness-collector")
