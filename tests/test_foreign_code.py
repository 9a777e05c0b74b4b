"""Somebody else's code behind the command `harness`: its prints, its crashes and its tracebacks."""

import json
import sys
from pathlib import Path

import pytest

from tests.command_line import harness_process, run_harness

AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
[data.quasi]
age = "number"
[oracle]
address = "python:tests.oracles.crashing:{name}"
[oracle.options]
{options}
[claim]
epsilon = 2
[run]
workers = {workers}
"""


def write_audit(folder: Path, name: str, options: str = "", workers: int = 1) -> None:
    rows = ["age,ill", *(f"{20 + index},{'flu' if index % 3 else 'ulcer'}" for index in range(6))]
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    (folder / "audit.toml").write_text(AUDIT.format(name=name, options=options, workers=workers))


@pytest.mark.parametrize("workers", [1, 2])
def test_what_an_anonymizer_prints_is_in_a_log_and_nowhere_else(workers: int, tmp_path: Path) -> None:
    write_audit(tmp_path, "printing", workers=workers)
    run = harness_process("run", "audit.toml", "--json", "--out", "out", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["verdict"]["outcome"] == "holds"
    assert "printed" not in run.stderr
    log = tmp_path / "out" / "oracle.log"
    assert log.stat().st_mode & 0o777 == 0o600
    calls = log.read_text().count("printed to stdout")
    assert calls == log.read_text().count("echoed by a child") > 6


@pytest.mark.parametrize("workers", [1, 2])
def test_a_crash_costs_its_record_alone(workers: int, tmp_path: Path) -> None:
    write_audit(tmp_path, "exiting_without_the_third", "attempts = 1", workers)
    run = run_harness("run", "audit.toml", "--out", "out", "--reveal", cwd=tmp_path)
    assert run.returncode == 4
    printed = " ".join(run.stdout.split())
    assert "INCONCLUSIVE: 1 record could not be measured (the process of f ended)" in printed
    assert "failed 1: the process of f ended (line 4" in printed
    assert "asked for f(D) without the record on line 4 of people.csv" in (tmp_path / "out" / "report.json").read_text()


def test_a_crash_is_exit_code_3_where_none_may_fail(tmp_path: Path) -> None:
    write_audit(tmp_path, "exiting_without_the_third", "attempts = 1")
    none = run_harness("run", "audit.toml", "--out", "none", "--max-failures", "0", cwd=tmp_path)
    assert none.returncode == 3
    assert "1 person could not be measured (the process of f ended), and max_failures = 0" in none.stderr


def test_after_a_timeout_the_audit_goes_on_with_a_longer_one(tmp_path: Path) -> None:
    write_audit(tmp_path, "hanging", "timeout = 0.5")
    assert run_harness("run", "audit.toml", "--out", "out", cwd=tmp_path).returncode == 3
    write_audit(tmp_path, "hanging", "timeout = 1.0")
    run = run_harness("run", "audit.toml", "--out", "out", cwd=tmp_path)
    assert run.returncode == 3
    assert "was still anonymizing after 1 s, and its process was ended; raise the option timeout" in run.stderr


def test_debug_shows_where_the_anonymizer_raised(tmp_path: Path) -> None:
    write_audit(tmp_path, "raising")
    plain = run_harness("plan", "audit.toml", cwd=tmp_path)
    assert plain.returncode == 3
    assert "Traceback" not in plain.stderr
    assert "is in audit.audit/oracle.log (it may hold raw rows)" in plain.stderr
    assert "in raising" in (tmp_path / "audit.audit" / "oracle.log").read_text()
    for words in (("run", "audit.toml", "--debug"), ("--debug", "run", "audit.toml")):
        run = run_harness(*words, cwd=tmp_path)
        assert run.returncode == 3
        assert "in raising" in run.stderr
        assert "\nharness: error E301: oracle 'tests.oracles.crashing:raising', asked" in run.stderr


def write_audit_of_server(folder: Path, name: str) -> None:
    """An audit of `harness serve`, which writes its standard error to server.log."""
    write_audit(folder, name)
    server = f"harness.cli serve python:tests.oracles.crashing:{name} --stdio 2>server.log"
    text = (folder / "audit.toml").read_text().replace(f"python:tests.oracles.crashing:{name}", "cmd:sh serve.sh")
    (folder / "serve.sh").write_text(f"exec {sys.executable} -m {server}\n")
    (folder / "audit.toml").write_text(text.replace("[oracle.options]", "[oracle.options]\nframes = true"))


def test_a_vendor_sees_what_was_raised_and_the_auditor_its_class(tmp_path: Path) -> None:
    write_audit_of_server(tmp_path, "raising")
    run = run_harness("run", "audit.toml", "--out", "out", cwd=tmp_path)
    assert run.returncode == 3
    assert "error E308: " in run.stderr
    assert "the anonymizer raised ValueError; its owner finds more on the server's standard error" in run.stderr
    assert "no use for" not in run.stderr
    assert "refused" not in run.stderr
    assert "ValueError: no use for the age 20" in (tmp_path / "server.log").read_text()


def test_a_crash_behind_a_server_is_tried_twice_and_told_to_both_sides(tmp_path: Path) -> None:
    write_audit_of_server(tmp_path, "exiting_without_the_third")
    run = run_harness("run", "audit.toml", "--out", "out", "--reveal", cwd=tmp_path)
    assert run.returncode == 4
    assert "1 record could not be measured (f failed behind its server)" in " ".join(run.stdout.split())
    (reason,) = json.loads((tmp_path / "out" / "report.json").read_text())["not_measured"]["reasons"]
    (said,) = reason["details"]
    assert "without the record on line 4 of people.csv: " in said
    assert "the process of the anonymizer ended with exit code 7 while anonymizing" in said
    assert "refused" not in said
    failures = [line for line in (tmp_path / "server.log").read_text().splitlines() if "answer failed" in line]
    assert all("asked 2 times" in line for line in failures)
    assert failures
