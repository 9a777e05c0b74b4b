"""The plugin of pytest as a user has it: installed, and run in a folder of tests, in processes of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = """
import os
import pandas as pd

QUASI = {"age": "number", "sex": "category"}
PEOPLE = pd.DataFrame({
    "age": [20, 21, 33, 34, 47, 48, 52, 53] * 2, "sex": ["F", "M"] * 8,
    "ill": ["flu", "none", "flu", "flu", "none", "flu", "none", "melanoma"] * 2,
})


def identity(frame):
    return frame


def coarse(frame):
    return frame.assign(age="*", sex="*")


changed = identity if os.environ.get("LEAKS") else coarse


def test_leak(audit):
    audit(identity, PEOPLE, quasi=QUASI, sensitive="ill", epsilon=0.2).verdict.require()


def test_holds(audit):
    audit(coarse, PEOPLE, quasi=QUASI, sensitive="ill", epsilon=0.9).verdict.require()


def test_changed(audit):
    audit(changed, PEOPLE, quasi=QUASI, sensitive="ill", epsilon=1.9)


def test_other():
    assert True


def test_laws(check_laws):
    from harness import Schema
    from harness.vocabulary.schema import Column

    quasi = (Column("age", "number", min=0, max=9), Column("sex", values=("F", "M")))
    schema, laws = Schema(quasi, [Column("ill", values=("flu", "none"))]), ["unique-rows-are-not-copied"]
    report = check_laws(changed, schema, laws=laws, budget_calls=30, max_time=600)
    if os.environ.get("REQUIRES"):
        report.require()
"""


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """pytest in this folder; nothing of the configuration of this project applies there."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "GITHUB"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, env={**inherited, **variables}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_people.py").write_text(TESTS)
    return tmp_path


@pytest.mark.slow
def test_a_failure_says_who_how_far_and_how_to_repeat_it_but_no_sensitive_value(folder: Path) -> None:
    done = run(folder, "-k", "leak or other")
    assert done.returncode == 1
    for part in (
        r"AssertionError: VIOLATED: the record with row label \d+ moves",
        r"witness    the record with row label \d+",
        r"adversary  bernoulli on tf-tf; infers ill",
        r"distance   0\.\d+, exact",
        r"with       value 1: 0\.\d+, value 2: 0\.\d+",
        r"without    value 1: 0\.\d+, value 2: 0\.\d+",
        r"seed       0",
        r"repeat     pytest test_people\.py::test_leak",
    ):
        assert re.search(part, done.stdout), part
    shown = done.stdout.partition("AssertionError")[2]  # before it the lines of the test itself
    assert not re.search(r"flu|melanoma", shown)
    revealed = run(folder, "-k", "leak", "--harness-reveal").stdout.partition("AssertionError")[2]
    assert re.search(r"with       (flu|melanoma|none): 0\.\d+", revealed)


@pytest.mark.slow
def test_a_baseline_fails_a_test_that_passes_when_its_audit_got_worse(folder: Path) -> None:
    options = ("--harness-baseline", "baseline.json", "-k", "changed", "-q")
    assert "is not in the baseline" not in run(folder, *options, "--harness-update-baseline").stdout
    baseline = json.loads((folder / "baseline.json").read_text())
    assert list(baseline["audits"]) == ["test_people.py::test_changed"]
    assert run(folder, *options).returncode == 0
    worse = run(folder, *options, LEAKS="1")
    assert worse.returncode == 1
    assert re.search(r"largest-distance/bernoulli-on-tf-tf/ill: .* \(worse than the baseline\)", worse.stdout)
    assert "repeat     pytest test_people.py::test_changed --harness-baseline baseline.json" in worse.stdout


@pytest.mark.slow
def test_a_law_that_is_broken_and_was_not_fails_a_test_that_passes(folder: Path) -> None:
    options = ("--harness-baseline", "baseline.json", "-k", "laws", "-q")
    assert "baseline.json: 1 check written" in run(folder, *options, "--harness-update-baseline").stdout
    baseline = json.loads((folder / "baseline.json").read_text())
    assert baseline["checks"]["test_people.py::test_laws"]["laws"] == {"unique-rows-are-not-copied": "passed"}
    assert run(folder, *options).returncode == 0
    worse = run(folder, *options, LEAKS="1")
    assert worse.returncode == 1
    assert "law/unique-rows-are-not-copied: passed → failed (worse than the baseline)" in worse.stdout
    raised = run(folder, "-k", "laws", "-q", LEAKS="1", REQUIRES="1").stdout
    assert "laws are broken in test_people.py::test_laws" in raised
    assert "  seed       0" in raised
    assert "  repeat     pytest test_people.py::test_laws" in raised


@pytest.mark.slow
def test_an_audit_that_the_baseline_does_not_have_fails(folder: Path) -> None:
    run(folder, "--harness-baseline", "baseline.json", "--harness-update-baseline", "-k", "changed")
    done = run(folder, "--harness-baseline", "baseline.json", "-k", "holds")
    assert done.returncode == 1
    assert (
        "test_people.py::test_holds: not in the baseline baseline.json; --harness-update-baseline adds" in done.stdout
    )


@pytest.mark.slow
def test_workers_of_xdist_share_one_baseline_and_one_summary(folder: Path) -> None:
    key = {"HARNESS_BASELINE_KEY": "a key of the tests, not a secret"}
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    done = run(folder, "-n", "2", "--harness-baseline", "b.json", "--harness-update-baseline", **key, **github)
    assert done.returncode == 1
    assert "3 audits: 2 hold, 1 do not" in done.stdout
    baseline = json.loads((folder / "b.json").read_text())
    assert set(baseline["audits"]) == {f"test_people.py::test_{name}" for name in ("leak", "holds", "changed")}
    (result,) = baseline["audits"]["test_people.py::test_leak"]["results"].values()
    assert len(result["persons"]) == 16
    (line,) = re.findall(r"^::error .*", done.stdout + done.stderr, re.MULTILINE)
    assert line.startswith("::error file=test_people.py,title=harness in pytest%3A test_people.py%3A%3Atest_leak,line=")
    summary = (folder / "summary.md").read_text()
    assert summary.count("✅ passed") == 3  # two audits and a check
    assert summary.count("❌ failed") == 1


@pytest.mark.slow
def test_the_contract_suite_runs_against_any_address(folder: Path) -> None:
    suite = ("--pyargs", "harness.testing.contract", "-q")
    good = run(folder, *suite, "--oracle", "reference:mondrian", "--oracle-option", "k=3")
    assert good.returncode == 0, good.stdout
    assert re.search(r"^1\d passed", good.stdout, re.MULTILINE)
    (folder / "box.py").write_text("calls = [0]\ndef f(df):\n    calls[0] += 1\n    return df.assign(age=calls[0])\n")
    shown = run(folder, *suite, "--oracle", "python:box:f")
    assert "skipped" in shown.stdout  # it does not say that it is random, but shows it
    (folder / "box.py").write_text("def f(df, seed):\n    import os\n    return df.assign(age=os.urandom(4).hex())\n")
    bad = run(folder, *suite, "--oracle", "python:box:f")
    assert bad.returncode == 1
    assert "it says that it honours seeds, but one seed gave two answers" in bad.stdout


@pytest.mark.slow
def test_the_contract_suite_reads_address_options_and_data_from_an_audit_toml() -> None:
    folder = ROOT / "examples" / "auditor"
    done = run(folder, "--pyargs", "harness.testing.contract", "-q", "--oracle", "audit.toml", "-k", "card or sends")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("words", "message"), [
    ((), "the fixture `oracle` needs an anonymizer: pytest --oracle ADDRESS, or an audit.toml"),
    (("--oracle", "refrence:mondrian"), "error E212: oracle address 'refrence:mondrian' has no known scheme"),
    (("--oracle", "reference:mondrian", "--oracle-option", "k"), "expected NAME=VALUE, such as k=5"),
    (("--oracle", "nothing.toml"), "error E201: nothing.toml: cannot be read"),
])  # fmt: skip
def test_a_wrong_oracle_is_an_error_and_not_a_skipped_test(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    done = run(tmp_path, "--pyargs", "harness.testing.contract", "-q", "-k", "card", *words)
    assert done.returncode == 1
    assert message in done.stdout
    assert "Traceback" not in done.stdout


def test_the_plugin_imports_nothing_of_the_harness_until_it_is_used() -> None:
    program = (
        "import sys, pytest, harness.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('harness', 'oracles', 'numpy', 'pandas')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['harness', 'harness.pytest_plugin']"


def test_the_plugin_loads_in_less_than_fifty_milliseconds() -> None:
    program = (
        "import time, pytest; t = time.process_time(); import harness.pytest_plugin; print(time.process_time() - t)"
    )
    words = [sys.executable, "-c", program]
    seconds = [
        float(subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout) for _ in range(3)
    ]
    assert min(seconds) < 0.05


def test_a_run_that_does_not_use_the_plugin_prints_nothing_of_it(folder: Path) -> None:
    done = run(folder, "-q", "-k", "other")
    assert done.stdout.count("harness") == 0
    assert done.returncode == 0
