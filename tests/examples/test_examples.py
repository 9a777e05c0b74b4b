"""Every example runs as its reader would run it."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.command_line import run_harness

ROOT = Path(__file__).parent.parent.parent
COMMANDS = str(Path(sys.executable).parent)  # where pytest and harness are, for lines of a shell
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "GITHUB"))},
    "PYTHONPATH": str(ROOT),
    "PATH": f"{COMMANDS}:{os.environ['PATH']}",
    "COLUMNS": "80",
}


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=600, env=ENVIRONMENT, check=False)


def test_the_auditors_example_plans_runs_and_verifies(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "auditor"
    assert "120 to examine" in run_harness("plan", "audit.toml", cwd=folder).stdout
    audited = run_harness("run", "audit.toml", "--out", str(tmp_path / "evidence"), "--json", cwd=folder)
    assert json.loads(audited.stdout)["verdict"]["outcome"] == "violated"
    assert audited.returncode == 1
    assert run_harness("verify", str(tmp_path / "evidence"), cwd=folder).returncode == 0


@pytest.mark.slow
def test_the_notebook_runs_from_its_first_cell_to_its_last() -> None:
    notebook = json.loads((ROOT / "examples" / "notebook" / "audit.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    program = "\n".join(cells)  # cells are statements of one namespace; a last expression would only be shown
    ast.parse(program)
    ran = run(sys.executable, "-c", program, cwd=ROOT / "examples" / "notebook")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("VIOLATED")


def test_the_notebook_holds_no_output_that_could_be_out_of_date() -> None:
    notebook = json.loads((ROOT / "examples" / "notebook" / "audit.ipynb").read_text(encoding="utf-8"))
    assert all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code")


REGRESSION = ROOT / "examples" / "regression"
WORKFLOW = REGRESSION / ".github" / "workflows" / "anonymizer.yml"


@pytest.fixture
def vendor(tmp_path: Path) -> Path:
    """A copy of the vendor's repository, to change and to run in."""
    return shutil.copytree(REGRESSION, tmp_path / "vendor", ignore=shutil.ignore_patterns("__pycache__", "audit.out"))


@pytest.mark.slow
def test_the_regression_example_fails_with_the_leaking_change_as_its_text_shows(vendor: Path) -> None:
    pytest_here = (sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "--rootdir", ".")
    applied = run("git", "apply", "leaking_change.patch", cwd=vendor)
    assert applied.returncode == 0, applied.stderr
    tested = run(*pytest_here, "--harness-baseline", "baseline.json", cwd=vendor)
    assert tested.returncode == 1
    expected = (vendor / "failure.txt").read_text(encoding="utf-8")
    assert message(tested.stdout) == message(expected)


def message(output: str) -> list[str]:
    """What pytest marks as the error; how it prints the rest differs from version to version."""
    lines = [line for line in output.splitlines() if line.startswith("E ")]
    assert len(lines) > 8
    return lines


def github_lines() -> list[str]:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # YAML reads the key `on` as true
    (job,) = workflow["jobs"].values()
    return [line for step in job["steps"] if "run" in step for line in step["run"].splitlines()]


def gitlab_lines() -> list[str]:
    (job,) = yaml.safe_load((REGRESSION / ".gitlab-ci.yml").read_text(encoding="utf-8")).values()
    return [*job["before_script"], *job["script"], *job["after_script"]]


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "written"), [
    (github_lines, {"audit.xml", "audit.sarif", "badge.json"}),
    (gitlab_lines, {"audit.xml", "tests.xml", "badge.json"}),
])  # fmt: skip
def test_every_line_of_the_ci_files_runs_as_it_is(
    vendor: Path, lines: Callable[[], list[str]], written: set[str]
) -> None:
    """But for the installation: the commands are those of this environment."""
    install, *commands = lines()
    assert install == "pip install anonymizer-harness pytest"
    for command in commands:
        done = run("bash", "-c", command, cwd=vendor)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert written <= {path.name for path in vendor.iterdir()}


def test_the_ci_files_upload_nothing_that_holds_releases() -> None:
    (job,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    (upload,) = [step for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
    assert upload["with"]["path"].split() == ["audit.xml", "audit.sarif", "badge.json"]
