"""The command line: exit codes, files, interruption, and what a person sees."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GOOD = (ROOT / "tests" / "golden" / "good.toml").read_text()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text((ROOT / "tests" / "golden" / "people.csv").read_text())
    (tmp_path / "audit.toml").write_text(GOOD)
    return tmp_path


def harness(*words, cwd, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "harness.cli", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, env=environment, **options)


@pytest.mark.parametrize(
    ("epsilon", "extra", "code", "outcome"),
    [("0.5", "", 1, "VIOLATED"), ("1.5", "", 0, "HOLDS"), ("1.5", "[run]\nrecords = 3\n", 4, "INCONCLUSIVE")],
)
def test_the_exit_code_is_the_verdict(folder: Path, epsilon, extra, code, outcome) -> None:
    (folder / "audit.toml").write_text(GOOD.replace("epsilon = 0.5", f"epsilon = {epsilon}") + extra)
    run = harness("run", "audit.toml", "--out", "out", cwd=folder)
    assert run.returncode == code, run.stderr
    assert run.stdout.startswith(outcome)


def test_a_run_leaves_report_summary_and_journal(folder: Path) -> None:
    run = harness("run", "audit.toml", "--out", "out", "--json", cwd=folder)
    told = json.loads(run.stdout)
    assert told["verdict"]["outcome"] == "violated"
    assert json.loads((folder / "out" / "report.json").read_text()) == told
    assert (folder / "out" / "summary.txt").read_text().startswith("VIOLATED")
    assert (folder / "out" / "journal.jsonl").stat().st_size > 0


def test_without_out_the_folder_is_named_after_the_file(folder: Path) -> None:
    harness("run", "audit.toml", cwd=folder)
    assert (folder / "audit.audit" / "report.json").exists()


def test_paths_in_the_file_are_relative_to_it(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    assert harness("run", str(folder / "audit.toml"), "--out", "out", cwd=elsewhere).returncode == 1


def test_modules_beside_the_file_can_be_audited(folder: Path) -> None:
    (folder / "mine.py").write_text("def f(df, width):\n    return df.assign(age=df['age'] // width * 0)\n")
    lines = GOOD.replace("reference:mondrian", "python:mine:f").replace("k = 2\n", "width = 10\n")
    lines = lines.replace('cells = "regions"\n', "").replace(
        'age = "number"', 'age = { kind = "number", points = true }'
    )
    (folder / "audit.toml").write_text(lines)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    run = harness("run", "../audit.toml", "--out", "out", cwd=elsewhere)
    assert run.returncode in (0, 1), run.stderr


def test_reveal_shows_raw_records_and_nothing_else_does(folder: Path) -> None:
    assert "'age': 28" not in harness("run", "audit.toml", "--out", "a", cwd=folder).stdout
    assert "'age': 28" in harness("run", "audit.toml", "--out", "b", "--reveal", cwd=folder).stdout


def test_plan_says_what_it_will_cost_and_leaves_nothing(folder: Path) -> None:
    run = harness("plan", "audit.toml", cwd=folder)
    assert run.returncode == 0
    assert "5 to examine, 1 draw a side" in run.stdout
    assert "15 of the anonymizer" in run.stdout  # f(D), the records, and nine questions to see if it is honest
    assert sorted(path.name for path in folder.iterdir()) == ["audit.toml", "people.csv"]


def test_a_journal_of_another_plan_is_refused(folder: Path) -> None:
    harness("run", "audit.toml", "--out", "out", cwd=folder)
    (folder / "audit.toml").write_text(GOOD.replace("epsilon = 0.5", "epsilon = 0.6"))
    run = harness("run", "audit.toml", "--out", "out", cwd=folder)
    assert run.returncode == 2
    assert "belongs to another audit (its plan differ)" in run.stderr


SLOW = """
import time
def f(df):
    time.sleep(0.05)
    return df
"""


def slow_audit(folder) -> subprocess.Popen:
    people = [
        "age,gender,disease",
        *(f"{20 + i % 60},{'MF'[i % 2]},{['Flu', 'Cancer'][i % 3 % 2]}" for i in range(200)),
    ]
    (folder / "people.csv").write_text("\n".join(people) + "\n")
    (folder / "slow.py").write_text(SLOW)
    lines = GOOD.replace("reference:mondrian", "python:slow:f").replace(
        '[oracle.options]\nk = 2\ncells = "regions"\n', ""
    )
    (folder / "audit.toml").write_text(lines)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "harness.cli", "run", "audit.toml", "--out", "out"]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def wait_for_findings(folder, count=5) -> None:
    for _ in range(600):
        journal = folder / "out" / "journal.jsonl"
        if journal.exists() and journal.read_text().count('"examined"') >= count:
            return
        time.sleep(0.05)
    raise AssertionError("no findings were journaled")


def test_an_interrupted_run_keeps_what_it_measured_and_goes_on(folder: Path) -> None:
    running = slow_audit(folder)
    wait_for_findings(folder)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=20)
    assert running.returncode == 130
    assert "examined records are kept in out. To go on: harness run audit.toml --out out" in errors
    kept = (folder / "out" / "journal.jsonl").read_text()
    harness("run", "audit.toml", "--out", "out", cwd=folder)
    assert (folder / "out" / "journal.jsonl").read_text().startswith(kept)


def test_a_killed_run_resumes_to_the_same_report(folder: Path) -> None:
    running = slow_audit(folder)
    wait_for_findings(folder)
    running.kill()
    running.communicate()
    harness("run", "audit.toml", "--out", "out", cwd=folder)
    harness("run", "audit.toml", "--out", "whole", cwd=folder)
    assert (folder / "out" / "report.json").read_bytes() == (folder / "whole" / "report.json").read_bytes()


def test_two_runs_on_one_journal_the_second_is_refused(folder: Path) -> None:
    running = slow_audit(folder)
    wait_for_findings(folder, 1)
    second = harness("run", "audit.toml", "--out", "out", cwd=folder)
    running.kill()
    running.communicate()
    assert second.returncode == 2
    assert "another process is writing this journal" in second.stderr


def test_the_demo_shows_the_papers_table_and_three_verdicts(tmp_path: Path) -> None:
    run = harness("demo", "--people", "60", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "VIOLATED: record 0 moves the inference about itself by 1; the claim allows less than 0.5" in run.stdout
    for name in ("Mondrian, k = 5", "Mondrian, ℓ = 3", "Laplace, noise_epsilon = 0.1"):
        assert name in run.stdout


def test_the_demo_speaks_json(tmp_path: Path) -> None:
    told = json.loads(harness("demo", "--people", "40", "--json", cwd=tmp_path).stdout)
    assert told["Table 1"]["verdict"]["outcome"] == "violated"


@pytest.mark.parametrize("words", [(), ("rn",), ("run",), ("demo", "--people", "3")])
def test_a_wrong_command_is_exit_code_2(words, tmp_path: Path) -> None:
    run = harness(*words, cwd=tmp_path)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


def test_verify_recomputes_the_verdict_from_the_journal_alone(folder: Path) -> None:
    harness("run", "audit.toml", "--out", "out", cwd=folder)
    (folder / "people.csv").unlink()
    run = harness("verify", "out", cwd=folder)
    assert run.returncode == 0
    assert "VIOLATED: record 0 moves the inference about itself by 1" in run.stdout


def test_verify_refuses_an_edited_journal_and_names_the_line(folder: Path) -> None:
    harness("run", "audit.toml", "--out", "out", cwd=folder)
    journal = folder / "out" / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"distance":1.0', '"distance":0.1', 1))
    run = harness("verify", "out", cwd=folder)
    assert run.returncode == 2
    assert "journal.jsonl, line " in run.stderr


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"outcome": "violated"', '"outcome": "holds"', "verdict.outcome is 'holds', but the journal proves 'viol"),
        ('"distance": 0.333', '"distance": 0.233', "findings[3].distance is 0.233"),
    ],
)
def test_verify_refuses_a_report_that_says_otherwise(folder: Path, old, new, why) -> None:
    harness("run", "audit.toml", "--out", "out", cwd=folder)
    report = folder / "out" / "report.json"
    assert old in report.read_text()
    report.write_text(report.read_text().replace(old, new, 1))
    run = harness("verify", "out", cwd=folder)
    assert run.returncode == 2
    assert why in run.stderr


def test_verify_says_that_an_audit_is_not_finished(folder: Path) -> None:
    running = slow_audit(folder)
    wait_for_findings(folder)
    running.kill()
    running.communicate()
    run = harness("verify", "out", cwd=folder)
    assert run.returncode == 2
    assert "the audit is not finished" in run.stderr


def serving(*words, cwd) -> tuple[subprocess.Popen, str]:
    """A server started from the command line, and the address it tells."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "harness.cli", "serve", *words]
    server = subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, text=True, env=environment)
    assert server.stderr is not None
    line = server.stderr.readline()
    assert "is served at" in line, line
    return server, line.split("served at ")[1].split(";")[0]


@pytest.mark.parametrize("transport", ["--http", "--grpc"])
def test_a_served_anonymizer_is_audited_like_a_local_one(folder: Path, transport) -> None:
    server, address = serving(
        "reference:mondrian", transport, "127.0.0.1:0", "--option", "k=2", "--option", "cells=regions", cwd=folder
    )
    try:
        (folder / "remote.toml").write_text(
            GOOD.replace("reference:mondrian", address).replace('[oracle.options]\nk = 2\ncells = "regions"\n', "")
        )
        remote = json.loads(harness("run", "remote.toml", "--out", "remote", "--json", cwd=folder).stdout)
        local = json.loads(harness("run", "audit.toml", "--out", "local", "--json", cwd=folder).stdout)
        assert remote["findings"] == local["findings"]
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=20) == 0


def test_a_process_that_speaks_frames_is_audited_like_a_local_one(folder: Path) -> None:
    command = (
        f"cmd:{sys.executable} -m harness.cli serve reference:mondrian --stdio --option k=2 --option cells=regions"
    )
    options = f'[oracle.options]\nframes = true\n[oracle.options.env]\nPYTHONPATH = "{ROOT}"\n'
    (folder / "framed.toml").write_text(
        GOOD.replace("reference:mondrian", command).replace('[oracle.options]\nk = 2\ncells = "regions"\n', options)
    )
    framed = harness("run", "framed.toml", "--out", "framed", "--json", cwd=folder)
    assert framed.returncode == 1, framed.stderr
    local = json.loads(harness("run", "audit.toml", "--out", "local", "--json", cwd=folder).stdout)
    assert json.loads(framed.stdout)["findings"] == local["findings"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("reference:mondrian", "--http", "0.0.0.0:0"), "token"),
        (("reference:mondrian", "--http", "127.0.0.1:0", "--option", "k"), "expected NAME=VALUE"),
        (("reference:mondrian", "--http", "127.0.0.1:0", "--token-env", "NOWHERE"), "not set"),
        (("reference:mondrian", "--grpc", "127.0.0.1:0", "--cert", "x.pem"), "--cert needs --key"),
        (("reference:mondrian",), "required"),
    ],
)
def test_a_server_that_may_not_be_is_refused(folder: Path, words, why) -> None:
    run = harness("serve", *words, cwd=folder)
    assert run.returncode == 2
    assert why in run.stderr
