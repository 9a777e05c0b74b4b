"""The command line: exit codes, files, interruption, and what a person sees."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.auditing.journal import lines_of, measures_somebody
from tests.command_line import PAUSING, ROOT, allow_answers, asked, end, harness_process, run_harness, start_harness
from tests.waiting import PATIENCE, wait_until

GOOD = (ROOT / "tests" / "golden" / "good.toml").read_text()
OPTIONS = '[oracle.options]\nk = 2\ncells = "regions"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text((ROOT / "tests" / "golden" / "people.csv").read_text())
    (tmp_path / "audit.toml").write_text(GOOD)
    return tmp_path


@pytest.mark.parametrize(
    ("epsilon", "extra", "code", "outcome"),
    [("0.5", "", 1, "VIOLATED"), ("1.5", "", 0, "HOLDS"), ("1.5", "[run]\nrecords = 3\n", 4, "INCONCLUSIVE")],
)
def test_the_exit_code_is_the_verdict(folder: Path, epsilon: str, extra: str, code: int, outcome: str) -> None:
    (folder / "audit.toml").write_text(GOOD.replace("epsilon = 0.5", f"epsilon = {epsilon}") + extra)
    run = run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    assert run.returncode == code, run.stderr
    assert run.stdout.startswith(outcome)


def test_a_run_leaves_report_summary_and_journal(folder: Path) -> None:
    run = harness_process("run", "audit.toml", "--out", "out", "--json", cwd=folder)
    assert run.returncode == 1, run.stderr
    report = json.loads(run.stdout)
    assert report["verdict"]["outcome"] == "violated"
    assert json.loads((folder / "out" / "report.json").read_text()) == report
    assert (folder / "out" / "summary.txt").read_text().startswith("VIOLATED")
    assert (folder / "out" / "journal.jsonl").stat().st_size > 0


def test_without_out_the_folder_is_named_after_the_file(folder: Path) -> None:
    run_harness("run", "audit.toml", cwd=folder)
    assert (folder / "audit.audit" / "report.json").exists()


def test_paths_in_the_file_are_relative_to_it(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    assert run_harness("run", str(folder / "audit.toml"), "--out", "out", cwd=elsewhere).returncode == 1


def test_modules_beside_the_file_can_be_audited(folder: Path) -> None:
    (folder / "mine.py").write_text("def f(df, width):\n    return df.assign(age='*' if width == 10 else '')\n")
    lines = GOOD.replace("reference:mondrian", "python:mine:f").replace("k = 2\n", "width = 10\n")
    lines = lines.replace('cells = "regions"\n', "").replace(
        'age = "number"', 'age = { kind = "number", points = true }'
    )
    (folder / "audit.toml").write_text(lines)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    run = run_harness("run", "../audit.toml", "--out", "out", cwd=elsewhere)
    assert run.returncode in (0, 1), run.stderr


def test_reveal_shows_raw_records_and_nothing_else_does(folder: Path) -> None:
    assert "'age': 28" not in run_harness("run", "audit.toml", "--out", "a", cwd=folder).stdout
    assert "'age': 28" in run_harness("run", "audit.toml", "--out", "b", "--reveal", cwd=folder).stdout


def test_plan_says_what_it_will_cost_and_leaves_nothing(folder: Path) -> None:
    run = run_harness("plan", "audit.toml", cwd=folder)
    assert run.returncode == 0
    assert "5 to examine, 1 draw a side" in run.stdout
    assert "29 of the anonymizer" in run.stdout  # f(D), 5 records, 10 to probe the oracle, 12 asked again, and the last
    assert sorted(path.name for path in folder.iterdir()) == ["audit.toml", "people.csv"]


def test_a_journal_of_another_plan_is_refused(folder: Path) -> None:
    run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    (folder / "audit.toml").write_text(GOOD.replace("epsilon = 0.5", "epsilon = 0.6"))
    run = run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    assert run.returncode == 2
    assert "belongs to another audit ([claim] epsilon: 0.5 before, 0.6 now)" in run.stderr


ANSWERED = 40  # questions before the pausing anonymizer stops: those that probe it, and some records


@pytest.fixture
def paused_audit(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """An audit of 200 people that has examined some, and gets no more answers until it is allowed more."""
    people = (f"{20 + i % 60},{'MF'[i % 2]},{['Flu', 'Cancer'][i % 3 % 2]}" for i in range(200))
    (folder / "people.csv").write_text("\n".join(["age,gender,disease", *people]) + "\n")
    (folder / "pausing.py").write_text(PAUSING)
    (folder / "audit.toml").write_text(GOOD.replace("reference:mondrian", "python:pausing:f").replace(OPTIONS, ""))
    allow_answers(folder, ANSWERED)
    running = start_harness("run", "audit.toml", "--out", "out", cwd=folder)
    try:
        wait_until(lambda: len(asked(folder)) > ANSWERED)
        yield running
    finally:
        end(running)


def test_an_interrupted_run_keeps_what_it_measured_and_goes_on(
    folder: Path, paused_audit: subprocess.Popen[str]
) -> None:
    paused_audit.send_signal(signal.SIGINT)
    _, errors = paused_audit.communicate(timeout=PATIENCE)
    assert paused_audit.returncode == 130
    assert "kept in out. To continue: harness run audit.toml --out out" in errors
    journal = folder / "out" / "journal.jsonl"
    kept, examined = journal.read_text(), sum(map(measures_somebody, lines_of(journal)))
    assert examined >= 5
    _is_shown_without_a_verdict(folder, examined)
    allow_answers(folder)
    run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    assert journal.read_text().startswith(kept)


def _is_shown_without_a_verdict(folder: Path, examined: int) -> None:
    """What an interrupted audit has measured is shown in every format, and says that it is no verdict."""
    says = f"nterrupted: {examined} of 200 records examined, no verdict"
    for name in ("text", "details", "html", "md", "json"):
        run = run_harness("report", "out", "--format", name, cwd=folder)
        assert run.returncode == 0, run.stderr
        assert says in run.stdout.replace("\n", " ").replace("\\", "")
        assert "VIOLATED: " not in run.stdout


def test_a_killed_run_resumes_to_the_same_report(folder: Path, paused_audit: subprocess.Popen[str]) -> None:
    end(paused_audit)
    allow_answers(folder)
    run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    run_harness("run", "audit.toml", "--out", "whole", cwd=folder)
    assert (folder / "out" / "report.json").read_bytes() == (folder / "whole" / "report.json").read_bytes()


def test_two_runs_on_one_journal_the_second_is_refused(folder: Path, paused_audit: subprocess.Popen[str]) -> None:
    second = run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    assert paused_audit.poll() is None
    assert second.returncode == 2
    assert "another process is writing this journal" in second.stderr


def test_the_demo_shows_the_papers_table_and_three_verdicts(tmp_path: Path) -> None:
    run = run_harness("demo", "--people", "60", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "VIOLATED: the record with row label 0 moves the inference about itself by 1; the\n" in run.stdout
    assert max(len(line) for line in run.stdout.splitlines()) <= 80
    for name in ("Mondrian, k = 5", "Mondrian, ℓ = 3", "Laplace, noise_epsilon = 0.1"):
        assert name in run.stdout


def test_the_demo_prints_json(tmp_path: Path) -> None:
    reports = json.loads(run_harness("demo", "--people", "40", "--json", cwd=tmp_path).stdout)
    assert reports["Table 1"]["verdict"]["outcome"] == "violated"


@pytest.mark.parametrize("words", [(), ("rn",), ("run",), ("demo", "--people", "3")])
def test_a_wrong_command_is_exit_code_2(words: tuple[str, ...], tmp_path: Path) -> None:
    run = run_harness(*words, cwd=tmp_path)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


def test_verify_recomputes_the_verdict_from_the_journal_alone(folder: Path) -> None:
    run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    (folder / "people.csv").unlink()
    run = run_harness("verify", "out", cwd=folder)
    assert run.returncode == 0
    assert "VIOLATED: the record on line 2 of people.csv moves the inference about itself by 1" in run.stdout


def test_verify_refuses_an_edited_journal_and_names_the_line(folder: Path) -> None:
    run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    journal = folder / "out" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    about_her = next(number for number, line in enumerate(lines) if line.startswith('[{"x":'))
    lines[about_her] = lines[about_her].replace("AAAA", "AAAB", 1)
    journal.write_text("".join(lines))
    run = run_harness("verify", "out", cwd=folder)
    assert run.returncode == 2
    assert f"journal.jsonl, line {about_her + 1}" in run.stderr


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"outcome": "violated"', '"outcome": "holds"', "verdict.outcome is 'holds', but the journal proves 'viol"),
        ('"distance": 0.333', '"distance": 0.233', "findings[3].distance is 0.233"),
    ],
)
def test_verify_refuses_a_report_that_says_otherwise(folder: Path, old: str, new: str, why: str) -> None:
    run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    report = folder / "out" / "report.json"
    assert old in report.read_text()
    report.write_text(report.read_text().replace(old, new, 1))
    run = run_harness("verify", "out", cwd=folder)
    assert run.returncode == 2
    assert why in run.stderr


def test_verify_says_that_an_audit_is_not_finished(folder: Path, paused_audit: subprocess.Popen[str]) -> None:
    end(paused_audit)
    run = run_harness("verify", "out", cwd=folder)
    assert run.returncode == 2
    assert "the audit is not finished" in run.stderr


@contextmanager
def serving(*words: str, cwd: Path) -> Iterator[str]:
    """The address of a server started from the command line; asked to end, it ends with exit code 0."""
    server = start_harness("serve", *words, cwd=cwd)
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        assert "is served at" in line, line
        yield line.split("served at ")[1].split(";")[0]
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=PATIENCE) == 0
    finally:
        end(server)


@pytest.mark.parametrize("transport", ["--http", "--grpc"])
def test_a_served_anonymizer_is_audited_like_a_local_one(folder: Path, transport: str) -> None:
    options = ("--option", "k=2", "--option", "cells=regions")
    with serving("reference:mondrian", transport, "127.0.0.1:0", *options, cwd=folder) as address:
        (folder / "remote.toml").write_text(GOOD.replace("reference:mondrian", address).replace(OPTIONS, ""))
        remote = json.loads(run_harness("run", "remote.toml", "--out", "remote", "--json", cwd=folder).stdout)
        local = json.loads(run_harness("run", "audit.toml", "--out", "local", "--json", cwd=folder).stdout)
        assert remote["findings"] == local["findings"]


def test_a_process_that_speaks_frames_is_audited_like_a_local_one(folder: Path) -> None:
    command = (
        f"cmd:{sys.executable} -m harness.cli serve reference:mondrian --stdio --option k=2 --option cells=regions"
    )
    options = f'[oracle.options]\nframes = true\n[oracle.options.env]\nPYTHONPATH = "{ROOT}"\n'
    (folder / "framed.toml").write_text(GOOD.replace("reference:mondrian", command).replace(OPTIONS, options))
    framed = run_harness("run", "framed.toml", "--out", "framed", "--json", cwd=folder)
    assert framed.returncode == 1, framed.stderr
    local = json.loads(run_harness("run", "audit.toml", "--out", "local", "--json", cwd=folder).stdout)
    assert json.loads(framed.stdout)["findings"] == local["findings"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("reference:mondrian", "--http", "0.0.0.0:0"), "token"),
        (("reference:mondrian", "--http", "127.0.0.1:0", "--option", "k"), "expected NAME=VALUE"),
        (("reference:mondrian", "--http", "127.0.0.1:0", "--token-env", "NOWHERE"), "variable NOWHERE holds no token"),
        (("reference:mondrian", "--grpc", "127.0.0.1:0", "--cert", "x.pem"), "--cert needs --key"),
        (("reference:mondrian",), "required"),
    ],
)
def test_a_server_that_may_not_be_is_refused(folder: Path, words: tuple[str, ...], why: str) -> None:
    run = run_harness("serve", *words, cwd=folder)
    assert run.returncode == 2
    assert why in run.stderr


def test_a_server_takes_no_token_that_no_client_can_send_and_never_shows_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_TOKEN", "hunter2\n")
    run = run_harness("serve", "reference:mondrian", "--http", "127.0.0.1:0", "--token-env", "OUR_TOKEN", cwd=folder)
    assert run.returncode == 2
    assert "OUR_TOKEN ends with a line break" in run.stderr
    assert "hunter2" not in run.stderr
